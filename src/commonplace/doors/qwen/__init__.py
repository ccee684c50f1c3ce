"""qwen-code's daemon API: the memory of a workspace, and facts to remember."""
