"""Beaver's memory gateway: users, chat turns, resources."""
