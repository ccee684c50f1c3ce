"""Language models: chosen by a few words, asked through pydantic-ai, and paid for out of a budget."""
