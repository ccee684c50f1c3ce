"""A record is one thing worth remembering, in one of its versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, get_args

from commonplace.values.json import Json, JsonObject
from commonplace.values.moment import Moment
from commonplace.values.quarantine import Quarantine, quarantine_in
from commonplace.values.scope import DEFAULT_TENANT, Scope

Trust = Literal[
    "system_generated", "verified", "human_approved", "model_generated", "external_user_supplied", "connector_sourced"
]
Visibility = Literal["private", "shared"]
State = Literal["live", "demoted", "superseded", "expired", "deleted"]
ChangeKind = Literal[
    "created", "edited", "pinned", "unpinned", "promoted", "demoted", "superseded", "expired", "deleted", "restored"
]

Outcome = Literal["created", "updated", "unchanged"]

TRUSTED: frozenset[Trust] = frozenset({"system_generated", "verified", "human_approved"})
MAX_KEY = 255
MAX_TEXT_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance(JsonObject):
    """Where a record comes from, beyond its session: the run, the message or the file that told it."""

    run: str | None = None
    message: str | None = None
    file: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Record(JsonObject):
    """
    One version of a record. `at` is the time of what it tells, `created_at` when we first heard of it, `updated_at`
    when this version was written. `change`, `actor` and `reason` say what made this version. `restores` is the version
    whose content an undo brought back. `outcome` is what a write did, in its answer; it is not kept.
    """

    id: str
    scope: Scope
    text: str
    created_at: Moment
    updated_at: Moment
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
    at: Moment | None = None
    expires_at: Moment | None = None
    session: str | None = None
    position: int | None = None
    speaker: str | None = None
    provenance: Provenance = Provenance()
    demoted: bool = False
    superseded_by: str | None = None
    deleted_at: Moment | None = None
    change: ChangeKind = "created"
    actor: str | None = None
    reason: str | None = None
    restores: int | None = None
    outcome: Outcome | None = field(default=None, compare=False)

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

    @property
    def quarantine(self) -> Quarantine | None:
        """Why it is kept and not recalled, if it waits for a reviewer."""
        return quarantine_in(self.demoted, self.tags, self.metadata)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """
        As JSON a record has its `state`, too, as it is at the `now` of the context that it is written with, and its
        `quarantine`.
        """
        from pydantic_core import core_schema  # noqa: PLC0415 - loaded by whoever asks, and slow for those who do not

        states = core_schema.literal_schema([*get_args(State)])
        of_now = core_schema.plain_serializer_function_ser_schema(_state_now, info_arg=True, return_schema=states)
        schema = handler(source)
        schema["schema"]["computed_fields"] = [
            core_schema.computed_field("state", {**states, "serialization": of_now}),
            core_schema.computed_field("quarantine", core_schema.nullable_schema(handler.generate_schema(Quarantine))),
        ]
        return schema


def _state_now(state: Callable[[datetime], State], info: Any) -> State:
    return state(info.context["now"])


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
class Written(JsonObject):
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
        own_versions = {(version.version, version.updated_at, version.text) for version in self.versions}
        return all((version.version, version.updated_at, version.text) in own_versions for version in versions)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable(JsonObject):
    """
    Something that a damaged store could not hand out: a record, one of its versions, or a part of one. `id` is the number that the
    store gave it if the id itself cannot be read.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Salvage:
    """Some whole lives of a store, what could not be read of others, and where to go on; `after` None: that was all."""

    lineages: tuple[Lineage, ...]
    unreadable: tuple[Unreadable, ...]
    after: str | None


def renumbered(versions: Sequence[Record]) -> tuple[Record, ...]:
    """Versions counted anew from one, so that those that were left out leave no gap."""
    numbers = {record.version: place for place, record in enumerate(versions, start=1)}
    if all(version == place for version, place in numbers.items()):
        return tuple(versions)
    return tuple(
        replace(record, version=numbers[record.version], restores=numbers.get(record.restores or 0))
        for record in versions
    )
