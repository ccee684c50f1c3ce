"""What every use case shares: the store, the engines, and who may reach which scope and which record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from commonplace.errors import AlreadyAnswered, Forbidden, IdempotencyKeyReused, RecordNotFound
from commonplace.governance.access import exact_scopes, reached_kinds, require_scopes
from commonplace.memory.asking import is_whole, resolve
from commonplace.service.account import Account, Idempotency
from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record, Written

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    async def flush_reads(self) -> None:
        """Before somebody reads the audit: rows of reads that wait are written."""
        if self.reads is not None:
            await self.reads.flush()

    # ---- what is in reach

    async def readable(self, who: Principal, scopes: Sequence[Scope] | None) -> tuple[Scope, ...] | None:
        """
        The scopes to read: those asked for, all of which must be in reach, or every one in reach (None: all of the tenant).

        Raises:
            Forbidden: one that was named is out of reach.
        """
        if scopes is not None:
            require_scopes(who, scopes)
            return tuple(scopes)
        if reached_kinds(who):
            return None
        own_scopes = exact_scopes(who)
        if own_scopes is not None:
            return own_scopes
        marks = await self.store.recall.marks(who.tenant, None)
        return tuple(mark.scope for mark in marks if who.reaches(mark.scope))

    async def narrowed(self, who: Principal, filter: Filter) -> Filter:
        return replace(filter, scopes=await self.readable(who, filter.scopes))

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
        if not who.reaches(record.scope):
            await account.note("denied")
            raise RecordNotFound(ids=[full])
        account.scope = account.homes[full] = record.scope
        account.snapshots[full] = record
        return record

    async def resolved(self, who: Principal, id: str) -> str:
        """The id that begins so, of a record in reach: others complete nobody's beginning, nor make it ambiguous."""
        if who.scopes is None or is_whole(id):
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
            results.append(Written(record, outcome))  # pyright: ignore[reportArgumentType] - one of ours, written by us
        return results
