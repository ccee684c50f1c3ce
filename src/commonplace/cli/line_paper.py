"""A terminal that somebody types at while others talk: whole lines come above the one that is being typed."""

import sys
from collections.abc import Callable

import typer
from rich.cells import cell_len

from commonplace.cli.lines import width
from commonplace.cli.turn_view import Tone

_COLOURS: dict[Tone, dict[str, object]] = {
    "plain": {},
    "dim": {"dim": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "warn": {"fg": "yellow"},
    "strong": {"bold": True},
}
_CLEAR = "\r\x1b[K"


class LinePaper:
    """
    `typing` answers the prompt and what was typed behind it, to be drawn again below each line; None: nobody types here, and nothing is coloured.
    """

    def __init__(self, typing: Callable[[], str] | None = None, write: Callable[[str], None] | None = None) -> None:
        self._typing = typing
        self._write = write or _print
        self._rest = ""

    def text(self, piece: str) -> None:
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._put(line)
        while self._typing is not None and cell_len(self._rest) >= width():
            line, self._rest = _broken(self._rest, width() - 1)
            self._put(line)

    def end_text(self) -> None:
        if self._rest:
            self._put(self._rest)
        self._rest = ""

    def line(self, text: str, tone: Tone = "plain") -> None:
        self.end_text()
        for line in text.split("\n"):
            self._put(line if self._typing is None else typer.style(line, **_COLOURS[tone]))  # pyright: ignore[reportArgumentType] - as typer names them

    def block(self, text: str, tone: Tone = "dim") -> None:
        for line in text.splitlines():
            self.line(f"    {line}", tone)

    def diff(self, text: str) -> None:
        for line in text.splitlines():
            self.line(f"    {line}", "good" if line.startswith("+") else "bad" if line.startswith("-") else "dim")

    def status(self, text: str | None) -> None:
        pass

    def tick(self) -> None:
        pass

    def _put(self, line: str) -> None:
        if self._typing is None:
            self._write(f"{line}\n")
        else:
            self._write(f"{_CLEAR}{line}\n{self._typing()}")


def _broken(text: str, cells: int) -> tuple[str, str]:
    """The first line of it, cut at a space if there is one, and the rest."""
    end = taken = 0
    while end < len(text) and taken + cell_len(text[end]) <= cells:
        taken += cell_len(text[end])
        end += 1
    space = text.rfind(" ", 1, end + 1)
    return (text[:space], text[space + 1 :]) if space > 0 else (text[:end], text[end:])


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
