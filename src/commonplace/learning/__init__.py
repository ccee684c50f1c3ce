"""Talk becomes memory: extract, distill, remember, consolidate, forget."""
