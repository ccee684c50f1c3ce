"""Where a channel's secrets are: in the environment, or in files. They are read when the channel begins, and never kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.values.channel import ChannelSettings

_FILE: Final = "file:"
_MOST: Final = 65_536
_SHORTEST: Final = 4
"""Characters. What is shorter is no secret, and stands in every other word."""


def read_secret(settings: ChannelSettings, name: str) -> str:
    """Raises InvalidInput: it is not there, and where it should be."""
    place = settings.secrets.get(name)
    if place is None:
        raise InvalidInput(f"The channel needs the secret {name!r}. Name the variable or the file that has it.")
    value = _from_file(place.removeprefix(_FILE)) if place.startswith(_FILE) else os.environ.get(place, "")
    if not value:
        raise InvalidInput(f"The secret {name!r} is not in {place}. Put it there, then start the channel again.")
    return value


def without_secrets(settings: ChannelSettings, text: str) -> str:
    """A text that may be shown: a platform might have said again what it was given."""
    for name in settings.secrets:
        try:
            secret = read_secret(settings, name)
        except InvalidInput:
            continue
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "•••")
    return text


def has_secret(settings: ChannelSettings, name: str) -> bool:
    return bool(settings.secrets.get(name))


def _from_file(path: str) -> str:
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            return file.read(_MOST).strip()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"Cannot read the secret in {path!r:.200}: {type(error).__name__}.") from error
