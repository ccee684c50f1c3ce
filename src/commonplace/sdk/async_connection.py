"""The HTTP connection to a daemon: sends the requests of a talk, downloads and uploads files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

import httpx
from httpx_sse import EventSource, ServerSentEvent

from commonplace.errors import StoreClosed
from commonplace.sdk.address import Address
from commonplace.sdk.event_listener import MAX_FRAME, SILENCE, FrameListener
from commonplace.sdk.owners import followed
from commonplace.sdk.talk import Call, HttpReply, Outcome, Pause, Talk, problem, unreachable
from commonplace.sdk.threads import async_call, async_parts

T = TypeVar("T")
_CLOSED: Final = "The client is closed. Make a new one."


class AsyncDaemonConnection:
    """Opens no socket before the first request."""

    def __init__(self, address: Address, timeout: float, transport: httpx.AsyncBaseTransport | None) -> None:
        self._address = address
        self._timeout = timeout
        self._http = httpx.AsyncClient(
            base_url=address.url,
            headers=address.headers,
            timeout=timeout,
            transport=transport,
            # No proxy stands between two programs of one machine.
            trust_env=not address.is_local,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def ask(self, talk: Talk[T]) -> T:
        """Send what the talk asks for, pause where it asks for that, and return its result."""
        outcome: Outcome | None = None
        while True:
            try:
                step = talk.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                outcome = None
            else:
                outcome = await self._send(step.call)

    def stream(
        self, path: str, query: tuple[tuple[str, str], ...], *, headers: dict[str, str], silence: float
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """An answer that has no end. After `silence` seconds without a byte it counts as lost."""
        limits = httpx.Timeout(self._timeout, read=silence)
        return self._open.stream("GET", path, params=query, headers=headers, timeout=limits)

    async def frames(self, response: httpx.Response, most: int) -> AsyncIterator[ServerSentEvent]:
        """
        The frames of a stream of events.

        Raises:
            httpx.TransportError: it is no such stream, it breaks, or a frame has more than `most` bytes.
        """
        size = 0

        async def parts() -> AsyncIterator[bytes]:
            nonlocal size
            async for part in response.aiter_bytes():
                size += len(part)
                if size > most:
                    # The parser keeps what has arrived of a frame, without a limit.
                    raise httpx.RemoteProtocolError("A frame of the event stream is too large.")
                yield part

        media_type = {"Content-Type": response.headers.get("Content-Type", "")}
        bounded = httpx.Response(response.status_code, headers=media_type, content=parts())
        async for frame in EventSource(bounded).aiter_sse():
            size = 0
            yield frame

    async def listen(self, listener: FrameListener[T]) -> AsyncIterator[T]:
        """What a listener hears, without an end: a connection that drops is taken up again, at first where the caller said."""
        place = ""
        while True:
            try:
                async with self.stream(
                    f"{place}{listener.path}", listener.query, headers=listener.begin(), silence=SILENCE
                ) as response:
                    if response.status_code != 200:
                        reply = HttpReply.of(response, await response.aread())
                        place = "" if place else followed(self._address, reply) or ""
                        if place:
                            continue
                        listener.refused(reply)
                    else:
                        listener.opened(response.headers)
                        async for frame in self.frames(response, MAX_FRAME):
                            event = listener.event_of(frame)
                            if event is not None:
                                yield event
            except httpx.TransportError as error:
                listener.dropped(error)
            place = ""
            await asyncio.sleep(listener.pause())

    async def download(self, path: str, query: tuple[tuple[str, str], ...], save: Callable[[bytes], None]) -> None:
        """
        Pass each part of an answer to `save`, which may block.

        Raises:
            CommonplaceError: the error that the daemon met, of the same class.
            DaemonUnavailable: nobody answers.
        """
        try:
            async with self._open.stream("GET", path, params=query) as response:
                if response.status_code != 200:
                    raise problem(HttpReply.of(response, await response.aread()))
                async for part in response.aiter_bytes():
                    await async_call(save, part)
        except httpx.TransportError as error:
            raise unreachable(error) from error

    async def upload(self, path: str, parts: Iterator[bytes], media_type: str) -> bytes:
        """Send `parts`, which may block, and return the answer. Raises the same errors as `download`."""
        limits, headers = self._limits(endless=True), {"Content-Type": media_type}
        try:
            response = await self._open.post(path, content=async_parts(parts), headers=headers, timeout=limits)
        except httpx.TransportError as error:
            raise unreachable(error) from error
        if response.status_code != 200:
            raise problem(HttpReply.of(response, response.content))
        return response.content

    @property
    def _open(self) -> httpx.AsyncClient:
        if self._http.is_closed:
            raise StoreClosed(_CLOSED)
        return self._http

    def _limits(self, *, endless: bool, waits: float = 0.0) -> httpx.Timeout:
        return httpx.Timeout(self._timeout, read=None if endless else self._timeout + waits)

    async def _send(self, call: Call[Any]) -> Outcome:
        try:
            reply = await self._reply(call)
            owner = followed(self._address, reply)
            return reply if owner is None else await self._reply(call, owner)
        except httpx.TransportError as error:
            return error

    async def _reply(self, call: Call[Any], place: str = "") -> HttpReply:
        """Of the daemon at `place`, else of ours."""
        response = await self._open.request(
            call.method,
            f"{place}{call.path}",
            params=call.query,
            content=call.body,
            headers=call.headers,
            timeout=self._limits(endless=call.endless, waits=call.waits),
        )
        return HttpReply.of(response, response.content)
