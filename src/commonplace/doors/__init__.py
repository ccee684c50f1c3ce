"""Every way into the memory, a folder each: routes, shapes, and the use cases that no other door has."""
