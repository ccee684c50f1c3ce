"""Paths as people write them."""

from __future__ import annotations

import os
from pathlib import Path

from commonplace.errors import InvalidInput


def expand_path(path: str | Path) -> Path:
    """
    The path, with the home folder in place of `~` or `~user`.

    Raises:
        InvalidInput: there is no such user, or the path cannot be one.
    """
    if "\0" in str(path):
        raise InvalidInput("A path has no NUL character in it.")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = Path(path).parts[0]
        raise InvalidInput(
            f"{user} is nobody's home folder here: there is no such user. Write the whole path; if a name really begins "
            f"with ~, write .{os.sep}{user}."
        ) from None
