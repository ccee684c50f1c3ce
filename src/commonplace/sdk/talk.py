"""
A talk with the daemon, without a connection: what to send, what an answer means, and when to ask again.

A talk is a generator. It yields what it wants done (`Send` a request, `Pause` for a while) and is given what came of it. The
clients differ only in how they do that.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Generic, TypeAlias, TypeVar

import httpx
from pydantic import ValidationError

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    DaemonUnavailable,
    Forbidden,
    InvalidInput,
    NotFound,
    StoreUnavailable,
    TimedOut,
    TooManyRequests,
    Unauthenticated,
)
from commonplace.values import (
    agent_errors,
    capability,
    channel,
    filing_errors,
    permission,
    run_errors,
    schedule,
    session,
    session_lease,
)
from commonplace.values.retry import Backoff
from commonplace.values.retry_after import parse_retry_after
from commonplace.wire.problems import ProblemAnswer

T = TypeVar("T")

ATTEMPTS: Final = 4
LONGEST_WAIT: Final = 30.0
_BACKOFF: Final = Backoff(first=0.1, jitter=(1.0, 2.0))
# Added to a wait that the daemon asks for: it asks everybody for the same.
_SPREAD: Final = Backoff(first=0.1, jitter=(0.0, 1.0))
PASSING: Final = frozenset({429, 502, 503, 504})
_BY_STATUS: Final[Mapping[int, type[CommonplaceError]]] = {
    400: InvalidInput,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: InvalidInput,
    422: InvalidInput,
    429: TooManyRequests,
    503: StoreUnavailable,
    504: TimedOut,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpReply:
    """An answer, read whole. The names of `headers` are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, response: httpx.Response, body: bytes) -> HttpReply:
        return cls(status=response.status_code, body=body, headers=dict(response.headers))


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(Generic[T]):
    """
    A request, and how its answer is read. `key` is its idempotency key. One that `reads`, or that has a key, may be sent again
    where nobody knows what became of it. `endless`: the answer may take as long as it takes; `waits`: so many seconds longer
    than others. `condition` is the header that says what the request is to find.
    """

    method: str
    path: str
    decode: Callable[[bytes], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    key: str | None = None
    reads: bool = False
    endless: bool = False
    waits: float = 0.0
    condition: tuple[str, str] | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        if self.condition is not None:
            headers.update([self.condition])
        return headers

    @property
    def may_be_repeated(self) -> bool:
        return self.reads or self.key is not None


@dataclass(frozen=True, slots=True)
class Send:
    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Outcome: TypeAlias = "HttpReply | httpx.TransportError"
Talk: TypeAlias = Generator[Send | Pause, Any, T]


def asked(call: Call[T]) -> Talk[T]:
    """
    Send a request, again where that is safe and may help, and read the answer.

    Raises:
        CommonplaceError: the error that the daemon met, of the same class.
        DaemonUnavailable: nobody answers.
    """
    for attempt in count(1):
        outcome: Outcome = yield Send(call)
        pause = _pause(call, outcome, attempt)
        if pause is None:
            return _read(call, outcome)
        yield Pause(pause)
    raise AssertionError


def _pause(call: Call[Any], outcome: Outcome, attempt: int) -> float | None:
    """How long to wait before the next attempt; None where there is none."""
    if attempt >= ATTEMPTS or not call.may_be_repeated:
        return None
    if isinstance(outcome, httpx.TransportError):
        return _BACKOFF.after(attempt)
    if outcome.status not in PASSING:
        return None
    wait = wait_named(outcome)
    if wait is None:
        return _BACKOFF.after(attempt)
    return wait + _SPREAD.after(attempt) if wait <= LONGEST_WAIT else None


def wait_named(reply: HttpReply) -> float | None:
    """The seconds that Retry-After asks for."""
    return parse_retry_after(reply.headers.get("retry-after", ""))


def _read(call: Call[T], outcome: Outcome) -> T:
    if isinstance(outcome, httpx.TransportError):
        raise unreachable(outcome)
    if outcome.status >= 300:
        raise problem(outcome)
    try:
        return call.decode(outcome.body)
    except (ValidationError, ValueError) as error:
        raise CommonplaceError("What answers there is no daemon of Commonplace, or one of another version.") from error


def unreachable(error: httpx.TransportError) -> CommonplaceError:
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        unreached: CommonplaceError = TimedOut("The daemon did not answer in time.")
    else:
        unreached = DaemonUnavailable()
    unreached.__cause__ = error
    return unreached


def waiting(seconds: float) -> tuple[tuple[str, str], ...]:
    """The query of a look that waits. Daemons of before know nothing of it, and answer at once."""
    return (("wait", f"{seconds:g}"),) if seconds else ()


# ---- errors


def _known(root: type[CommonplaceError]) -> dict[str, type[CommonplaceError]]:
    by_code: dict[str, type[CommonplaceError]] = {}
    todo = [root]
    while todo:
        kind = todo.pop(0)
        # A class that has no code of its own is told by its parent's.
        by_code.setdefault(kind.code, kind)
        todo += kind.__subclasses__()
    return by_code


_OWN_ERRORS: Final = (
    agent_errors,
    capability,
    channel,
    filing_errors,
    permission,
    run_errors,
    schedule,
    session,
    session_lease,
)
"""Where values bring errors of their own: loaded, so that each has its way back."""
_BY_CODE: Final = _known(CommonplaceError)


def problem(reply: HttpReply) -> CommonplaceError:
    """The error that an answer tells of. Where its code is new to us, its status says the kind, and its details the rest."""
    try:
        error = ProblemAnswer.model_validate_json(reply.body).error
    except ValidationError:
        kind = _BY_STATUS.get(reply.status, CommonplaceError)
        return kind(f"The daemon's address answered with status {reply.status}.", status=reply.status)
    return error_of(error.code, error.message, error.details or {}, reply.status)


def error_of(code: str, message: str, details: Mapping[str, object], status: int | None = None) -> CommonplaceError:
    arguments = {name: value for name, value in details.items() if name not in ("self", "message")}
    kind = _BY_CODE.get(code)
    if kind is None:
        return _BY_STATUS.get(status or 500, CommonplaceError)(message, **{**arguments, "code": code, "status": status})
    return kind(message, **arguments)
