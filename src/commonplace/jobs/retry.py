"""What an error means for the job it ended: try again, and how soon, or never."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    EmbedderUnavailable,
    LaneTimeout,
    ModelMalformed,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    RemovalRefused,
    StoreBusy,
    StoreFull,
    StoreUnavailable,
    TimedOut,
    TooManyRequests,
)
from commonplace.values.job import Job
from commonplace.values.session_lease import SessionElsewhere

PATIENCE: Final = timedelta(days=1)
_SOONEST: Final = timedelta(seconds=5)
_LATEST: Final = timedelta(minutes=10)
_ELSEWHERE: Final = timedelta(seconds=1), timedelta(minutes=1)
_PASSING: Final = (
    StoreUnavailable,
    StoreBusy,
    StoreFull,
    EmbedderUnavailable,
    ModelUnavailable,
    TooManyRequests,
    TimedOut,
)
# The same again would end the same, and cost as much; or a person has to decide.
_LASTING: Final = (ModelRefused, ModelMalformed, ModelTimeout, LaneTimeout, RemovalRefused)
_PASSING_NUMBERS: Final = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTUNREACH,
        errno.EINTR,
        errno.EMFILE,
        errno.ENETUNREACH,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EPIPE,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryDecision:
    """`retry_in` None: never again. `counts`: it uses up an attempt. `unexpected`: log the whole error."""

    code: str
    message: str
    retry_in: timedelta | None = None
    counts: bool = True
    unexpected: bool = False

    def is_retried(self, job: Job) -> bool:
        """Whether the job is queued again."""
        return self.retry_in is not None and not (self.counts and job.attempts >= job.max_attempts)


STOPPED: Final = RetryDecision(
    code="daemon_stopped",
    message="The daemon stopped in the middle. The job goes on as soon as one is there.",
    retry_in=timedelta(0),
    counts=False,
)


def decide_retry(error: BaseException, job: Job, now: datetime, patience: timedelta = PATIENCE) -> RetryDecision:
    """
    An error of the moment is waited out, so long as `patience` without counting. What the caller or the files are to blame for ends
    the job. Everything else is tried again until the attempts are used up.
    """
    age = max(now - job.created_at, timedelta(0))
    if _is_passing(error):
        # Half of its age later: the longer it lasts, the rarer it is tried.
        wait = min(max(age / 2, _SOONEST), _LATEST)
        return RetryDecision(code=_code(error), message=_message(error), retry_in=wait, counts=age >= patience)
    if isinstance(error, SessionElsewhere):
        # The daemon that can do it looks for jobs, too.
        wait = min(max(age / 2, _ELSEWHERE[0]), _ELSEWHERE[1])
        return RetryDecision(code=error.code, message=error.message, retry_in=wait, counts=age >= patience)
    wait = min(_SOONEST * 4 ** max(job.attempts - 1, 0), _LATEST)
    if isinstance(error, CommonplaceError):
        again = (error.status >= 500 or isinstance(error, Conflict)) and not isinstance(error, _LASTING)
        return RetryDecision(code=error.code, message=error.message, retry_in=wait if again else None)
    return RetryDecision(code=_code(error), message=_message(error), retry_in=wait, unexpected=True)


def _is_passing(error: BaseException) -> bool:
    if isinstance(error, (*_PASSING, TimeoutError, ConnectionError)):
        return True
    return isinstance(error, OSError) and error.errno in _PASSING_NUMBERS


def _code(error: BaseException) -> str:
    if isinstance(error, CommonplaceError):
        return error.code
    if isinstance(error, OSError):
        return "system_error"
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "internal_error"


def _message(error: BaseException) -> str:
    if isinstance(error, CommonplaceError):
        return error.message
    if isinstance(error, OSError):
        # Without the name of the file, which is the operator's own affair.
        return f"The system refused: {error.strerror or type(error).__name__}."
    return "Something unexpected went wrong. The log of the daemon says what."
