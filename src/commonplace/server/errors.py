"""
The one place where an error becomes an answer, in the shape of the door that was asked.

No answer repeats what was sent: pydantic's `input` is left out, and the message of an error we did not expect stays in
the process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from commonplace.errors import (
    BodyTooLarge,
    CommonplaceError,
    InternalError,
    InvalidInput,
    InvalidJson,
    MethodNotAllowed,
    RouteNotFound,
)
from commonplace.server.exchange import DoorName, exchange_of
from commonplace.text.scrub import scrub

_CAMEL: Final = re.compile(r"[a-z]+([A-Z][a-z]+)*")
_MOST: Final = 20
_LONGEST: Final = 200
_NATIVE: Final[frozenset[DoorName]] = frozenset({"native", "mcp", "operators"})
_OF_STATUS: Final[Mapping[int, type[CommonplaceError]]] = {
    400: InvalidJson,
    404: RouteNotFound,
    405: MethodNotAllowed,
    413: BodyTooLarge,
}
RENAMED: Final[Mapping[str, str]] = {"/v1/session": "/v1/sign-in"}
"""Old paths and the new ones. An old path is not served; its 404 names the new one."""


def error_response(scope: Scope, error: CommonplaceError, *, close: bool = False) -> Response:
    """The answer to a request that ended in `error`. `close`: what is left of the request will not be read."""
    exchange = exchange_of(scope)
    exchange.error = error.code
    headers: dict[str, str] = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="commonplace"'
    if error.status in (421, 429, 503):
        headers["Retry-After"] = str(_seconds(error.details.get("retry_after")))
    if close:
        headers["Connection"] = "close"
    return JSONResponse(shaped(exchange.door, error), status_code=error.status, headers=headers)


def shaped(door: DoorName, error: CommonplaceError) -> dict[str, Any]:
    if door == "keyed":
        return {"success": False, "error": error.message}
    if door == "sessions":
        # Its clients find what an error is about beside its code, under the names that they know.
        details = {name: _plain(value) for name, value in error.details.items() if _CAMEL.fullmatch(name)}
        return {"error": error.message, "code": error.code, **details}
    if door not in _NATIVE:
        return {"error": error.message, "code": error.code}
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        body["details"] = {name: _plain(value) for name, value in error.details.items()}
    return {"error": body}


async def answer_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, CommonplaceError)
    return error_response(request.scope, error)


async def answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [_problem(item) for item in cast(Sequence[Mapping[str, Any]], error.errors())[:_MOST]]
    if any(item.get("type") == "json_invalid" for item in error.errors()):
        return error_response(request.scope, InvalidJson())
    message = "; ".join(
        f"{problem['where']}: {problem['problem']}" if problem["where"] else problem["problem"] for problem in problems
    )
    return error_response(request.scope, InvalidInput(message, problems=problems))


async def answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    # What went wrong while the body was read is told by the framework in its own words.
    cause = error.__cause__
    ours = cause if isinstance(cause, CommonplaceError) else _of_status(request, error.status_code)
    response = error_response(request.scope, ours)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


def _of_status(request: Request, status: int) -> CommonplaceError:
    path = RENAMED.get(request.url.path)
    if status == 404 and path is not None:
        return RouteNotFound(f"Renamed: use {path}.", path=path)
    return _OF_STATUS.get(status, InternalError)()


HANDLERS: Final[dict[Any, Any]] = {
    CommonplaceError: answer_ours,
    RequestValidationError: answer_invalid,
    HTTPException: answer_http,
}


def _problem(error: Mapping[str, Any]) -> dict[str, str]:
    place, *path = [str(part) for part in error["loc"]]
    # A validator of ours may quote what it refuses, and a field that we do not know may have any name.
    problem = scrub(str(error["msg"]).removeprefix("Value error, ")).text
    return {"in": place, "where": scrub(".".join(path)).text[:_LONGEST], "problem": problem[:_LONGEST]}


def _seconds(wait: object) -> int:
    return max(1, math.ceil(wait)) if isinstance(wait, int | float) else 1


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in cast(Mapping[object, object], value).items()}
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(item) for item in cast(Sequence[object], value)][:_MOST]
    return str(value)
