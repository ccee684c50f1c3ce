"""What we know of the rooms that the account is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, cast

from commonplace.channels.matrix.events import MatrixEvent, MemberCounts
from commonplace.channels.prefix import display_name

_LONGEST_NAME: Final = 255


@dataclass(kw_only=True, slots=True)
class MatrixRoom:
    """`members` are those who joined, with the names they have here. `is_direct`: it was made for one person and us."""

    chat: str
    name: str = ""
    alias: str = ""
    is_encrypted: bool = False
    is_direct: bool = False
    members: dict[str, str] = field(default_factory=dict[str, str])
    invited: set[str] = field(default_factory=set[str])
    summary: MemberCounts = field(default_factory=MemberCounts)

    def apply(self, event: MatrixEvent) -> None:
        if event.state_key is None:
            return
        match event.type:
            case "m.room.name":
                self.name = event.text("name")
            case "m.room.canonical_alias":
                self.alias = event.text("alias")
            case "m.room.encryption":
                # It cannot be switched off again.
                self.is_encrypted = True
            case "m.room.member":
                self._count(event)
            case _:
                pass

    def _count(self, event: MatrixEvent) -> None:
        who = event.state_key or ""
        membership = event.text("membership")
        self.members.pop(who, None)
        self.invited.discard(who)
        if membership == "join":
            self.members[who] = event.text("displayname")[:_LONGEST_NAME].strip()
        elif membership == "invite":
            self.invited.add(who)

    @property
    def is_group(self) -> bool:
        """Two people at most, in a room that has no name of its own or was made for two, talk to each other alone."""
        if len(self.members) + len(self.invited) > 2:
            return True
        return bool(self.name) and not self.is_direct

    def sender_name(self, who: str) -> str:
        """What somebody calls themselves here; with their id, if somebody else does so too."""
        name = self.members.get(who, "")
        shown_as = _shown_as(name)
        return _told_apart(who, name, sum(_shown_as(other) == shown_as for other in self.members.values()))

    def people(self, but: str) -> tuple[str, ...]:
        counts = Counter(_shown_as(name) for name in self.members.values())
        names = (_told_apart(who, name, counts[_shown_as(name)]) for who, name in self.members.items() if who != but)
        return tuple(sorted(names))

    def title(self, but: str) -> str:
        text = self.name or self.alias or ", ".join(self.people(but)[:4])
        return "".join(character for character in text if character.isprintable())


class MatrixRooms:
    """`me` is our account's id, once the server said it; `is_loaded`: the state of every room was read."""

    def __init__(self) -> None:
        self.me = ""
        self.is_loaded = False
        self._rooms: dict[str, MatrixRoom] = {}
        self._direct: frozenset[str] = frozenset()

    def __iter__(self) -> Iterator[MatrixRoom]:
        return iter(self._rooms.values())

    def get(self, chat: str) -> MatrixRoom | None:
        return self._rooms.get(chat)

    def enter(self, chat: str) -> MatrixRoom:
        room = self._rooms.get(chat)
        if room is None:
            room = self._rooms[chat] = MatrixRoom(chat=chat, is_direct=chat in self._direct)
        return room

    def leave(self, chat: str) -> None:
        self._rooms.pop(chat, None)

    def is_encrypted(self, chat: str) -> bool:
        room = self._rooms.get(chat)
        return room is not None and room.is_encrypted

    def people(self, chat: str) -> tuple[str, ...]:
        room = self._rooms.get(chat)
        return () if room is None else room.people(self.me)

    @property
    def direct(self) -> frozenset[str]:
        return self._direct

    def take_account_data(self, events: Iterable[MatrixEvent]) -> None:
        """Which rooms are for two."""
        for event in events:
            if event.type == "m.direct":
                self._direct = frozenset(_chats(event.content))
                for room in self._rooms.values():
                    room.is_direct = room.chat in self._direct


@lru_cache(maxsize=10_000)
def _shown_as(name: str) -> str:
    """Two names that differ in what nobody sees are the same."""
    return display_name(name).casefold()


def _told_apart(who: str, name: str, count: int) -> str:
    if not name:
        return who.removeprefix("@").partition(":")[0] or who
    return f"{name} {who}" if count > 1 else name


def _chats(content: dict[str, Any]) -> Iterator[str]:
    for chats in content.values():
        if isinstance(chats, list):
            yield from (chat for chat in cast("list[Any]", chats) if isinstance(chat, str))
