"""What the model may call. Importing this folder needs no extra; only `calls` knows the library of the loop."""
