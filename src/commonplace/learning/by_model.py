"""Facts from talk, by a model, within the limits of the rules: as many facts, as sure, and as careful about what not to keep."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, cast, get_args

from commonplace.guard.caution import is_secret, is_suspect
from commonplace.learning.extract import CONFIDENCE, MOST, PREFIX, READ, Fact, is_private, key_of, voice_of
from commonplace.learning.prompts import EXTRACT, ProposedFact, proposed_facts, transcript_prompt
from commonplace.learning.rules.statement import Category, ScopeHint
from commonplace.learning.times import resolved
from commonplace.ports.models import LanguageModel, Spent, Task, TaskLimits
from commonplace.text.analyse import terms
from commonplace.text.slug import slug
from commonplace.values.record import Record, Turn

SHOWN: Final = 20
"""How many of the existing facts a model sees."""
MICRO_USD: Final = 30_000
"""What one extraction may cost."""
LONGEST: Final = 2_000
SECONDS: Final = 60.0
OUTPUT_TOKENS: Final = 1_500
PURPOSE: Final = "extract"


class ByModel:
    """`session` is the name that its spending is booked under; `agent` and `workspace` say for whom it was."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        tenant: str,
        session: str,
        agent: str | None = None,
        workspace: str | None = None,
    ) -> None:
        self._model = model
        self._tenant = tenant
        self._session = session
        self._agent = agent
        self._workspace = workspace

    async def facts(
        self,
        turns: Sequence[Turn],
        existing: Sequence[Record],
        *,
        micro_usd: int = MICRO_USD,
        assistants: Collection[str] = (),
    ) -> tuple[list[Fact], Spent, int]:
        """
        The facts in `turns`, what they cost, and how many were beyond the limit. `existing` are the records to show to the model, the most recent first.

        Raises:
            ModelError, SpendingCapReached
        """
        records = existing[:SHOWN]
        task = Task(
            tenant=self._tenant,
            purpose=PURPOSE,
            session=self._session,
            system=EXTRACT,
            prompt=transcript_prompt(turns, [record.text for record in records], READ),
            limits=TaskLimits(seconds=SECONDS, output_tokens=OUTPUT_TOKENS, micro_usd=micro_usd, turns=1),
            agent=self._agent,
            workspace=self._workspace,
        )
        reply = await self._model.act(task, ())
        sure = [
            proposal
            for proposal in proposed_facts(reply.text)
            if proposal.confidence is None or proposal.confidence >= CONFIDENCE
        ]
        surest = sorted(sure, key=lambda proposal: -(proposal.confidence or CONFIDENCE))[:MOST]
        facts = [_fact(proposal, turns, records, assistants) for proposal in sure if proposal in surest][:MOST]
        return [fact for fact in facts if fact is not None], reply.spent, max(len(sure) - MOST, 0)


def _fact(
    proposal: ProposedFact, turns: Sequence[Turn], records: Sequence[Record], assistants: Collection[str]
) -> Fact | None:
    """None if it is a secret, an order to an agent, or nobody's own words."""
    value = " ".join(proposal.value.split())[:LONGEST]
    place = (
        proposal.turn - 1
        if proposal.turn is not None and 1 <= proposal.turn <= len(turns)
        else _likeliest_turn(value, turns)
    )
    voice = voice_of(turns[place], assistants)
    if not value or is_suspect(value) or is_secret(value) or voice.role == "other":
        return None
    said_at = turns[place].at
    text, at = resolved(value, said_at) if said_at is not None else (value, None)
    replaces = (
        records[proposal.replaces - 1].id
        if proposal.replaces is not None and 1 <= proposal.replaces <= len(records)
        else None
    )
    return Fact(
        text=text[:LONGEST],
        key=_key(proposal.key, text),
        category=cast(Category, proposal.category) if proposal.category in get_args(Category) else "fact",
        scope=_scope(proposal, value),
        confidence=CONFIDENCE if proposal.confidence is None else round(min(proposal.confidence, 1.0), 2),
        turn=place,
        at=at,
        method="model",
        replaces=replaces,
        voice=voice.role,
    )


def _scope(proposal: ProposedFact, value: str) -> ScopeHint:
    """What is plainly private is the person's, whatever the model says."""
    if proposal.scope == "workspace":
        return "user" if is_private(value) else "workspace"
    return "user" if proposal.scope == "user" else "agent"


def _key(name: str, text: str) -> str:
    """The slug that the model proposes; if nothing is left of it, one made of the text."""
    plain = slug(name.removeprefix(PREFIX), empty="")
    return f"{PREFIX}{plain}" if plain else key_of(text)


def _likeliest_turn(value: str, turns: Sequence[Turn]) -> int:
    """The turn that shares the most words with it."""
    words = set(terms(value))
    return max(range(len(turns)), key=lambda place: len(words.intersection(terms(turns[place].text))))
