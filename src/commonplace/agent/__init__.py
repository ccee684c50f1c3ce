"""The agent: it talks, works, remembers, and can show how."""
