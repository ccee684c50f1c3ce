"""What a turn of the agent recalls before it, and persists after it."""
