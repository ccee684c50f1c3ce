"""
Whose the private notes are that the governed door put into scopes of several persons, before schema 7.

Such a note bears a name, its `governed.subject`, and was never shared. It was put by the key of that name, or by an admin for somebody of
that name. If that is one person, it goes to their `user:` scope. If it may be several or nobody, it goes where only an admin reads
it, `user:key/unclaimed/<name>`, until an admin shares that scope. A mark that somebody else wrote into a note moves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from commonplace.errors import InvalidInput
from commonplace.values.principal import KEY_SUBJECT, LOCAL, UNCLAIMED, check_person
from commonplace.values.scope import MAX_SCOPE_ID, Scope

_OPERATOR: Final = frozenset({LOCAL, "operator", "anonymous"})


class PrivateNote(NamedTuple):
    """A record that may be one: `writer` is the actor of its first version, `created_at` milliseconds."""

    number: int
    tenant: str
    metadata: str
    writer: str | None
    created_at: int


class NamedKey(NamedTuple):
    tenant: str
    id: str
    name: str
    role: str
    subject: str | None
    created_at: int

    @property
    def person(self) -> str:
        return self.subject or f"{KEY_SUBJECT}{self.id}"


class NoteMove(NamedTuple):
    number: int
    tenant: str
    target: Scope


@dataclass(frozen=True, slots=True)
class Persons:
    """The keys and the gateway's users of a store."""

    keys: Collection[NamedKey]
    users: Collection[tuple[str, str]]

    def moves(self, notes: Iterable[PrivateNote]) -> list[NoteMove]:
        """Where each note goes. Those that are no private notes of that door are left out."""
        places = ((note, self._home(note)) for note in notes)
        return [NoteMove(note.number, note.tenant, target) for note, target in places if target is not None]

    def _home(self, note: PrivateNote) -> Scope | None:
        name = _subject(note.metadata)
        if name is None:
            return None
        roles = {key.role for key in self._bearers(note, note.writer)}
        is_operator = note.writer in _OPERATOR
        if note.writer != name and roles and "admin" not in roles and not is_operator:
            return None
        persons = {key.person for key in self._bearers(note, name)}
        if name in _OPERATOR:
            persons.add(LOCAL)
        elif not persons and note.writer != name and (roles == {"admin"} or (is_operator and not roles)):
            # As the door does now: an admin says for whom it writes. A user of the gateway is not joined by a name alone.
            persons |= set() if (note.tenant, name) in self.users else {name}
        return _home_of(persons, name)

    def _bearers(self, note: PrivateNote, name: str | None) -> Iterable[NamedKey]:
        return (
            key
            for key in self.keys
            if (key.tenant, key.name) == (note.tenant, name) and key.created_at <= note.created_at
        )


def _home_of(persons: set[str], name: str) -> Scope:
    if len(persons) == 1:
        [person] = persons
        # A person who has no key may have any name; one that is Commonplace's own is not taken for theirs.
        if person != name or person == LOCAL or _is_person(name):
            return Scope("user", person)
    plain = "".join(character if character.isprintable() else "?" for character in name)
    return Scope("user", f"{UNCLAIMED}{plain}"[:MAX_SCOPE_ID])


def _is_person(name: str) -> bool:
    try:
        check_person(name)
    except InvalidInput:
        return False
    return True


def _subject(metadata: str) -> str | None:
    """The name that a note of the governed door bears, unless it was promoted; None for every other record."""
    try:
        fields = json.loads(metadata)
    except ValueError:
        return None
    if not isinstance(fields, dict) or "promotion" in fields:
        return None
    mark = cast("dict[str, Any]", fields).get("governed")
    name = cast("dict[str, Any]", mark).get("subject") if isinstance(mark, dict) else None
    return name if isinstance(name, str) and name else None
