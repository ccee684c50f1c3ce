"""
Search at the governed door: by words, in the tiers asked for, under a budget where there is one.

A question that asks for everything is refused. Hits are ordered by BM25 and nothing else; their score b / (1 + b) lies
between 0 and 1. Where there is room left, the newest records that hold the question letter by letter follow, with a low
fixed score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from commonplace.doors.tandem.partitions import ANYWHERE, Place, entered
from commonplace.errors import BudgetExhausted, Forbidden
from commonplace.governance.access import reached_kinds
from commonplace.governance.budgets import (
    ReplyHit,
    RetrievalGrant,
    answering,
    asking,
    check_question,
    grant_for,
    is_exhausted,
    trim,
)
from commonplace.governance.capability import STORED, Rights, reading
from commonplace.service.desk import Desk
from commonplace.service.recall import query_hash
from commonplace.values.principal import Principal, Tier
from commonplace.values.query import Filter, Hit, Query, Why
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope

MOST: Final = 100
FALLBACK: Final = 0.25
_LOOKED_AT: Final = 2_000
_PAGE: Final = 200
_AGAIN: Final = 3
_WORDS_ALONE: Final = {"session": 0.0, "before": 0.0, "after": 0.0, "recency": 0.0, "pin": 0.0, "importance": 0.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a retrieval grant says of where it holds and of the records themselves. Empty and None: nothing."""

    org: str | None = None
    workspace: str | None = None
    classes: frozenset[str] = frozenset()
    bindings: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()

    def require(self, held: Rights) -> None:
        here = held.partition
        if self.org not in (None, here.org) or self.workspace not in (None, here.workspace):
            raise Forbidden("The retrieval grant is for another tenant.")

    def allow(self, record: Record) -> bool:
        told = record.metadata
        asked = (
            (self.classes, told.get("classification", "internal")),
            (self.bindings, told.get("source_binding_id")),
            (self.objects, told.get("source_object_id")),
        )
        return all(not wanted or (isinstance(value, str) and value in wanted) for wanted, value in asked)


NO_LIMITS: Final = Limits()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question. `tiers` empty and no project, no capability: whatever the caller may read."""

    text: str
    place: Place = ANYWHERE
    tiers: tuple[Tier, ...] = ()
    tags: tuple[str, ...] = ()
    limit: int = 8
    grant: RetrievalGrant | None = None
    limits: Limits = NO_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What was found, as much of it as may be told, and in which tiers. `left_out` did not fit the budget."""

    shown: tuple[ReplyHit, ...]
    used: tuple[Tier, ...]
    blocked: tuple[Tier, ...]
    audit_id: str
    left_out: int = 0


class Retrieval:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, who: Principal, asked: Asked) -> Answered:
        """
        Raises:
            CapabilityExpired, CapabilityMismatch, Forbidden
            QueryTooBroad: it asks for everything.
            BudgetExhausted: no more may be told in the window that is running.
            InvalidQuery
        """
        desk = self._desk
        async with desk.account(who, "record.search") as account:
            account.details["query"] = query_hash(asked.text)
            now = desk.clock.now()
            held = entered(account, asked.place, now)
            check_question(asked.text)
            asked.limits.require(held)
            grant = grant_for(held.subject, asked.grant, now, project=held.partition.project)
            if grant is not None:
                await self._may_ask(held, grant)
            filters, used, blocked = await self._where(held, asked)
            hits = await self._found(held, asked, filters)
            shown, left_out = tuple(ReplyHit(hit, hit.record.text) for hit in hits), 0
            if grant is not None:
                shown, left_out = await self._within(held, grant, hits)
            ids: list[Json] = [one.hit.record.id for one in shown]
            tiers: list[Json] = list(used)
            row = await account.note(ids=ids, tiers=tiers)
            return Answered(shown=shown, used=used, blocked=blocked, audit_id=row.id, left_out=left_out)

    # ---- where to look

    async def _where(self, held: Rights, asked: Asked) -> tuple[list[Filter], tuple[Tier, ...], tuple[Tier, ...]]:
        """What counts, one of these or the other; the tiers that are looked in, and those that are out of reach."""
        place, plain = asked.place, Filter(tags=asked.tags)
        if asked.tiers or place.project is not None or place.capability is not None:
            found = reading(held, asked.tiers)
            scopes = tuple(found.scopes.values()) + ((found.private,) if found.private else ())
            return [replace(plain, scopes=scopes)], tuple(found.scopes), found.blocked
        readable = await self._desk.readable(held.who, None)
        if place.session is None:
            return [replace(plain, scopes=readable)], _tiers(held, readable), ()
        # What was said in a session may lie in its own scope, or with a person or a project.
        filters = [replace(plain, scopes=readable, sessions=(place.session,))]
        own = Scope("session", place.session)
        if held.who.reaches(own):
            filters.append(replace(plain, scopes=(own,)))
        return filters, ("session",), ()

    # ---- what is there

    async def _found(self, held: Rights, asked: Asked, filters: Sequence[Filter]) -> list[Hit]:
        narrowed = asked.limits != NO_LIMITS
        hits: dict[str, Hit] = {}
        for filter in filters:
            query = Query(
                text=asked.text,
                filter=filter,
                limit=MOST if narrowed else asked.limit,
                mode="words",
                weights=_WORDS_ALONE,
            )
            for hit in await self._desk.engines(held.who).recall.search(query):
                known = hits.get(hit.record.id)
                if asked.limits.allow(hit.record) and (known is None or known.why.bm25 < hit.why.bm25):
                    hits[hit.record.id] = replace(hit, score=hit.why.bm25 / (1.0 + hit.why.bm25))
        best = sorted(hits.values(), key=lambda hit: -hit.score)[: asked.limit]
        if len(best) < asked.limit:
            best += await self._literally(held, asked, filters, known=set(hits))
        return best[: asked.limit]

    async def _literally(self, held: Rights, asked: Asked, filters: Sequence[Filter], known: set[str]) -> list[Hit]:
        """Records that hold the question letter by letter, newest first, among the newest there are."""
        text = asked.text.strip().casefold()
        found: dict[str, Record] = {}
        for filter in filters:
            cursor: str | None = None
            for _ in range(_LOOKED_AT // _PAGE):
                page = await self._desk.store.records.find(held.who.tenant, filter, "newest", _PAGE, cursor)
                for record in page.records:
                    if record.id not in known and text in record.text.casefold() and asked.limits.allow(record):
                        found[record.id] = record
                cursor = page.cursor
                if cursor is None or len(found) >= asked.limit:
                    break
        newest = sorted(found.values(), key=lambda record: (record.updated_at, record.id), reverse=True)
        return [Hit(record, FALLBACK, Why({}, (), 0, len(record.text))) for record in newest]

    # ---- how much of it

    async def _may_ask(self, held: Rights, grant: RetrievalGrant) -> None:
        quotas, tenant, price = self._desk.store.quotas, held.who.tenant, asking(grant)
        if not await quotas.spend(tenant, price.name, price.window, price.amounts, price.limits):
            raise _exhausted(grant)
        if is_exhausted(grant, await quotas.spent(tenant, price.name, price.window)):
            raise _exhausted(grant)

    async def _within(
        self, held: Rights, grant: RetrievalGrant, hits: Sequence[Hit]
    ) -> tuple[tuple[ReplyHit, ...], int]:
        """As many hits as there is budget for, paid for."""
        quotas, tenant = self._desk.store.quotas, held.who.tenant
        for _ in range(_AGAIN):
            spent = await quotas.spent(tenant, asking(grant).name, grant.budget.window)
            trimmed = trim(hits, grant, spent, self._desk.room.count)
            if not trimmed.hits:
                break
            price = answering(grant, trimmed)
            if await quotas.spend(tenant, price.name, price.window, price.amounts, price.limits):
                return trimmed.hits, trimmed.left_out
        if hits:
            raise _exhausted(grant)
        return (), 0


def _exhausted(grant: RetrievalGrant) -> BudgetExhausted:
    return BudgetExhausted(retry_after=grant.budget.window.total_seconds())


def _tiers(held: Rights, readable: tuple[Scope, ...] | None) -> tuple[Tier, ...]:
    """The tiers that a search in all that is readable looks in."""
    if readable is None or reached_kinds(held.who):
        return STORED
    kinds = {scope.kind for scope in readable}
    reached = {"session": "session" in kinds, "project": "workspace" in kinds, "global": "global" in kinds}
    return tuple(tier for tier in STORED if reached[tier])
