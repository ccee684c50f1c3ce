"""Tandem's API: governed memory in partitions and tiers, with promotion and audit."""
