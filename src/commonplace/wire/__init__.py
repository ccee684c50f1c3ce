"""The bodies of the HTTP API, a module a door or a topic: all that the SDK and the server share."""
