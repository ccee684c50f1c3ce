"""What a team found out and vouches for: findings in spaces, their coverage, preflight before a task."""
