"""Conversations distilled into facts of their session, by the model where there is one, else by rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final, Literal

from commonplace.doors.tandem.partitions import OURS, RequestPlace, entered, marked
from commonplace.errors import Forbidden, ModelError, SpendingCapReached
from commonplace.governance.capability import Rights, writing
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
from commonplace.values.moment import new_id
from commonplace.values.note import Note
from commonplace.values.principal import Capability, Principal
from commonplace.values.record import Json, Provenance, Trust, Written
from commonplace.values.usage import work_session

Status = Literal["stored", "facts_extracted_only", "no_important_facts", "skipped_short_conversation"]

TALK: Final[Trust] = "external_user_supplied"
"""What was learned from talk is told by somebody, and nobody has looked at it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What is to be distilled. Without a project it is the workflow's, else the session's."""

    session: str
    parts: tuple[str, ...]
    run: str | None = None
    workflow: str | None = None
    project: str | None = None
    subject: str | None = None
    artifact_refs: tuple[str, ...] = ()
    threshold: float = THRESHOLD
    capability: Capability | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillReport:
    id: str
    status: Status
    facts: tuple[Distilled, ...]
    stored: tuple[str, ...]
    deduped: tuple[str, ...]
    user_memory_updated: bool
    agent_memory_updated: bool
    method: Literal["rules", "model"] = "rules"
    fallback: str | None = None


class Distilling:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def distill(self, who: Principal, conversation: Conversation) -> DistillReport:
        """
        Keep the important facts of a conversation in its session's scope. One that is there already, or was deleted since,
        is not written again.

        Raises:
            CapabilityExpired, CapabilityMismatch, TierNotAllowed, Forbidden
        """
        desk = self._desk
        async with desk.account(who, "record.put") as account:
            place = RequestPlace(
                project=conversation.project
                or (None if conversation.capability else conversation.workflow or conversation.session),
                tier="session",
                run=conversation.run or (None if conversation.capability else f"distill-{conversation.session}"),
                session=conversation.session,
                capability=conversation.capability,
            )
            rights = _for(entered(account, place, desk.clock.now()), conversation.subject)
            account.scope = writing(rights)
            id = new_id(desk.clock.now())
            distillation, fallback = await self._distilled(who, conversation)
            account.details |= {"distillation": id, "method": distillation.method}
            if fallback is not None:
                account.details["fallback"] = fallback
            writes = await self._kept(rights, account, conversation, distillation) if distillation.facts else []
            if not writes:
                await account.note("unchanged", facts=0)
            pairs = list(zip(distillation.facts, writes, strict=True))
            fresh = {fact.category for fact, write in pairs if write.outcome == "created"}
            return DistillReport(
                id=id,
                status="stored" if fresh else distillation.status,
                facts=distillation.facts,
                stored=tuple(write.record.id for write in writes if write.outcome == "created"),
                deduped=tuple(write.record.id for write in writes if write.outcome != "created"),
                user_memory_updated=bool(fresh & USER_MEMORY),
                agent_memory_updated=bool(fresh & AGENT_MEMORY),
                method=distillation.method,
                fallback=fallback,
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

    async def _kept(
        self, rights: Rights, account: Account, conversation: Conversation, distillation: Distillation
    ) -> list[Written]:
        desk, facts = self._desk, distillation.facts
        marks = [mark_of("distilled", fact.content, fact.category, conversation.workflow) for fact in facts]
        writer = desk.engines(rights.who).writer(Marked(desk.store.records, account, marks))
        notes = [_note(rights, account, conversation, fact, distillation.method) for fact in facts]
        return await writer.put(notes, actor=rights.who.subject)


def _for(rights: Rights, subject: str | None) -> Rights:
    if subject in (None, rights.subject):
        return rights
    if not rights.who.is_at_least("admin"):
        raise Forbidden("Only an admin's key distills for somebody else. Leave the subject out.")
    return replace(rights, subject=subject or rights.subject)


def _note(rights: Rights, account: Account, conversation: Conversation, fact: Distilled, method: str) -> Note:
    refs: list[Json] = list(conversation.artifact_refs)
    metadata: dict[str, Json] = {
        "category": fact.category,
        "follow_up_needed": fact.follow_up_needed,
        "classification": "internal",
        **({"artifact_refs": refs} if refs else {}),
        **({"workflow_id": conversation.workflow} if conversation.workflow else {}),
        OURS: marked(rights, method=method),
    }
    return Note(
        text=fact.content,
        scope=rights.scope("session"),
        kind="fact",
        source="distilled",
        metadata=metadata,
        importance=round(fact.importance * 100),
        trust=TALK,
        session=conversation.session,
        provenance=Provenance(run=account.run),
    )
