"""Which message of a platform is which of ours."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

_MOST: Final = 2_000


class SentMessages:
    """Our keys and the platform's ids of the last messages, both ways."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._ids: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._keys: dict[tuple[str, str], str] = {}

    def put(self, chat: str, key: str, id: str) -> None:
        self._ids[chat, key] = id
        self._keys[chat, id] = key
        while len(self._ids) > self._most:
            (old_chat, _), old = self._ids.popitem(last=False)
            self._keys.pop((old_chat, old), None)

    def id(self, chat: str, key: str) -> str | None:
        """The platform's id of a message of ours."""
        return self._ids.get((chat, key))

    def key(self, chat: str, id: str) -> str | None:
        """Our key of a message of the platform; None: it is not ours, or long ago."""
        return self._keys.get((chat, id))
