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

from commonplace.doors.tandem.partitions import ANYWHERE, RequestPlace, entered
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
class GrantLimits:
    """What a retrieval grant says of where it holds and of the records themselves. Empty and None: nothing."""

    org: str | None = None
    workspace: str | None = None
    classes: frozenset[str] = frozenset()
    bindings: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()

    def require(self, rights: Rights) -> None:
        here = rights.partition
        if self.org not in (None, here.org) or self.workspace not in (None, here.workspace):
            raise Forbidden("The retrieval grant is for another tenant.")

    def allow(self, record: Record) -> bool:
        metadata = record.metadata
        conditions = (
            (self.classes, metadata.get("classification", "internal")),
            (self.bindings, metadata.get("source_binding_id")),
            (self.objects, metadata.get("source_object_id")),
        )
        return all(not choices or (isinstance(value, str) and value in choices) for choices, value in conditions)


NO_LIMITS: Final = GrantLimits()


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRequest:
    """A question. `tiers` empty and no project, no capability: whatever the caller may read."""

    text: str
    place: RequestPlace = ANYWHERE
    tiers: tuple[Tier, ...] = ()
    tags: tuple[str, ...] = ()
    limit: int = 8
    grant: RetrievalGrant | None = None
    limits: GrantLimits = NO_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchReport:
    """What was found, as much of it as may be told, and in which tiers. `left_out` did not fit the budget."""

    hits: tuple[ReplyHit, ...]
    used: tuple[Tier, ...]
    blocked: tuple[Tier, ...]
    audit_id: str
    left_out: int = 0


class Retrieval:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, who: Principal, request: SearchRequest) -> SearchReport:
        """
        Raises:
            CapabilityExpired, CapabilityMismatch, Forbidden
            QueryTooBroad: it asks for everything.
            BudgetExhausted: no more may be told in the window that is running.
            InvalidQuery
        """
        desk = self._desk
        async with desk.account(who, "record.search") as account:
            account.details["query"] = query_hash(request.text)
            now = desk.clock.now()
            rights = entered(account, request.place, now)
            check_question(request.text)
            request.limits.require(rights)
            grant = grant_for(rights.subject, request.grant, now, project=rights.partition.project)
            if grant is not None:
                await self._may_ask(rights, grant)
            filters, used, blocked = await self._where(rights, request)
            hits = await self._found(rights, request, filters)
            reply, left_out = tuple(ReplyHit(hit, hit.record.text) for hit in hits), 0
            if grant is not None:
                reply, left_out = await self._within(rights, grant, hits)
            ids: list[Json] = [item.hit.record.id for item in reply]
            tiers: list[Json] = list(used)
            row = await account.note(ids=ids, tiers=tiers)
            return SearchReport(hits=reply, used=used, blocked=blocked, audit_id=row.id, left_out=left_out)

    # ---- where to look

    async def _where(
        self, rights: Rights, request: SearchRequest
    ) -> tuple[list[Filter], tuple[Tier, ...], tuple[Tier, ...]]:
        """What counts, one of these or the other; the tiers that are looked in, and those that are out of reach."""
        place, plain = request.place, Filter(tags=request.tags)
        if request.tiers or place.project is not None or place.capability is not None:
            reach = reading(rights, request.tiers)
            scopes = tuple(reach.scopes.values()) + ((reach.private,) if reach.private else ())
            return [replace(plain, scopes=scopes)], tuple(reach.scopes), reach.blocked
        readable = await self._desk.readable(rights.who, None)
        if place.session is None:
            return [replace(plain, scopes=readable)], _tiers(rights, readable), ()
        # What was said in a session may lie in its own scope, or with a person or a project.
        filters = [replace(plain, scopes=readable, sessions=(place.session,))]
        own = Scope("session", place.session)
        if rights.who.reaches(own):
            filters.append(replace(plain, scopes=(own,)))
        return filters, ("session",), ()

    # ---- what is there

    async def _found(self, rights: Rights, request: SearchRequest, filters: Sequence[Filter]) -> list[Hit]:
        narrowed = request.limits != NO_LIMITS
        hits: dict[str, Hit] = {}
        for filter in filters:
            query = Query(
                text=request.text,
                filter=filter,
                limit=MOST if narrowed else request.limit,
                mode="words",
                weights=_WORDS_ALONE,
            )
            for hit in await self._desk.engines(rights.who).recall.search(query):
                previous = hits.get(hit.record.id)
                if request.limits.allow(hit.record) and (previous is None or previous.why.bm25 < hit.why.bm25):
                    hits[hit.record.id] = replace(hit, score=hit.why.bm25 / (1.0 + hit.why.bm25))
        best = sorted(hits.values(), key=lambda hit: -hit.score)[: request.limit]
        if len(best) < request.limit:
            best += await self._literally(rights, request, filters, except_ids=set(hits))
        return best[: request.limit]

    async def _literally(
        self, rights: Rights, request: SearchRequest, filters: Sequence[Filter], except_ids: set[str]
    ) -> list[Hit]:
        """Records that hold the question letter by letter, newest first, among the newest there are."""
        text = request.text.strip().casefold()
        matches: dict[str, Record] = {}
        for filter in filters:
            cursor: str | None = None
            for _ in range(_LOOKED_AT // _PAGE):
                page = await self._desk.store.records.find(rights.who.tenant, filter, "newest", _PAGE, cursor)
                for record in page.records:
                    if record.id not in except_ids and text in record.text.casefold() and request.limits.allow(record):
                        matches[record.id] = record
                cursor = page.cursor
                if cursor is None or len(matches) >= request.limit:
                    break
        newest = sorted(matches.values(), key=lambda record: (record.updated_at, record.id), reverse=True)
        return [Hit(record, FALLBACK, Why({}, (), 0, len(record.text))) for record in newest]

    # ---- how much of it

    async def _may_ask(self, rights: Rights, grant: RetrievalGrant) -> None:
        quotas, tenant, price = self._desk.store.quotas, rights.who.tenant, asking(grant)
        if not await quotas.spend(tenant, price.name, price.window, price.amounts, price.limits):
            raise _exhausted(grant)
        if is_exhausted(grant, await quotas.spent(tenant, price.name, price.window)):
            raise _exhausted(grant)

    async def _within(
        self, rights: Rights, grant: RetrievalGrant, hits: Sequence[Hit]
    ) -> tuple[tuple[ReplyHit, ...], int]:
        """As many hits as there is budget for, paid for."""
        quotas, tenant = self._desk.store.quotas, rights.who.tenant
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


def _tiers(rights: Rights, readable: tuple[Scope, ...] | None) -> tuple[Tier, ...]:
    """The tiers that a search in all that is readable looks in."""
    if readable is None or reached_kinds(rights.who):
        return STORED
    kinds = {scope.kind for scope in readable}
    reached = {"session": "session" in kinds, "project": "workspace" in kinds, "global": "global" in kinds}
    return tuple(tier for tier in STORED if reached[tier])
