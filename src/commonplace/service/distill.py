"""Conversations distilled into facts, by the model if there is one, else by rules."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from commonplace.errors import InvalidInput, ModelError, SpendingCapReached
from commonplace.governance.access import require_role
from commonplace.learning.distill import (
    AGENT_MEMORY,
    THRESHOLD,
    USER_MEMORY,
    Distillation,
    Distilled,
    distill,
    distill_by_model,
    is_short,
)
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.marks import Marked, mark_of
from commonplace.values.distillation import DistillationFact, DistillReport
from commonplace.values.moment import new_id
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.quarantine import withheld
from commonplace.values.record import Json, Provenance, Trust, Written
from commonplace.values.scope import Scope
from commonplace.values.usage import work_session

TALK: Final[Trust] = "external_user_supplied"
"""What was learned from talk is told by somebody, and nobody has looked at it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """
    What is to be distilled. `scope` is where its facts go (None: the session's own); `metadata` is what each of them says
    beside its category.
    """

    session: str
    parts: tuple[str, ...]
    scope: Scope | None = None
    run: str | None = None
    workflow: str | None = None
    artifact_refs: tuple[str, ...] = ()
    threshold: float = THRESHOLD
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])


def conversation_of(
    session: str,
    parts: Sequence[str],
    *,
    scope: Scope | str | None = None,
    run: str | None = None,
    workflow: str | None = None,
    artifact_refs: Sequence[str] | None = (),
    threshold: float | None = None,
) -> Conversation:
    """
    Raises:
        InvalidInput: a threshold that is none.
    """
    least = THRESHOLD if threshold is None else threshold
    if not 0 <= least <= 1:
        raise InvalidInput("The threshold is a number from 0 to 1.")
    refs = tuple(artifact_refs or ())
    return Conversation(
        session=session,
        parts=tuple(parts),
        scope=None if scope is None else Scope.parse(scope),
        run=run,
        workflow=workflow,
        artifact_refs=refs,
        threshold=least,
    )


class Distilling:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def distill(self, who: Principal, conversation: Conversation) -> DistillReport:
        """
        Keep the important facts of a conversation. One that is there already, or was deleted since, is not written again.

        Raises:
            Forbidden: the key does not reach the scope.
        """
        async with self._desk.account(who, "record.put", run=conversation.run) as account:
            require_role(who, "writer")
            scope = conversation.scope or Scope("session", conversation.session)
            await self._desk.require(who, scope)
            return await self.keep(account, scope, conversation)

    async def keep(self, account: Account, scope: Scope, conversation: Conversation) -> DistillReport:
        """As `distill`, for a caller whose right to write into `scope` was looked at."""
        account.scope = scope
        id = new_id(self._desk.clock.now())
        distillation, fallback = await self._distilled(account.who, conversation)
        account.details |= {"distillation": id, "method": distillation.method}
        if fallback is not None:
            account.details["fallback"] = fallback
        writes = await self._written(account, scope, conversation, distillation) if distillation.facts else []
        if not writes:
            await account.note("unchanged", facts=0)
        pairs = list(zip(distillation.facts, writes, strict=True))
        fresh = {fact.category for fact, write in pairs if write.outcome == "created"}
        return DistillReport(
            id=id,
            status="stored" if fresh else distillation.status,
            facts=tuple(_fact(fact) for fact in distillation.facts),
            stored=tuple(write.record.id for write in writes if write.outcome == "created"),
            deduped=tuple(write.record.id for write in writes if write.outcome != "created"),
            user_memory_updated=bool(fresh & USER_MEMORY),
            agent_memory_updated=bool(fresh & AGENT_MEMORY),
            method=distillation.method,
            fallback=fallback,
            quarantined=withheld(write.record for write in writes),
        )

    async def _distilled(self, who: Principal, conversation: Conversation) -> tuple[Distillation, str | None]:
        """By the model; where it cannot, by rules, with the code of its error."""
        desk = self._desk
        fallback: str | None = None
        if desk.model is not None and not is_short(conversation.parts, desk.room.count):
            session = work_session("distill", conversation.session)
            try:
                return await distill_by_model(
                    desk.model, who.tenant, session, conversation.parts, conversation.threshold
                ), None
            except (ModelError, SpendingCapReached) as error:
                fallback = error.code
        return await asyncio.to_thread(
            distill, conversation.parts, conversation.threshold, count=desk.room.count
        ), fallback

    async def _written(
        self, account: Account, scope: Scope, conversation: Conversation, distillation: Distillation
    ) -> list[Written]:
        desk, facts, who = self._desk, distillation.facts, account.who
        marks = [mark_of("distilled", fact.content, fact.category, conversation.workflow) for fact in facts]
        writer = desk.engines(who).writer(Marked(desk.store.records, account, marks))
        notes = [_note(scope, account, conversation, fact) for fact in facts]
        return await writer.put(notes, actor=who.actor)


def _fact(fact: Distilled) -> DistillationFact:
    return DistillationFact(
        content=fact.content,
        category=fact.category,
        importance=fact.importance,
        follow_up_needed=fact.follow_up_needed,
    )


def _note(scope: Scope, account: Account, conversation: Conversation, fact: Distilled) -> Note:
    refs: list[Json] = list(conversation.artifact_refs)
    metadata: dict[str, Json] = {
        "category": fact.category,
        "follow_up_needed": fact.follow_up_needed,
        "classification": "internal",
        "method": account.details["method"],
        **({"artifact_refs": refs} if refs else {}),
        **({"workflow_id": conversation.workflow} if conversation.workflow else {}),
        **conversation.metadata,
    }
    return Note(
        text=fact.content,
        scope=scope,
        kind="fact",
        source="distilled",
        metadata=metadata,
        importance=round(fact.importance * 100),
        trust=TALK,
        session=conversation.session,
        provenance=Provenance(run=account.run),
    )
