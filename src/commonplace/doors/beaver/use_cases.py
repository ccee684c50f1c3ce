"""
The gateway's users: what they say, and what is found of it again. All of it is in the user's own scope.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from commonplace.errors import Forbidden, InvalidQuery
from commonplace.memory.recall import MAX_QUERY
from commonplace.memory.relevance import answering
from commonplace.service.desk import Desk
from commonplace.service.episodes import NOTHING, Episodes, Flushed
from commonplace.service.extraction import Extracting
from commonplace.service.identity import Identity
from commonplace.service.lessons import TALK
from commonplace.service.recall import query_hash
from commonplace.service.records import Records
from commonplace.values.job import Job
from commonplace.values.principal import Principal, User
from commonplace.values.query import Filter, Hit, Query
from commonplace.values.record import Json, Record, Turn, Written
from commonplace.values.scope import check_tenant
from commonplace.values.turn_options import TurnOptions

Part = Literal["current_chat", "resources", "all_user_memory"]
"""Where a search looks: in one conversation, in the user's documents, in all that is the user's."""

_WIDE: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class PartHit:
    """A hit, and which part of what was asked for it is told under."""

    hit: Hit
    part: Part


def chat(conversation: str) -> str:
    """The session of a conversation."""
    return f"chat:{conversation}"


class Gateway:
    def __init__(self, desk: Desk, identity: Identity, records: Records, extracting: Extracting) -> None:
        self._desk = desk
        self._identity = identity
        self._records = records
        self._extracting = extracting
        self._episodes = Episodes(desk)

    async def create_user(self, who: Principal, user: str, *, tenant: str | None = None) -> tuple[User, str]:
        """A new user of the caller's tenant, or of another one where the operator asks. Raises Conflict on a known id."""
        if tenant is not None and tenant != who.tenant:
            async with self._desk.account(who, "user.create"):
                if not who.operator:
                    raise Forbidden("The key belongs to another tenant. Name its own app_id and project_id, or none.")
            who = replace(who, tenant=check_tenant(tenant))
        return await self._identity.create_user(who, user)

    # ---- what was said

    async def add(self, who: Principal, session: str, turns: Sequence[Turn]) -> list[Written]:
        """Remember what was said. It can be searched at once; a turn told before is not stored twice."""
        telling = TurnOptions(session=session, scope=who.home, trust=TALK)
        return await self._records.add_turns(who, telling, turns)

    async def flush(self, who: Principal, session: str, *, wait: bool = False) -> Flushed | Job:
        """Close an episode in the background: its job is the answer. Who wants to `wait` is told what came of it."""
        if wait:
            return await self._episodes.flush(who, who.home, session)
        return await self._extracting.queue_flush(who, who.home, session) or NOTHING

    # ---- search

    async def search(
        self,
        who: Principal,
        query: str,
        parts: Collection[Part],
        *,
        conversation: str | None = None,
        limit: int = 8,
        min_relevance: float | None = None,
    ) -> list[PartHit]:
        """
        What answers the question, or all that is at least so relevant: the best of all parts together, each record once. Their scores can be compared: one search over all of the user's
        memory gives them. A question may be as long as a prompt; its beginning is searched for.
        """
        desk, scope = self._desk, who.home
        run = chat(conversation) if conversation else None
        async with desk.account(who, "record.search", scope=scope, run=run) as account:
            if "current_chat" in parts and not conversation:
                raise InvalidQuery("Without a conversation_id there is no current chat.")
            await desk.readable(who, [scope])
            within = Filter(scopes=(scope,))
            filters: dict[Part, Filter] = {
                "current_chat": replace(within, sessions=(chat(conversation or ""),)),
                "resources": replace(within, kinds=("resource",)),
                "all_user_memory": within,
            }
            # The narrower part is told, where a record is in two of them.
            selection: dict[Part, Filter] = {part: filter for part, filter in filters.items() if part in parts}
            question = Query(text=query[:MAX_QUERY], filter=within, limit=limit)
            hits = answering(await self._hits(who, question, selection), min_relevance)
            ids: list[Json] = [hit.record.id for hit in hits]
            await account.note(query=query_hash(query), ids=ids)
            return [PartHit(hit=hit, part=_part(selection, hit.record)) for hit in hits]

    async def _hits(self, who: Principal, query: Query, filters: Mapping[Part, Filter]) -> list[Hit]:
        recall, charge = self._desk.engines(who).recall, self._desk.charge(who)
        if "all_user_memory" in filters:
            return await recall.search(query, charge)
        if len(filters) == 1:
            [filter] = filters.values()
            return await recall.search(replace(query, filter=filter), charge)
        wide = await recall.search(replace(query, limit=max(_WIDE, query.limit), copies=True), charge)
        hits = [hit for hit in wide if any(filter.counts(hit.record) for filter in filters.values())]
        if len(hits) < query.limit and len(wide) >= _WIDE:
            ids = {hit.record.id for hit in wide}
            rest = [hit for filter in filters.values() for hit in await recall.search(replace(query, filter=filter))]
            unseen = {hit.record.id: hit for hit in rest if hit.record.id not in ids}
            # They came after everything that was found first, whatever they score among themselves.
            lowest = wide[-1].score
            below = [replace(hit, score=min(hit.score, lowest)) for hit in unseen.values()]
            hits += sorted(below, key=lambda hit: -hit.score)
        return hits[: query.limit]


def _part(filters: Mapping[Part, Filter], record: Record) -> Part:
    return next(part for part, filter in filters.items() if filter.counts(record))
