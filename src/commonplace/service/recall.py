"""Recall: search, the context block of a prompt, the keyed sections."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from commonplace.values.query import Filter
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from commonplace.memory.context import ContextBlock
    from commonplace.service.desk import Desk
    from commonplace.values.layer import LayerChoice
    from commonplace.values.principal import Principal
    from commonplace.values.query import Hit, Query
    from commonplace.values.record import Json


def query_hash(text: str) -> str:
    """What the audit keeps of a question."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Recalling:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, who: Principal, query: Query, *, run: str | None = None) -> list[Hit]:
        """What answers the question, among what the caller may read, best first; marked as recalled into the run."""
        desk = self._desk
        async with desk.account(who, "record.search", run=run) as account:
            if query.filter.everyone:
                account.details["everyone"] = True
            own_query = replace(query, filter=await desk.narrowed(who, query.filter))
            hits = await desk.engines(who).recall.search(own_query, desk.charge(who))
            if query.layer is not None or query.budget is not None:
                hits = await desk.engines(who).layers.fitted(hits, query.layer or "L2", query.budget)
            ids: list[Json] = [hit.record.id for hit in hits]
            await account.note_read(query=query_hash(query.text), ids=ids)
            return hits

    async def context(
        self,
        who: Principal,
        query: str,
        *,
        filter: Filter = Filter(),
        session: str | None = None,
        budget: int = 2000,
        run: str | None = None,
        layer: LayerChoice | None = None,
        min_relevance: float | None = None,
    ) -> ContextBlock:
        """
        The `<memory_context>` block for a question, from the scopes of `filter`, each memory told by its passage, or by `layer`: those that
        answer it, or with `min_relevance` all that are so relevant.
        What it shows is marked as recalled into the run, or else the session: it is not learned from it again.
        """
        desk = self._desk
        async with desk.account(who, "record.context", run=run or session) as account:
            if filter.everyone:
                account.details["everyone"] = True
            readable = (await desk.narrowed(who, filter)).scopes
            engines = desk.engines(who)
            tell = None if layer is None else partial(engines.layers.tellings, choice=layer)
            block = await engines.contexts.context(
                query,
                scopes=readable,
                session=session,
                budget=budget,
                min_relevance=min_relevance,
                charge=desk.charge(who),
                tell=tell,
            )
            ids: list[Json] = [record.id for record in block.records]
            await account.note_read(query=query_hash(query), ids=ids)
            return block

    async def sections(
        self,
        who: Principal,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        budget: int = 2000,
        run: str | None = None,
    ) -> ContextBlock:
        """
        The `## Agent Memory` and `## Workspace Memory` of a prompt. An agent that is known and whose memory is switched
        off has no section.
        """
        desk = self._desk
        async with desk.account(who, "record.context", run=run) as account:
            scope_ids = {"agent": agent, "workspace": workspace}
            await desk.readable(who, [Scope(kind, id) for kind, id in scope_ids.items() if id is not None])  # pyright: ignore[reportArgumentType]
            if agent is not None:
                owner = await desk.store.keys.owner(who.tenant, "agent", agent)
                if owner is not None and not owner.memory_enabled:
                    agent = None
            block = await desk.engines(who).contexts.sections(agent=agent, workspace=workspace, budget=budget)
            ids: list[Json] = [record.id for record in block.records]
            await account.note_read(ids=ids)
            return block
