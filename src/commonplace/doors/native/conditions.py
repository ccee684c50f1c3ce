"""Versions as HTTP tells them: `ETag`, `If-Match`, `If-None-Match`; and the problems a route may answer with."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, TypeAlias

from fastapi import Depends, Header, Response

from commonplace.errors import InvalidInput, PreconditionFailed, RecordChanged
from commonplace.server.auth import Idempotent, Served
from commonplace.service.account import Idempotency
from commonplace.service.records import Change
from commonplace.service.services import Services
from commonplace.values.record import Record
from commonplace.wire.changes import ChangeBody
from commonplace.wire.problems import ProblemAnswer
from commonplace.wire.shapes import MAX_COUNT, to_json

_TAG: Final = re.compile(r'(?:W/)?"([0-9]{1,10})"')
_WHY: Final = {
    400: "What was sent cannot be kept or asked.",
    401: "No key, or one that opens nothing.",
    403: "The key does not allow this.",
    404: "There is no such thing, or it is out of reach.",
    409: "The write does not fit what is there now.",
    412: "The record is not at the version that `If-Match` names.",
    413: "It is too large.",
    421: "Another daemon leads the session, or the channel of the room: ask at the address that `X-Commonplace-Owner` names.",
    422: "The text holds a secret, or the idempotency key was used for another request.",
    428: "The request does not say which version it is to replace.",
    429: "Too many requests: wait as long as `Retry-After` says.",
    503: "The store is out of reach: try again later.",
}

Responses: TypeAlias = dict[int | str, dict[str, Any]]

ETAG: Final[dict[str, Any]] = {"ETag": {"description": 'The version, for instance "3".', "schema": {"type": "string"}}}


def problems(*statuses: int) -> Responses:
    """What else a route may answer, beside what every route may."""
    return {
        status: {"model": ProblemAnswer, "description": _WHY[status]} for status in (400, 401, 403, *statuses, 429, 503)
    }


def answer(served: Services, value: object, *, status: int = 200, version_of: Record | None = None) -> Response:
    """A value that holds records, which have their states of now. The version of `version_of` is the `ETag`."""
    headers = None if version_of is None else {"ETag": etag(version_of)}
    body = to_json(value, served.desk.clock.now())
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def etag(record: Record) -> str:
    return f'"{record.version}"'


def is_known(record: Record, if_none_match: str | None) -> bool:
    """Whether the caller has this version already."""
    if if_none_match is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in tags or etag(record) in tags


class RecordStep(Protocol):
    """A change of a record that lacks only what every change may come with."""

    def __call__(self, *, change: Change) -> Awaitable[Record]: ...


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """How a change is asked for: `version` in `If-Match`, and an idempotency key."""

    served: Services
    version: int | None
    once: Idempotency | None

    async def __call__(self, body: ChangeBody, step: RecordStep, *, status: int = 200) -> Response:
        """Take the step, and answer the record as it is then."""
        if self.version is not None and body.expected not in (None, self.version):
            raise InvalidInput("If-Match and `expected` name two versions. Send one of them.")
        expected = body.expected if self.version is None else self.version
        change = Change(expected=expected, reason=body.reason, once=self.once)
        try:
            record = await step(change=change)
        except RecordChanged as error:
            # As HTTP has it. A version in the body that is not the one held is 409.
            if self.version is None:
                raise
            raise PreconditionFailed(error.message, **error.details) from error
        return answer(self.served, record, status=status, version_of=record)


async def change_request(
    served: Served,
    once: Idempotent,
    if_match: Annotated[
        str | None,
        Header(alias="If-Match", max_length=100, description='The `ETag` you saw, for instance "3"; else 412.'),
    ] = None,
) -> ChangeRequest:
    if if_match is None or if_match.strip() == "*":
        return ChangeRequest(served, None, once)
    tag = _TAG.fullmatch(if_match.strip())
    if tag is None or int(tag[1]) > MAX_COUNT:
        raise InvalidInput('If-Match names one version, as the ETag did: "3".')
    return ChangeRequest(served, int(tag[1]), once)


Changer: TypeAlias = Annotated[ChangeRequest, Depends(change_request)]

RECORD: Final[Responses] = {200: {"headers": ETAG, "description": "The record as it is now."}}
