"""Conversations distilled into facts of their session, by the model where there is one, else by rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final, Literal

from commonplace.doors.tandem.partitions import OURS, Place, entered, marked
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

    async def distill(self, who: Principal, told: Conversation) -> DistillReport:
        """
        Keep the important facts of a conversation in its session's scope. One that is there already, or was deleted since,
        is not written again.

        Raises:
            CapabilityExpired, CapabilityMismatch, TierNotAllowed, Forbidden
        """
        desk = self._desk
        async with desk.account(who, "record.put") as account:
            place = Place(
                project=told.project or (None if told.capability else told.workflow or told.session),
                tier="session",
                run=told.run or (None if told.capability else f"distill-{told.session}"),
                session=told.session,
                capability=told.capability,
            )
            held = _for(entered(account, place, desk.clock.now()), told.subject)
            account.scope = writing(held)
            id = new_id(desk.clock.now())
            found, fallback = await self._distilled(who, told)
            account.details |= {"distillation": id, "method": found.method}
            if fallback is not None:
                account.details["fallback"] = fallback
            written = await self._kept(held, account, told, found) if found.facts else []
            if not written:
                await account.note("unchanged", facts=0)
            pairs = list(zip(found.facts, written, strict=True))
            fresh = {fact.category for fact, one in pairs if one.outcome == "created"}
            return DistillReport(
                id=id,
                status="stored" if fresh else found.status,
                facts=found.facts,
                stored=tuple(one.record.id for one in written if one.outcome == "created"),
                deduped=tuple(one.record.id for one in written if one.outcome != "created"),
                user_memory_updated=bool(fresh & USER_MEMORY),
                agent_memory_updated=bool(fresh & AGENT_MEMORY),
                method=found.method,
                fallback=fallback,
            )

    async def _distilled(self, who: Principal, told: Conversation) -> tuple[Distillation, str | None]:
        """By the model; where it cannot, by rules, with the code of its error."""
        desk = self._desk
        fallback: str | None = None
        if desk.model is not None and not is_short(told.parts, desk.room.count):
            session = work_session("distill", told.session)
            try:
                return await distill_by_model(desk.model, who.tenant, session, told.parts, told.threshold), None
            except (ModelError, SpendingCapReached) as error:
                fallback = error.code
        return await asyncio.to_thread(distill, told.parts, told.threshold, count=desk.room.count), fallback

    async def _kept(self, held: Rights, account: Account, told: Conversation, found: Distillation) -> list[Written]:
        desk, facts = self._desk, found.facts
        marks = [mark_of("distilled", fact.content, fact.category, told.workflow) for fact in facts]
        writer = desk.engines(held.who).writer(Marked(desk.store.records, account, marks))
        notes = [_note(held, account, told, fact, found.method) for fact in facts]
        return await writer.put(notes, actor=held.who.subject)


def _for(held: Rights, subject: str | None) -> Rights:
    if subject in (None, held.subject):
        return held
    if not held.who.is_at_least("admin"):
        raise Forbidden("Only an admin's key distills for somebody else. Leave the subject out.")
    return replace(held, subject=subject or held.subject)


def _note(held: Rights, account: Account, told: Conversation, fact: Distilled, method: str) -> Note:
    refs: list[Json] = list(told.artifact_refs)
    metadata: dict[str, Json] = {
        "category": fact.category,
        "follow_up_needed": fact.follow_up_needed,
        "classification": "internal",
        **({"artifact_refs": refs} if refs else {}),
        **({"workflow_id": told.workflow} if told.workflow else {}),
        OURS: marked(held, method=method),
    }
    return Note(
        text=fact.content,
        scope=held.scope("session"),
        kind="fact",
        source="distilled",
        metadata=metadata,
        importance=round(fact.importance * 100),
        trust=TALK,
        session=told.session,
        provenance=Provenance(run=account.run),
    )
