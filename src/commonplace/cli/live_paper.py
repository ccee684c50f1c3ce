"""
A terminal on which an answer grows: whole blocks of Markdown are printed once, and only the last one, below them, is drawn again.

What is drawn again is never higher than the terminal, and is written at once, so that nothing flickers.
"""

import time
from collections.abc import Callable, Iterable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from commonplace.cli.lines import visible
from commonplace.cli.markdown_blocks import MarkdownBlocks
from commonplace.cli.turn_view import Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "dim": "dim",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "strong": "bold",
}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_EVERY = 0.08
_LONGEST = 20_000
"""Characters of a block that is read as Markdown; a longer one is printed as it stands."""


class Clean:
    """What is inside, without characters that a terminal would obey: Markdown can spell them out (`&#27;`)."""

    def __init__(self, inside: RenderableType) -> None:
        self._inside = inside

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._inside, options, pad=False)
        inked = [place for place, line in enumerate(lines) if any(segment.text.strip() for segment in line)]
        # Some blocks bring blank lines of their own.
        for line in lines[inked[0] : inked[-1] + 1] if inked else ():
            yield from (Segment(visible(segment.text), segment.style) for segment in line)
            yield Segment.line()


def markdown(text: str) -> RenderableType:
    if len(text) > _LONGEST:
        return Text(text.strip("\n"))
    # A link shows where it leads, and code has the colours of the terminal.
    return Clean(Markdown(text, hyperlinks=False, code_theme="ansi_dark"))


class LivePaper:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, emoji=False, markup=False)
        self._blocks = MarkdownBlocks()
        self._status: str | None = None
        self._live: Live | None = None
        self._next_draw = 0.0
        self._behind_text = False

    def text(self, piece: str) -> None:
        for block in self._blocks.add(piece):
            self._print_block(block)
        self._draw()

    def end_text(self) -> None:
        self._print_block(self._blocks.end())
        if self._status is None:
            self._stop()

    def line(self, text: str, tone: Tone = "plain") -> None:
        if self._behind_text and text:
            self._print("")
        self._behind_text = False
        self._print(Text(text, style=STYLES[tone]))

    def block(self, text: str, tone: Tone = "dim") -> None:
        self._print(Padding(Text(text, style=STYLES[tone]), (0, 0, 0, 4)))

    def diff(self, text: str) -> None:
        lines = [Text(line, style=_style(line)) for line in text.splitlines()]
        self._print(Padding(Text("\n").join(lines), (0, 0, 0, 4)))

    def status(self, text: str | None) -> None:
        self._status = text
        if text is None and self._blocks.is_empty:
            self._stop()
        else:
            self._draw()

    def tick(self) -> None:
        if self._status is not None or not self._blocks.is_empty:
            self._draw()

    # ---- what is printed, and what is drawn below it

    def _print_block(self, block: str) -> None:
        if block.strip():
            self._print("", markdown(block))
            self._behind_text = True

    def _print(self, *things: RenderableType) -> None:
        # What goes on is drawn below it anew, and both are written at once.
        self._console.print(Group(*things))

    def _draw(self) -> None:
        """At most so many times a second, and less often what takes long: a model may say a word at a time."""
        begin = time.monotonic()
        if begin < self._next_draw or not self._console.is_terminal:
            return
        if self._live is None:
            self._live = Live(
                _Drawn(self._unfinished),
                console=self._console,
                transient=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.refresh()
        now = time.monotonic()
        self._next_draw = now + max(_EVERY, 3 * (now - begin))

    def _unfinished(self) -> Iterable[RenderableType]:
        rest = self._blocks.rest
        most = max(self._console.size.height - 4, 2)
        if rest.strip():
            yield ""
            yield _End(markdown(rest[-_LONGEST:]), most)
        if self._status is not None:
            frame = _FRAMES[int(time.monotonic() * 10) % len(_FRAMES)]
            yield Text(f"{frame} {self._status}", style="dim", no_wrap=True, overflow="ellipsis")

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
        self._live = None


def _style(line: str) -> str:
    """Of a line of a diff."""
    return "bold" if line.startswith(("+++ ", "--- ")) else _DIFF.get(line[:1], "dim")


class _Drawn:
    """What `parts` answers at the moment when it is drawn."""

    def __init__(self, parts: Callable[[], Iterable[RenderableType]]) -> None:
        self._parts = parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._parts()


class _End:
    """The last lines of something, as many as fit."""

    def __init__(self, inside: RenderableType, most: int) -> None:
        self._inside = inside
        self._most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._inside, options, pad=False)[-self._most :]:
            yield from line
            yield Segment.line()
