"""
`MEMORY.md`: a line an entry, short enough to stand in a prompt.

At most 200 lines of 150 characters and 25,000 bytes in all; where that is not enough, the newest entries stay and a last
line says how many are missing. The lines are made from the files each time. What else a person wrote into the index stays
above them, however long it is; `clip` is for the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from commonplace.markdown.entries import TYPES, EntryFile

MAX_LINE: Final = 150
MAX_LINES: Final = 200
MAX_BYTES: Final = 25_000
_OURS: Final = re.compile(r"- \[[^\]]*\]\((?!\.\.?/|/)[^)\s:]+\.md\)(?: — .*)?", re.IGNORECASE)
_FOOTER: Final = "> Warning: "
_CLIPPED: Final = f"{_FOOTER}the index is longer than this. Look through the folders."
_ESCAPED: Final = {ord(c): f"%{ord(c):02X}" for c in ' ()<>%"'}


def build(entries: Sequence[EntryFile], before: str = "") -> str:
    """The index of `entries`, newest first as they are given; `before` is the index that it takes the place of."""
    own = _of_a_person(before)
    lines = [(file, line) for file in entries if (line := _line(file))]
    count = _fitting([line for _, line in lines], own)
    listed = sorted(lines[:count], key=lambda pair: (TYPES.index(pair[0].entry.type), pair[0].entry.name.casefold()))
    index_lines = [*own, *(line for _, line in listed)]
    if missing := len(entries) - count:
        index_lines.append(_footer(missing))
    return "".join(f"{line}\n" for line in index_lines)


def clip(index: str) -> str:
    """As much of an index as a prompt may hold, whoever wrote it."""
    lines = index.splitlines()
    head: list[str] = []
    size = _bytes([_CLIPPED])
    for line in lines:
        size += _bytes([line[:MAX_LINE]])
        if len(head) >= MAX_LINES - 1 or size > MAX_BYTES:
            head.append(_CLIPPED)
            break
        head.append(line[:MAX_LINE])
    return "".join(f"{line}\n" for line in head)


def _fitting(lines: Sequence[str], own: Sequence[str]) -> int:
    """How many lines fit, with room for the footer where not all do."""
    size, count = _bytes(own), len(own)
    if count + len(lines) <= MAX_LINES and size + _bytes(lines) <= MAX_BYTES:
        return len(lines)
    size, count = size + _bytes([_footer(10_000)]), count + 1
    fits = 0
    for line in lines:
        size, count = size + _bytes([line]), count + 1
        if count > MAX_LINES or size > MAX_BYTES:
            break
        fits += 1
    return fits


def _line(file: EntryFile) -> str | None:
    """None where the path alone is too long."""
    path = escaped(file.path)
    title = file.entry.name.translate({ord("["): "(", ord("]"): ")"})
    room = MAX_LINE - len(f"- []({path})")
    if room < 1:
        return None
    if len(title) > room:
        return f"- [{_cut(title, room)}]({path})"
    line = f"- [{title}]({path})"
    room = MAX_LINE - len(line) - len(" — ")
    hook = file.entry.description
    return f"{line} — {_cut(hook, room)}" if hook and hook != title and room >= 8 else line


def escaped(path: str) -> str:
    """A path as it stands in a link."""
    return path.translate(_ESCAPED)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _footer(missing: int) -> str:
    return f"{_FOOTER}{missing} more entries do not fit here. Look through the folders, or merge some."


def _of_a_person(before: str) -> list[str]:
    """What in an index is not ours, whole, and an empty line after it."""
    lines = [line for line in before.splitlines() if not _OURS.fullmatch(line) and not line.startswith(_FOOTER)]
    while lines and not lines[-1].strip():
        lines.pop()
    return [*lines, ""] if lines else []


def _bytes(lines: Iterable[str]) -> int:
    return sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines)
