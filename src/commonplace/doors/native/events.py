"""The stream of events, `/v1/events`, as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from commonplace.errors import InvalidInput
from commonplace.events.live import LiveStream
from commonplace.events.seat import LONGEST_QUEUE, QUEUE, SHORTEST_QUEUE
from commonplace.events.stream import Stream
from commonplace.server.auth import Caller, Served, app_state
from commonplace.service.events import MOST_FILTERS, Wanted
from commonplace.values import scope as scopes
from commonplace.wire.events import EventAnswer

router = APIRouter(prefix="/v1", tags=["native"])

MEDIA_TYPE: Final = "text/event-stream"
_LONGEST_ID: Final = 19


class EventStream(Response):
    """
    Writes a stream of events until it ends or the listener is gone. One coroutine, and a second that waits for the end of the
    connection: a thousand of these wait at the same time and do nothing.
    """

    media_type = MEDIA_TYPE

    def __init__(self, stream: LiveStream, subscribers: Any) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._stream = stream
        self._subscribers = subscribers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        seat = self._stream.seat
        leaving = asyncio.create_task(self._leave(receive))
        self._subscribers.inc()
        frames = self._stream.frames()
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for frame in frames:
                async with seat.writing():
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            async with seat.writing():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            # It reads nothing any more. What it missed it will find in the log; the connection is closed as it is.
            return
        finally:
            self._subscribers.dec()
            leaving.cancel()
            await frames.aclose()

    async def _leave(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.seat.end()


async def listening(
    who: Caller,
    served: Served,
    type: Annotated[  # noqa: A002 - as the query calls it
        list[str],
        Query(max_length=MOST_FILTERS, description="Only these: `record.created`, or all of a noun: `record.*`."),
    ] = [],  # noqa: B006 - FastAPI copies it
    scope: Annotated[list[str], Query(max_length=MOST_FILTERS, description="Only what is told of these scopes.")] = [],  # noqa: B006 - as above
    max_queued: Annotated[
        int,
        Query(
            description="How many events may wait for you before you are let go.",
            json_schema_extra={"minimum": SHORTEST_QUEUE, "maximum": LONGEST_QUEUE},
        ),
    ] = QUEUE,
    last_event_id: Annotated[
        str | None, Query(max_length=64, description="As the header of that name, for clients that cannot send one.")
    ] = None,
    resume: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID",
            max_length=64,
            description="The id of the last event you had; what came after it is told first.",
        ),
    ] = None,
) -> AsyncGenerator[Stream]:
    subscription = Wanted(
        types=tuple(type),
        scopes=tuple(scopes.Scope.parse(text) for text in scope),
        resume=read_event_id(resume or last_event_id),
        queue=max_queued,
    )
    async with served.events.listen(who, subscription) as stream:
        yield stream


@router.get(
    "/events",
    summary="Listen to what happens",
    status_code=200,
    response_class=EventStream,
    responses={
        200: {
            "description": "Server-sent events, without an end.",
            "content": {MEDIA_TYPE: {"schema": EventAnswer.model_json_schema()}},
        }
    },
)
async def events(request: Request, stream: Annotated[Stream, Depends(listening)]) -> EventStream:
    """
    Each event is a frame with `id`, `event` and `data`, a JSON document. Connect again with `Last-Event-ID` and you are told
    what you missed, then `replay_complete`; `state_resync_required` comes first where the log does not reach back as far.
    You hear of what your key may read, and of nothing else. Every 15 seconds a comment shows that the line is open.
    """
    return EventStream(stream, app_state(request).metrics.subscribers)


def read_event_id(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID):
        raise InvalidInput("Last-Event-ID is the id of an event: a whole number.")
    return int(text)
