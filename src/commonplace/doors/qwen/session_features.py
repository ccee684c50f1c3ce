"""What the session door can, by the names that qwen-code's clients look for, and its limits."""

from __future__ import annotations

from typing import Final

from commonplace.doors.qwen.session_bridges import SessionDoorOptions
from commonplace.doors.qwen.session_routes import MOST_PROMPTS
from commonplace.events.ring import MOST_LISTENERS, SIZE

SESSION_FEATURES: Final = (
    "health",
    "capabilities",
    "daemon_status",
    "session_create",
    "session_scope_override",
    "session_load",
    "session_resume",
    "session_list",
    "session_prompt",
    "non_blocking_prompt",
    "prompt_absolute_deadline",
    "session_cancel",
    "session_events",
    "typed_event_schema",
    "slow_client_warning",
    "session_set_model",
    "session_approval_mode_control",
    "session_close",
    "session_metadata",
    "session_archive",
    "session_context",
    "session_context_usage",
    "session_stats",
    "session_status",
    "session_transcript",
    "session_permission_vote",
    "permission_vote",
    "client_identity",
    "client_heartbeat",
)


def daemon_limits(options: SessionDoorOptions) -> dict[str, int]:
    return {
        "maxSessions": options.most,
        "maxTotalSessions": options.most,
        "maxPendingPromptsPerSession": MOST_PROMPTS,
        "maxSubscribersPerSession": MOST_LISTENERS,
        "eventRingSize": SIZE,
    }
