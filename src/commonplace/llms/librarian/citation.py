"""How a reply quotes memories and names where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.llms.librarian.phrases import Phrases
from commonplace.llms.librarian.quotes import quote
from commonplace.llms.librarian.tool_memory import ToolMemory
from commonplace.text.extractive import MORE

MOST_QUOTED: Final = 3
_CLOSE_BEHIND: Final = 0.6
"""What share of the best memory's relevance another one must have to be quoted beside it."""
_LINE: Final = 160
_OWN: Final = ("user:", "agent:")
_TALK: Final = ("auto", "chat")


def quoted(text: str, words: Phrases) -> str:
    return f"{words.open_quote}{text}{words.close_quote}"


def source(row: ToolMemory, words: Phrases) -> str:
    """Where it comes from, on one line."""
    is_own = row.scope.startswith(_OWN)
    # What was learned of the person's own talk, or filed by them in it, is no stranger's word.
    origin = words.learned if is_own and row.source == "auto" else row.source
    caution = words.outside if row.is_outside and not (is_own and row.source in _TALK) else ""
    parts = (row.scope, row.day, origin, caution, row.short_id)
    return words.between.join(part for part in parts if part)


def citation(question: str, row: ToolMemory, words: Phrases) -> str:
    """The sentences that answer, and their source below."""
    speaker = words.said_by.format(speaker=row.speaker) if row.speaker else ""
    return f"{speaker}{quoted(quote(question, row.content), words)}\n— {source(row, words)}"


def cited(question: str, rows: Sequence[ToolMemory], words: Phrases) -> str:
    """The best memory, what contradicts it, and those that are about as relevant."""
    best, *others = rows
    against = [row for row in others if row.id in best.contradicted_by]
    beside = [row for row in others if row not in against and _is_close(row, best)][: MOST_QUOTED - 1]
    paragraphs = [citation(question, best, words)]
    if best.evidence:
        paragraphs.append(words.agree.format(count=len(best.evidence)))
    if against:
        paragraphs += [words.otherwise, *(citation(question, row, words) for row in against[: MOST_QUOTED - 1])]
    elif best.contradicted_by or best.is_disputed:
        paragraphs.append(words.disputed)
    if beside:
        paragraphs += [words.also, *(citation(question, row, words) for row in beside)]
    return "\n\n".join(paragraphs)


def _is_close(row: ToolMemory, best: ToolMemory) -> bool:
    return (row.score or 0.0) >= _CLOSE_BEHIND * (best.score or 0.0)


def sourced(rows: Sequence[ToolMemory], words: Phrases) -> str:
    """All that is known about where memories come from."""
    entries: list[str] = []
    for row in rows:
        facts = (
            ("id", row.id),
            ("scope", row.scope),
            ("kind", row.kind),
            ("key", row.key),
            ("at", row.at),
            ("speaker", row.speaker),
            ("source", row.source),
            ("trust", row.trust),
            ("relevance", "" if row.score is None else f"{row.score:.2f}"),
            ("why", row.why),
        )
        lines = [f"- {quoted(_line(row.content), words)}", *(f"  {name}: {value}" for name, value in facts if value)]
        entries.append("\n".join(lines))
    return "\n".join([words.source_of, *entries])


def listed(rows: Sequence[ToolMemory], words: Phrases) -> str:
    """A line a memory."""
    return "\n".join(f"{place}. {_line(row.content)} — {source(row, words)}" for place, row in enumerate(rows, 1))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[:_LINE].rstrip() + MORE
