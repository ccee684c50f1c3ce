"""The session door on the wire, as qwen-code's clients speak of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from commonplace.doors.qwen.shapes import CamelModel, Given
from commonplace.values.json import Json, Natural
from commonplace.values.moment import Moment


def _is_none(value: object) -> bool:
    return value is None


_ABSENT: Final[dict[str, Any]] = {"exclude_if": _is_none}

# ---- what a client sends


class CreateBody(Given):
    cwd: Any = Field(default=None, description="The daemon's workspace, which /capabilities names; it may be left out.")
    model_service_id: Any = Field(default=None, description="The model that a new session talks to.")
    session_scope: Any = Field(
        default=None,
        description="`single` (default): the caller's session that is in use, if there is one. `thread`: a new one.",
    )
    approval_mode: Any = Field(default=None, description="How much a new session asks: `default`, `plan`, `auto-edit`.")


class SessionRestoreBody(Given):
    cwd: Any = Field(default=None, description="As for a new session.")
    workspace_cwd: Any = Field(default=None, description="The same, as some clients call it.")
    approval_mode: Any = Field(default=None, description="As for a new session.")
    history_page_size: Any = Field(
        default=None, description="How many of the last messages are answered; at most 1,000."
    )


class PromptBody(Given):
    prompt: Any = Field(
        default=None,
        description="Blocks: `text`, `resource_link`, or `resource` with a text in it.",
        examples=[[{"type": "text", "text": "Hello"}]],
    )
    deadline_ms: Any = Field(default=None, description="After so many milliseconds the turn is ended.")


class VoteBody(Given):
    outcome: Any = Field(default=None, examples=[{"outcome": "selected", "optionId": "proceed_once"}])


class ModelBody(Given):
    model_id: Any = Field(default=None, description="One of the models that the session's `state` names.")


class ModeBody(Given):
    mode: Any = Field(default=None, description="One of the modes that the session's `state` names.")


class MetadataBody(Given):
    display_name: Any = Field(default=None, description="1 to 200 characters.")


class SessionIdsBody(Given):
    session_ids: Any = Field(default=None, description="At most 100.")


# ---- what we answer


class SessionAnswer(CamelModel):
    session_id: str
    workspace_cwd: str
    attached: bool = Field(description="Whether it was in use already.")
    client_id: str = Field(description="Send it as `X-Qwen-Client-Id`: events then say what came from you.")
    created_at: Moment
    event_epoch: str
    has_active_prompt: bool | None = Field(default=None, **_ABSENT)
    model_applied: bool | None = Field(default=None, **_ABSENT)


class RestoredSession(SessionAnswer):
    """`compacted_replay` and what follows it are answered to whoever loads a session, not to whoever resumes it."""

    state: dict[str, Json]
    has_running_background_tasks: bool = False
    last_event_id: Natural = Field(description="Listen from here on.")
    compacted_replay: list[dict[str, Json]] | None = Field(
        default=None, description="What was said, as events.", **_ABSENT
    )
    live_journal: list[Mapping[str, Json]] | None = Field(
        default=None, description="What was told of the turn that is played.", **_ABSENT
    )
    history_has_more: bool | None = Field(
        default=None, description="Whether more was said before; it is in the transcript.", **_ABSENT
    )


class PromptAccepted(CamelModel):
    prompt_id: str
    last_event_id: Natural
    event_epoch: str


class Heartbeat(CamelModel):
    session_id: str
    client_id: str | None = Field(default=None, **_ABSENT)
    last_seen_at: Natural


class PendingPrompt(CamelModel):
    prompt_id: str
    text: str
    queued_at: Natural
    state: str
    originator_client_id: str | None = Field(default=None, **_ABSENT)


class PendingPrompts(CamelModel):
    pending_prompts: list[PendingPrompt]


class PromptRemoved(CamelModel):
    removed: bool


class SessionModeAnswer(CamelModel):
    session_id: str
    mode: str
    previous: str
    persisted: bool = Field(default=False, description="It holds for this session only.")


class SessionModelAnswer(CamelModel):
    session_id: str
    model_id: str


class MetadataAnswer(CamelModel):
    session_id: str
    display_name: str


class SessionSummary(CamelModel):
    session_id: str
    workspace_cwd: str
    created_at: Moment
    updated_at: Moment
    display_name: str | None = Field(default=None, **_ABSENT)
    source_type: str
    client_count: Natural
    has_active_prompt: bool
    active_work_state: str
    has_running_background_tasks: bool = False
    is_waiting_for_permission: bool
    is_waiting_for_user_question: bool = False
    pending_interaction_count: Natural
    pending_interactions: list[dict[str, Json]]
    has_turn_error: bool
    turn_error: dict[str, Json] | None = Field(default=None, **_ABSENT)


class ListedSession(SessionSummary):
    is_archived: bool


class SessionList(CamelModel):
    sessions: list[ListedSession]
    next_cursor: str | None = Field(default=None, **_ABSENT)


class Transcript(CamelModel):
    v: int = 1
    session_id: str
    events: list[dict[str, Json]]
    next_cursor: str | None = Field(default=None, **_ABSENT)
    has_more: bool
    start_time: Moment
    last_updated: Moment


class SessionFailure(CamelModel):
    session_id: str
    error: str


class Removals(CamelModel):
    removed: list[str]
    not_found: list[str]
    errors: list[SessionFailure]


class Archived(CamelModel):
    archived: list[str]
    already_archived: list[str]
    not_found: list[str]
    errors: list[SessionFailure]


class Unarchived(CamelModel):
    unarchived: list[str]
    already_active: list[str]
    not_found: list[str]
    errors: list[SessionFailure]
