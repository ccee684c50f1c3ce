"""What both stores read from a JSON column for the tree's names."""

from __future__ import annotations

import json


def text_in(column: str | None, name: str) -> str | None:
    """The text under a name of a JSON object. None if there is none: a name that cannot be read is made of something else."""
    try:
        value = json.loads(column).get(name) if column else None
    except (ValueError, AttributeError):
        return None
    return value if isinstance(value, str) else None
