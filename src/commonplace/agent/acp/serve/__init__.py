"""Our agent in an editor: an agent of the Agent Client Protocol, over stdin and stdout."""
