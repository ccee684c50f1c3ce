"""How a text changes, as a unified diff, in a time that does not explode with the size of the file."""

from __future__ import annotations

import difflib
from typing import Final

_AROUND: Final = 3
_MOST_COMPARED: Final = 2_000


def unified(path: str, before: str | None, after: str) -> str:
    """`before` None: there is no file yet. Lines at both ends that stay are left out before anything is compared."""
    old, new = (before or "").splitlines(keepends=True), after.splitlines(keepends=True)
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    begin = max(0, head - _AROUND)
    ends = (len(old) - max(0, tail - _AROUND), len(new) - max(0, tail - _AROUND))
    names = ("/dev/null" if before is None else f"a/{path}", f"b/{path}")
    old, new = old[begin : ends[0]], new[begin : ends[1]]
    if len(old) + len(new) > _MOST_COMPARED:
        # Everything between is shown as replaced: comparing takes a time that grows with the square.
        body = [f"-{line}" for line in old] + [f"+{line}" for line in new]
        hunk = f"@@ -{begin + 1},{len(old)} +{begin + 1},{len(new)} @@\n"
        return "".join(_ended(line) for line in [f"--- {names[0]}\n", f"+++ {names[1]}\n", hunk, *body])
    lines = difflib.unified_diff(old, new, *names, n=_AROUND)
    return "".join(_moved(_ended(line), begin) for line in lines)


def _same(old: list[str], new: list[str]) -> int:
    count = 0
    for line, other in zip(old, new, strict=False):
        if line != other:
            break
        count += 1
    return count


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _moved(line: str, by: int) -> str:
    """The header of a hunk, counted from the beginning of the file."""
    if not by or not line.startswith("@@ "):
        return line
    old, new = line.split()[1:3]
    return f"@@ {_shift(old, by)} {_shift(new, by)} @@\n"


def _shift(span: str, by: int) -> str:
    start, comma, count = span[1:].partition(",")
    return f"{span[0]}{int(start) + by}{comma}{count}"
