"""
A model that streams at a steady pace, in a process of its own: `python -m bench.stream_model PORT CHUNKS SECONDS` answers every request with so many
chunks, so many seconds apart. Each chunk is the moment at which it was sent, in nanoseconds of the clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from typing import Any, Final

_HEAD: Final = (
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nCache-Control: no-cache\r\n\r\n"
)
_FIELDS: Final[dict[str, Any]] = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "steady"}


async def serve(port: int, chunks: int, seconds: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
            writer.write(_HEAD.encode())
            begin = time.monotonic()
            for number in range(chunks):
                await asyncio.sleep(max(0.0, begin + number * seconds - time.monotonic()))
                _write(writer, {"index": 0, "delta": {"role": "assistant", "content": f"{time.monotonic_ns()} "}})
                await writer.drain()
            _write(writer, {"index": 0, "delta": {}, "finish_reason": "stop"})
            usage = {"prompt_tokens": 50, "completion_tokens": chunks, "total_tokens": 50 + chunks}
            writer.write(f"data: {json.dumps({**_FIELDS, 'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def _write(writer: asyncio.StreamWriter, choice: dict[str, Any]) -> None:
    writer.write(f"data: {json.dumps({**_FIELDS, 'choices': [choice]})}\n\n".encode())


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
