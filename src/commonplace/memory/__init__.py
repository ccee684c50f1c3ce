"""The memory engine: write, recall, rank, tend."""
