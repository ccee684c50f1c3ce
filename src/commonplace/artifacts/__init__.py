"""Artifacts: files that were produced, kept once for each content."""
