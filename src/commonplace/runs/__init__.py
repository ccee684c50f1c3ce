"""Runs: a folder a run, an append-only journal in it, and everything else made from that."""
