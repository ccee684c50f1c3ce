"""Matrix: rooms of any server that speaks its client-server API."""
