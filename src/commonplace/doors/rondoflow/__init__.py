"""RondoFlow's API: agents, workspaces, and memories under their keys."""
