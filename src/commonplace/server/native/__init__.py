"""The native door, `/v1`: everything that can be done."""
