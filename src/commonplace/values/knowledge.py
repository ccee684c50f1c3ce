"""Knowledge: what earlier runs found out, kept by what it covers, so that a later run can reuse it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypedDict

from commonplace.errors import InvalidTransition
from commonplace.values.quarantine import WHY, Quarantine, quarantine_of
from commonplace.values.record import Json

SpaceScope = Literal["run", "project", "global"]
ItemStatus = Literal["working", "promoted", "approved_default", "deprecated", "quarantined"]
TrustLevel = Literal["working", "promoted", "approved_default"]
RecordingOutcome = Literal["created", "refreshed", "successor", "quarantined", "unchanged"]
Decision = Literal["disabled", "no_prior_knowledge", "reuse_promoted", "reuse_approved_default", "refresh_required"]

REVIEW: Final = "review"
"""The name under which it says who let it out."""
REFRESHABLE: Final[frozenset[ItemStatus]] = frozenset({"working", "promoted", "approved_default"})
"""What can be seen again. What was given up, or waits for a reviewer, cannot."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """A namespace of items, of one run, one project or the tenant. One a scope, project and namespace."""

    id: str
    tenant: str
    scope: SpaceScope
    project: str | None
    namespace: str
    created_at: datetime
    updated_at: datetime
    trust_level: TrustLevel = "promoted"
    title: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """
    One finding. `coverage_key` says what it is about, `dedupe_key` which finding of the space it is: at most one item has it, and one
    that is deprecated or has a successor has none. `last_seen_at` is when the finding was last recorded or confirmed; `supersedes` is the
    item that it takes the place of. What is `quarantined` looks like an attack, and is nobody's to build on until a reviewer has
    looked.
    """

    id: str
    tenant: str
    space: str
    coverage_key: str
    dedupe_key: str | None
    item_type: str
    title: str
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime
    summary: str = ""
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])
    trust_level: TrustLevel = "working"
    status: ItemStatus = "working"
    run: str | None = None
    artifact_refs: tuple[str, ...] = ()
    source_memory_ids: tuple[str, ...] = ()
    reviewer: str | None = None
    approval: str | None = None
    freshness_expires_at: datetime | None = None
    supersedes: str | None = None

    @property
    def quarantine(self) -> Quarantine | None:
        """Why it waits for a reviewer; None if it does not."""
        return quarantine_of(self.payload.get(WHY)) if self.status == "quarantined" else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """
    What became of a finding that was recorded: `created`; `refreshed`, since the space has it and it says the same; the working
    `successor` of `predecessor`, since it says something else; `quarantined`; or `unchanged`, in a store that is not ours to change.
    """

    item: Item
    outcome: RecordingOutcome
    predecessor: Item | None = None


class FindingFields(TypedDict, total=False):
    """What may be said of a finding beyond its title. It covers `coverage_key`, or what its space, `task_family` and `subject` say."""

    summary: str
    task_family: str
    subject: str
    coverage_key: str | None
    dedupe_key: str | None
    item_type: str
    payload: Mapping[str, Json]
    run: str | None
    artifact_refs: Sequence[str]
    source_memory_ids: Sequence[str]
    freshness_expires_at: datetime | None


class SpaceFields(TypedDict, total=False):
    """Whose a space is: of a project, of a run, or (neither) of everybody."""

    project: str | None
    run: str | None
    title: str | None


class ReviewFields(TypedDict, total=False):
    """Who approves a finding, under which approval, how long it is fresh, and why."""

    reviewer: str | None
    approval: str | None
    freshness_expires_at: datetime | None
    reason: str | None


class FindingFilters(TypedDict, total=False):
    """Which findings. What is left out narrows nothing."""

    spaces: Sequence[str]
    coverage_key: str | None
    statuses: Sequence[ItemStatus]
    limit: int


class PreflightFields(TypedDict, total=False):
    """
    What a run would build on. `spaces` empty: those of the project and of everybody with that namespace. `freshness` is the greatest age of
    a finding without an expiry of its own.
    """

    project: str | None
    namespace: str | None
    task_family: str
    trust_floor: TrustLevel
    spaces: Sequence[str]
    freshness: timedelta | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Preflight:
    """The answer: what to do, why, the items it rests on (the best first), and those as a block for a prompt."""

    decision: Decision
    reason: str
    coverage_key: str
    items: tuple[Item, ...] = ()
    spaces: tuple[str, ...] = ()
    context: str = ""

    @property
    def reuses(self) -> bool:
        return self.decision in ("reuse_promoted", "reuse_approved_default")


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """Who approves, and why. A plain promotion that leaves it open is its reviewer's own. The reason stays in the audit."""

    reviewer: str | None = None
    approval: str | None = None
    freshness_expires_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What a space knows about one thing, at a glance."""

    tenant: str
    space: str
    coverage_key: str
    latest_item: str | None
    last_seen_at: datetime
    last_promoted_at: datetime | None = None
    freshness_expires_at: datetime | None = None


def record_new(item: Item) -> Recording:
    """What becomes of a finding whose key no item of its space has."""
    return Recording(item=item, outcome="quarantined" if item.status == "quarantined" else "created")


def record_again(current: Item, item: Item) -> Recording:
    """
    What becomes of a finding whose key `current` has. If it says the same, `current` is refreshed. If not, `item` is its successor and has
    the key: what was only working is deprecated, what somebody promoted stays until the successor is trusted as much.
    """
    if current.status == "quarantined":
        return Recording(item=current, outcome="quarantined")
    now = item.updated_at
    if _says(current) == _says(item):
        return Recording(item=refreshed(current, now, item.freshness_expires_at), outcome="refreshed")
    predecessor = replace(current, dedupe_key=None)
    if current.status == "working":
        predecessor = replace(predecessor, status="deprecated", updated_at=now)
    return Recording(item=replace(item, supersedes=current.id), outcome="successor", predecessor=predecessor)


def refreshed(item: Item, now: datetime, expires: datetime | None = None, *, may_shorten: bool = False) -> Item:
    """
    The item, seen again: its status stays, and it is fresh until `expires` or (None) for as long as it was before. What somebody
    promoted does not expire sooner than before, unless `may_shorten`. Raises InvalidTransition.
    """
    if item.status not in REFRESHABLE:
        raise InvalidTransition(
            f"An item that is {item.status} cannot be refreshed.", status=item.status, to=item.status
        )
    until = expires or _as_long_again(item, now)
    if not (may_shorten or item.status == "working"):
        until = item.freshness_expires_at and until and max(until, item.freshness_expires_at)
    # An approval names the moment of the last change, and this changes nothing of what the item says.
    return replace(item, freshness_expires_at=until, last_seen_at=now)


def _as_long_again(item: Item, now: datetime) -> datetime | None:
    expires = item.freshness_expires_at
    if expires is None or expires <= item.last_seen_at:
        return expires
    try:
        return now + (expires - item.last_seen_at)
    except OverflowError:
        return expires


def _says(item: Item) -> tuple[object, ...]:
    """What makes two items the same finding. Which run found it, and from what, does not count."""
    payload = {name: value for name, value in item.payload.items() if name not in (WHY, REVIEW)}
    return item.coverage_key, item.item_type, item.title, item.summary, payload
