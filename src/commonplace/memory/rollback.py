"""
Taking back what one source wrote.

Each record goes back to the last version that was not that source's, or is deleted where there is none. Both are further versions:
a rollback loses nothing and can itself be taken back. A record that somebody else has rewritten since is left as it is,
and so is one that somebody else has deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from commonplace.errors import Conflict, RecordNotFound
from commonplace.memory.prepare import Preparer, Told
from commonplace.ports.clock import Clock
from commonplace.ports.records import RecordStore
from commonplace.values.moment import utc
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import ChangeKind, Draft, Lineage, Record
from commonplace.values.review import Origin, RollbackStep

BATCH: Final = 200
_MARK: Final = "rollback "


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """From the version held to the next one: a tombstone, or what version `to` was."""

    held: Record
    next: Record
    to: int | None

    def step(self, why: str | None = None) -> RollbackStep:
        kind = "left" if why else "deleted" if self.to is None else "set_back"
        return RollbackStep(
            id=self.held.id, scope=str(self.held.scope), kind=kind, version=self.held.version, to=self.to, why=why
        )


def reason_of(id: str, reason: str) -> str:
    """What the versions that a rollback wrote say."""
    return f"{_MARK}{id}: {reason}"


def filter_of(origin: Origin) -> Filter:
    """Which records may be of that origin."""
    if origin.source is not None:
        return Filter(sources=(origin.source,), states=ALL_STATES)
    if origin.session is not None:
        return Filter(sessions=(origin.session,), states=ALL_STATES)
    if origin.actor is not None:
        return Filter(told_by=origin.actor, states=ALL_STATES)
    return Filter(sources=("file",), states=ALL_STATES)


class Rollback:
    def __init__(self, store: RecordStore, preparer: Preparer, clock: Clock, tenant: str, actor: str) -> None:
        self._store = store
        self._preparer = preparer
        self._clock = clock
        self._tenant = tenant
        self._actor = actor

    # ---- what is to be done

    async def plan(self, origin: Origin, wanted: Filter, reason: str) -> tuple[list[Move], list[Lineage]]:
        """The moves, and the lives they were made from."""
        lives: list[Lineage] = []
        after: str | None = None
        while page := await self._store.lineages(self._tenant, wanted, after, BATCH):
            lives += page
            after = page[-1].versions[-1].id
        moves = [move for life in lives if (move := self._move(life.versions, origin, reason)) is not None]
        gone = {move.held.id: move for move in moves if move.to is None}
        moves += await self._before(gone, {move.held.id for move in moves}, reason)
        freed = {move.held.superseded_by for move in moves if move.next.superseded_by is None}
        # A key goes back to the record that had it before: whoever took it over gives it up first.
        moves = [
            replace(move, next=replace(move.next, key=None)) if move.to is None and move.held.id in freed else move
            for move in moves
        ]
        return sorted(moves, key=lambda move: move.next.key is not None), lives

    def _move(self, versions: Sequence[Record], origin: Origin, reason: str) -> Move | None:
        theirs = _theirs(versions, origin)
        held = versions[-1]
        acts = origin.actor is not None or origin.rollback is not None
        if not theirs[-1] or (held.deleted_at is not None and not (acts and _made(held, origin))):
            return None
        kept = [version for version, tainted in zip(versions, theirs, strict=True) if not tainted]
        if kept:
            return self._set_back(held, kept[-1], reason)
        return None if held.deleted_at is not None else self._delete(held, reason)

    async def _before(self, gone: dict[str, Move], known: set[str], reason: str) -> list[Move]:
        """What the records that go had superseded stands again."""
        scopes = tuple(dict.fromkeys(move.held.scope for move in gone.values()))
        if not scopes:
            return []
        wanted = Filter(scopes=scopes, states=frozenset({"superseded"}))
        found: list[Move] = []
        after: str | None = None
        while page := await self._store.lineages(self._tenant, wanted, after, BATCH):
            after = page[-1].versions[-1].id
            for life in page:
                held = life.versions[-1]
                if held.superseded_by in gone and held.id not in known:
                    stood = [version for version in life.versions if version.superseded_by is None]
                    found += [self._set_back(held, stood[-1], reason)] if stood else []
        return found

    def _delete(self, held: Record, reason: str) -> Move:
        return Move(held=held, next=self._next(held, held, "deleted", reason, deleted=True), to=None)

    def _set_back(self, held: Record, to: Record, reason: str) -> Move:
        return Move(held=held, next=self._next(held, to, "restored", reason), to=to.version)

    def _next(self, held: Record, content: Record, change: ChangeKind, reason: str, *, deleted: bool = False) -> Record:
        now = max(utc(self._clock.now()), held.updated_at)
        return replace(
            content,
            version=held.version + 1,
            updated_at=now,
            deleted_at=now if deleted else content.deleted_at,
            change=change,
            actor=self._actor,
            reason=reason,
            restores=None if deleted else content.version,
        )

    # ---- doing it

    async def apply(self, moves: Sequence[Move]) -> list[RollbackStep]:
        """Each batch whole or not at all; where one of its records does not fit, all others alone."""
        steps: list[RollbackStep] = []
        for start in range(0, len(moves), BATCH):
            steps += await self._apply(moves[start : start + BATCH])
        return steps

    async def _apply(self, moves: Sequence[Move]) -> list[RollbackStep]:
        try:
            await self._store.revise(await self._drafts(moves))
        except (Conflict, RecordNotFound) as error:
            if len(moves) == 1:
                return [moves[0].step(error.code)]
            half = len(moves) // 2
            return [*await self._apply(moves[:half]), *await self._apply(moves[half:])]
        return [move.step() for move in moves]

    async def _drafts(self, moves: Sequence[Move]) -> list[Draft]:
        needy = [move for move in moves if move.to is not None]
        found = await self._preparer.passages([Told.by(move.next) for move in needy]) if needy else []
        passages = {move.held.id: made for move, made in zip(needy, found, strict=True)}
        return [
            Draft(record=move.next, passages=passages.get(move.held.id), expected=move.held.version) for move in moves
        ]


def _theirs(versions: Sequence[Record], origin: Origin) -> list[bool]:
    """Of each version, whether its content is of that origin: made by it, or carried over from one that was."""
    theirs: dict[int, bool] = {}
    before: Record | None = None
    for version in versions:
        if _made(version, origin) and (before is None or _says_new(before, version, origin)):
            is_theirs = True
        elif version.restores is not None:
            is_theirs = theirs.get(version.restores, False)
        else:
            is_theirs = before is not None and before.text == version.text and theirs[before.version]
        theirs[version.version] = is_theirs
        before = version
    return [theirs[version.version] for version in versions]


def _says_new(before: Record, version: Record, origin: Origin) -> bool:
    """A record keeps its source when somebody else pins it: that is no write of the source's. Of an actor every act counts."""
    if origin.actor is not None or origin.rollback is not None:
        return True
    return before.text != version.text or not _made(before, replace(origin, since=None))


def _made(version: Record, origin: Origin) -> bool:
    if origin.since is not None and version.updated_at < utc(origin.since):
        return False
    if origin.actor is not None:
        return origin.actor in (version.actor, version.speaker)
    if origin.rollback is not None:
        return (version.reason or "").startswith(f"{_MARK}{origin.rollback}:")
    if origin.imported is not None:
        return version.metadata.get("namespace") == origin.imported
    return (origin.source or origin.session) == (version.source if origin.source is not None else version.session)
