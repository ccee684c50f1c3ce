"""The memory as tools: what a model is offered by our own agent and at the MCP door, written once."""
