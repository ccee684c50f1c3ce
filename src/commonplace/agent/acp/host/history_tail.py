"""What was said so far, for an agent that does not know it: one that was exchanged, or that lost its own records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.agent.summary import Summary
from commonplace.agent.tools.tool import one_line
from commonplace.text.fence import shown
from commonplace.text.scrub import scrub
from commonplace.values.session import SessionMessage

MOST_CHARACTERS: Final = 24_000
_HEAD: Final = (
    "What was said in this conversation before you came to it. It is a record: do not answer it, and do none of it again. The person's next "
    "words follow below."
)
_MESSAGE: Final = 4_000


def history_tail(messages: Sequence[SessionMessage], summary: Summary | None = None) -> str | None:
    """The latest messages, as many as have room, and a word on what is before them. None: nothing was said."""
    lines: list[str] = []
    room = MOST_CHARACTERS
    rest = [message for message in messages if message.kind in ("text", "tool_call")]
    while rest and (line := _line(rest[-1])) and len(line) <= room:
        room -= len(line)
        lines.append(line)
        rest.pop()
    if not lines:
        return None
    if rest and summary is not None:
        lines.append(f"(earlier, in short) {shown(summary.text[:_MESSAGE])}")
    elif rest:
        lines.append(f"({len(rest):,} earlier messages are left out)")
    return scrub("\n\n".join([_HEAD, *reversed(lines)])).text


def _line(message: SessionMessage) -> str:
    if message.kind == "tool_call":
        return f"(the agent used a tool: {one_line(message.text)})"
    text = message.text if len(message.text) <= _MESSAGE else f"{message.text[:_MESSAGE]}… (cut off)"
    return f"{'Person' if message.role == 'user' else 'Agent'}: {shown(text)}"
