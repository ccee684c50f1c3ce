"""What a vendor's failure means to a caller. The vendor's own words, which may quote the prompt or the key, stay behind."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from commonplace.errors import ModelError, ModelMalformed, ModelRefused, ModelTimeout, ModelUnavailable

_PAID_UP: Final = "The vendor says that the account has no credit left. Top it up, or choose another model in [llm]."
_UNSAID: Final = "The language model declined to answer. The same text will be declined again."
_TIMEOUTS: Final = (ModelTimeoutError, ModelRequestTimeout, TimeoutError)
_PASSING: Final = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError)
_PASSING_STATUSES: Final = frozenset({408, 409, 425})
_LATE: Final = frozenset({408, 504})


@contextmanager
def told_plainly() -> Generator[None]:
    """Raises a ModelError for what pydantic-ai raises."""
    try:
        yield
    except (AgentRunError, TimeoutError) as error:
        raise meaning(error) from error


def meaning(error: AgentRunError | TimeoutError) -> ModelError:
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    if isinstance(error, _TIMEOUTS):
        return ModelTimeout()
    if is_passing(error):
        return ModelUnavailable(status=status, retry_after=retry_after(error))
    if isinstance(error, ModelQuotaExceededError):
        return ModelRefused(_PAID_UP, status=status)
    if isinstance(error, ContentFilterError):
        return ModelRefused(_UNSAID)
    if isinstance(error, ModelRequestRejectedError | ModelHTTPError):
        return ModelRefused(status=status)
    return ModelMalformed()


def is_passing(error: AgentRunError | TimeoutError) -> bool:
    """Whether the same request may be answered if it is sent again."""
    if isinstance(error, _TIMEOUTS):
        return False  # What took too long once has used up the time of the task.
    if isinstance(error, ModelHTTPError) and error.status_code in _PASSING_STATUSES:
        return True
    return isinstance(error, _PASSING)


def is_free(error: AgentRunError) -> bool:
    """
    Whether the vendor cannot have charged for it: it was never sent, or refused with a status that says so. A stream that had
    begun was not refused.
    """
    if isinstance(error, ModelConnectionError):
        return error.phase in ("pool", "connect")
    return isinstance(error, ModelHTTPError) and not error.in_stream and error.status_code not in _LATE


def retry_after(error: AgentRunError | TimeoutError) -> float | None:
    return error.retry_after if isinstance(error, ModelAPIError) else None
