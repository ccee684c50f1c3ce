"""
Which entries to show for a question, by counting words.

Two points for each word of the question that an entry's type, title, description or body has, one more where the word is
typical of the type, one for having a body. At most five, each cut to 1,200 characters; one that is older than a day says
so, since the world moved on. An entry that only explains a tool of the present turn is left out, unless it warns of the tool. If no entry
holds enough of the question's words to answer it (`memory/relevance`), none is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from commonplace.markdown.entries import EntryFile, EntryType
from commonplace.markdown.roots import Root
from commonplace.markdown.shelf import Shelf
from commonplace.memory.relevance import Nearness, is_relevant, relevance
from commonplace.text.analyse import query_terms, terms
from commonplace.text.english import STOP_WORDS
from commonplace.text.fence import CLOSE, OPEN, POLICY, entry, name
from commonplace.text.rarity import shares
from commonplace.text.similarity import words
from commonplace.values.moment import from_ms
from commonplace.values.record import TRUSTED
from commonplace.values.shelf import ShelfRecalled

MOST: Final = 5
MOST_BODY: Final = 1_200
STALE_AFTER: Final = timedelta(days=1)
_EDGES: Final = ".,;:!?\"'`()[]{}<>*_#，。；：！？、“”‘’（）《》"
_MORE: Final = "…"
_KEYWORDS: Final[dict[EntryType, frozenset[str]]] = {
    "user": frozenset(
        "user i me my prefer preference like role background name who habit 我 用户 偏好 喜欢 习惯 名字".split()
    ),
    "feedback": frozenset(
        "feedback always never avoid should style rule correct mistake stop please 反馈 不要 应该 必须 避免 规则 风格".split()
    ),
    "project": frozenset(
        "project we team deadline release deploy decision goal repo branch sprint 项目 我们 团队 发布 部署 决定 目标".split()
    ),
    "reference": frozenset(
        "reference link url doc docs documentation dashboard ticket wiki where 参考 链接 文档 地址 在哪 看板".split()
    ),
}
_USAGE: Final = re.compile(
    r"\b(?:usage|how to (?:use|call|run)|syntax|parameters?|arguments?|options?|flags|examples?|cheat ?sheet)\b|用法|参数|如何使用|怎么用",
    re.IGNORECASE,
)
_WARNING: Final = re.compile(
    r"\b(?:warning|caution|careful|gotcha|pitfall|bug|broken|fails?|never|don't|do not|known issue|avoid)\b|注意|警告|小心|不要|避免|故障",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecalledEntry:
    """`note` is what to say about its age, if anything."""

    file: EntryFile
    score: int
    body: str
    note: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitting:
    """An entry that has words of the question."""

    root: Root
    file: EntryFile
    score: int


def recall(
    entries: Iterable[EntryFile], query: str, now: datetime, *, tools: Sequence[str] = ()
) -> list[RecalledEntry]:
    """The entries that fit `query` best, best first, newer before older. `tools` are those active in the turn."""
    fitting = sorted(_scored(entries, query, tools), key=lambda pair: _place(*pair))
    return [
        RecalledEntry(file=file, score=score, body=cut(file.entry.body), note=staleness(file, now))
        for score, file in fitting[:MOST]
    ]


def fitting_in(roots: Sequence[Root], query: str, tools: Sequence[str] = ()) -> list[Fitting]:
    """All matching entries of the roots' newest files, in the order of `recall`: the caller may have to skip some."""
    matches = [
        Fitting(root=root, file=file, score=score)
        for root in roots
        for score, file in _scored(Shelf(root).scan().entries, query, tools)
    ]
    return sorted(matches, key=lambda match: _place(match.score, match.file))


def block(entries: Sequence[ShelfRecalled]) -> str:
    """The entries as text for a prompt: data, each behind a label that says how far to trust it. Empty if there are none."""
    return "\n".join([OPEN, POLICY, *(_line_of(hit) for hit in entries), CLOSE]) if entries else ""


def cut(body: str) -> str:
    return body if len(body) <= MOST_BODY else body[: MOST_BODY - len(_MORE)].rstrip() + _MORE


def staleness(file: EntryFile, now: datetime) -> str | None:
    """What to say of an entry that was last written more than a day ago."""
    age = now - from_ms(file.stamp.mtime // 1_000_000)
    if age <= STALE_AFTER:
        return None
    days = age.days
    return (
        f"Written {days} day{'s' if days != 1 else ''} ago. It tells what was so then; "
        "check what it says about code or plans before you rely on it."
    )


def _line_of(hit: ShelfRecalled) -> str:
    trust = hit.trust if hit.trust in TRUSTED else f"{hit.trust} (untrusted)"
    head = f"[id {name(f'{hit.root}/{hit.path}')}, source managed, trust {trust}] {hit.type} **{name(hit.name)}**: "
    return entry(head, hit.body.strip() or hit.description, f"({hit.note})" if hit.note else "")


def _scored(entries: Iterable[EntryFile], query: str, tools: Sequence[str]) -> list[tuple[int, EntryFile]]:
    tokens = _tokens(query)
    scored = [(_score(file, tokens), file) for file in entries if not _explains(file, tools)]
    matches = [(score, file) for score, file in scored if score]
    return matches if _answers(query, [file for _, file in matches], len(scored)) else []


def _answers(query: str, files: Sequence[EntryFile], entries: int) -> bool:
    """Whether one of the files is likely to answer the question, judged by its words."""
    parts = shares(query_terms(query))
    texts = [set(terms(_text(file))) for file in files]
    coverage = np.array([sum(share for term, share in parts.items() if term in own_terms) for own_terms in texts])
    likely = relevance(Nearness(coverage=coverage, cosines={}), (), entries, {})
    return bool(is_relevant(likely).any())


def _text(file: EntryFile) -> str:
    entry = file.entry
    return f"{entry.type}\n{entry.name}\n{entry.description}\n{entry.body}"


def _place(score: int, file: EntryFile) -> tuple[int, int, str]:
    return -score, -file.stamp.mtime, file.path


def _tokens(query: str) -> frozenset[str]:
    candidates = {word.strip(_EDGES) for word in words(query)}
    return frozenset(
        word for word in candidates if word and word not in STOP_WORDS and (len(word) > 1 or not word.isascii())
    )


def _score(file: EntryFile, tokens: frozenset[str]) -> int:
    entry = file.entry
    text = _text(file).lower()
    hits = sum(2 for token in tokens if token in text) + len(tokens & _KEYWORDS[entry.type])
    return hits + bool(entry.body.strip()) if hits else 0


def _explains(file: EntryFile, tools: Sequence[str]) -> bool:
    """Whether an entry merely explains how to use one of the tools."""
    head = f"{file.entry.name} {file.entry.description}".lower()
    # A name that is nowhere in it needs no pattern: there may be many tools, and many entries.
    mentions = (tool.lower() for tool in tools if tool and tool.lower() in head)
    about = any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", head) for tool in mentions)
    return about and bool(_USAGE.search(head)) and not _WARNING.search(f"{head} {file.entry.body}")
