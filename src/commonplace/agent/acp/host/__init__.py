"""Another agent in the place of ours: a program that speaks the Agent Client Protocol over its stdin and stdout."""
