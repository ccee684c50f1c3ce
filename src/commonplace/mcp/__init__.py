"""The memory as tools, resources and prompts of a model (the Model Context Protocol), over any `MemoryClient`."""
