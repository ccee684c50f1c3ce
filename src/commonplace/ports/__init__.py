"""The ports: Protocols in domain verbs, a module a port, each docstring its specification."""
