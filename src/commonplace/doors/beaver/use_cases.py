"""
The gateway's users: what they say, what is found of it again, and their documents. All of it is in the user's own scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from commonplace.errors import Forbidden, InvalidQuery, NotFound
from commonplace.memory.recall import MAX_QUERY
from commonplace.service.capture import held_under
from commonplace.service.desk import Desk
from commonplace.service.episodes import NOTHING, Episodes, Flushed
from commonplace.service.extraction import Extracting
from commonplace.service.identity import Identity
from commonplace.service.lessons import TALK
from commonplace.service.recall import query_hash
from commonplace.service.records import Records
from commonplace.text.chunk import spans
from commonplace.values.job import Job
from commonplace.values.moment import new_id
from commonplace.values.note import Note
from commonplace.values.principal import Principal, User
from commonplace.values.query import Filter, Hit, Page, Query
from commonplace.values.record import Json, Record, Turn, Written
from commonplace.values.scope import Scope, check_tenant
from commonplace.values.turn_options import TurnOptions

Part = Literal["current_chat", "resources", "all_user_memory"]
"""Where a search looks: in one conversation, in the user's documents, in all that is the user's."""

MAX_URI: Final = 240
_WIDE: Final = 200
_RESOURCE: Final = "resource:"


@dataclass(frozen=True, kw_only=True, slots=True)
class PartHit:
    """A hit, and which part of what was asked for it is told under."""

    hit: Hit
    part: Part


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResource:
    uri: str
    chunks: int


def chat(conversation: str) -> str:
    """The session of a conversation."""
    return f"chat:{conversation}"


def uri_of(record: Record) -> str | None:
    """The address of a document; None for what is none. One that came in by another door goes by its key or its id."""
    if record.kind != "resource":
        return None
    if record.key is None:
        return f"record:{record.id}"
    return record.key.removeprefix(_RESOURCE) if record.source == "resource" else record.key


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
        telling = TurnOptions(session=session, scope=_scope(who), trust=TALK)
        return await self._records.add_turns(who, telling, turns)

    async def flush(self, who: Principal, session: str, *, wait: bool = False) -> Flushed | Job:
        """Close an episode in the background: its job is the answer. Who wants to `wait` is told what came of it."""
        if wait:
            return await self._episodes.flush(who, _scope(who), session)
        return await self._extracting.queue_flush(who, _scope(who), session) or NOTHING

    # ---- search

    async def search(
        self, who: Principal, query: str, parts: Collection[Part], *, conversation: str | None = None, limit: int = 8
    ) -> list[PartHit]:
        """
        The best of all parts together, each record once. Their scores can be compared: one search over all of the user's
        memory gives them. A question may be as long as a prompt; its beginning is searched for.
        """
        desk, scope = self._desk, _scope(who)
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
            hits = await self._hits(who, Query(text=query[:MAX_QUERY], filter=within, limit=limit), selection)
            ids: list[Json] = [hit.record.id for hit in hits]
            await account.note(query=query_hash(query), ids=ids)
            return [PartHit(hit=hit, part=_part(selection, hit.record)) for hit in hits]

    async def _hits(self, who: Principal, query: Query, filters: Mapping[Part, Filter]) -> list[Hit]:
        recall = self._desk.engines(who).recall
        if "all_user_memory" in filters:
            return await recall.search(query)
        if len(filters) == 1:
            [filter] = filters.values()
            return await recall.search(replace(query, filter=filter))
        wide = await recall.search(replace(query, limit=max(_WIDE, query.limit)))
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

    # ---- documents

    async def put_resource(self, who: Principal, content: str, *, uri: str | None, title: str | None) -> StoredResource:
        """Keep a document; under an address that is known, its next version."""
        desk = self._desk
        address = uri or f"doc:{new_id(desk.clock.now())}"
        note = Note(
            text=content,
            scope=_scope(who),
            key=f"{_RESOURCE}{address}",
            kind="resource",
            source="resource",
            metadata={} if title is None else {"title": title},
            trust=TALK,
        )
        [write] = await self._records.put(who, [note])
        pieces = await asyncio.to_thread(spans, write.record.text, desk.engines(who).count)
        return StoredResource(uri=address, chunks=len(pieces))

    async def resources(self, who: Principal, *, limit: int = 100, cursor: str | None = None) -> Page:
        filter = Filter(scopes=(_scope(who),), kinds=("resource",))
        return await self._records.list(who, filter, limit=limit, cursor=cursor)

    async def remove_resource(self, who: Principal, uri: str) -> Record:
        desk, scope = self._desk, _scope(who)
        async with desk.account(who, "record.delete", scope=scope):
            record = await self._addressed(who, scope, uri)
            if record is None or record.kind != "resource" or record.scope != scope or record.deleted_at is not None:
                raise NotFound("There is no such resource.")
        return await self._records.delete(who, record.id)

    async def _addressed(self, who: Principal, scope: Scope, uri: str) -> Record | None:
        records = self._desk.store.records
        if not uri.isprintable():
            return None
        for key in (f"{_RESOURCE}{uri}", uri):
            if (record := await held_under(records, who.tenant, scope, key)) is not None:
                return record
        if not uri.startswith("record:"):
            return None
        filter = Filter(scopes=(scope,), kinds=("resource",), ids=(uri.removeprefix("record:"),))
        page = await records.find(who.tenant, filter, "newest", 1, None)
        return page.records[0] if page.records else None


def _scope(who: Principal) -> Scope:
    return Scope("user", who.subject)


def _part(filters: Mapping[Part, Filter], record: Record) -> Part:
    return next(part for part, filter in filters.items() if filter.counts(record))
