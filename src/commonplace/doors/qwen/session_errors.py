"""
What can go wrong at the session door, in the codes of qwen-code's daemon.

The `details` stand in the body of the answer beside `error` and `code`, under the names that its clients know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    Forbidden,
    InvalidClientId,
    InvalidInput,
    NotFound,
    Overloaded,
    TooManyRequests,
)
from commonplace.values.session_lease import PerhapsElsewhere


class SessionNotFound(NotFound):
    code = "session_not_found"

    @classmethod
    def of(cls, session: str) -> Self:
        return cls(f'No session with id "{session[:128]}"', sessionId=session[:128])


class SessionArchived(Conflict):
    code = "session_archived"

    @classmethod
    def of(cls, session: str) -> Self:
        return cls("The session is archived. Unarchive it first.", sessionId=session)


class ClientUnknown(InvalidClientId):
    code = "invalid_client_id"

    @classmethod
    def of(cls, client: str, session: str) -> Self:
        return cls(f'Client id "{client}" is not registered for session {session}', sessionId=session, clientId=client)


class WorkspaceMismatch(InvalidInput):
    """This daemon works in another folder. Leave `cwd` out, or name the one that /capabilities names."""

    code = "workspace_mismatch"


class InvalidSessionScope(InvalidInput):
    """`sessionScope` must be single or thread"""

    code = "invalid_session_scope"


class InvalidApprovalMode(InvalidInput):
    code = "invalid_approval_mode"


class InvalidDeadline(InvalidInput):
    """`deadlineMs` must be a positive integer (milliseconds)"""

    code = "invalid_deadline_ms"


class InvalidPrompt(InvalidInput):
    """`prompt` is required and must be a non-empty array of content blocks"""

    code = "invalid_prompt"


class InvalidMaxQueued(InvalidInput):
    """`maxQueued` must be a whole number from 16 to 2048"""

    code = "invalid_max_queued"


class InvalidCursor(InvalidInput):
    """The cursor is none of ours. Leave it out to begin with the first page."""

    code = "invalid_cursor"


class InvalidOutcome(InvalidInput):
    """`outcome` must be {"outcome": "selected", "optionId": …} or {"outcome": "cancelled"}"""

    code = "invalid_outcome"


class InvalidOption(InvalidInput):
    code = "invalid_option_id"

    @classmethod
    def of(cls, request: str, option: str) -> Self:
        return cls(
            f'Permission {request}: optionId "{option}" is not in the set of options the agent offered.',
            requestId=request,
            optionId=option,
        )


class NoPermissionAsked(NotFound):
    code = "permission_not_found"

    @classmethod
    def of(cls, request: str, session: str | None = None) -> Self:
        where = {} if session is None else {"sessionId": session}
        return cls(
            "No pending permission request for session" if session else "No pending permission request",
            **where,
            requestId=request[:128],
        )


class NoPermissionKnown(PerhapsElsewhere, NoPermissionAsked):
    """Of a request that names no session: another worker may know of it."""


class VoteForbidden(Forbidden):
    code = "permission_forbidden"

    @classmethod
    def of(cls, request: str, session: str, reason: str) -> Self:
        return cls(
            f"Permission {request} on session {session}: vote rejected by policy ({reason}).",
            requestId=request,
            sessionId=session,
            reason=reason,
        )


class PromptQueueFull(TooManyRequests):
    code = "prompt_queue_full"
    status = 503

    @classmethod
    def of(cls, session: str, *, limit: int, pending: int) -> Self:
        return cls(
            f'Prompt queue full for session "{session}" ({pending}/{limit} pending)',
            retry_after=5,
            sessionId=session,
            limit=limit,
            pendingCount=pending,
        )


class NotSupported(CommonplaceError):
    """`operation` is the word of the route."""

    code = "not_supported"
    status = 501

    @classmethod
    def of(cls, operation: str, session: str) -> Self:
        instead = _INSTEAD.get(operation, "/capabilities names what there is.")
        return cls(f"This daemon has no `{operation}` for sessions. {instead}", sessionId=session, operation=operation)


_INSTEAD: Final[Mapping[str, str]] = {
    "mid-turn-message": "Say it as a prompt: it is played when the turn is over. Or cancel the turn first.",
    "branch": "Create a session with `sessionScope` thread.",
    "fork": "Create a session with `sessionScope` thread.",
    "config-option": "Set `approval-mode` or `model`.",
    "shell": "Ask the agent to run the command: its tool asks for permission.",
    "continue": "Say it as a prompt: the agent knows what was interrupted.",
    "export": "Read `transcript`, page by page.",
    "artifacts": "GET /v1/artifacts has them.",
    "resources": "GET /v1/resources has them.",
}
"""What to do in the place of some of them."""


class SessionLimitExceeded(Overloaded):
    code = "session_limit_exceeded"

    @classmethod
    def of(cls, limit: object) -> Self:
        return cls(
            f"As many sessions are in use as this daemon may have ({limit}). Close one, or try again later.",
            retry_after=5,
            limit=limit,
        )
