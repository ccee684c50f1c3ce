"""Brings files in from elsewhere: folders of notes, OpenClaw, uploads."""
