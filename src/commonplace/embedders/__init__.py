"""Adapters that turn text into vectors, and the wrappers around them."""
