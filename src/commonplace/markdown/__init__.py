"""Memory as files: roots, entries, the index, and what watches them."""
