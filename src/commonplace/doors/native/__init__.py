"""Our own API, `/v1`."""
