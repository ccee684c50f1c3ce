"""Messages as lines of JSON over two file descriptors. A line that is no message is answered as such, and the next one is read."""

from __future__ import annotations

import asyncio
import json
import os
from threading import Thread
from typing import Any, Final

_PIECE: Final = 65_536
_LONGEST: Final = 50 * 1024 * 1024


class LineTransport:
    """A transport of the protocol's library. Threads read and write, so that any file will do."""

    def __init__(self, source: int, target: int) -> None:
        self._target = target
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._write_lock = asyncio.Lock()
        # It waits for the next line, and must not keep the process from ending.
        Thread(target=self._read, args=(source, asyncio.get_running_loop()), daemon=True).start()

    async def send(self, message: dict[str, Any]) -> None:
        data = (json.dumps(message, separators=(",", ":")) + "\n").encode()
        async with self._write_lock:
            await asyncio.to_thread(self._write, data)

    async def receive(self) -> dict[str, Any] | None:
        """None: nothing more will come."""
        while (line := await self._lines.get()) is not None:
            if not line.strip():
                continue
            try:
                message: Any = json.loads(line)
            except (ValueError, RecursionError):
                await self._refuse(-32700, "This line is not JSON.")
                continue
            if _is_message(message):
                return message
            await self._refuse(-32600, "This is no message of JSON-RPC.")
        return None

    async def close(self) -> None:
        """The descriptors are their owner's."""

    async def _refuse(self, code: int, why: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}})

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._target, rest) :]

    def _read(self, source: int, loop: asyncio.AbstractEventLoop) -> None:
        remainder = b""
        while (piece := os.read(source, _PIECE)) and len(remainder) < _LONGEST:
            *lines, remainder = (remainder + piece).split(b"\n")
            for line in lines:
                loop.call_soon_threadsafe(self._lines.put_nowait, line)
        for line in (remainder, None):
            loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("id"), str | int | None):  # pyright: ignore[reportUnknownMemberType] - whatever JSON has
        return False
    if "method" in message:
        return isinstance(message["method"], str)
    return "error" not in message or isinstance(message["error"], dict)
