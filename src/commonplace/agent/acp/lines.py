"""
Messages as lines of JSON over two file descriptors. A line that is no message, or is too long, is answered as such, and the next
one is read.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Generator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Literal, TypeAlias

LONGEST: Final = 50 * 1024 * 1024
"""Bytes of a line."""
_PIECE: Final = 65_536
_MOST_WAITING: Final = 64
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

Message: TypeAlias = dict[str, Any]
Line: TypeAlias = bytes | Literal["too_long"] | None


class LineTransport:
    """Threads read and write, so that any file will do, and none of them keeps the process from ending."""

    def __init__(self, source: int, target: int, *, longest: int = LONGEST) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[Line] = asyncio.Queue(_MOST_WAITING)
        self._outbox: SimpleQueue[tuple[bytes, asyncio.Future[None]]] = SimpleQueue()
        self._ended = asyncio.Event()
        self._broken = False
        Thread(target=self._read, args=(source, longest), daemon=True).start()
        Thread(target=self._write, args=(target,), daemon=True).start()

    def post(self, message: Message) -> asyncio.Future[None]:
        """Have it written, in the order of these calls. ConnectionError: nobody reads."""
        receipt: asyncio.Future[None] = self._loop.create_future()
        # Nobody need wait for it.
        receipt.add_done_callback(lambda future: future.cancelled() or future.exception())
        if self._broken:
            receipt.set_exception(ConnectionError("The other program does not read any more."))
        else:
            self._outbox.put(((json.dumps(message, separators=(",", ":")) + "\n").encode(), receipt))
        return receipt

    async def send(self, message: Message) -> None:
        await self.post(message)

    def end(self) -> None:
        """Receive nothing any more."""
        self._ended.set()

    async def receive(self) -> Message | None:
        """None: nothing more will come."""
        while (line := await self._next()) is not None:
            if line == "too_long":
                self._refuse(INVALID_REQUEST, "This line is too long.")
                continue
            if not line.strip():
                continue
            try:
                message: Any = json.loads(line)
            except (ValueError, RecursionError):
                self._refuse(PARSE_ERROR, "This line is not JSON.")
                continue
            if _is_message(message):
                return message
            self._refuse(INVALID_REQUEST, "This is no message of JSON-RPC. Send one object a line.")
        return None

    async def _next(self) -> Line:
        line = asyncio.ensure_future(self._lines.get())
        end = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({line, end}, return_when=asyncio.FIRST_COMPLETED)
            return line.result() if line.done() and not self._ended.is_set() else None
        finally:
            line.cancel()
            end.cancel()

    def _refuse(self, code: int, why: str) -> None:
        self.post({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}})

    # ---- in threads

    def _write(self, target: int) -> None:
        while True:
            data, receipt = self._outbox.get()
            error: OSError | None = None
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(target, rest) :]
            except OSError as fault:
                error = fault
            with suppress(RuntimeError):
                # The loop may be closed.
                self._loop.call_soon_threadsafe(self._written, receipt, error)

    def _written(self, receipt: asyncio.Future[None], error: OSError | None) -> None:
        if error is not None:
            self._broken = True
            self.end()
        if receipt.done():
            return
        if error is None:
            receipt.set_result(None)
        else:
            receipt.set_exception(ConnectionError("The other program does not read any more."))

    def _read(self, source: int, longest: int) -> None:
        # RuntimeError: the loop is closed. An OSError is an end like any other.
        with suppress(RuntimeError):
            for line in _lines(source, longest):
                # A sender that is faster than we are waits.
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


def _lines(source: int, longest: int) -> Generator[Line]:
    """Each line; what of one is longer than `longest` is not kept."""
    line = bytearray()
    is_long = False
    while piece := _piece(source):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            is_long = is_long or len(line) + len(end) > longest
            yield "too_long" if is_long else bytes(line + end)
            line.clear()
            is_long = False
        is_long = is_long or len(line) + len(rest) > longest
        if is_long:
            line.clear()
        else:
            line += rest
    # A last line may have no end.
    if is_long or line:
        yield "too_long" if is_long else bytes(line)
    yield None


def _piece(source: int) -> bytes:
    try:
        return os.read(source, _PIECE)
    except OSError:
        return b""


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    id: object = message.get("id")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - whatever JSON has
    if not isinstance(id, str | int | None) or isinstance(id, bool):
        return False
    if "method" in message:
        return isinstance(message["method"], str)
    return "id" in message and ("result" in message or isinstance(message.get("error"), dict))  # pyright: ignore[reportUnknownMemberType] - as above
