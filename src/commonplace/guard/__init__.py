"""Judges every write: signs of an attack, quarantine, caution."""
