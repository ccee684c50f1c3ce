"""What every use case shares: the store, the engines, and who may reach which scope and which record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from commonplace.errors import AlreadyAnswered, Forbidden, IdempotencyKeyReused, RecordNotFound, TooManyRequests
from commonplace.governance.access import exact_scopes, reaches_all, require_role, require_scopes, visible
from commonplace.governance.limits import caller_name
from commonplace.memory.asking import is_whole, resolve
from commonplace.service.account import Account, Idempotency, with_outcome
from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record, Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace.governance.limits import RateLimits
    from commonplace.memory.context import Charge
    from commonplace.ports.clock import Clock
    from commonplace.ports.journal import IdempotentReply
    from commonplace.ports.models import LanguageModel
    from commonplace.ports.store import Store
    from commonplace.service.engines import EngineRoom, Engines
    from commonplace.service.read_journal import ReadJournal
    from commonplace.values.principal import Principal
    from commonplace.values.scope import Scope

MAX_KEY: Final = 255


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    store: Store
    clock: Clock
    room: EngineRoom
    model: LanguageModel | None = None
    """None: everything is done by rules."""
    limits: FloodLimits = STANDARD
    reads: ReadJournal | None = None
    """Rows of reads go through it, in groups. None: each read waits for its own."""
    queries: RateLimits | None = None
    """How much a caller may search for. None: as much as they like."""
    works_on_jobs: bool = True
    """False over a store that was made elsewhere: nobody here has asked for its jobs."""

    def engines(self, who: Principal) -> Engines:
        return self.room.of(who.tenant)

    def account(
        self,
        who: Principal,
        action: str,
        *,
        once: Idempotency | None = None,
        run: str | None = None,
        scope: Scope | None = None,
        record: str | None = None,
    ) -> Account:
        return Account(
            who=who,
            action=action,
            journal=self.store.journal,
            clock=self.clock,
            quotas=self.store.quotas,
            limits=self.limits,
            reads=self.reads,
            once=once,
            run=run,
            scope=scope,
            record=record,
        )

    def charge(self, who: Principal) -> Charge | None:
        """Told what a question of the caller's costs, it raises TooManyRequests if that is more than they may ask for now."""
        limits = self.queries
        if limits is None:
            return None

        def charge(cost: int) -> None:
            wait = limits.check(caller_name(who), "query", self.clock.now().timestamp(), cost)
            if wait is not None:
                raise TooManyRequests(
                    "This key has asked too much of too many scopes. Wait, ask a shorter question, or name the scope.",
                    tier="query",
                    retry_after=wait,
                )

        return charge

    async def flush_reads(self) -> None:
        """Before somebody reads the audit: rows of reads that wait are written."""
        if self.reads is not None:
            await self.reads.flush()

    # ---- what is in reach

    async def with_members(self, who: Principal, scopes: Iterable[Scope]) -> Principal:
        """
        The caller, knowing which of these scopes belong to them or are shared with them. A session that nobody has written
        to is everybody's to begin.
        """
        if who.scopes is not None or who.role == "admin":
            return who
        personal = {scope for scope in scopes if not who.reaches(scope)}
        if not personal:
            return who
        own_scopes = await self.store.members.among(who.tenant, who.subject, personal)
        return replace(who, member_of=who.member_of | own_scopes)

    async def with_every_scope(self, who: Principal) -> Principal:
        """The caller, knowing every scope that belongs to them or is shared with them."""
        return replace(who, member_of=await self.store.members.scopes_of(who.tenant, who.subject))

    async def require(self, who: Principal, *scopes: Scope) -> None:
        """Raises Forbidden: one of them is out of reach."""
        require_scopes(await self.with_members(who, scopes), scopes)

    async def readable(
        self, who: Principal, scopes: Sequence[Scope] | None, *, everyone: bool = False
    ) -> tuple[Scope, ...] | None:
        """
        The scopes to read: those asked for, all of which must be in reach; else those at home with the caller, or, for
        `everyone`, all that an admin reaches. None: all of the tenant.

        Raises:
            Forbidden: one that was named is out of reach, or everyone's are asked for by somebody below admin.
        """
        if scopes is not None:
            await self.require(who, *scopes)
            return tuple(scopes)
        if everyone:
            require_role(who, "admin")
            if reaches_all(who):
                return None
        own_scopes = exact_scopes(who)
        if own_scopes is not None:
            return own_scopes
        marks = await self.store.recall.marks(who.tenant, None)
        who = await self.with_every_scope(who)
        reads = who.reaches if everyone else who.is_at_home
        own_scopes = tuple(mark.scope for mark in marks if reads(mark.scope))
        # All of the tenant is quicker to search; what is begun meanwhile is nothing that an admin may not read.
        return None if len(own_scopes) == len(marks) and reaches_all(who) else own_scopes

    async def narrowed(self, who: Principal, filter: Filter) -> Filter:
        scopes = await self.readable(who, filter.scopes, everyone=filter.everyone)
        return replace(filter, scopes=scopes, everyone=False)

    async def reached(self, who: Principal, filter: Filter) -> Filter:
        """As `narrowed`; where no scope is named, all that the caller reaches: for who tends a memory, not for who asks it."""
        return await self.narrowed(who, replace(filter, everyone=who.role == "admin"))

    async def visible(self, who: Principal, versions: Sequence[Record]) -> list[Record]:
        """Those versions of a record that were in scopes the caller may read."""
        return visible(await self.with_members(who, {version.scope for version in versions}), versions)

    async def found(self, who: Principal, account: Account, id: str) -> Record:
        """
        The record as it stands, by its id or the beginning of it.

        Raises:
            RecordNotFound: there is none, or it is out of reach, which the audit tells apart and the caller cannot.
        """
        full = await self.resolved(who, id)
        account.record = full
        try:
            [record] = await self.store.records.get(who.tenant, [full])
        except RecordNotFound:
            raise RecordNotFound(ids=[full]) from None
        if not (await self.with_members(who, [record.scope])).reaches(record.scope):
            await account.note_denied(record.scope)
            raise RecordNotFound(ids=[full])
        account.scope = account.homes[full] = record.scope
        account.snapshots[full] = record
        return record

    async def resolved(self, who: Principal, id: str) -> str:
        """The id that begins so, of a record in reach: others complete nobody's beginning, nor make it ambiguous."""
        if is_whole(id) or reaches_all(who):
            return await resolve(self.store.records, who.tenant, id)
        among = Filter(scopes=await self.readable(who, None), states=ALL_STATES)
        return await resolve(self.store.records, who.tenant, id, among)

    async def require_good(self, who: Principal, action: str) -> None:
        """Before a job is done in somebody's name. Raises Forbidden: the key that asked for it opens nothing any more."""
        if who.key is None:
            return
        now = self.clock.now()
        async with self.account(who, action):
            if not any(key.id == who.key and key.is_good(now) for key in await self.store.keys.list_keys(who.tenant)):
                raise Forbidden("The key that asked for this was revoked or has expired. Ask anew with another.")

    # ---- requests that come twice

    async def answered(self, who: Principal, once: Idempotency | None) -> list[Written] | None:
        """
        What an earlier request under the same idempotency key wrote; None where there was none.

        Raises:
            IdempotencyKeyReused: the earlier one asked for something else.
            RecordNotFound: what it wrote was purged since.
        """
        if once is None:
            return None
        reply = await self.store.journal.reply(who.tenant, who.identity, once.key)
        return None if reply is None else await self._rewritten(who, once, reply)

    async def answered_meanwhile(self, who: Principal, once: Idempotency | None) -> list[Written]:
        """As above, where the store has just said that there is one."""
        results = await self.answered(who, once)
        if results is None:
            raise AlreadyAnswered
        return results

    async def _rewritten(self, who: Principal, once: Idempotency, reply: IdempotentReply) -> list[Written]:
        if reply.fingerprint != once.fingerprint:
            raise IdempotencyKeyReused
        results: list[Written] = []
        for id, version, outcome in reply.results:
            versions = await self.store.records.history(who.tenant, id)
            record = next((candidate for candidate in versions if candidate.version == version), None)
            if record is None:
                raise RecordNotFound(ids=[id])
            results.append(with_outcome(Written(record, outcome)))  # pyright: ignore[reportArgumentType] - one of ours, written by us
        return results
