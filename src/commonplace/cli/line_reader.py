"""
What a person types: lines with a history, and texts of several lines.

The history is what was said in the session: it is read from there, and kept nowhere else.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

_QUOTES = '"""'
PROMPT = "› "
_MORE = "… "


class LineReader:
    """
    `interactive`: somebody sits at a terminal, where `read_line` shows a prompt and reads. Otherwise lines come from stdin, and nothing is
    written.
    """

    def __init__(self, *, interactive: bool, read_line: Callable[[str], str] = input) -> None:
        self._interactive = interactive
        self._read_line = read_line
        self._readline: Any = _readline() if interactive and read_line is input else None

    @property
    def is_interactive(self) -> bool:
        return self._interactive

    def typing(self) -> str:
        """The prompt and what stands behind it by now."""
        return PROMPT + (self._readline.get_line_buffer() if self._readline is not None else "")

    def remember(self, texts: Iterable[str]) -> None:
        """What the arrow keys bring back, oldest first."""
        if self._readline is not None:
            self._readline.clear_history()
            for text in texts:
                self._readline.add_history(" ".join(text.split()))

    def read(self) -> str | None:
        """
        A text: one line; several, each but the last with a backslash at its end; or what stands between three quotes. None: there
        will be no more. Raises KeyboardInterrupt.
        """
        line = self._line(PROMPT)
        if line is None:
            return None
        if line.lstrip().startswith(_QUOTES):
            return self._quoted(line.lstrip().removeprefix(_QUOTES))
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1].removesuffix("\\")
            more = self._line(_MORE)
            if more is None:
                break
            lines.append(more)
        return "\n".join(lines)

    def ask(self, question: str) -> str | None:
        """An answer, which the history does not keep. None: nobody is there to give one."""
        if not self._interactive:
            return None
        answer = self._line(question)
        if answer and self._readline is not None:
            self._readline.remove_history_item(self._readline.get_current_history_length() - 1)
        return answer

    def _quoted(self, first: str) -> str:
        lines: list[str] = []
        line: str | None = first
        while line is not None and not line.rstrip().endswith(_QUOTES):
            lines.append(line)
            line = self._line(_MORE)
        if line is not None:
            lines.append(line.rstrip().removesuffix(_QUOTES))
        return "\n".join(lines).strip("\n")

    def _line(self, prompt: str) -> str | None:
        if not self._interactive:
            line = sys.stdin.readline()
            return line.removesuffix("\n") if line else None
        try:
            return self._read_line(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None


def _readline() -> Any:
    """The line editor, where there is one: `input` uses it as soon as it is loaded."""
    try:
        # Not every Python has one.
        import readline
    except ImportError:
        return None
    readline.set_auto_history(True)
    readline.parse_and_bind("set enable-bracketed-paste on")
    return readline
