"""
A conversation distilled into facts with an importance, for the governed door.

The rules take the facts of `extract`; their importance follows from the category and from how plainly they were said. A model says
itself how important a fact is. The service decides what to keep: this module says which facts there are, and whose memory they
would change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from commonplace.guard.caution import is_secret, is_suspect
from commonplace.learning.by_model import MICRO_USD
from commonplace.learning.extract import Fact, Method, extract_facts
from commonplace.learning.prompts import DISTILL, distilled_facts, transcript_prompt
from commonplace.learning.rules.statement import Category
from commonplace.ports.models import LanguageModel, Task, TaskLimits
from commonplace.text.tokens import TokenCounter, estimate
from commonplace.values.record import Turn

Status = Literal["facts_extracted_only", "no_important_facts", "skipped_short_conversation"]

LEAST_TOKENS: Final = 50
MOST: Final = 20
READ: Final = 48_000
THRESHOLD: Final = 0.5
SEPARATOR: Final = "\n\n---\n\n"
USER_MEMORY: Final[frozenset[Category]] = frozenset({"user_preference", "fact"})
AGENT_MEMORY: Final[frozenset[Category]] = frozenset({"task_outcome", "learning"})

_WEIGHTS: Final[dict[Category, float]] = {"user_preference": 0.8, "fact": 0.7, "task_outcome": 0.7, "learning": 0.65}
_PLAIN: Final = 0.8
_LONGEST: Final = 2_000
_OUTPUT_TOKENS: Final = 2_000
_UNFINISHED: Final = re.compile(
    r"\b(?:follow[- ]?up|to-?do|still (?:need|have|has) to|next steps?|pending|remains to|until (?:then|it|we))\b"
    r"|待办|待辦|跟进|跟進|后续|後續|还需要|還需要|下一步|尚未",
    re.IGNORECASE,
)
# Roles begin any line; a name only the whole part, since "Staging: …" begins many a line.
_ROLE: Final = re.compile(
    r"(?:^[ \t]*(?:\*\*|\[)?(?P<role>user|human|assistant|ai|agent|bot|system|tool|用户|用戶|助手|系统|系統|工具)"
    r"|\A[ \t]*(?:\*\*|\[)?(?P<name>(?-i:(?!(?:Decision|Decided|Agreed|Note|Notes|Remember|Reminder|Tip|Lesson|Takeaway|Cause|Update"
    r"|Context|Important|Fix|Gotcha|Policy|Rule|Convention|Question|Answer|Summary|Example|Warning|Todo|Background|Correction"
    r"|Caveat|Also|Please)\b)[A-Z][a-z]+(?: [A-Z][a-z]+)?)))"
    r"(?:\*\*|\])?[ \t]*[:：](?!//)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Distilled:
    """One fact, of an importance from 0 to 1. `source` is the fact as the rules have it, with key, scope and turn; None by a model."""

    content: str
    category: Category
    importance: float
    follow_up_needed: bool
    source: Fact | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Distillation:
    """The outcome. A caller that stores the facts reports `stored` instead of `facts_extracted_only`."""

    status: Status
    facts: tuple[Distilled, ...] = ()
    user_memory_updated: bool = False
    agent_memory_updated: bool = False
    method: Method = "rules"


def distill(
    conversation: Sequence[str],
    importance_threshold: float = THRESHOLD,
    *,
    existing: Sequence[str] = (),
    count: TokenCounter = estimate,
) -> Distillation:
    """
    The important facts of a conversation, which is a sequence of parts in order.

    A part may begin its lines with who speaks ("user: …", "assistant: …", "Ana: …"); one that does not is a person's.
    """
    if is_short(conversation, count):
        return Distillation(status="skipped_short_conversation")
    extraction = extract_facts(turns_of(conversation), existing=existing, least=0, most=MOST, characters=READ)
    return _weighed([_distilled(fact) for fact in extraction.facts], importance_threshold, "rules")


def is_short(conversation: Sequence[str], count: TokenCounter = estimate) -> bool:
    return count(SEPARATOR.join(conversation)) < LEAST_TOKENS


async def distill_by_model(
    model: LanguageModel,
    tenant: str,
    session: str,
    conversation: Sequence[str],
    importance_threshold: float = THRESHOLD,
) -> Distillation:
    """
    As `distill`, by a model; `session` is the name that its spending is booked under.

    Raises:
        ModelError, SpendingCapReached
    """
    task = Task(
        tenant=tenant,
        purpose="distill",
        session=session,
        system=DISTILL,
        prompt=transcript_prompt(turns_of(conversation), (), READ),
        limits=TaskLimits(output_tokens=_OUTPUT_TOKENS, micro_usd=MICRO_USD, turns=1),
    )
    reply = await model.act(task, ())
    facts = [
        Distilled(
            content=" ".join(fact.content.split())[:_LONGEST],
            category=cast(Category, fact.category) if fact.category in get_args(Category) else "fact",
            importance=round(fact.importance, 2),
            follow_up_needed=fact.follow_up_needed,
        )
        for fact in distilled_facts(reply.text)[:MOST]
        if fact.content.strip() and not is_suspect(fact.content) and not is_secret(fact.content)
    ]
    return _weighed(facts, importance_threshold, "model")


def _weighed(candidates: Sequence[Distilled], importance_threshold: float, method: Method) -> Distillation:
    facts = tuple(item for item in candidates if item.importance >= importance_threshold)
    if not facts:
        return Distillation(status="no_important_facts", method=method)
    return Distillation(
        status="facts_extracted_only",
        facts=facts,
        user_memory_updated=any(item.category in USER_MEMORY for item in facts),
        agent_memory_updated=any(item.category in AGENT_MEMORY for item in facts),
        method=method,
    )


def _distilled(fact: Fact) -> Distilled:
    importance = _WEIGHTS[fact.category] + fact.confidence - _PLAIN
    return Distilled(
        content=fact.text,
        category=fact.category,
        importance=round(min(max(importance, 0.0), 1.0), 2),
        follow_up_needed=bool(_UNFINISHED.search(fact.text)),
        source=fact,
    )


def turns_of(conversation: Sequence[str]) -> list[Turn]:
    """
    Who said what, in a conversation given as its parts. A part may begin its lines with a role ("user: …"), or itself with a
    name ("Ana: …"); one that does not is a person's.
    """
    return list(_turns(conversation))


def _turns(conversation: Sequence[str]) -> Iterator[Turn]:
    for part in conversation:
        speaker, place = "user", 0
        for role in _ROLE.finditer(part):
            if before := part[place : role.start()].strip():
                yield Turn(speaker=speaker, text=before)
            speaker, place = role["role"] or role["name"], role.end()
        if rest := part[place:].strip():
            yield Turn(speaker=speaker, text=rest)
