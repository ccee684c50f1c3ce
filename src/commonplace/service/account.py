"""
One request, accounted for: who did what, what it wrote, who is to hear of it.

`Journaled` is the store as a request's engines see it. What they write through it is kept together with the audit rows,
the events and the reply that the request's `Account` makes of it, in one transaction.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeVar

from commonplace.errors import (
    AlreadyAnswered,
    BudgetExhausted,
    CommonplaceError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    QueryTooBroad,
    RecordChanged,
    SecretRefused,
    StoreError,
    Unauthenticated,
)
from commonplace.ports.journal import Entries, IdempotentReply, Journal
from commonplace.values.audit import AuditGroup, AuditOutcome, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.member import SessionClaim
from commonplace.values.moment import new_id, nth_id
from commonplace.values.quarantine import is_quarantined, reasons_of
from commonplace.values.record import ChangeKind, Draft, Json, Lineage, Record, Salvage, Written
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from commonplace.ports.clock import Clock
    from commonplace.ports.quotas import Quotas
    from commonplace.ports.records import RecordStore
    from commonplace.service.read_journal import ReadJournal
    from commonplace.values.principal import Principal
    from commonplace.values.query import Filter, Order, Page
    from commonplace.values.upkeep import Purged

T = TypeVar("T")

REPLIES_KEPT: Final = timedelta(days=1)
_GROUP: Final = 100
_TOLD: Final[dict[ChangeKind, str]] = {"edited": "updated"}
_ENDINGS: Final[tuple[tuple[type[CommonplaceError], AuditOutcome], ...]] = (
    (QueryTooBroad, "blocked"),
    (BudgetExhausted, "budget_exhausted"),
    (Forbidden, "denied"),
    (Unauthenticated, "denied"),
    (NotFound, "not_found"),
    (SecretRefused, "refused"),
    (Conflict, "failed"),
    (InvalidInput, "failed"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Idempotency:
    """A request that may come twice and is to be done once: its idempotency key, and a hash of what it asks."""

    key: str
    fingerprint: bytes


@dataclass(kw_only=True, slots=True)
class Account:
    """
    Entered for the time of a request: an error that ends it leaves a row that says how. `details` are those of every row.
    `noted` tells whether something was kept already. `homes` are the scopes in which records stood when the request came: one
    that leaves, or is purged, is told of there. `snapshots` are the records as the request has read them: until it writes, its engines look
    at the same.
    """

    who: Principal
    action: str
    journal: Journal
    clock: Clock
    reads: ReadJournal | None = None
    """Rows of reads go there, if they are written in groups."""
    quotas: Quotas | None = None
    limits: FloodLimits = STANDARD
    once: Idempotency | None = None
    run: str | None = None
    scope: Scope | None = None
    record: str | None = None
    homes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    snapshots: dict[str, Record] = field(default_factory=dict[str, Record])
    details: dict[str, Json] = field(default_factory=dict[str, Json])
    noted: bool = False
    reviewed: bool = False
    """Somebody who may has approved what is written."""
    last: AuditRow | None = None
    """The row made last."""

    # ---- what is kept with a write

    def beside(self, results: Sequence[Written]) -> Entries:
        changed = [result.record for result in results if result.outcome != "unchanged"]
        reply = self.reply([(result.record.id, result.record.version, result.outcome) for result in results])
        rows = [
            self._together(self._written(alike[0]), [result.record.id for result in alike])
            for alike in _grouped(results, _kind_of_row)
        ]
        news: list[News | NewsGroup] = [
            _told_together(self._news(alike[0]), [record.id for record in alike])
            for alike in _grouped(changed, _kind_of_news)
        ]
        for record in changed:
            home = self.homes.get(record.id, record.scope)
            if home != record.scope:
                news.append(self.news("record.left", scope=home, data={"id": record.id}))
        claims = self.claims(result.record.scope for result in results)
        return Entries(audit=tuple(rows), events=tuple(news), reply=reply, claims=claims)

    def claims(self, scopes: Iterable[Scope]) -> tuple[SessionClaim, ...]:
        """
        The first who writes to a session, or to a room, owns it. Whoever reaches others' too takes none from them, and is not
        refused.
        """
        who = self.who
        sessions = dict.fromkeys(scope for scope in scopes if scope.kind in ("session", "channel"))
        return tuple(
            SessionClaim(
                tenant=who.tenant,
                scope=scope,
                subject=who.subject,
                since=self.clock.now(),
                news=self.news("scope.claimed", scope=scope, data={"subject": who.subject}),
                strict=who.role != "admin" and who.scopes is None,
            )
            for scope in sessions
        )

    def beside_purge(self, ids: Sequence[str]) -> Entries:
        rows = [self._together(self.row("ok", record=alike[0]), alike) for alike in _grouped(ids, lambda _: None)]
        homes = [(self._home(alike[0]), alike) for alike in _grouped(ids, self._home)]
        news = [
            _told_together(self.news("record.purged", scope=home, data={"id": alike[0]}, admins=home is None), alike)
            for home, alike in homes
        ]
        return Entries(audit=tuple(rows), events=tuple(news))

    def _home(self, id: str) -> Scope | None:
        return self.homes.get(id, self.scope)

    def _together(self, row: AuditRow, ids: Sequence[str]) -> AuditRow | AuditGroup:
        """A row for each of these records, kept as one."""
        if len(ids) == 1:
            return row
        self.last = replace(row, id=nth_id(row.id, 0), record=None)
        return AuditGroup(self.last, tuple(ids))

    def row(
        self,
        outcome: AuditOutcome,
        *,
        record: str | None = None,
        version: int | None = None,
        scope: Scope | None = None,
        details: Mapping[str, Json] | None = None,
    ) -> AuditRow:
        who, now = self.who, self.clock.now()
        self.last = AuditRow(
            id=new_id(now),
            at=now,
            tenant=who.tenant,
            actor=who.actor,
            action=self.action,
            outcome=outcome,
            record=record or self.record,
            version=version,
            scope=scope or self.scope,
            run=self.run,
            door=who.door,
            key=who.key,
            client=who.client,
            address=who.address,
            request=who.request,
            details={**self.details, **(details or {})},
        )
        return self.last

    def news(self, type: str, *, scope: Scope | None = None, data: Mapping[str, Json], admins: bool = False) -> News:  # noqa: A002
        who = self.who
        return News(
            type=type,
            tenant=who.tenant,
            at=self.clock.now(),
            scope=scope,
            actor=who.actor,
            client=who.client,
            admins=admins,
            data=data,
        )

    def reply(self, results: Sequence[tuple[str, int, str]]) -> IdempotentReply | None:
        if self.once is None:
            return None
        return IdempotentReply(
            tenant=self.who.tenant,
            owner=self.who.identity,
            key=self.once.key,
            fingerprint=self.once.fingerprint,
            expires_at=self.clock.now() + REPLIES_KEPT,
            results=tuple(results),
        )

    def _written(self, result: Written) -> AuditRow:
        record = result.record
        details: dict[str, Json] = {"change": record.change}
        if record.reason and self.who.door != "embedded":
            # A purge without a daemon leaves no trace in the file: there, the reason stands with the version alone.
            details["reason"] = _scrubbed(record.reason)
        if redactions := record.metadata.get("redactions"):
            details["redactions"] = redactions
        if is_quarantined(record):
            details["quarantine"] = list[Json](reasons_of(record))
        outcome = "unchanged" if result.outcome == "unchanged" else "ok"
        return self.row(outcome, record=record.id, version=record.version, scope=record.scope, details=details)

    def _news(self, record: Record) -> News:
        data: dict[str, Json] = {"id": record.id, "version": record.version, "kind": record.kind}
        return self.news(_type_of_news(record), scope=record.scope, data=data)

    # ---- what is kept without one

    async def note(self, outcome: AuditOutcome = "ok", **details: Json) -> AuditRow:
        """Leave one row, for what was only read, or what came to nothing."""
        row = self.row(outcome, details=details)
        await self.journal.note(Entries(audit=(row,)))
        self.noted = True
        return row

    async def note_denied(self, scope: Scope) -> None:
        """
        Leave the row of a record out of reach, in `scope`: for who reaches that. The caller, who reads their own rows, is told that
        there is none (`service.maintenance.as_seen_by`).
        """
        await self.journal.note(Entries(audit=(self.row("denied", scope=scope),)))
        self.noted = True

    async def note_read(self, **details: Json) -> None:
        """Leave the row of a read. Nothing waits for it to be in the store if rows of reads are written in groups."""
        await (self.reads or self.journal).note(Entries(audit=(self.row("ok", details=details),)))
        self.noted = True

    def wrote(self) -> None:
        """What was written is noted beside it; what was read before is no longer what is there."""
        self.noted = True
        self.snapshots.clear()

    async def note_unchanged(self, record: Record) -> None:
        """The record is as it was to become: nothing was written, and that is the answer."""
        if not self.noted:
            await self.journal.note(self.beside([Written(record, "unchanged")]))
            self.noted = True

    async def answer(self, record: Record, *, before: Record | None = None) -> Record:
        """The record for whoever asked for its change, with what became of that. `before` is the one that they named."""
        is_written = self.noted
        await self.note_unchanged(record)
        is_new = before is None or record.id != before.id
        return replace(record, outcome=("created" if is_new else "updated") if is_written else "unchanged")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, AlreadyAnswered) or not isinstance(error, CommonplaceError):
            return
        if self.last is not None and self.last.outcome == "denied":
            # Told already, and more truly: what the caller hears of is that nothing was found.
            return
        for ending, outcome in _ENDINGS:
            if isinstance(error, ending):
                # What went wrong counts, not that it could not be written down.
                with suppress(StoreError):
                    await self.note(outcome, code=error.code)
                return


def with_outcome(write: Written) -> Written:
    """The same, its record saying what became of it: as a caller is answered."""
    return Written(replace(write.record, outcome=write.outcome), write.outcome)


def _grouped(items: Sequence[T], kind: Callable[[T], Hashable]) -> Iterator[list[T]]:
    """Those of one kind together, in the order of the first; no group grows beyond what is read at once."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(kind(item), []).append(item)
    for group in groups.values():
        yield from (group[start : start + _GROUP] for start in range(0, len(group), _GROUP))


def _kind_of_row(result: Written) -> Hashable:
    """Rows of one kind differ in nothing but the record; one that says more about its record is of no other's kind."""
    record = result.record
    more = "redactions" in record.metadata or is_quarantined(record)
    alone = record.id if more else None
    return result.outcome == "unchanged", record.version, record.scope, record.change, record.reason, alone


def _kind_of_news(record: Record) -> Hashable:
    return _type_of_news(record), record.scope, record.version, record.kind


def _type_of_news(record: Record) -> str:
    if is_quarantined(record) and record.deleted_at is None:
        return "record.quarantined"
    return f"record.{_TOLD.get(record.change, record.change)}"


def _told_together(news: News, ids: Sequence[str]) -> News | NewsGroup:
    """News of each of these records, kept as one."""
    if len(ids) == 1:
        return news
    return NewsGroup(replace(news, data={name: value for name, value in news.data.items() if name != "id"}), tuple(ids))


def _scrubbed(text: str) -> str:
    # As with the guard: a search needs no pattern of a secret.
    from commonplace.text.scrub import scrub  # noqa: PLC0415

    return scrub(text).text


class Journaled:
    """Satisfies `RecordStore`: the store, guarded, with an account kept of what is written."""

    def __init__(self, store: RecordStore, account: Account) -> None:
        self._store = store
        self._account = account
        who = account.who
        # Its patterns take a while to load, and a search needs none of them.
        from commonplace.guard.guard import Guard  # noqa: PLC0415

        self._guard = Guard(
            store=self,
            clock=account.clock,
            tenant=who.tenant,
            actor=who.actor,
            reviews=who.is_at_least("reviewer") or account.reviewed,
            by_model=who.is_model,
            quotas=account.quotas,
            limits=account.limits,
        )

    async def put(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Written]:
        del beside
        results = await self._guard.put(drafts, partial(self._store.put, beside=self._account.beside))
        self._account.wrote()
        return results

    async def revise(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Record]:
        del beside
        try:
            revised = await self._guard.revise(drafts, partial(self._store.revise, beside=self._account.beside))
        except RecordChanged:
            # Another writer was first: the next attempt reads what that one left.
            self._account.snapshots.clear()
            raise
        self._account.wrote()
        return revised

    async def load(self, lineages: Sequence[Lineage], *, beside: object = None) -> list[Written]:
        del beside
        loaded = await self._guard.load(lineages, partial(self._store.load, beside=self._account.beside))
        self._account.wrote()
        return loaded

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: object = None) -> Purged:
        del beside
        purged = await self._store.purge(tenant, filters, beside=self._account.beside_purge)
        self._account.wrote()
        return purged

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        snapshots = self._account.snapshots
        return [snapshots[id] for id in ids] if snapshots.keys() >= {*ids} else await self._store.get(tenant, ids)

    async def history(self, tenant: str, id: str) -> list[Record]:
        return await self._store.history(tenant, id)

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        return await self._store.find(tenant, filter, order, limit, cursor)

    async def salvage(self, tenant: str, filter: Filter, after: str | None, limit: int) -> Salvage:
        return await self._store.salvage(tenant, filter, after, limit)

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        return await self._store.lineages(tenant, filter, after, limit)
