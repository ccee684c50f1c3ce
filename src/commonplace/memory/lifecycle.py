"""
What happens to a record after it was written: edit, pin, delete, undo, promote, demote, supersede, expire.

Each of these reads the version held, builds the next one and hands it to the store with the version it read, so that
the store decides between two writers. A caller who gave no `expected` meant the record as it is at that moment: when
another writer was first, the step is taken again from what that writer left. No version is ever changed or removed
here; undo writes a further version whose content is that of an earlier one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar, cast, get_args

from commonplace.errors import (
    Conflict,
    InvalidImportance,
    InvalidInput,
    NothingToUndo,
    RecordChanged,
    RecordNotFound,
    TrustedRecord,
)
from commonplace.memory.prepare import Preparer, Told
from commonplace.memory.validate import check_importance, check_key, check_label, check_metadata, check_tags
from commonplace.memory.write import clean
from commonplace.ports.clock import Clock
from commonplace.ports.records import RecordStore
from commonplace.values.changes import Changes, SuccessorFields
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, utc
from commonplace.values.record import ChangeKind, Draft, Json, Provenance, Record, Trust, Visibility
from commonplace.values.retry import Backoff, attempts
from commonplace.values.scope import Scope

ATTEMPTS: Final = 50
_BACKOFF: Final = Backoff(first=0.002, longest=0.05, jitter=(0.0, 1.0))
_T = TypeVar("_T")

_REVIEWED: Final[Mapping[Trust, int]] = {"human_approved": 2, "verified": 1}

# The content of a version: everything but what tells the versions of a record apart.
_ANEW: Final = {"change": "edited", "actor": None, "reason": None, "restores": None}


@dataclass(frozen=True, slots=True)
class _Step:
    """From the version held to the next one, new records written with it, and one that makes room for it."""

    held: Record
    next: Record
    born: tuple[Record, ...] = ()
    yields: Record | None = None


Plan = Callable[[], Awaitable[_Step]]


class Lifecycle:
    def __init__(
        self, store: RecordStore, preparer: Preparer, clock: Clock, tenant: str, actor: str | None = None
    ) -> None:
        self._store = store
        self._preparer = preparer
        self._clock = clock
        self._tenant = tenant
        self._actor = actor

    async def edit(
        self,
        id: str,
        changes: Changes,
        *,
        clear: Collection[str] = (),
        expected: int | None = None,
        reason: str | None = None,
        new_text_trust: Trust = "system_generated",
    ) -> Record:
        """
        Change what `changes` names and empty what `clear` names. Where nothing differs, nothing is written. Nobody has reviewed a new
        text: a label that says so becomes `new_text_trust`, unless `changes` names one.

        Raises:
            InvalidInput: a value that cannot be kept, or a field that cannot be emptied.
            SecretRefused: the new text holds what must never rest in memory.
            Conflict: the key is taken in the scope, or the record is deleted.
        """
        wanted = _checked(changes, clear)

        async def plan() -> _Step:
            held = await self._undeleted(id)
            changes = _with_trust(held, _cleaned(held, wanted), new_text_trust)
            if all(getattr(held, name) == value for name, value in changes.items()):
                return _Step(held, held)
            return _Step(held, self._next(held, "edited", reason, changes))

        return await self._take(plan, expected)

    async def pin(
        self, id: str, pinned: bool = True, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        async def plan() -> _Step:
            held = await self._undeleted(id)
            if held.pinned == pinned:
                return _Step(held, held)
            return _Step(held, self._next(held, "pinned" if pinned else "unpinned", reason, {"pinned": pinned}))

        return await self._take(plan, expected)

    async def delete(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Leave a tombstone, which undo lifts again. A deleted record stays as it is."""

        async def plan() -> _Step:
            held = await self._held(id)
            if held.deleted_at is not None:
                return _Step(held, held)
            return _Step(held, self._next(held, "deleted", reason, {"deleted_at": utc(self._clock.now())}))

        return await self._take(plan, expected)

    async def undo(
        self,
        id: str,
        *,
        expected: int | None = None,
        reason: str | None = None,
        check: Callable[[Sequence[Record]], None] | None = None,
    ) -> Record:
        """
        Bring back the content before the last change; again, the content before that one. Where the last change was to be
        superseded, the record that took the place is deleted, in the same moment. `check` looks at all versions first, and
        raises if they may not be gone back through.

        Raises:
            NothingToUndo: the content is that of the first version.
            Conflict: its key was taken by another record since.
        """

        async def plan() -> _Step:
            history = await self._store.history(self._tenant, id)
            if check is not None:
                check(history)
            versions = {record.version: record for record in history}
            held = versions[max(versions)]
            target = versions[_before(versions, held.version)]
            kept = {"version": held.version, "updated_at": held.updated_at}
            content = replace(target, **kept)
            heir = await self._heir(held) if target.superseded_by is None else None
            return _Step(held, self._next(content, "restored", reason, {"restores": target.version}), yields=heir)

        return await self._take(plan, expected)

    async def _heir(self, held: Record) -> Record | None:
        """The record that took this one's place, on its way out: deleted, and without the key that it took over."""
        if held.superseded_by is None:
            return None
        try:
            [heir] = await self._store.get(self._tenant, [held.superseded_by])
        except RecordNotFound:
            return None
        if heir.superseded_by is not None:
            return None
        gone: dict[str, object] = {"deleted_at": heir.deleted_at or utc(self._clock.now()), "key": None}
        return self._next(heir, "deleted", f"record {held.id} is restored", gone)

    async def promote(
        self,
        id: str,
        *,
        scope: Scope | None = None,
        expected: int | None = None,
        reason: str | None = None,
        trust: Trust | None = None,
        told: Mapping[str, Json] | None = None,
    ) -> Record:
        """
        Share a record, in its own scope or in the wider `scope`. It keeps its id. Its trust rises to `trust`, and never falls. `told`
        joins its metadata.

        Raises:
            SecretRefused: the strict scrub found what must not be shared.
            Conflict: the key is taken in `scope`, or the record is deleted or superseded.
        """

        async def plan() -> _Step:
            held = await self._undeleted(id)
            _refuse_superseded(held)
            text, metadata = clean(held.text, {**held.metadata, **(told or {})}, strict=True)
            changes: dict[str, object] = {
                "trust": _risen(held.trust, trust),
                "text": text,
                "metadata": metadata,
                "scope": scope or held.scope,
                "visibility": "shared",
                "demoted": False,
            }
            if all(getattr(held, name) == value for name, value in changes.items()):
                return _Step(held, held)
            return _Step(held, self._next(held, "promoted", reason, changes))

        return await self._take(plan, expected)

    async def demote(self, id: str, *, expected: int | None = None, reason: str | None = None) -> Record:
        """Keep a record to itself: private, and no longer searched."""

        async def plan() -> _Step:
            held = await self._undeleted(id)
            if held.demoted and held.visibility == "private":
                return _Step(held, held)
            return _Step(held, self._next(held, "demoted", reason, {"visibility": "private", "demoted": True}))

        return await self._take(plan, expected)

    async def supersede(
        self,
        id: str,
        text: str,
        fields: SuccessorFields | None = None,
        *,
        expected: int | None = None,
        reason: str | None = None,
        provenance: Provenance | None = None,
        new_text_trust: Trust = "system_generated",
    ) -> Record:
        """
        Write a new record that takes the place of this one, and answer it. The key goes over to it; the old record is
        kept, marked with its successor, and no longer searched. Both are written together or not at all. `provenance` is
        where the news came from, `new_text_trust` as in `edit`.

        Raises:
            Conflict: the record is deleted, or superseded already.
        """
        wanted = _successor_fields(text, fields or {})

        async def plan() -> _Step:
            held = await self._undeleted(id)
            _refuse_superseded(held)
            successor = self._successor(held, wanted, reason, new_text_trust)
            born = replace(successor, provenance=provenance or Provenance())
            freed: dict[str, object] = {"superseded_by": born.id}
            if held.key is not None and (born.scope, born.key) == (held.scope, held.key):
                freed["key"] = None
            return _Step(held, self._next(held, "superseded", reason, freed), (born,))

        return await self._take(plan, expected)

    async def expire(
        self, id: str, at: datetime | None = None, *, expected: int | None = None, reason: str | None = None
    ) -> Record:
        """Let a record be found until `at` (None: until now)."""

        async def plan() -> _Step:
            held = await self._undeleted(id)
            moment = utc(at or self._clock.now())
            if held.expires_at == moment:
                return _Step(held, held)
            return _Step(held, self._next(held, "expired", reason, {"expires_at": moment}))

        return await self._take(plan, expected)

    async def _held(self, id: str) -> Record:
        (record,) = await self._store.get(self._tenant, [id])
        return record

    async def _undeleted(self, id: str) -> Record:
        record = await self._held(id)
        if record.deleted_at is not None:
            raise Conflict(f"Record {id} is deleted. Undo that first: `commonplace undo {id}`.", id=id)
        return record

    def _next(self, held: Record, change: ChangeKind, reason: str | None, changes: dict[str, object]) -> Record:
        # The clock of this machine may be behind the one that wrote the version held.
        now = max(utc(self._clock.now()), held.updated_at)
        told = {**_ANEW, "change": change, "actor": self._actor, "reason": check_line("reason", reason)}
        return replace(held, version=held.version + 1, updated_at=now, **{**told, **changes})  # pyright: ignore[reportArgumentType]

    def _successor(self, held: Record, wanted: dict[str, object], reason: str | None, new_text_trust: Trust) -> Record:
        now = utc(self._clock.now())
        heir = Record(
            id=new_id(now),
            tenant=held.tenant,
            scope=held.scope,
            text=held.text,
            created_at=now,
            updated_at=now,
            kind=held.kind,
            key=held.key,
            source=held.source,
            tags=held.tags,
            metadata=held.metadata,
            pinned=held.pinned,
            importance=held.importance,
            trust=held.trust,
            visibility=held.visibility,
            actor=self._actor,
            reason=reason,
        )
        changes = _with_trust(held, _cleaned(held, wanted), new_text_trust)
        return replace(heir, **changes)  # pyright: ignore[reportArgumentType]

    async def _take(self, plan: Plan, expected: int | None) -> Record:
        # Many at once on one record: each takes a different moment's rest, and one gets through each time.
        async for attempt in attempts(ATTEMPTS, _BACKOFF):
            step = await plan()
            if expected is not None and step.held.version != expected:
                raise RecordChanged(id=step.held.id, expected=expected, held=step.held.version)
            if step.next is step.held:
                return step.held
            try:
                return await self._write(step)
            except RecordChanged:
                if expected is not None or attempt == ATTEMPTS:
                    raise
        raise RecordChanged

    async def _write(self, step: _Step) -> Record:
        needy = [record for record in (step.next, *step.born) if record is not step.next or _needs_passages(step)]
        found = await self._preparer.passages([Told.by(record) for record in needy]) if needy else []
        passages = dict(zip((record.id for record in needy), found, strict=True))
        drafts = [Draft(record=step.yields, expected=step.yields.version - 1)] if step.yields else []
        drafts.append(Draft(record=step.next, passages=passages.get(step.next.id), expected=step.held.version))
        drafts += [Draft(record=born, passages=passages[born.id], expected=0) for born in step.born]
        try:
            return (await self._store.revise(drafts))[-1]
        except (RecordChanged, TrustedRecord):
            raise
        except Conflict as conflict:
            taken = step.born[-1] if step.born else step.next
            raise Conflict(
                f"Another record in {taken.scope} has the key {taken.key!r} already. Give one of them another key, then "
                "try again.",
                id=taken.id,
                key=taken.key,
                scope=str(taken.scope),
            ) from conflict


async def bury(
    store: RecordStore,
    records: Sequence[Record],
    *,
    change: ChangeKind,
    now: datetime,
    actor: str | None,
    reason: str,
) -> int:
    """
    Leave tombstones for `records` as they were read, in one go. One that somebody changed meanwhile is left alone: what
    was decided about it no longer holds. Answers how many were buried.
    """
    moment = utc(now)
    drafts = [
        Draft(
            record=replace(
                record,
                version=record.version + 1,
                updated_at=max(moment, record.updated_at),
                deleted_at=moment,
                change=change,
                actor=actor,
                reason=reason,
                restores=None,
            ),
            expected=record.version,
        )
        for record in records
    ]
    if not drafts:
        return 0
    try:
        return len(await store.revise(drafts))
    except (RecordChanged, RecordNotFound):
        if len(records) == 1:
            return 0
    half = len(records) // 2
    parts = (records[:half], records[half:])
    return sum([await bury(store, part, change=change, now=now, actor=actor, reason=reason) for part in parts])


def _before(versions: dict[int, Record], version: int) -> int:
    """The version whose content stood before the one of `version`, seen through every undo in between."""
    origin = _origin(versions, version)
    if origin - 1 not in versions:
        raise NothingToUndo(id=versions[origin].id)
    return _origin(versions, origin - 1)


def _origin(versions: dict[int, Record], version: int) -> int:
    while (restored := versions[version].restores) is not None:
        version = restored
    return version


def _needs_passages(step: _Step) -> bool:
    moved = (Told.by(step.held), step.held.scope) != (Told.by(step.next), step.next.scope)
    return moved or (_searchable(step.next) and not _searchable(step.held))


def _searchable(record: Record) -> bool:
    return record.deleted_at is None and record.superseded_by is None and not record.demoted


def _risen(trust: Trust, approved: Trust | None) -> Trust:
    return approved if approved is not None and _REVIEWED.get(approved, 0) > _REVIEWED.get(trust, 0) else trust


def _refuse_superseded(record: Record) -> None:
    if record.superseded_by is not None:
        raise Conflict(
            f"Record {record.id} is superseded by {record.superseded_by}. Work with that one, or undo first.",
            id=record.id,
            superseded_by=record.superseded_by,
        )


def _with_trust(current: Record, changes: dict[str, object], new_text_trust: Trust) -> dict[str, object]:
    """Whoever reviewed the record has not seen the new text."""
    is_same = changes.get("text", current.text) == current.text
    if is_same or "trust" in changes or _REVIEWED.get(current.trust, 0) <= _REVIEWED.get(new_text_trust, 0):
        return changes
    return {**changes, "trust": new_text_trust}


def _cleaned(held: Record, wanted: dict[str, object]) -> dict[str, object]:
    """The fields wanted, the text without its secrets, and metadata that tells of this text's redactions only."""
    if not wanted.keys() & {"text", "metadata"}:
        return wanted
    metadata = cast(Mapping[str, Json], wanted.get("metadata", held.metadata))
    others = {name: value for name, value in metadata.items() if name != "redactions"}
    text, kept = clean(str(wanted.get("text", held.text)), others)
    return {**wanted, "text": text, "metadata": kept}


def _checked(changes: Changes, clear: Collection[str]) -> dict[str, object]:
    """The fields to change, as a record holds them."""
    if unknown := set(changes) - Changes.__optional_keys__:
        raise InvalidInput(f"An edit cannot change {', '.join(sorted(unknown))}.")
    if stuck := set(clear) - _EMPTY.keys():
        raise InvalidInput(f"An edit cannot empty {', '.join(sorted(stuck))}, only {', '.join(sorted(_EMPTY))}.")
    return {**_normal(dict(changes)), **{name: _EMPTY[name] for name in clear}}


def _successor_fields(text: str, fields: SuccessorFields) -> dict[str, object]:
    if unknown := set(fields) - SuccessorFields.__optional_keys__:
        raise InvalidInput(f"A successor cannot be given {', '.join(sorted(unknown))}.")
    return _normal({**fields, "text": text})


def _normal(given: dict[str, object]) -> dict[str, object]:
    return {name: _NORMAL[name](value) for name, value in given.items() if value is not None}


def _of(kind: type[_T], what: str, check: Callable[[_T], object]) -> Callable[[object], object]:
    def normal(value: object) -> object:
        if not isinstance(value, kind):
            raise InvalidInput(f"{value!r} is not {what}.")
        return check(value)

    return normal


def _importance(value: object) -> object:
    if not isinstance(value, int):
        raise InvalidImportance
    return check_importance(value)


def _tags(value: object) -> object:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput("Tags are a list of texts.")
    return check_tags(tuple(cast(Sequence[str], value)))


def _same(value: _T) -> _T:
    return value


def _one_of(choices: tuple[str, ...]) -> Callable[[object], object]:
    def normal(value: object) -> object:
        if value not in choices:
            raise InvalidInput(f"{value!r} is none of {', '.join(choices)}.")
        return value

    return normal


def _label(what: str) -> Callable[[object], object]:
    return _of(str, "text", lambda label: check_label(what, label))


_EMPTY: Final[dict[str, object]] = {
    "key": None,
    "at": None,
    "expires_at": None,
    "tags": (),
    "metadata": cast(object, {}),
}
_NORMAL: Final[dict[str, Callable[[object], object]]] = {
    "text": _of(str, "text", _same),
    "key": _of(str, "text", check_key),
    "kind": _label("kind"),
    "source": _label("source"),
    "session": _label("session"),
    "speaker": _label("speaker"),
    "tags": _tags,
    "metadata": _of(dict, "an object", lambda value: check_metadata(cast(dict[str, Json], value))),
    "pinned": _of(bool, "true or false", _same),
    "importance": _importance,
    "trust": _one_of(get_args(Trust)),
    "visibility": _one_of(get_args(Visibility)),
    "at": _of(datetime, "a time", utc),
    "expires_at": _of(datetime, "a time", utc),
    "scope": lambda value: Scope.parse(cast(Scope | str, value)),
    "position": _of(int, "a whole number", _same),
}
