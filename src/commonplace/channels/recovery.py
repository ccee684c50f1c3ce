"""
What became of a turn that was asked for before this process began.

The history says it: a turn whose end is kept is over; one that had begun to do something is not done again; one that had not is.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from commonplace.channels.agent import RoomHistory
from commonplace.errors import NotFound
from commonplace.values.principal import Principal
from commonplace.values.session import SessionMessage

_PAGE: Final = 200
_MOST: Final = 5
_ENDINGS: Final = frozenset({"turn_ended", "turn_failed"})
_WITHDRAWN: Final = "prompt_withdrawn"

Standing: TypeAlias = Literal["not_begun", "interrupted", "over"]


async def standing_of(history: RoomHistory, who: Principal, session: str, run: str) -> tuple[Standing, str]:
    """Where the turn stands, and its reply if there is one."""
    messages = await _of_run(history, who, session, run)
    if any(message.role == "event" and message.text in (*_ENDINGS, _WITHDRAWN) for message in messages):
        replies = [message.text for message in messages if message.role == "assistant" and message.kind == "text"]
        return "over", replies[-1] if replies else ""
    is_begun = any(message.role in ("assistant", "tool") for message in messages)
    return ("interrupted" if is_begun else "not_begun"), ""


async def _of_run(history: RoomHistory, who: Principal, session: str, run: str) -> list[SessionMessage]:
    messages: list[SessionMessage] = []
    before: int | None = None
    for _ in range(_MOST):
        try:
            page = await history.messages(who, session, before=before, limit=_PAGE, hidden=True)
        except NotFound:
            return []
        messages = [message for message in page.messages if message.run == run] + messages
        if not page.before or not page.messages or (messages and page.messages[0].run != run):
            return messages
        before = page.messages[0].position
    return messages
