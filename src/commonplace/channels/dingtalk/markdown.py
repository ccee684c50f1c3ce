"""
Markdown as DingTalk shows it: without tables, in messages of at most 3,800 characters, each with a title.
"""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 3_800
MOST_TITLE: Final = 20
NO_TITLE: Final = "Reply"
CONTINUED: Final = " (cont.)"
_FENCE: Final = re.compile(r"^\s*(`{3,20}(?!`)|~{3,20}(?!~))(.*)$")
_RULE: Final = re.compile(r"^\s*+\|?\s*+:?-{2,}+:?\s*+(\|\s*+:?-{2,}+:?\s*+)*\|?\s*$")
_MARKS: Final = re.compile(r"[#>*_`~\[\]|]+")
_MOST_INFO: Final = 40
_MOST_FENCE: Final = 200
"""Characters of a line. A longer one begins no code, whatever it looks like."""


def messages(text: str, *, most: int = MOST) -> list[tuple[str, str]]:
    """Title and text of each message."""
    title = title_of(text)
    return [
        (title if number == 0 else f"{title}{CONTINUED}", chunk)
        for number, chunk in enumerate(chunks(without_tables(text), most=most))
    ]


def title_of(text: str) -> str:
    """The first 20 characters that say something: what is shown in a list of chats."""
    for line in text.splitlines():
        if _FENCE.match(line) is None and (words := " ".join(_MARKS.sub(" ", line).split())):
            return words[:MOST_TITLE].strip()
    return NO_TITLE


def without_tables(text: str) -> str:
    """Each row of a table as a line `a | b`, since DingTalk shows no tables. Code stays as it is."""
    lines = text.split("\n")
    rows: list[str] = []
    fence, is_table = "", False
    for place, line in enumerate(lines):
        was_code = bool(fence)
        fence = _fence_after(fence, line)
        if was_code or fence:
            is_table = False
            rows.append(line)
            continue
        if not is_table:
            after = lines[place + 1] if place + 1 < len(lines) else ""
            is_table = "|" in line and "|" in after and _RULE.match(after) is not None
        elif "|" not in line:
            is_table = False
        if not is_table:
            rows.append(line)
        elif _RULE.match(line) is None:
            # Two blanks at its end: else the rows run into one.
            rows.append(f"{_cells(line)}  ")
    return "\n".join(rows)


def _cells(line: str) -> str:
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    return " | ".join(" ".join(cell.split()) for cell in cells)


def chunks(text: str, *, most: int = MOST) -> list[str]:
    """
    All of the text, none longer than `most`: cut between lines if it can be, and within one only if it is longer than a message. A fence that is cut is
    closed, and opened again in the next.
    """
    finished: list[str] = []
    current = _Chunk(most)
    for line in text.split("\n"):
        rest: str | None = line
        while rest is not None:
            rest = current.take(rest)
            if rest is not None:
                finished.append(current.close())
                current = current.next()
    if not current.is_blank:
        finished.append(current.close())
    return [chunk for chunk in finished if chunk.strip()]


class _Chunk:
    """One message while it is filled. `opening` is the fence that it begins within."""

    def __init__(self, most: int, opening: str = "") -> None:
        self._most = most
        self._lines = [opening] if opening else []
        self._size = len(opening)
        self._fence = opening
        self._begun = len(self._lines)

    @property
    def is_blank(self) -> bool:
        return len(self._lines) == self._begun

    def take(self, line: str) -> str | None:
        """Add a line; what of it goes into the next chunk (None: nothing)."""
        fence = _fence_after(self._fence, line)
        # What it takes to close the fence has to find its place, too.
        room = self._most - self._size - (1 if self._lines else 0) - self._closing(fence)
        if len(line) <= room:
            self._add(line, fence)
            return None
        if not self.is_blank:
            return line
        cut = _cut(line, room)
        self._add(line[:cut], self._fence)
        return line[cut:]

    def close(self) -> str:
        text = "\n".join(self._lines)
        return f"{text}\n{_mark(self._fence)}" if self._fence else text

    def next(self) -> _Chunk:
        return _Chunk(self._most, self._fence)

    def _add(self, line: str, fence: str) -> None:
        self._size += len(line) + (1 if self._lines else 0)
        self._lines.append(line)
        self._fence = fence

    @staticmethod
    def _closing(fence: str) -> int:
        return len(_mark(fence)) + 1 if fence else 0


def _cut(line: str, room: int) -> int:
    """Where a line that is too long is cut: behind a space if there is one in the second half."""
    place = line.rfind(" ", room // 2, room)
    return place + 1 if place >= 0 else max(room, 1)


def _fence_after(fence: str, line: str) -> str:
    """Which fence is open behind a line, if `fence` was before it: the line that opened it, cut short."""
    match = _FENCE.match(line) if len(line) <= _MOST_FENCE else None
    if match is None:
        return fence
    marks, info = match[1], match[2].strip()
    if fence:
        own = _mark(fence)
        return "" if marks[0] == own[0] and len(marks) >= len(own) and not info else fence
    if marks[0] == "`" and "`" in info:
        return ""
    return f"{marks}{info[:_MOST_INFO]}"


def _mark(fence: str) -> str:
    return fence[: len(fence) - len(fence.lstrip(fence[:1]))]
