"""
How an MCP server is reached: over its standard input and output, or over HTTP. Unlike the library's own ways, neither lets a server
fill our memory, and nothing of a server is left running.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio
import httpx2
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.client.transports.base import ClientTransport, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage

from commonplace.agent.tools.process import MARK, output_pipe, plain_environment, start_process, stop_group
from commonplace.values.mcp_server import McpServer

LARGEST_MESSAGE: Final = 4 * 1024 * 1024
MOST_UNASKED: Final = 32 * 1024 * 1024
"""Bytes that a server may write without being asked anything meanwhile."""
_MOST_NOISE: Final = 100
_LEAVE_SECONDS: Final = 0.5


@dataclass
class _Line:
    """Whether a server can be asked, and how many bytes it may still write before it is."""

    is_open: bool = False
    room: int = MOST_UNASKED


class StdioServer(ClientTransport):
    """A program in a group of its own. `alive` is whether it can be asked."""

    def __init__(self, server: McpServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._line = _Line()

    @property
    def alive(self) -> bool:
        return self._line.is_open

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncGenerator[ClientSession]:
        options = transport_options or TransportOptions()
        mark = uuid4().hex
        variables = {**plain_environment(), **self._server.env, MARK: mark}
        async with output_pipe(LARGEST_MESSAGE) as (stream, end):
            command = [self._server.command or "", *self._server.args]
            process = await start_process(command, end, self._folder, variables, errors=asyncio.subprocess.DEVNULL)
            self._line = _Line(is_open=True)
            try:
                async with (
                    _streams(process, stream, self._line) as (incoming, outgoing),
                    options.session_class(incoming, outgoing, **session_kwargs) as session,
                ):
                    yield session
            finally:
                self._line.is_open = False
                with anyio.CancelScope(shield=True):
                    await _leave(process, mark)


async def _leave(process: asyncio.subprocess.Process, mark: str) -> None:
    """A server ends by itself when nobody talks to it any more; one that does not is ended."""
    assert process.stdin is not None
    process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LEAVE_SECONDS):
            await process.wait()
    await stop_group(process, mark)


@asynccontextmanager
async def _streams(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader, line: _Line
) -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """The messages of a server, and those for it."""
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    async with incoming, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, stream, to_session, line)
        tasks.start_soon(_write, process, from_session, line)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()


async def _read(
    stream: asyncio.StreamReader, to_session: MemoryObjectSendStream[SessionMessage | Exception], line: _Line
) -> None:
    """Until the server ends, floods or talks nonsense: then the session learns that the connection is over."""
    noise = 0
    async with to_session:
        with suppress(ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # A line longer than the stream's limit is a ValueError.
            while (text := await stream.readline()) and noise <= _MOST_NOISE:
                line.room -= len(text)
                if line.room < 0:
                    break
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False)
                except ValueError:
                    noise += 1
                else:
                    await to_session.send(SessionMessage(message))
        line.is_open = False


async def _write(
    process: asyncio.subprocess.Process, from_session: MemoryObjectReceiveStream[SessionMessage], line: _Line
) -> None:
    assert process.stdin is not None
    async with from_session:
        with suppress(ConnectionError, RuntimeError):
            async for message in from_session:
                line.room = MOST_UNASKED
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()


class _LimitedBody(httpx2.AsyncByteStream):
    """An answer that ends with an error when it is too long."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room = MOST_UNASKED
        async for chunk in self._body:
            room -= len(chunk)
            if room < 0:
                raise httpx2.ReadError("The answer is too long.")
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _LimitedHttp(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LimitedBody(response.stream)
        return response


def http_server(server: McpServer) -> StreamableHttpTransport:
    """No proxy of the environment, and no redirect: what a header says is for the address that was set."""

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **options: object,
    ) -> httpx2.AsyncClient:
        del options
        limit = timeout or httpx2.Timeout(server.call_seconds)
        return httpx2.AsyncClient(
            headers=headers, timeout=limit, auth=auth, transport=_LimitedHttp(), trust_env=False, follow_redirects=False
        )

    return StreamableHttpTransport(
        server.url or "", headers=dict(server.headers), httpx_client_factory=client, max_sse_event_size=LARGEST_MESSAGE
    )
