"""
Markdown that arrives in pieces, parted into blocks.

A block is whole as soon as nothing that follows can change how it looks: it can be drawn once, and only the last one again and again.
"""

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class MarkdownBlocks:
    """What `add` answers and the `rest` are together the text that was added, however it was cut into pieces."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._fence = ""
        self._gap = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no rest."""
        return not (self._lines or self._line)

    @property
    def rest(self) -> str:
        """The block that goes on."""
        return "".join([*self._lines, *self._line])

    def add(self, text: str) -> list[str]:
        """The blocks that are whole by now."""
        blocks: list[str] = []
        first, *others = text.split("\n")
        self._go_on(first, blocks)
        for other in others:
            self._end_line()
            self._go_on(other, blocks)
        return blocks

    def end(self) -> str:
        """The rest, after which a new text begins."""
        rest = self.rest
        self._lines, self._line, self._fence, self._gap = [], [], "", False
        return rest

    def _go_on(self, piece: str, blocks: list[str]) -> None:
        """An indented line may still belong to the list above it; anything else behind a blank line does not."""
        if not piece:
            return
        if self._gap and not self._line and not piece[0].isspace():
            blocks.append("".join(self._lines))
            self._lines, self._gap = [], False
        self._line.append(piece)

    def _end_line(self) -> None:
        line = "".join(self._line)
        self._line = []
        self._lines.append(f"{line}\n")
        fence = _FENCE.match(line)
        behind = line[fence.end() :] if fence else ""
        if self._fence:
            closes = fence is not None and fence[1].startswith(self._fence) and not behind.strip()
            self._fence = "" if closes else self._fence
        elif fence is not None and not (fence[1][0] == "`" and "`" in behind):
            self._fence, self._gap = fence[1], False
        else:
            self._gap = not line.strip()
