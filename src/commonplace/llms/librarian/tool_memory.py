"""A memory as the tools tell of it, or as a recalled block shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from commonplace.text.fence import BAR, CLOSE, OPEN, OTHERWISE

SHORT: Final = 8
"""Characters at the end of an id that tell memories apart: an id begins with the time."""

_LABEL: Final = re.compile(r"\[id (?P<id>[^,\[\]\n]{1,255}+)(?P<rest>[^\[\]\n]{0,2000}+)\]")
_FIELD: Final = re.compile(
    r", (?P<name>score|session_id|source_scope|resource_uri|source|trust) (?P<value>[^,]{1,255})"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMemory:
    """`at` is when it happened or was written, as ISO 8601. `is_outside`: somebody outside says so. `is_part`: the memory has more text."""

    id: str
    content: str
    scope: str = ""
    source: str = ""
    at: str = ""
    key: str = ""
    kind: str = ""
    speaker: str = ""
    score: float | None = None
    why: str = ""
    trust: str = ""
    is_outside: bool = False
    is_part: bool = False
    is_disputed: bool = False
    evidence: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()

    @property
    def short_id(self) -> str:
        return self.id[-SHORT:]

    @property
    def day(self) -> str:
        return self.at[:10]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> ToolMemory:
        trust = document.get("memory_trust")
        judged: Mapping[str, Any] = cast(Mapping[str, Any], trust) if isinstance(trust, Mapping) else {}
        score = document.get("score")
        return cls(
            id=_text(document, "id"),
            content=_text(document, "content") or _text(document, "text"),
            scope=_text(document, "scope"),
            source=_text(document, "source"),
            at=_text(document, "at") or _text(document, "created_at"),
            key=_text(document, "key"),
            kind=_text(document, "kind"),
            speaker=_text(document, "speaker"),
            score=float(score) if isinstance(score, int | float) else None,
            why=_text(document, "why"),
            trust=_text(judged, "label"),
            is_outside=judged.get("rendering_role") == "evidence",
            is_part=document.get("truncated") is True,
            evidence=_texts(document, "evidence"),
            contradicted_by=_texts(document, "contradicted_by"),
        )


def rows_of(document: Mapping[str, Any]) -> tuple[ToolMemory, ...]:
    """The results of a search or a listing; what is none is left out."""
    results = document.get("results")
    if not isinstance(results, Sequence) or isinstance(results, str):
        return ()
    documents = [cast(Mapping[str, Any], item) for item in cast(Sequence[Any], results) if isinstance(item, Mapping)]
    return tuple(row for row in map(ToolMemory.read, documents) if row.id and row.content)


def rows_of_block(text: str) -> tuple[ToolMemory, ...]:
    """What the last recalled block of a text shows."""
    start = text.rfind(OPEN)
    stop = text.find(CLOSE, start)
    if start < 0:
        return ()
    return tuple(_block_rows(text[start + len(OPEN) : stop if stop >= 0 else len(text)]))


def _block_rows(block: str) -> Iterator[ToolMemory]:
    item: list[str] = []
    for line in [*block.splitlines(), "- "]:
        if line.startswith(BAR) and item:
            item.append(line[len(BAR) :])
            continue
        if item and (row := _block_row("\n".join(item))) is not None:
            yield row
        item = [line[2:]] if line.startswith("- ") else []


def _block_row(entry: str) -> ToolMemory | None:
    labels = list(_LABEL.finditer(entry))
    if not labels:
        return None
    # A gateway's label opens the entry, ours closes it.
    label = labels[0] if labels[0].start() == 0 else labels[-1]
    content = (entry[: label.start()] + entry[label.end() :]).replace(OTHERWISE, "").strip()
    fields = {match["name"]: match["value"].strip() for match in _FIELD.finditer(label["rest"])}
    trust = fields.get("trust", "")
    return ToolMemory(
        id=label["id"].strip(),
        content=content,
        scope=fields.get("source_scope", ""),
        source=fields.get("source") or fields.get("resource_uri") or fields.get("session_id", ""),
        trust=trust.removesuffix(" (untrusted)"),
        is_outside="untrusted" in label["rest"],
        is_disputed=OTHERWISE in entry,
    )


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _texts(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = document.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(item for item in cast(Sequence[Any], value) if isinstance(item, str))
