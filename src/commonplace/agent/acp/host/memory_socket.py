"""
Our memory as an MCP server of a hosted agent: a socket in a folder that only we may enter, for as long as the agent's program runs.

The program starts `memory_pipe.py`, which carries bytes to the socket; here they are answered in the reach of whoever speaks at that
moment, by an agent's hand. No key leaves this process, and there is none that could outlive the session.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from commonplace.agent.acp.host.child import Message

Answer: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

LONGEST_LINE: Final = 4 * 1024 * 1024
MOST_CONNECTIONS: Final = 16
_NAME: Final = "memory"
_LONGEST_PATH: Final = 100
_PIPE: Final = Path(__file__).with_name("memory_pipe.py")


@asynccontextmanager
async def memory_socket(answer: Answer) -> AsyncGenerator[Message]:
    """The entry of the server as `session/new` has it; `answer` serves a connection until it is closed."""
    folder = await asyncio.to_thread(_folder)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(tasks) >= MOST_CONNECTIONS:
            writer.close()
            return
        tasks.add(task)
        try:
            await answer(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_unix_server(connected, folder / _NAME, limit=LONGEST_LINE)
    try:
        command = ["-I", "-S", str(_PIPE), str(folder / _NAME)]
        yield {"name": "commonplace", "command": sys.executable, "args": command, "env": []}
    finally:
        server.close()
        for task in [*tasks]:
            task.cancel()
        if tasks:
            await asyncio.wait([*tasks])
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _folder() -> Path:
    """With a short path: a socket's has about a hundred bytes."""
    folder = Path(tempfile.mkdtemp(prefix="commonplace-"))
    if len(str(folder / _NAME).encode()) > _LONGEST_PATH:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="commonplace-", dir="/tmp"))
    return folder
