"""Records at the native door: put, read, list."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response

from commonplace.doors.native.conditions import ETAG, RECORD, answer, etag, is_known, problems
from commonplace.server.auth import Caller, Idempotent, Served
from commonplace.server.door import only_conditions
from commonplace.service.records import MAX_PAGE
from commonplace.values.query import Filter, Page
from commonplace.values.record import Record, Written
from commonplace.values.turn_options import TurnOptions
from commonplace.wire.queries import ListQuery, filters_of
from commonplace.wire.records import ManyWrittenAnswer, PutBody, PutManyBody, TurnsBody, VersionsAnswer
from commonplace.wire.shapes import MAX_COUNT, RecordId

router = APIRouter(prefix="/v1", tags=["native"])

Id = Annotated[
    RecordId,
    Path(
        description="Its id, or the first 16 digits or more while only one record has them. Delete and demote take all of it."
    ),
]


@router.post(
    "/records",
    status_code=201,
    summary="Remember something",
    response_model=Written,
    responses={
        201: {"headers": ETAG, "description": "It is a new record."},
        200: {"model": Written, "headers": ETAG, "description": "It is the next version of one, or was there."},
        **problems(409, 413, 422),
    },
)
async def put(body: PutBody, who: Caller, served: Served, once: Idempotent) -> Response:
    """
    Keep one note, and answer the record and what became of it. It is found by the next search. Under a `key` that the scope
    has already it becomes the next version of that record.
    """
    [write] = await served.records.put(who, [body.note()], dedupe=body.dedupe, once=once)
    return answer(served, write, status=201 if write.outcome == "created" else 200, version_of=write.record)


@router.post(
    "/records/bulk",
    status_code=201,
    summary="Remember several things",
    response_model=ManyWrittenAnswer,
    responses=problems(409, 413, 422),
)
async def put_many(body: PutManyBody, who: Caller, served: Served, once: Idempotent) -> Response:
    """Keep up to 1,000 notes, in order: all of them or none."""
    notes = [note.note() for note in body.records]
    writes = await served.records.put(who, notes, dedupe=body.dedupe, once=once)
    return answer(served, ManyWrittenAnswer(tuple(writes)), status=201)


@router.post(
    "/turns",
    status_code=201,
    summary="Remember what was said",
    response_model=ManyWrittenAnswer,
    responses=problems(409, 413, 422),
)
async def add_turns(body: TurnsBody, who: Caller, served: Served, once: Idempotent) -> Response:
    """One record a turn, in order. A turn with the same session, time, speaker and text as an earlier one is not stored twice."""
    telling = TurnOptions(
        session=body.session, scope=body.scope, source=body.source, trust=body.trust, tags=tuple(body.tags)
    )
    writes = await served.records.add_turns(who, telling, [turn.turn() for turn in body.turns], once=once)
    return answer(served, ManyWrittenAnswer(tuple(writes)), status=201)


@router.get("/records", summary="List records", response_model=Page, responses=problems())
async def list_records(query: Annotated[ListQuery, Query()], who: Caller, served: Served) -> Response:
    """
    Records that fit, a page at a time. `cursor` of one page gets the next, and holds while others write. Parameters that
    select (`scope`, `kind`, `source`, `tag`, `trust`, `session`, `state`) may be repeated.
    """
    filter = Filter.parse(query.scopes, query.states(), filters_of(query))
    limit = min(query.limit, MAX_PAGE)
    page = await served.records.list(who, filter, order=query.order, limit=limit, cursor=query.cursor)
    return answer(served, page)


@router.get(
    "/records/{id}",
    summary="Read one record",
    response_model=Record,
    responses={**RECORD, 304: {"description": "You have this version already."}, **problems(404)},
)
async def get(
    id: Id,
    who: Caller,
    served: Served,
    version: Annotated[int | None, Query(ge=1, le=MAX_COUNT, description="As it was in this version.")] = None,
    if_none_match: Annotated[str | None, Header(alias="If-None-Match", max_length=1000)] = None,
) -> Response:
    """The record as it is, or as it was in `version`. Deleted ones too: `state` tells."""
    record = await served.records.get(who, id, version=version)
    if is_known(record, if_none_match):
        return Response(status_code=304, headers={"ETag": etag(record)})
    return answer(served, record, version_of=record)


@router.get(
    "/records/{id}/versions",
    summary="Read every version of a record",
    response_model=VersionsAnswer,
    responses=problems(404),
    dependencies=[only_conditions()],
)
async def history(id: Id, who: Caller, served: Served) -> Response:
    """Oldest first. Versions from scopes that the key does not reach are left out."""
    return answer(served, VersionsAnswer(tuple(await served.records.history(who, id))))
