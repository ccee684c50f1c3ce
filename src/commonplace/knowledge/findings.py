"""
Knowledge: what earlier runs found out, and whether a later one may build on it.

A finding belongs to a space, and its coverage key says what it is about: project, namespace, kind of task and subject. It starts
as `working`; somebody promotes it, a reviewer makes it the approved default, and at any time it can be deprecated for good. Recorded
again, or confirmed (`refresh`), it is fresh for as long again; recorded again with other words, it gets a working successor, which takes
its place once it is trusted as much.
Before a run works something out it asks (`preflight`) whether that is known already, is trusted enough, and still fresh. A finding
that looks like an attack is `quarantined`, apart from all others, until a reviewer releases it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from commonplace.errors import InvalidInput, InvalidTransition, NotFound, NotInReview, ReviewRequired
from commonplace.memory.validate import check_label, check_text
from commonplace.memory.write import clean
from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import BesideRecording, KnowledgeStore
from commonplace.text.fence import POLICY, entry, name
from commonplace.text.unicode import normal_form
from commonplace.values.knowledge import (
    REVIEW,
    Item,
    ItemStatus,
    Preflight,
    Recording,
    Space,
    SpaceScope,
    TrustLevel,
    refreshed,
)
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, to_iso, utc
from commonplace.values.quarantine import WHY
from commonplace.values.record import Json

MAX_SEGMENT: Final = 64
MAX_SUBJECT: Final = 120
MAX_SUMMARY: Final = 8_000
MAX_REFS: Final = 200
SHOWN: Final = 3
OPEN: Final = "<knowledge_context>"
CLOSE: Final = "</knowledge_context>"

NEXT: Final[Mapping[ItemStatus, frozenset[ItemStatus]]] = {
    "working": frozenset({"promoted", "deprecated"}),
    "promoted": frozenset({"approved_default", "deprecated"}),
    "approved_default": frozenset({"deprecated"}),
    "deprecated": frozenset(),
    "quarantined": frozenset(),
}
"""
Where an item can go from each status. Out of quarantine only a reviewer lets it (`release`). A `refresh` leaves the status as it is, if it
is one of `REFRESHABLE`.
"""

ReuseMode = Literal["preflight", "disabled", "on_demand"]
MayRead: TypeAlias = Callable[[Space], bool]
BesideChange: TypeAlias = Callable[[Sequence[Item]], Entries]
"""What is kept with a change of status, by the items that it made obsolete."""

_RANK: Final[Mapping[TrustLevel, int]] = {"working": 0, "promoted": 1, "approved_default": 2}
_REUSABLE: Final[tuple[ItemStatus, ...]] = ("promoted", "approved_default")
_LOOKED_AT: Final = 1_000
_APART: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSpace:
    """A space to create. `id` of None: a new id."""

    scope: SpaceScope = "project"
    project: str | None = None
    namespace: str = ""
    title: str | None = None
    trust_level: TrustLevel = "promoted"
    id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFinding:
    """
    An item to create. It covers `coverage_key`, or what the project and namespace of its space say together with
    `task_family` and `subject`. Two findings of a space with one dedupe key (None: a hash of what they say) are one: the second
    refreshes the first or, if it says something else, succeeds it. With `against`, the signs of an attack in it, it is kept in quarantine;
    `sentence` is the one that has them.
    """

    space: str
    title: str
    item_type: str = "finding"
    task_family: str = ""
    subject: str = ""
    coverage_key: str | None = None
    dedupe_key: str | None = None
    summary: str = ""
    payload: Mapping[str, Json] = field(default_factory=dict[str, Json])
    run: str | None = None
    artifact_refs: tuple[str, ...] = ()
    source_memory_ids: tuple[str, ...] = ()
    freshness_expires_at: datetime | None = None
    id: str | None = None
    against: tuple[str, ...] = ()
    sentence: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusChange:
    """The next status of an item, who decided it, and when the item stops being fresh (None: as before)."""

    to: ItemStatus
    reviewer: str | None = None
    approval: str | None = None
    freshness_expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    """
    What a run asks for, and what it would build on. `read_spaces` empty: those of the project and of the tenant with that
    namespace. `freshness` is the greatest age of an item without an expiry of its own.
    """

    project: str | None = None
    namespace: str | None = None
    task_family: str = ""
    subject: str = ""
    enabled: bool = True
    reuse_mode: ReuseMode = "preflight"
    trust_floor: TrustLevel = "promoted"
    read_spaces: tuple[str, ...] = ()
    freshness: timedelta | None = None


class KnowledgeBase:
    def __init__(self, store: KnowledgeStore, clock: Clock, tenant: str) -> None:
        self._store = store
        self._clock = clock
        self._tenant = tenant

    async def create_space(self, new: NewSpace, entries: Entries) -> Space:
        """
        Make a space, or find the one of that scope, project and namespace.

        Raises:
            InvalidInput: a project's space without its project, or the tenant's with one.
        """
        if (new.scope == "project") > bool(new.project) or (new.scope == "global" and new.project):
            raise InvalidInput("A space of scope project names its project; one of scope global names none.")
        now = utc(self._clock.now())
        title = clean(check_label("title", new.title), {})[0] if new.title else None
        space = Space(
            id=new.id or new_id(now),
            tenant=self._tenant,
            scope=new.scope,
            project=check_label("project", new.project) if new.project else None,
            namespace=segment(new.namespace) or "general",
            created_at=now,
            updated_at=now,
            trust_level=new.trust_level,
            title=title,
        )
        return await self._store.put_space(space, entries)

    async def record(self, finding: NewFinding, beside: BesideRecording) -> Recording:
        """
        Keep a finding, as `working`; its secrets are scrubbed. If the space has it already, that item is refreshed, or gets a successor.

        Raises:
            NotFound: there is no such space.
            InvalidInput, SecretRefused
        """
        space = await self.space(finding.space)
        now = utc(self._clock.now())
        title, summary, payload = _cleaned(finding)
        key = (
            read_coverage_key(finding.coverage_key)
            if finding.coverage_key
            else coverage_key(space.project, space.namespace, finding.task_family, finding.subject)
        )
        item_type = check_label("item type", finding.item_type)
        expires = finding.freshness_expires_at
        item = Item(
            id=finding.id or new_id(now),
            tenant=self._tenant,
            space=space.id,
            coverage_key=key,
            dedupe_key=_line("dedupe key", finding.dedupe_key) if finding.dedupe_key else _same(key, item_type, title, summary),
            item_type=item_type,
            title=title,
            created_at=now,
            updated_at=now,
            last_seen_at=now,
            summary=summary,
            payload=payload,
            run=check_line("run", finding.run),
            artifact_refs=_refs("artifact", finding.artifact_refs),
            source_memory_ids=_refs("memory", finding.source_memory_ids),
            freshness_expires_at=utc(expires) if expires else None,
        )  # fmt: skip
        return await self._store.record_item(_apart(item, finding) if finding.against else item, beside)

    async def change(self, id: str, change: StatusChange, beside: BesideChange) -> Item:
        """
        Give an item its next status. What it takes the place of is deprecated once it is trusted as much; `beside` says what is kept of
        that.

        Raises:
            NotFound
            InvalidTransition: it cannot get that status from its present one.
            ReviewRequired: it becomes the approved default only with a reviewer and an approval.
            Conflict: somebody else changed it meanwhile.
        """
        item = await self._store.item(self._tenant, id)
        now = utc(self._clock.now())
        next_item = changed(item, change, now)
        replaced = [] if change.to == "deprecated" else await self._outranked(next_item, now)
        return await self._store.change_item(next_item, item.status, beside(replaced), replaced)

    async def refresh(self, id: str, expires: datetime | None, entries: Entries) -> Item:
        """
        Confirm an item: its status stays, and it is fresh until `expires` or (None) for as long again as it was.

        Raises:
            NotFound
            InvalidTransition: it is deprecated, or in quarantine.
            Conflict: somebody else changed it meanwhile.
        """
        item = await self._store.item(self._tenant, id)
        until = utc(expires) if expires else None
        next_item = refreshed(item, utc(self._clock.now()), until, may_shorten=True)
        return await self._store.change_item(next_item, item.status, entries)

    async def _outranked(self, item: Item, now: datetime) -> list[Item]:
        """Those whose place the item takes and that are trusted no more than it, given up."""
        outranked: list[Item] = []
        visited = {item.id}
        while item.supersedes is not None and item.supersedes not in visited:
            trust = item.trust_level
            visited.add(item.supersedes)
            try:
                item = await self._store.item(self._tenant, item.supersedes)
            except NotFound:
                break
            if item.status != "deprecated" and _RANK[item.trust_level] <= _RANK[trust]:
                outranked.append(changed(item, StatusChange(to="deprecated"), now))
            item = replace(item, trust_level=trust)
        return outranked

    async def release(self, id: str, by: str, entries: Entries) -> Item:
        """
        Let an item out of quarantine: it is `working`, like a new one.

        Raises:
            NotFound
            NotInReview: it is not in quarantine.
            Conflict: somebody else changed it meanwhile.
        """
        item = await self._store.item(self._tenant, id)
        if item.status != "quarantined":
            raise NotInReview(id=id)
        now, note = utc(self._clock.now()), item.quarantine
        review: dict[str, Json] = {"by": by, "at": to_iso(now), "reasons": list[Json](note.reasons if note else ())}
        payload = {name: value for name, value in item.payload.items() if name != WHY}
        out = replace(item, status="working", payload={**payload, REVIEW: review}, updated_at=now)
        return await self._store.change_item(out, "quarantined", entries)

    async def space(self, id: str) -> Space:
        """Raises NotFound."""
        for space in await self._store.spaces(self._tenant, [id]):
            return space
        raise NotFound("There is no such knowledge space.", id=id)

    async def preflight(self, binding: Binding, may_read: MayRead | None = None) -> Preflight:
        """Whether what `binding` asks for is known already. Spaces that `may_read` refuses are as if they were not there."""
        key = coverage_key(binding.project, binding.namespace, binding.task_family, binding.subject)
        if not binding.enabled or binding.reuse_mode == "disabled":
            return Preflight(decision="disabled", reason="Reuse is switched off for this task.", coverage_key=key)
        spaces = [space for space in await self._bound(binding) if may_read is None or may_read(space)]
        items = await self._covering(binding, key, spaces)
        return decide(binding, key, items, tuple(space.id for space in spaces), utc(self._clock.now()))

    async def _bound(self, binding: Binding) -> list[Space]:
        if binding.read_spaces:
            return await self._store.spaces(self._tenant, binding.read_spaces)
        namespace = segment(binding.namespace or "") or "general"
        return [
            space
            for space in await self._store.spaces(self._tenant)
            if space.namespace == namespace
            and (space.scope == "global" or (space.scope == "project" and space.project == binding.project))
        ]

    async def _covering(self, binding: Binding, key: str, spaces: Sequence[Space]) -> list[Item]:
        """What the spaces hold under the key. In a space of the tenant a finding need not name a project."""
        shared = coverage_key(None, binding.namespace, binding.task_family, binding.subject)
        spaces_by_key = {key: [space.id for space in spaces]}
        spaces_by_key.setdefault(shared, [space.id for space in spaces if space.scope == "global"])
        items: list[Item] = []
        for covers, ids in spaces_by_key.items():
            if ids:
                items += await self._store.items(
                    self._tenant, spaces=ids, coverage_key=covers, statuses=_REUSABLE, limit=_LOOKED_AT
                )
        return items


def changed(item: Item, change: StatusChange, now: datetime) -> Item:
    """The item in its next status. Raises InvalidTransition, ReviewRequired."""
    require_transition(item, change)
    if change.to == "approved_default" and not (change.reviewer and change.approval):
        raise ReviewRequired
    expires = change.freshness_expires_at
    return replace(
        item,
        status=change.to,
        dedupe_key=None if change.to == "deprecated" else item.dedupe_key,
        last_seen_at=now if expires else item.last_seen_at,
        trust_level=item.trust_level if change.to == "deprecated" else change.to,
        reviewer=check_line("reviewer", change.reviewer) or item.reviewer,
        approval=check_line("approval", change.approval) or item.approval,
        freshness_expires_at=utc(expires) if expires else item.freshness_expires_at,
        updated_at=now,
    )


def require_transition(item: Item, change: StatusChange) -> None:
    """Raises InvalidTransition."""
    if change.to not in NEXT[item.status]:
        raise InvalidTransition(
            f"An item that is {item.status} cannot become {change.to}.", status=item.status, to=change.to
        )


def decide(binding: Binding, key: str, candidates: Sequence[Item], spaces: tuple[str, ...], now: datetime) -> Preflight:
    """What to do with the items under a key. A trust floor of `working` counts as `promoted`."""
    floor = max(_RANK[binding.trust_floor], _RANK["promoted"])
    trusted = [item for item in candidates if item.status in _REUSABLE and _RANK[item.trust_level] >= floor]
    if not trusted:
        reason = (
            f"What is known is trusted less than {binding.trust_floor}." if candidates else "Nothing is known about this yet."
        )  # fmt: skip
        return Preflight(decision="no_prior_knowledge", reason=reason, coverage_key=key, spaces=spaces)
    fresh = [item for item in trusted if is_fresh(item, binding.freshness, now)]
    if not fresh:
        reason = "What is known is out of date. Find it out anew, then promote what you find."
        items = best(trusted)
        return Preflight(decision="refresh_required", reason=reason, coverage_key=key, items=items, spaces=spaces)
    items = best(fresh)
    approved = items[0].trust_level == "approved_default"
    return Preflight(
        decision="reuse_approved_default" if approved else "reuse_promoted",
        reason="A reviewer approved what is known as the default." if approved else "What is known was promoted and is fresh.",
        coverage_key=key,
        items=items,
        spaces=spaces,
        context=knowledge_block(items),
    )  # fmt: skip


def is_fresh(item: Item, freshness: timedelta | None, now: datetime) -> bool:
    """By the item's own expiry, else by its age since it was last changed or seen, else always."""
    if item.freshness_expires_at is not None:
        return item.freshness_expires_at > now
    return freshness is None or now - max(item.updated_at, item.last_seen_at) <= freshness


def best(items: Sequence[Item]) -> tuple[Item, ...]:
    """The first three: the most trusted, then those with the latest expiry of their own, then by title."""

    def order(item: Item) -> tuple[int, float, str, str]:
        expires = item.freshness_expires_at
        return -_RANK[item.trust_level], -expires.timestamp() if expires else 0.0, item.title, item.id

    return tuple(sorted(items, key=order)[:SHOWN])


def knowledge_block(items: Sequence[Item]) -> str:
    """The `<knowledge_context>` block. What the items say cannot end it, nor pose as anything else."""
    if not items:
        return ""
    return "\n".join([OPEN, POLICY, *(_line_of(item) for item in items), CLOSE])


def coverage_key(project: str | None, namespace: str | None, task_family: str | None, subject: str | None) -> str:
    """What a finding is about, in one line that is the same for every spelling of it."""
    return "::".join(
        (
            segment(project or "") or "unknown-project",
            segment(namespace or "") or "general",
            segment(task_family or "") or "general",
            segment(subject or "", MAX_SUBJECT) or "unspecified",
        )
    )


def read_coverage_key(text: str) -> str:
    """A coverage key as somebody wrote it, in its normal form. Raises InvalidInput."""
    parts = text.split("::")
    if len(parts) != 4:
        raise InvalidInput("A coverage key is project::namespace::task_family::subject.")
    return coverage_key(*parts)


def segment(text: str, most: int = MAX_SEGMENT) -> str:
    """Small letters and digits of any script with single hyphens between them."""
    return _APART.sub("-", normal_form(text).casefold()).strip("-")[:most].rstrip("-")


def _line_of(item: Item) -> str:
    if not item.summary:
        return entry(f"{_label(item)} ", item.title)
    return entry(f"{_label(item)} **{name(item.title)}**: ", item.summary)


def _label(item: Item) -> str:
    until = f", fresh until {item.freshness_expires_at:%Y-%m-%d}" if item.freshness_expires_at else ""
    return f"[id {name(item.id)}, {name(item.item_type)}, trust {item.trust_level}{until}]"


def _cleaned(finding: NewFinding) -> tuple[str, str, dict[str, Json]]:
    """Title, summary and payload without their secrets; the payload says how many were taken out."""
    if len(finding.summary) > MAX_SUMMARY:
        raise InvalidInput(f"A summary has at most {MAX_SUMMARY:,} characters. Keep the rest as an artifact.")
    title = _line("title", finding.title)
    # Scrubbed together with the payload, so that the secrets of both are counted together.
    text, payload = clean(f"{title}\n{finding.summary}", finding.payload)
    title, _, summary = text.partition("\n")
    return title, summary.strip(), payload


def _apart(item: Item, finding: NewFinding) -> Item:
    """In quarantine, under a dedupe key of its own: it must not block an honest finding with the same key."""
    why: dict[str, Json] = {"reasons": list[Json](finding.against), "at": to_iso(item.created_at)}
    if finding.sentence is not None:
        why["sentence"] = finding.sentence
    key = _same("quarantine", item.dedupe_key or "", item.title, item.summary)
    return replace(item, status="quarantined", dedupe_key=key, payload={**item.payload, WHY: why})


def _line(what: str, text: str) -> str:
    line = " ".join(check_text(text).split())
    return check_label(what, line)


def _refs(what: str, refs: Sequence[str]) -> tuple[str, ...]:
    if len(refs) > MAX_REFS:
        raise InvalidInput(f"An item names at most {MAX_REFS} of each kind of reference.")
    return tuple(dict.fromkeys(check_line(what, ref) or "" for ref in refs if ref))


def _same(*parts: str) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
