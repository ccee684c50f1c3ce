"""Every request of the native door, a module a topic: how it is made and how its answer is read."""
