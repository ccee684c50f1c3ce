"""The HTTP doors: one frame (who may, limits, errors, logs, metrics), and a module a door that hangs in it."""
