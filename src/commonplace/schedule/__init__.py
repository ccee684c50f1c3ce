"""What agents do by themselves: when, and what becomes of it. Pure: who keeps it and who plays it is told from outside."""
