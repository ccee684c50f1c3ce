"""
Keeping scopes as small as their rules say.

`tidy` leaves tombstones, which undo lifts: for records whose time is up, for those older than their scope's rule allows
(by their last write), and for the oldest beyond the number it allows. Pinned records are spared by every rule. Only a
caller who says after how long has tombstones purged, without a trace and without undo. Each action on a scope leaves a
line in the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeAlias

from commonplace.errors import InvalidInput
from commonplace.memory.lifecycle import bury
from commonplace.ports.clock import Clock
from commonplace.ports.maintenance import StoreMaintenance
from commonplace.ports.recall import RecallStore
from commonplace.ports.records import RecordStore
from commonplace.values.query import ALL_STATES, Filter, Order
from commonplace.values.record import ChangeKind, Record
from commonplace.values.scope import SCOPE_KINDS, Scope
from commonplace.values.upkeep import Action, Purged, Rule, Upkeep

BATCH: Final = 500
_FILES_STAY: Final = "deleted as long ago, but their files cannot be removed: `commonplace purge ID` names them"
_UNDELETED: Final = ALL_STATES - {"deleted"}
Remove: TypeAlias = Callable[[Sequence[Filter]], Awaitable[Purged]]


class KeptStore(Protocol):
    """The ports of a `Store` that it takes to keep it small."""

    @property
    def records(self) -> RecordStore: ...

    @property
    def recall(self) -> RecallStore: ...

    @property
    def maintenance(self) -> StoreMaintenance: ...


class Hygiene:
    def __init__(
        self,
        store: KeptStore,
        clock: Clock,
        tenant: str,
        actor: str | None = None,
        *,
        remove: Remove | None = None,
        records: RecordStore | None = None,
        batch: int = BATCH,
    ) -> None:
        """
        `remove` purges what fits, where more than the store's own rows must go, and spares what cannot go; `records` is written to instead of the
        store, where more than its rows must be kept.
        """
        self._store = store
        self._records: RecordStore = records or store.records
        self._clock = clock
        self._tenant = tenant
        self._actor = actor
        self._remove: Remove = remove or partial(store.records.purge, tenant)
        self._batch = batch

    async def rules(self) -> list[Rule]:
        return await self._store.maintenance.rules(self._tenant)

    async def set_rule(self, rule: Rule) -> None:
        """
        Keep `rule` for its scope, instead of the one before. One without limits lifts it.

        Raises:
            InvalidScope: the rule's scope is neither `kind:id` nor a kind.
            InvalidInput: a limit below zero.
        """
        if rule.scope not in SCOPE_KINDS:
            Scope.parse(rule.scope)
        if rule.max_records is not None and rule.max_records < 0:
            raise InvalidInput("A rule cannot keep fewer than 0 records.")
        if rule.max_age is not None and rule.max_age < timedelta(0):
            raise InvalidInput("A rule cannot keep records for less than no time.")
        await self._store.maintenance.set_rule(self._tenant, rule)

    async def tidy(self, *, purge_after: timedelta | None = None) -> list[Upkeep]:
        """
        Do what is due, and answer the lines it left in the log.

        `purge_after` removes tombstones that old for good; None, the default, never does.
        """
        if purge_after is not None and purge_after < timedelta(0):
            raise InvalidInput("Tombstones cannot be purged before they are there.")
        now = self._clock.now()
        entries = await self._expire(now)
        for scope, rule in await self._ruled():
            entries += await self._age_out(scope, rule, now)
            entries += await self._evict(scope, rule, now)
        if purge_after is not None:
            entries += await self._purge(now, purge_after)
        return entries

    async def end_session(self, scope: Scope, idle: timedelta) -> list[Upkeep]:
        """Delete what a session that was idle for so long still has, but for what is pinned; undo brings it back."""
        now, detail = self._clock.now(), f"not written to for {idle.days} days, after which session memory ends"
        count = 0
        async for records in self._pages(Filter(scopes=(scope,), pinned=False, states=_UNDELETED), "oldest"):
            count += await self._bury(records, "expired", now, detail)
        return await self._note(now, "aged_out", {scope: count}, detail)

    async def log(self, *, since: datetime | None = None, limit: int = 100) -> list[Upkeep]:
        return await self._store.maintenance.read_log(self._tenant, since, limit)

    async def _expire(self, now: datetime) -> list[Upkeep]:
        due: Counter[Scope] = Counter()
        async for records in self._pages(Filter(states=frozenset({"expired"})), "oldest"):
            for scope, group in _by_scope(records):
                due[scope] += await self._bury(group, "expired", now, "its time was up")
        return await self._note(now, "expired", due, "their time was up")

    async def _age_out(self, scope: Scope, rule: Rule, now: datetime) -> list[Upkeep]:
        if rule.max_age is None:
            return []
        told = f"not written to for {rule.max_age}, as the rule for {rule.scope} says"
        buried = 0
        wanted = Filter(scopes=(scope,), pinned=False, states=_UNDELETED)
        async for records in self._pages(wanted, "oldest"):
            due = [record for record in records if now - record.updated_at > rule.max_age]
            buried += await self._bury(due, "expired", now, told)
            if len(due) < len(records):
                break
        return await self._note(now, "aged_out", {scope: buried}, told)

    async def _evict(self, scope: Scope, rule: Rule, now: datetime) -> list[Upkeep]:
        if rule.max_records is None:
            return []
        over = len(await self._store.recall.matching(self._tenant, Filter(scopes=(scope,)))) - rule.max_records
        told = f"more than {rule.max_records}, the most that the rule for {rule.scope} keeps"
        buried = 0
        if over > 0:
            async for records in self._pages(Filter(scopes=(scope,), pinned=False), "oldest"):
                buried += await self._bury(records[: over - buried], "deleted", now, told)
                if buried >= over:
                    break
        return await self._note(now, "evicted", {scope: buried}, told)

    async def _purge(self, now: datetime, after: timedelta) -> list[Upkeep]:
        due: dict[str, Scope] = {}
        async for records in self._pages(Filter(states=frozenset({"deleted"})), "oldest"):
            for record in records:
                if record.deleted_at is not None and now - record.deleted_at > after:
                    due[record.id] = record.scope
        if not due:
            return []
        # In one go, since a store rewrites much of itself to leave no trace. Named by state too, so that one brought back
        # since it was read is spared.
        ids = tuple(due)
        parts = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
        await self._remove([Filter(ids=part, states=frozenset({"deleted"})) for part in parts])
        spared: Counter[Scope] = Counter()
        for part in parts:
            async for records in self._pages(Filter(ids=part, states=ALL_STATES), "oldest"):
                for record in records:
                    scope = due.pop(record.id)
                    spared.update([scope] if record.deleted_at is not None else [])
        entries = await self._note(now, "purged", Counter(due.values()), f"deleted more than {after} ago")
        return entries + await self._note(now, "spared", spared, _FILES_STAY)

    async def _ruled(self) -> list[tuple[Scope, Rule]]:
        """Each scope with the rule that holds for it: its own, else that of its kind."""
        rules = {rule.scope: rule for rule in await self.rules()}
        if not rules:
            return []
        scopes = [mark.scope for mark in await self._store.recall.marks(self._tenant, None)]
        found = [(scope, rules.get(str(scope)) or rules.get(scope.kind)) for scope in sorted(scopes)]
        return [(scope, rule) for scope, rule in found if rule is not None]

    async def _bury(self, records: Sequence[Record], change: ChangeKind, now: datetime, reason: str) -> int:
        return await bury(self._records, records, change=change, now=now, actor=self._actor, reason=reason)

    async def _note(self, now: datetime, action: Action, counts: dict[Scope, int], detail: str) -> list[Upkeep]:
        entries = [
            Upkeep(at=now, action=action, scope=str(scope), records=count, detail=detail)
            for scope, count in sorted(counts.items())
            if count
        ]
        if entries:
            await self._store.maintenance.log(self._tenant, entries)
        return entries

    async def _pages(self, filter: Filter, order: Order) -> AsyncIterator[tuple[Record, ...]]:
        cursor: str | None = None
        while True:
            page = await self._store.records.find(self._tenant, filter, order, self._batch, cursor)
            if page.records:
                yield page.records
            if page.cursor is None:
                return
            cursor = page.cursor


def _by_scope(records: Sequence[Record]) -> Iterator[tuple[Scope, list[Record]]]:
    groups: dict[Scope, list[Record]] = {}
    for record in records:
        groups.setdefault(record.scope, []).append(record)
    return iter(groups.items())
