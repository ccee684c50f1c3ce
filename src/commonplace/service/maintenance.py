"""Looking after the memory: what is in it, whether it is sound, how long things are kept, and the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from commonplace.errors import Forbidden, InvalidInput
from commonplace.governance.access import reached_kinds, require_operator, require_role
from commonplace.memory.indexing import check_embedders, reindex
from commonplace.ports.maintenance import Progress
from commonplace.service.account import Journaled
from commonplace.service.desk import Desk
from commonplace.values.audit import AuditPage, AuditQuery, AuditRow
from commonplace.values.principal import Principal
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Finding, Rule, Stats, Upkeep

MAX_ROWS: Final = 1_000


class Keeping:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def stats(self, who: Principal) -> Stats:
        """Of the tenant, or of those of its scopes that the caller may read."""
        desk = self._desk
        stats = await desk.store.maintenance.stats(who.tenant)
        scopes = await desk.readable(who, None)
        if scopes is None:
            return stats
        own_scopes = tuple(count for count in stats.scopes if count.scope in set(scopes))
        return replace(
            stats,
            records=await self._count(who, scopes, ALL_STATES),
            live=await self._count(who, scopes, frozenset({"live"})),
            deleted=await self._count(who, scopes, frozenset({"deleted"})),
            versions=0,
            passages=sum(count.passages for count in own_scopes),
            bytes=0,
            scopes=own_scopes,
        )

    async def _count(self, who: Principal, scopes: Sequence[Scope], states: frozenset[str]) -> int:
        filter = Filter(scopes=tuple(scopes), states=states)  # pyright: ignore[reportArgumentType] - states of ours
        return len(await self._desk.store.recall.matching(who.tenant, filter))

    async def embedders(self) -> tuple[str, ...]:
        return tuple(embedder.name for embedder in self._desk.room.embedders)

    async def check(self, who: Principal) -> list[Finding]:
        desk = self._desk
        async with desk.account(who, "store.check"):
            _require_all(who)
            return [
                *await desk.store.maintenance.check(),
                *await check_embedders(desk.store.maintenance, desk.room.embedders),
            ]

    # ---- how long things are kept

    async def rules(self, who: Principal) -> list[Rule]:
        async with self._desk.account(who, "rule.list"):
            _require_all(who)
            return await self._desk.store.maintenance.rules(who.tenant)

    async def set_rule(self, who: Principal, rule: Rule) -> None:
        desk = self._desk
        async with desk.account(who, "rule.set") as account:
            _require_all(who)
            await desk.engines(who).hygiene(Journaled(desk.store.records, account), who).set_rule(rule)
            await account.note(rule=rule.scope)

    async def tidy(self, who: Principal, *, purge_after: timedelta | None = None) -> list[Upkeep]:
        desk = self._desk
        async with desk.account(who, "store.tidy") as account:
            _require_all(who)
            entries = (
                await desk.engines(who)
                .hygiene(Journaled(desk.store.records, account), who)
                .tidy(purge_after=purge_after)
            )
            await account.note(records=sum(entry.records for entry in entries))
            return entries

    async def upkeep_log(self, who: Principal, *, since: datetime | None = None, limit: int = 100) -> list[Upkeep]:
        async with self._desk.account(who, "store.log"):
            _require_all(who)
            return await self._desk.store.maintenance.read_log(who.tenant, since, _checked(limit))

    async def reindex(self, who: Principal, progress: Progress | None = None) -> int:
        """Make all words and vectors of every tenant anew."""
        desk = self._desk
        async with desk.account(who, "store.reindex") as account:
            require_operator(who)
            engines = desk.engines(who)
            count = await reindex(desk.store.maintenance, engines.preparer, who.tenant, progress)
            desk.room.forget_caches()
            detail = f"with {', '.join(await self.embedders()) or 'words only'}"
            entry = Upkeep(at=desk.clock.now(), action="reindexed", scope="all", records=count, detail=detail)
            await desk.store.maintenance.log(who.tenant, [entry])
            await account.note(texts=count)
            return count

    async def backup(self, who: Principal, target: Path, progress: Progress | None = None) -> None:
        """Write a copy of the whole store, every tenant, while others go on writing. For the operator."""
        async with self._desk.account(who, "store.backup") as account:
            require_operator(who)
            await self._desk.store.maintenance.backup(target, progress)
            await account.note()

    # ---- audit

    async def audit(
        self, who: Principal, query: AuditQuery, *, limit: int = 100, cursor: str | None = None
    ) -> AuditPage:
        """Rows of the tenant, newest first. A key that reaches some scopes only sees the rows about those, and its own."""
        desk = self._desk
        async with desk.account(who, "audit.read"):
            require_role(who, "reviewer")
            await desk.flush_reads()
            page = await desk.store.journal.audit(who.tenant, query, _checked(limit), cursor)
            return replace(page, rows=tuple(row for row in page.rows if _may_see(who, row)))

    async def audit_stream(self, who: Principal, query: AuditQuery) -> AsyncIterator[Sequence[AuditRow]]:
        """All rows that fit, newest first, a page at a time."""
        cursor: str | None = None
        while True:
            page = await self.audit(who, query, limit=MAX_ROWS, cursor=cursor)
            yield page.rows
            if (cursor := page.cursor) is None:
                return


def _require_all(who: Principal) -> None:
    """What is kept, removed and found to be wrong is told of every scope."""
    require_role(who, "admin")
    if not reached_kinds(who):
        raise Forbidden("Upkeep is for the whole tenant. This needs an admin's key that reaches every scope.")


def _may_see(who: Principal, row: AuditRow) -> bool:
    if who.scopes is None:
        return True
    return (row.scope is not None and who.reaches(row.scope)) or (row.key is not None and row.key == who.key)


def _checked(limit: int) -> int:
    if not 1 <= limit <= MAX_ROWS:
        raise InvalidInput(f"A page has 1 to {MAX_ROWS:,} rows.")
    return limit
