"""Recall: search, the context block of a prompt, the keyed sections."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from commonplace.memory.context import ContextBlock
    from commonplace.service.desk import Desk
    from commonplace.values.context import ContextQuery
    from commonplace.values.principal import Principal
    from commonplace.values.query import Hit, Query
    from commonplace.values.record import Json


def query_hash(text: str) -> str:
    """What the audit keeps of a question."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _context_action(who: Principal) -> str:
    return "record.preview" if who.is_browsing else "record.context"


class Recalling:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, who: Principal, query: Query, *, run: str | None = None) -> list[Hit]:
        """
        What answers the question, among what the caller may read, best first; marked as recalled into the run. In the console it is
        shown and not recalled: the audit calls it `record.browse`.
        """
        desk = self._desk
        action = "record.browse" if who.is_browsing else "record.search"
        async with desk.account(who, action, run=run) as account:
            if query.filter.everyone:
                account.details["everyone"] = True
            own_query = replace(query, filter=await desk.narrowed(who, query.filter))
            hits = await desk.engines(who).recall.search(own_query, desk.charge(who))
            if query.layer is not None or query.budget is not None:
                hits = await desk.engines(who).layers.fitted(hits, query.layer or "L2", query.budget)
            ids: list[Json] = [hit.record.id for hit in hits]
            await account.note_read(query=query_hash(query.text), ids=ids)
            return hits

    async def context(self, who: Principal, query: ContextQuery, *, run: str | None = None) -> ContextBlock:
        """
        The `<memory_context>` block for a question, of what the caller may read. What it shows is marked as recalled into the run, or else the
        session: it is not learned from it again. In the console it is a preview, and the audit calls it that.
        """
        desk = self._desk
        async with desk.account(who, _context_action(who), run=run or query.session) as account:
            if query.filter.everyone:
                account.details["everyone"] = True
            own_query = replace(query, filter=await desk.narrowed(who, query.filter))
            engines = desk.engines(who)
            tell = None if query.layer is None else partial(engines.layers.tellings, choice=query.layer)
            block = await engines.contexts.context(own_query, charge=desk.charge(who), tell=tell)
            ids: list[Json] = [record.id for record in block.records]
            await account.note_read(query=query_hash(query.text), ids=ids)
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
        async with desk.account(who, _context_action(who), run=run) as account:
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
