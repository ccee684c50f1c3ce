"""Looking after the memory: what is in it, whether it is sound, how long things are kept, and the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from commonplace.errors import Forbidden, InvalidInput, NotFound, RecordNotFound
from commonplace.governance.access import reaches_all, require_operator, require_role
from commonplace.memory.indexing import check_embedders, reindex
from commonplace.ports.maintenance import Progress
from commonplace.service.account import Journaled
from commonplace.service.desk import Desk
from commonplace.service.seals import finding_of, seal_audit
from commonplace.values.audit import AuditPage, AuditQuery, AuditRow
from commonplace.values.principal import LOCAL, UNCLAIMED, Principal, is_unclaimed
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.scope import Scope
from commonplace.values.seal import SealState
from commonplace.values.upkeep import Finding, LimitsInForce, Rule, Stats, Upkeep

MAX_ROWS: Final = 1_000
SESSION_IDLE: Final = timedelta(days=30)
_SOON: Final = timedelta(days=7)
_SESSIONS: Final = 200
_KEEP_SESSIONS: Final = (
    "Pin what is to stay, or promote it; or set a rule of your own (`commonplace rules session --max-age 1y`) or session_days. What is "
    "deleted so, `commonplace undo` brings back."
)
_CLAIM: Final = (
    "Only admins read them, in {scope}. If you know whose they are, `commonplace share` that scope with them: the name of their --user, or "
    "key/<key id>."
)


class Keeping:
    """`session_idle`: after how long without a write session memory ends; None: never. `limits` are those of a daemon, to be told."""

    def __init__(
        self, desk: Desk, *, session_idle: timedelta | None = SESSION_IDLE, limits: LimitsInForce | None = None
    ) -> None:
        self._desk = desk
        self._session_idle = session_idle
        self._limits = limits

    async def stats(self, who: Principal, *, everyone: bool = False) -> Stats:
        """Of what is shared and the caller's own; `everyone`: of all in an admin's reach."""
        desk = self._desk
        stats = replace(await desk.store.maintenance.stats(who.tenant), limits=self._limits)
        async with desk.account(who, "store.stats") as account:
            scopes = await desk.readable(who, None, everyone=everyone)
            if everyone:
                await account.note_read(everyone=True)
        if scopes is None:
            return stats
        own_scopes = tuple(count for count in stats.scopes if count.scope in set(scopes))
        return replace(
            stats,
            records=await self._count(who, scopes, ALL_STATES),
            live=await self._count(who, scopes, frozenset({"live"})),
            deleted=await self._count(who, scopes, frozenset({"deleted"})),
            versions=None,
            passages=sum(count.passages for count in own_scopes),
            bytes=None,
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
                *await self._namesakes(who),
                *await self._unclaimed(who),
                finding_of(await desk.store.seals.verify(), counts=who.operator),
                *await self._ending_sessions(who),
                *([] if self._limits is None else [_limits_finding(self._limits)]),
            ]

    async def _namesakes(self, who: Principal) -> list[Finding]:
        """Keys that are called like a user of the gateway: whose the memory under that name is, an admin has to say."""
        keys, now = self._desk.store.keys, self._desk.clock.now()
        users = {user.id for user in await keys.users(who.tenant)}
        names = sorted(
            {key.name for key in await keys.list_keys(who.tenant) if key.user is None and key.is_good(now)} & users
        )
        advice = "If they are one person, make the key anew with --user. If they are not, nothing is to be done."
        return [
            Finding("persons", "warning", f"A key and a user of the gateway are both called {name!r:.80}.", advice)
            for name in names
        ]

    async def _unclaimed(self, who: Principal) -> list[Finding]:
        """Private notes from before whose name fits no one person, until an admin has shared them."""
        store, findings = self._desk.store, list[Finding]()
        for mark in await store.recall.marks(who.tenant, None):
            scope = mark.scope
            if not is_unclaimed(scope) or await store.members.members(who.tenant, scope):
                continue
            filter = Filter(scopes=(scope,), states=ALL_STATES - {"deleted"})
            if count := len(await store.recall.matching(who.tenant, filter)):
                message = f"{count:,} private notes of {scope.id.removeprefix(UNCLAIMED)!r:.80} are nobody's, or of several keys."
                findings.append(Finding("persons", "warning", message, _CLAIM.format(scope=scope)))
        return findings

    async def _ending_sessions(self, who: Principal) -> list[Finding]:
        """Which sessions of the tenant end within a week."""
        idle = self._session_idle
        if idle is None:
            return []
        soon = self._desk.clock.now() - idle + _SOON
        ending = await self._desk.store.maintenance.idle_sessions(soon, MAX_ROWS)
        count = sum(tenant == who.tenant for tenant, _ in ending)
        if not count:
            return []
        message = f"the memory of {count:,} sessions ends within {_SOON.days} days: nobody has written to them for long"
        return [Finding("sessions", "warning", message, _KEEP_SESSIONS)]

    async def end_sessions(self) -> int:
        """
        Delete what is in sessions that nobody has written to for long, of every tenant, but for what is pinned. How many records that
        were. For the daemon's own upkeep.
        """
        desk, idle, total = self._desk, self._session_idle, 0
        if idle is None:
            return 0
        while sessions := await desk.store.maintenance.idle_sessions(desk.clock.now() - idle, _SESSIONS):
            count = sum([await self._end_session(tenant, scope, idle) for tenant, scope in sessions])
            total += count
            if not count:
                break
        return total

    async def _end_session(self, tenant: str, scope: Scope, idle: timedelta) -> int:
        desk = self._desk
        who = Principal(subject=LOCAL, name="daemon", tenant=tenant, role="admin", operator=True, door="daemon")
        async with desk.store.maintenance.removal(), desk.account(who, "session.end", scope=scope) as account:
            hygiene = desk.engines(who).hygiene(Journaled(desk.store.records, account), who)
            entries = await hygiene.end_session(scope, idle)
            await account.note(records=sum(entry.records for entry in entries))
            return sum(entry.records for entry in entries)

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
        async with desk.store.maintenance.removal(), desk.account(who, "store.tidy") as account:
            _require_all(who)
            entries = (
                await desk.engines(who)
                .hygiene(Journaled(desk.store.records, account), who)
                .tidy(purge_after=purge_after)
            )
            await account.note(records=sum(entry.records for entry in entries))
        # A memory inside a program has no daemon that would.
        await seal_audit(desk)
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
            await desk.store.history.index_messages()
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
        """
        Rows of the tenant, newest first. Whoever does not reach every scope sees the rows about those they reach, and their own:
        of their own, a record out of reach looks like none at all.
        """
        desk = self._desk
        async with desk.account(who, "audit.read"):
            require_role(who, "reviewer")
            await desk.flush_reads()
            page = await desk.store.journal.audit(who.tenant, _with_denied(query), _checked(limit), cursor)
            caller = await desk.with_every_scope(who)
            rows = [as_seen_by(caller, row) for row in page.rows if _may_see(caller, row)]
            outcomes = query.outcomes
            return replace(page, rows=tuple(row for row in rows if not outcomes or row.outcome in outcomes))

    async def audit_seals(self, who: Principal, *, verify: bool = False, limit: int = 20) -> SealState:
        """The seals of the audit, newest first. `verify` hashes every row again. For the operator: they are of every tenant."""
        seals = self._desk.store.seals
        async with self._desk.account(who, "audit.seals"):
            require_operator(who)
            state = await seals.state(_checked(limit))
            if not verify:
                return state
            verified = await seals.verify()
            return replace(state, verified=True, broken=verified.broken, reason=verified.reason)

    async def audit_stream(self, who: Principal, query: AuditQuery) -> AsyncIterator[Sequence[AuditRow]]:
        """All rows that fit, newest first, a page at a time."""
        cursor: str | None = None
        while True:
            page = await self.audit(who, query, limit=MAX_ROWS, cursor=cursor)
            yield page.rows
            if (cursor := page.cursor) is None:
                return


def _limits_finding(limits: LimitsInForce) -> Finding:
    counts = {"reads": limits.reads, "writes": limits.writes, "prompts": limits.prompts}
    requests = ", ".join(f"{_many(count)} {name}" for name, count in counts.items())
    message = (
        f"in a minute a key may send {requests}, and ask for {_many(limits.query_cost)} words times scopes; a worker has "
        f"{_many(limits.connections)} connections and holds {limits.in_flight_bytes >> 20:,} MiB of requests; a body has "
        f"{limits.body_bytes >> 20:,} MiB, without a key {limits.anonymous_body_bytes >> 10:,} KiB"
    )
    return Finding("limits", "ok", message)


def _many(count: int | None) -> str:
    return "any number of" if count is None else f"at most {count:,}"


def _require_all(who: Principal) -> None:
    """What is kept, removed and found to be wrong is told of every scope."""
    require_role(who, "admin")
    if not reaches_all(who):
        raise Forbidden("Upkeep is for the whole tenant. This needs an admin's key that reaches every scope.")


def _may_see(who: Principal, row: AuditRow) -> bool:
    if reaches_all(who):
        return True
    return (row.scope is not None and who.reaches(row.scope)) or (row.key is not None and row.key == who.key)


def as_seen_by(who: Principal, row: AuditRow) -> AuditRow:
    """
    The row as `who` may see it. That something is out of their reach would tell that it is there, and where: to them it is a record, or
    a finding, that was not found, as if there were none.
    """
    if row.outcome != "denied" or "code" in row.details or reaches_all(who):
        return row
    if (row.scope is None and row.record is None) or (row.scope is not None and who.reaches(row.scope)):
        return row
    code = NotFound.code if row.record is None else RecordNotFound.code
    return replace(row, outcome="not_found", scope=None, details={**row.details, "code": code})


def _with_denied(query: AuditQuery) -> AuditQuery:
    """What is shown as not found may be kept as denied."""
    return replace(query, outcomes=(*query.outcomes, "denied")) if "not_found" in query.outcomes else query


def _checked(limit: int) -> int:
    if not 1 <= limit <= MAX_ROWS:
        raise InvalidInput(f"A page has 1 to {MAX_ROWS:,} rows.")
    return limit
