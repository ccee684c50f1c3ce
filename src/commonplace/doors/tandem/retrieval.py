"""
Search at the governed door: by words, in the tiers asked for, under a budget where there is one.

What is searched is the subject's own, of these tiers and this project, and what is shared in the scopes of the tiers. Hits are
ordered by BM25 and nothing else; their score b / (1 + b) lies between 0 and 1. If there is room left, the newest records that
hold the question letter by letter follow, with a low fixed score.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from commonplace.doors.tandem.partitions import (
    ANY_RECORD,
    ANYWHERE,
    RecordConditions,
    RequestPlace,
    entered,
    is_anothers,
    is_in_place,
    tiers_in,
)
from commonplace.errors import BudgetExhausted, Forbidden
from commonplace.governance.budgets import (
    ReplyHit,
    RetrievalGrant,
    answering,
    asking,
    check_question,
    grant_for,
    is_channel,
    is_exhausted,
    trim,
)
from commonplace.governance.capability import STORED, ReadableTiers, Rights, goes_by, reading
from commonplace.service.desk import Desk
from commonplace.service.recall import query_hash
from commonplace.values.principal import Principal, Tier
from commonplace.values.query import Filter, Hit, Query, Why
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope

MOST: Final = 100
FALLBACK: Final = 0.25
_DEEPEST: Final = 1_000
_LOOKED_AT: Final = 2_000
_PAGE: Final = 200
_AGAIN: Final = 3
RecordTest: TypeAlias = Callable[[Record], bool]
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
    """A question. `tiers` empty and no project, no capability: whatever is at home with the caller."""

    text: str
    place: RequestPlace = ANYWHERE
    conditions: RecordConditions = ANY_RECORD
    tiers: tuple[Tier, ...] = ()
    tags: tuple[str, ...] = ()
    limit: int = 8
    grant: RetrievalGrant | None = None
    limits: GrantLimits = NO_LIMITS


@dataclass(frozen=True, slots=True)
class SearchPart:
    """Records to look among, and what those that count have to pass."""

    filter: Filter
    test: RecordTest


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
            QueryTooBroad: it asks for the memory as a whole, under a grant.
            BudgetExhausted: no more may be told in the window that is running.
            InvalidQuery
        """
        desk = self._desk
        async with desk.account(who, "record.search") as account:
            account.details["query"] = query_hash(request.text)
            rights = await entered(desk, account, request.place)
            request.limits.require(rights)
            grant = self._grant(rights, request)
            if grant is not None:
                check_question(request.text)
                await self._may_ask(rights, grant)
            parts, used, blocked = await self._where(rights, request)
            hits = await self._found(rights, request, parts)
            reply, left_out = tuple(ReplyHit(hit, hit.record.text) for hit in hits), 0
            if grant is not None:
                reply, left_out = await self._within(rights, grant, hits)
            ids: list[Json] = [item.hit.record.id for item in reply]
            tiers: list[Json] = list(used)
            row = await account.note(ids=ids, tiers=tiers)
            return SearchReport(hits=reply, used=used, blocked=blocked, audit_id=row.id, left_out=left_out)

    def _grant(self, rights: Rights, request: SearchRequest) -> RetrievalGrant | None:
        """What the subject recalls under. A key that speaks in a room may say so in its name. Raises Forbidden."""
        who, grant = rights.who, request.grant
        speaker = who.actor if is_channel(who.actor) else rights.subject
        if grant is not None and goes_by(who, grant.subject):
            grant = replace(grant, subject=speaker)
        return grant_for(speaker, grant, self._desk.clock.now(), project=rights.partition.project)

    # ---- where to look

    async def _where(
        self, rights: Rights, request: SearchRequest
    ) -> tuple[list[SearchPart], tuple[Tier, ...], tuple[Tier, ...]]:
        """What counts, one of these or the other; the tiers that are looked in, and those that are out of reach."""
        place, plain = request.place, Filter(tags=request.tags)
        person = _person(rights, request.conditions.user)
        test = partial(_counts, rights, replace(request.conditions, user=person), request.limits)
        if request.tiers or place.project is not None or place.capability is not None:
            reach = reading(rights if person is None else replace(rights, subject=person), request.tiers)
            scopes = (*reach.shared, *((reach.own,) if reach.own else ()))
            in_tiers = partial(_is_readable, rights, reach, test)
            return [SearchPart(replace(plain, scopes=scopes), in_tiers)], reach.tiers, reach.blocked
        readable = await self._desk.readable(rights.who, None)
        if readable is not None and person is not None and rights.who.reaches(theirs := Scope("user", person)):
            readable = tuple(dict.fromkeys([*readable, theirs]))
        places = [rights.own] if place.session is None else [rights.own, Scope("session", place.session)]
        own = [scope for scope in places if rights.who.reaches(scope)]
        used = STORED if readable is None else tiers_in([*readable, *own])
        if place.session is None:
            return [SearchPart(replace(plain, scopes=readable), test)], used, ()
        # What was said in a session may lie in its own scope, or with a person or a project.
        parts = [SearchPart(replace(plain, scopes=readable, sessions=(place.session,)), test)]
        parts += [SearchPart(replace(plain, scopes=(scope,)), test) for scope in own if scope.kind == "session"]
        return parts, used, ()

    # ---- what is there

    async def _found(self, rights: Rights, request: SearchRequest, parts: Sequence[SearchPart]) -> list[Hit]:
        hits: dict[str, Hit] = {}
        for part in parts:
            for hit in await self._by_words(rights, request, part):
                previous = hits.get(hit.record.id)
                if previous is None or previous.why.bm25 < hit.why.bm25:
                    hits[hit.record.id] = replace(hit, score=hit.why.bm25 / (1.0 + hit.why.bm25))
        best = [_narrowed(hit, hits) for hit in sorted(hits.values(), key=lambda hit: -hit.score)[: request.limit]]
        if len(best) < request.limit:
            best += await self._literally(rights, request, parts, except_ids=set(hits))
        return best[: request.limit]

    async def _by_words(self, rights: Rights, request: SearchRequest, part: SearchPart) -> list[Hit]:
        """The best that count. What does not count may stand before them, so that it is looked for deeper if need be."""
        for depth in (MOST, _DEEPEST):
            query = Query(text=request.text, filter=part.filter, limit=depth, mode="words", weights=_WORDS_ALONE)
            # Who may see what is said record by record, so that nothing is folded into what they may not see.
            query = replace(query, copies=True)
            hits = await self._desk.engines(rights.who).recall.search(query, self._desk.charge(rights.who))
            counted = [hit for hit in hits if part.test(hit.record)]
            if len(counted) >= request.limit or len(hits) < depth:
                break
        return counted[: request.limit]

    async def _literally(
        self, rights: Rights, request: SearchRequest, parts: Sequence[SearchPart], except_ids: set[str]
    ) -> list[Hit]:
        """Records that hold the question letter by letter, newest first, among the newest there are."""
        text = request.text.strip().casefold()
        matches: dict[str, Record] = {}
        for part in parts:
            cursor: str | None = None
            for _ in range(_LOOKED_AT // _PAGE):
                page = await self._desk.store.records.find(rights.who.tenant, part.filter, "newest", _PAGE, cursor)
                for record in page.records:
                    if record.id not in except_ids and text in record.text.casefold() and part.test(record):
                        matches[record.id] = record
                cursor = page.cursor
                if cursor is None or len(matches) >= request.limit:
                    break
        newest = sorted(matches.values(), key=lambda record: (record.updated_at, record.id), reverse=True)
        why = [Why({}, (), 0, len(record.text)) for record in newest]
        return [Hit(record, FALLBACK, reason, relevance=FALLBACK) for record, reason in zip(newest, why, strict=True)]

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


def _narrowed(hit: Hit, counted: Container[str]) -> Hit:
    """A hit names only such others as count."""
    return replace(hit, contradicted_by=tuple(id for id in hit.contradicted_by if id in counted))


def _exhausted(grant: RetrievalGrant) -> BudgetExhausted:
    return BudgetExhausted(retry_after=grant.budget.window.total_seconds())


def _person(rights: Rights, user: str | None) -> str | None:
    """The subject that a question names, which may call the caller's key by its name."""
    return rights.subject if user is not None and goes_by(rights.who, user) else user


def _counts(rights: Rights, conditions: RecordConditions, limits: GrantLimits, record: Record) -> bool:
    names_anothers = conditions.user is not None and rights.who.is_at_least("admin")
    return (
        conditions.fit(record) and limits.allow(record) and (names_anothers or not is_anothers(rights.who, record))
    )  # fmt: skip


def _is_readable(rights: Rights, reach: ReadableTiers, test: RecordTest, record: Record) -> bool:
    is_here = record.scope != reach.own or is_in_place(rights, record, frozenset(reach.tiers))
    return is_here and test(record)
