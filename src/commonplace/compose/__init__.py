"""Composition roots: settings become adapters, engines, services, and a daemon or an embedded memory."""
