"""Short texts: a label, a reason, the name of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.errors import InvalidInput

MAX_LINE: Final = 4_096


def check_line(what: str, line: str | None) -> str | None:
    """A reason, an actor, the file or the message something comes from."""
    if line is not None and not (len(line) <= MAX_LINE and "\0" not in line and is_text(line)):
        raise InvalidInput(f"{what.capitalize()}: at most {MAX_LINE:,} characters, without NUL or lone surrogates.")
    return line


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def check_lines(what: str, lines: Sequence[str] | None) -> tuple[str, ...]:
    """Several texts; a single one is meant as such, not as its letters."""
    if lines is None:
        return ()
    several = (lines,) if isinstance(lines, str) else tuple(lines)
    if not all(isinstance(line, str) for line in several):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidInput(f"{what} are texts.")
    for line in several:
        check_line(what, line)
    return several
