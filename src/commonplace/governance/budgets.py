"""
How much may be recalled: retrieval grants with budgets a window, and questions that ask for everything.

A grant bounds what one subject can draw out of memory, however it asks. What is said in a chat room, where anybody may be
listening and anybody may ask, always stands under one. The counting is done by the port `Quotas`, so that several daemons
count together: one spending when a question is asked, one for what it found. Here is only decided what to spend.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from commonplace.errors import Forbidden, QueryTooBroad
from commonplace.text.tokens import TokenCounter
from commonplace.text.unicode import normal_form
from commonplace.values.query import Hit

CHANNEL: Final = "channel:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What may be drawn in a window, and in one reply. None: no limit of its own."""

    window: timedelta = timedelta(seconds=60)
    queries: int | None = None
    results: int = 20
    tokens: int = 800
    characters: int = 4_000
    reply_results: int | None = None
    reply_tokens: int | None = None
    reply_characters: int | None = None


CHANNEL_BUDGET: Final = Budget(
    window=timedelta(minutes=5), queries=10, reply_results=5, reply_tokens=200, reply_characters=1_000
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalGrant:
    """Who may recall how much. No projects named: those the key reaches anyway."""

    id: str
    subject: str
    projects: frozenset[str] = frozenset()
    budget: Budget = Budget()
    revoked: bool = False
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """The arguments of `Quotas.spend` after the tenant."""

    name: str
    window: timedelta
    amounts: Mapping[str, int]
    limits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit as it may be told: the text of its record, or as much of its beginning as there was room for."""

    hit: Hit
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Trimmed:
    """What a reply may tell, what that costs, and how many hits were left out. `clipped`: the last one is not whole."""

    shown: tuple[Shown, ...] = ()
    tokens: int = 0
    characters: int = 0
    left_out: int = 0
    clipped: bool = False


def is_channel(subject: str) -> bool:
    """Whether a subject speaks in a chat room: `channel:<platform>:<user>`."""
    return subject.casefold().startswith(CHANNEL)


def grant_for(
    subject: str, given: RetrievalGrant | None, now: datetime, *, project: str | None = None
) -> RetrievalGrant | None:
    """
    The grant that a subject recalls under: the one given, for a channel's subject none wider than a channel's, which it
    has in any case. None: without a budget.

    Raises:
        Forbidden: the grant is somebody else's, for other projects, revoked or expired.
    """
    if given is not None:
        _check(given, subject, now, project)
    if not is_channel(subject):
        return given
    budget = CHANNEL_BUDGET if given is None else narrower(given.budget, CHANNEL_BUDGET)
    # Counted by subject: a second grant is no second budget.
    return RetrievalGrant(id=subject, subject=subject, budget=budget) if given is None else replace(
        given, id=subject, budget=budget
    )  # fmt: skip


def narrower(a: Budget, b: Budget) -> Budget:
    """The smaller of each limit, over the longer window."""
    return Budget(
        window=max(a.window, b.window),
        queries=_least(a.queries, b.queries),
        results=min(a.results, b.results),
        tokens=min(a.tokens, b.tokens),
        characters=min(a.characters, b.characters),
        reply_results=_least(a.reply_results, b.reply_results),
        reply_tokens=_least(a.reply_tokens, b.reply_tokens),
        reply_characters=_least(a.reply_characters, b.reply_characters),
    )


_BROAD: Final = re.compile(
    r"\b(?:dump|everything)\b"
    r"|\b(?:all|every|entire|whole)(?: of)?(?: (?:the|my|your|our|its|their))? memor(?:y|ies)\b"
    r"|\bexport all\b"
    r"|^(?:please )?(?:list|show)(?: me)? all\b"
)
_NOT_WORDS: Final = re.compile(r"[\W_]+")


def check_question(text: str) -> None:
    """Raises QueryTooBroad for a question that asks for all there is rather than for something in particular."""
    # Format characters take no room on the screen and would part a word without anybody seeing it.
    seen = "".join(one for one in normal_form(text) if unicodedata.category(one) != "Cf")
    if _BROAD.search(_NOT_WORDS.sub(" ", seen.casefold()).strip()):
        raise QueryTooBroad


def asking(grant: RetrievalGrant) -> Spending:
    """What asking costs. Where it cannot be spent the budget is exhausted, and nothing is searched."""
    limits = {"queries": grant.budget.queries} if grant.budget.queries is not None else {}
    return Spending(name=_name(grant), window=grant.budget.window, amounts={"queries": 1}, limits=limits)


def answering(grant: RetrievalGrant, trimmed: Trimmed) -> Spending:
    """What a reply costs. Where it cannot be spent, another was quicker: trim again to what is left, or give up."""
    amounts = {"results": len(trimmed.shown), "tokens": trimmed.tokens, "characters": trimmed.characters}
    budget = grant.budget
    limits = {"results": budget.results, "tokens": budget.tokens, "characters": budget.characters}
    return Spending(name=_name(grant), window=budget.window, amounts=amounts, limits=limits)


def is_exhausted(grant: RetrievalGrant, spent: Mapping[str, int]) -> bool:
    """Whether nothing more can be told in the window that is running, of which `spent` is gone."""
    return min(_room(grant.budget, spent)) <= 0


def trim(hits: Sequence[Hit], grant: RetrievalGrant, spent: Mapping[str, int], count: TokenCounter) -> Trimmed:
    """
    As many hits, best first, as fit a reply and what is left of the window. The one that does not fit is cut, and is the
    last.
    """
    results, tokens, characters = _room(grant.budget, spent)
    shown: list[Shown] = []
    used_tokens = used_characters = 0
    for hit in hits[: max(results, 0)]:
        whole = hit.record.text
        text = _clip(whole, characters - used_characters, tokens - used_tokens, count)
        if not text:
            break
        shown.append(Shown(hit, text))
        used_tokens += count(text)
        used_characters += len(text)
        if len(text) < len(whole):
            break
    return Trimmed(
        shown=tuple(shown),
        tokens=used_tokens,
        characters=used_characters,
        left_out=len(hits) - len(shown),
        clipped=bool(shown) and shown[-1].text != shown[-1].hit.record.text,
    )


def _room(budget: Budget, spent: Mapping[str, int]) -> tuple[int, int, int]:
    """How many results, tokens and characters the next reply may have."""
    left = (
        (budget.results - spent.get("results", 0), budget.reply_results),
        (budget.tokens - spent.get("tokens", 0), budget.reply_tokens),
        (budget.characters - spent.get("characters", 0), budget.reply_characters),
    )
    results, tokens, characters = (rest if most is None else min(rest, most) for rest, most in left)
    return results, tokens, characters


def _clip(text: str, characters: int, tokens: int, count: TokenCounter) -> str:
    if characters <= 0 or tokens <= 0:
        return ""
    if len(text) > characters:
        text = text[: characters - 1].rstrip() + "…"
    while text and (found := count(text)) > tokens:
        text = text[: min(len(text) - 2, len(text) * tokens // found)].rstrip() if len(text) > 2 else ""
        text = text and text + "…"
    return text if text != "…" else ""


def _name(grant: RetrievalGrant) -> str:
    # A name of any length becomes a short one, and who asked in which room is not written into a counter's name. Callers
    # name their grants themselves: with the subject in it, nobody spends another's budget.
    told = f"{len(grant.subject)} {grant.subject} {grant.id}"
    return f"retrieval:{sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _check(given: RetrievalGrant, subject: str, now: datetime, project: str | None) -> None:
    if given.subject != subject:
        raise Forbidden("The retrieval grant is somebody else's.", grant=given.id)
    if given.revoked or (given.expires_at is not None and given.expires_at <= now):
        raise Forbidden("The retrieval grant is no longer good. Ask for a new one.", grant=given.id)
    if given.projects and project not in given.projects:
        raise Forbidden("The retrieval grant is for other projects.", grant=given.id)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)
