"""Bodies that are too large to hold: lines out as they are made, and files in by way of the disk."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from fastapi.responses import StreamingResponse

from commonplace.errors import StoreFull

LINES: Final = "application/x-ndjson"
LINES_OUT: Final[dict[str, Any]] = {
    "description": "JSON Lines.",
    "content": {LINES: {"schema": {"type": "string"}}},
}


async def streamed(lines: AsyncIterator[str | bytes], name: str) -> StreamingResponse:
    """The lines, once the first are there: what goes wrong before them is answered as an error."""
    first = await anext(lines, "")

    async def told() -> AsyncIterator[str | bytes]:
        yield first
        async for more in lines:
            yield more

    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(told(), media_type=LINES, headers=headers)


@asynccontextmanager
async def spooled(request: Request) -> AsyncGenerator[Path]:
    """The request's body in a file, for as long as it is needed."""
    with tempfile.NamedTemporaryFile(prefix="commonplace-") as file:
        try:
            async for part in request.stream():
                await asyncio.to_thread(file.write, part)
            await asyncio.to_thread(file.flush)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise StoreFull from error
        yield Path(file.name)


@asynccontextmanager
async def nothing() -> AsyncGenerator[Path]:
    """An empty file."""
    yield Path(os.devnull)
