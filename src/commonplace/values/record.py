"""A record is one thing worth remembering, in one of its versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from commonplace.values.scope import DEFAULT_TENANT, Scope

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Trust = Literal["system_generated", "verified", "human_approved", "external_user_supplied", "connector_sourced"]
Visibility = Literal["private", "shared"]
State = Literal["live", "demoted", "superseded", "expired", "deleted"]
ChangeKind = Literal[
    "created", "edited", "pinned", "unpinned", "promoted", "demoted", "superseded", "expired", "deleted", "restored"
]

TRUSTED: frozenset[Trust] = frozenset({"system_generated", "verified", "human_approved"})
MAX_KEY = 255
MAX_TEXT_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where a record comes from, beyond its session: the run, the message or the file that told it."""

    run: str | None = None
    message: str | None = None
    file: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """
    One version of a record. `at` is the time of what it tells, `created_at` when we first heard of it, `updated_at`
    when this version was written. `change`, `actor` and `reason` say what made this version. `restores` is the version
    whose content an undo brought back.
    """

    id: str
    scope: Scope
    text: str
    created_at: datetime
    updated_at: datetime
    tenant: str = DEFAULT_TENANT
    version: int = 1
    kind: str = "note"
    key: str | None = None
    source: str = "manual"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    pinned: bool = False
    importance: int = 0
    trust: Trust = "system_generated"
    visibility: Visibility = "private"
    at: datetime | None = None
    expires_at: datetime | None = None
    session: str | None = None
    position: int | None = None
    speaker: str | None = None
    provenance: Provenance = Provenance()
    demoted: bool = False
    superseded_by: str | None = None
    deleted_at: datetime | None = None
    change: ChangeKind = "created"
    actor: str | None = None
    reason: str | None = None
    restores: int | None = None

    def state(self, now: datetime) -> State:
        if self.deleted_at is not None:
            return "deleted"
        if self.superseded_by is not None:
            return "superseded"
        if self.demoted:
            return "demoted"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "live"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One thing said in a conversation."""

    speaker: str
    text: str
    at: datetime | None = None
    message: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Passage:
    """
    A stretch of a record's text as it is searched: where it stands, how many analysed terms it has, those terms as
    `text.postings` packs them, and its vector by each embedder's name (signed bytes, one a dimension).
    """

    start: int
    stop: int
    length: int
    terms: bytes
    vectors: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """
    A record on its way into a store, with the passages it is found by (None: those of the version held stay).

    `once` makes a put idempotent: a second draft with the same mark in the same scope changes nothing, even when the
    first was deleted since. `expected` is the version the caller saw (0: there must be none). `keeps` names fields
    (`pinned`, `importance`) that a record held under the same key keeps as it has them. A draft that `appends`
    takes the place after the last one of its session.
    """

    record: Record
    passages: tuple[Passage, ...] | None = None
    once: bytes | None = None
    keeps: frozenset[str] = frozenset()
    appends: bool = False
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    record: Record
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Lineage:
    """A record's whole life, oldest version first, and the passages of each text it ever had."""

    versions: tuple[Record, ...]
    passages: Mapping[str, tuple[Passage, ...]]
    once: bytes | None = None

    def continues(self, versions: Sequence[Record]) -> bool:
        """Whether `versions` are where this life began, so that it may take their place and nothing is lost."""
        told = {(version.version, version.updated_at, version.text) for version in self.versions}
        return all((version.version, version.updated_at, version.text) in told for version in versions)
