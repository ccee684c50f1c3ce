"""
How much may be recalled: retrieval grants with budgets per window, and questions that ask for the memory as a whole.

A grant limits what one subject can recall from memory, however it asks. In a chat room, where anybody may listen and ask, there
is always a grant. The port `Quotas` counts, so that several daemons count together: one spend for the question, one for the
reply. This module only decides what to spend.
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
class RetrievalBudget:
    """What may be recalled in a window, and in one reply. None: no limit of its own."""

    window: timedelta = timedelta(seconds=60)
    queries: int | None = None
    results: int = 20
    tokens: int = 800
    characters: int = 4_000
    reply_results: int | None = None
    reply_tokens: int | None = None
    reply_characters: int | None = None


CHANNEL_BUDGET: Final = RetrievalBudget(
    window=timedelta(minutes=5), queries=10, reply_results=5, reply_tokens=200, reply_characters=1_000
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalGrant:
    """Who may recall how much. No projects named: those the key reaches anyway."""

    id: str
    subject: str
    projects: frozenset[str] = frozenset()
    budget: RetrievalBudget = RetrievalBudget()
    revoked: bool = False
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QuotaSpend:
    """The arguments of `Quotas.spend` after the tenant."""

    name: str
    window: timedelta
    amounts: Mapping[str, int]
    limits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReplyHit:
    """A hit as a reply shows it: the text of its record, or as much of its beginning as there was room for."""

    hit: Hit
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Trimmed:
    """What a reply may show, what that costs, and how many hits were left out. `clipped`: the last one is not whole."""

    hits: tuple[ReplyHit, ...] = ()
    tokens: int = 0
    characters: int = 0
    left_out: int = 0
    clipped: bool = False


def is_channel(subject: str) -> bool:
    """Whether a subject speaks in a chat room: `channel:<platform>:<user>`."""
    return subject.casefold().startswith(CHANNEL)


def grant_for(
    subject: str, grant: RetrievalGrant | None, now: datetime, *, project: str | None = None
) -> RetrievalGrant | None:
    """
    The grant that a subject recalls under: its own; for a channel's subject at most the channel's budget, which it has in any
    case. None: no limit.

    Raises:
        Forbidden: the grant is somebody else's, for other projects, revoked or expired.
    """
    if grant is not None:
        _check(grant, subject, now, project)
    if not is_channel(subject):
        return grant
    budget = CHANNEL_BUDGET if grant is None else narrower(grant.budget, CHANNEL_BUDGET)
    # Counted by subject: a second grant is no second budget.
    return RetrievalGrant(id=subject, subject=subject, budget=budget) if grant is None else replace(
        grant, id=subject, budget=budget
    )  # fmt: skip


def narrower(a: RetrievalBudget, b: RetrievalBudget) -> RetrievalBudget:
    """The smaller of each limit, over the longer window."""
    return RetrievalBudget(
        window=max(a.window, b.window),
        queries=_least(a.queries, b.queries),
        results=min(a.results, b.results),
        tokens=min(a.tokens, b.tokens),
        characters=min(a.characters, b.characters),
        reply_results=_least(a.reply_results, b.reply_results),
        reply_tokens=_least(a.reply_tokens, b.reply_tokens),
        reply_characters=_least(a.reply_characters, b.reply_characters),
    )


_FILLERS: Final = frozenset(
    "a about an and any are at can could do does ever give got has have here i in is it know known let like me my now of on our out "
    "please remember remembered saved see stored tell that the there they this to us want we what would you your".split()
)
_VERBS: Final = frozenset("display dump export list output print read recite retrieve return reveal show".split())
_WHOLE: Final = frozenset("all anything complete each entire every everything full whole".split())
_MEMORY: Final = frozenset(
    "content contents data database entries entry fact facts information knowledge memories memory note notes record records "
    "store".split()
)
_CHINESE_FILLERS: Final = (
    "请你|请|麻烦|帮我|给我|把|将|你们|你|您|我们|我|的|里面|里|知道|记得|记住|保存|存储|都|出来|来|一下|吧|吗|了"
)
_CHINESE_VERBS: Final = "导出|列出|显示|展示|输出|打印|告诉|说出|读出|查看|倒出"
_CHINESE_WHOLE: Final = "所有|全部|一切|整个|完整|每一条|每条"
_CHINESE_MEMORY: Final = "记忆|内存|内容|记录|笔记|东西|信息|数据库|数据|知识|资料"
_CHINESE: Final = re.compile(
    f"(?:{_CHINESE_FILLERS}|(?P<verb>{_CHINESE_VERBS})|(?P<whole>{_CHINESE_WHOLE})|(?P<memory>{_CHINESE_MEMORY}))"
)
_NOT_WORDS: Final = re.compile(r"[\W_]+")


def check_question(text: str) -> None:
    """
    Raises QueryTooBroad for a question that asks for the memory as a whole. One that asks for something in particular is none,
    whatever its words: "how do I fix the core dump", "is everything ready".
    """
    # Format characters are invisible and would split a word without anybody seeing it.
    visible = "".join(character for character in normal_form(text) if unicodedata.category(character) != "Cf")
    plain = _NOT_WORDS.sub(" ", visible.casefold()).strip()
    if _is_whole(set(plain.split())) or _is_whole_in_chinese(plain.replace(" ", "")):
        raise QueryTooBroad


def _is_whole(words: set[str]) -> bool:
    if words - _FILLERS - _VERBS - _WHOLE - _MEMORY:
        return False
    verbs, whole, memory = words & _VERBS, words & _WHOLE, words & _MEMORY
    asks = bool(verbs or memory or "everything" in whole or words & {"know", "remember", "stored", "saved"})
    return bool(whole and asks) or bool(verbs & {"dump", "export"})


def _is_whole_in_chinese(text: str) -> bool:
    kinds: set[str] = set()
    start = 0
    while start < len(text):
        match = _CHINESE.match(text, start)
        if match is None:
            return False
        kinds.add(match.lastgroup or "")
        start = match.end()
    return "whole" in kinds and bool(kinds & {"verb", "memory"})


def asking(grant: RetrievalGrant) -> QuotaSpend:
    """What a question costs. If it cannot be spent the budget is exhausted, and nothing is searched."""
    limits = {"queries": grant.budget.queries} if grant.budget.queries is not None else {}
    return QuotaSpend(name=_name(grant), window=grant.budget.window, amounts={"queries": 1}, limits=limits)


def answering(grant: RetrievalGrant, trimmed: Trimmed) -> QuotaSpend:
    """What a reply costs. If it cannot be spent, another reply was quicker: trim again to what is left, or give up."""
    amounts = {"results": len(trimmed.hits), "tokens": trimmed.tokens, "characters": trimmed.characters}
    budget = grant.budget
    limits = {"results": budget.results, "tokens": budget.tokens, "characters": budget.characters}
    return QuotaSpend(name=_name(grant), window=budget.window, amounts=amounts, limits=limits)


def is_exhausted(grant: RetrievalGrant, spent: Mapping[str, int]) -> bool:
    """Whether the current window, of which `spent` is gone, allows nothing more."""
    return min(_room(grant.budget, spent)) <= 0


def trim(hits: Sequence[Hit], grant: RetrievalGrant, spent: Mapping[str, int], count: TokenCounter) -> Trimmed:
    """
    As many hits, best first, as fit a reply and what is left of the window. The one that does not fit is cut, and is the
    last.
    """
    results, tokens, characters = _room(grant.budget, spent)
    reply: list[ReplyHit] = []
    used_tokens = used_characters = 0
    for hit in hits[: max(results, 0)]:
        whole = hit.record.text
        text = _clip(whole, characters - used_characters, tokens - used_tokens, count)
        if not text:
            break
        reply.append(ReplyHit(hit, text))
        used_tokens += count(text)
        used_characters += len(text)
        if len(text) < len(whole):
            break
    return Trimmed(
        hits=tuple(reply),
        tokens=used_tokens,
        characters=used_characters,
        left_out=len(hits) - len(reply),
        clipped=bool(reply) and reply[-1].text != reply[-1].hit.record.text,
    )


def _room(budget: RetrievalBudget, spent: Mapping[str, int]) -> tuple[int, int, int]:
    """How many results, tokens and characters the next reply may have."""
    limits = (
        (budget.results - spent.get("results", 0), budget.reply_results),
        (budget.tokens - spent.get("tokens", 0), budget.reply_tokens),
        (budget.characters - spent.get("characters", 0), budget.reply_characters),
    )
    results, tokens, characters = (rest if most is None else min(rest, most) for rest, most in limits)
    return results, tokens, characters


def _clip(text: str, characters: int, tokens: int, count: TokenCounter) -> str:
    if characters <= 0 or tokens <= 0:
        return ""
    if len(text) > characters:
        text = text[: characters - 1].rstrip() + "…"
    while text and (size := count(text)) > tokens:
        text = text[: min(len(text) - 2, len(text) * tokens // size)].rstrip() if len(text) > 2 else ""
        text = text and text + "…"
    return text if text != "…" else ""


def _name(grant: RetrievalGrant) -> str:
    # A hash is short, and does not show who asked in which room. Callers choose the ids of their grants: with the subject in
    # the hash, nobody spends another's budget.
    identity = f"{len(grant.subject)} {grant.subject} {grant.id}"
    return f"retrieval:{sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _check(grant: RetrievalGrant, subject: str, now: datetime, project: str | None) -> None:
    if grant.subject != subject:
        raise Forbidden("The retrieval grant is somebody else's.", grant=grant.id)
    if grant.revoked or (grant.expires_at is not None and grant.expires_at <= now):
        raise Forbidden("The retrieval grant is no longer good. Ask for a new one.", grant=grant.id)
    if grant.projects and project not in grant.projects:
        raise Forbidden("The retrieval grant is for other projects.", grant=grant.id)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)
