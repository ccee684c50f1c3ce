"""
What the memory of a session keeps for a while of a turn of the agent: what was said, and what happened on the way.

These are records of the session's own scope. They are recalled as its history, and nothing is learned from them nor shared by itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal

Capture = Literal["off", "summary", "full"]
IngestedKind = Literal[
    "user_message",
    "assistant_final",
    "tool_event",
    "approval_request",
    "approval_decision",
    "auth_challenge",
    "plan_todos",
    "question_prompt",
]

RETENTION: Final[dict[IngestedKind, timedelta | None]] = {
    "user_message": None,
    "assistant_final": None,
    "tool_event": timedelta(days=30),
    "approval_request": timedelta(days=14),
    "approval_decision": timedelta(days=14),
    "auth_challenge": timedelta(days=7),
    "plan_todos": timedelta(days=60),
    "question_prompt": timedelta(days=60),
}
"""How long each is kept. None: as long as its session is."""
