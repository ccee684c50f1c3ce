"""Memory in Markdown files: the files are the truth, and their records follow."""
