"""
A program that a tool starts: in a group of its own, with few words of our environment, within limits, and gone when the call is.

A child that leaves the group is found by a mark in its environment, where the system shows it (Linux). Inside `bwrap` the system itself
ends all of them.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import anyio

from commonplace.errors import FileError, PathNotFound

MARK: Final = "COMMONPLACE_CALL"
FLOOD: Final = 16 * 1024 * 1024
"""Bytes after which a program is stopped: nobody reads so much."""
_TERM_SECONDS: Final = 0.5
_LAST_SECONDS: Final = 0.5
_CHUNK: Final = 65_536
_KEEP: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SHELL")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessOutput:
    """
    What a program wrote, the middle left out if it was more than `most` bytes. `code` None: it was stopped, because it took too
    long (`late`) or wrote too much (`flood`).
    """

    text: str
    code: int | None
    late: bool = False
    flood: bool = False


def plain_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a program needs to find its way; no key, no token, nothing of ours."""
    source = os.environ if environ is None else environ
    few = {name: value for name, value in source.items() if name in _KEEP or name.startswith("LC_")}
    return {"PATH": os.defpath, **few, "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


async def run_process(
    command: Sequence[str],
    *,
    folder: Path,
    seconds: float,
    most: int,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> ProcessOutput:
    """
    Run the program until it ends; then nothing of it is left running, whatever it started.

    Raises:
        PathNotFound: there is no such program or folder.
        FileError: the system could not start it.
    """
    mark = uuid4().hex
    variables = {**(plain_environment() if environment is None else environment), MARK: mark}
    output = _Output(most)
    late = False
    async with output_pipe() as (stream, end):
        process = await start_process(command, end, folder, variables)
        try:
            async with asyncio.timeout(seconds):
                await _talk(process, stdin, stream, output)
        except TimeoutError:
            late = True
        finally:
            with anyio.CancelScope(shield=True):
                await stop_group(process, mark)
    code = None if late or output.flood else process.returncode
    return ProcessOutput(text=output.text, code=code, late=late, flood=output.flood)


async def start_process(
    command: Sequence[str],
    output: int,
    folder: Path,
    variables: Mapping[str, str],
    *,
    errors: int | None = None,
    files: Sequence[int] = (),
) -> asyncio.subprocess.Process:
    """
    Start it in a group of its own. It writes to the file `output`, which is closed here; its errors, too, unless they go elsewhere. It is
    given the open `files`.

    Raises:
        PathNotFound, FileError: as above.
    """
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output if errors is None else errors,
            cwd=folder,
            env=variables,
            start_new_session=True,
            pass_fds=files,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise PathNotFound("The program or the workspace is not there.") from error
    except (OSError, ValueError) as error:
        raise FileError(f"The program could not be started: {error}.") from error
    finally:
        # Only the program writes: its end is the end of the stream.
        os.close(output)


@asynccontextmanager
async def output_pipe(limit: int = _CHUNK) -> AsyncGenerator[tuple[asyncio.StreamReader, int]]:
    """
    What a program writes, and the end for it to write to; a line has at most `limit` bytes. The library's own pipe could not be closed while a child that
    nobody finds holds it open.
    """
    begin, end = os.pipe()
    stream = asyncio.StreamReader(limit=limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(begin, "rb", buffering=0)
    )
    try:
        yield stream, end
    finally:
        transport.close()


async def _talk(
    process: asyncio.subprocess.Process, stdin: bytes, stream: asyncio.StreamReader, output: _Output
) -> None:
    """Until it ends or floods. A child that it left behind may hold its output open: nobody waits for that one."""
    reader = asyncio.ensure_future(output.take(stream))
    writer = asyncio.ensure_future(_write(process, stdin))
    end = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({end, reader}, return_when=asyncio.FIRST_COMPLETED)
        if not output.flood:
            await end
            await asyncio.wait({reader}, timeout=_LAST_SECONDS)
    finally:
        for task in (reader, writer, end):
            task.cancel()
        await asyncio.gather(reader, writer, end, return_exceptions=True)


async def _write(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):
        try:
            process.stdin.write(stdin)
            await process.stdin.drain()
        finally:
            process.stdin.close()


class _Output:
    """The first and the last half of what may be kept."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._first = bytearray()
        self._last = bytearray()
        self._total = 0

    @property
    def flood(self) -> bool:
        return self._total > FLOOD

    async def take(self, stream: asyncio.StreamReader) -> None:
        while not self.flood and (chunk := await stream.read(_CHUNK)):
            self._total += len(chunk)
            room = self._half - len(self._first)
            self._first += chunk[: max(0, room)]
            self._last += chunk[max(0, room) :]
            del self._last[: -self._half]

    @property
    def text(self) -> str:
        gap = self._total - len(self._first) - len(self._last)
        middle = f"\n[{gap:,} bytes left out]\n" if gap > 0 else ""
        return f"{self._first.decode(errors='replace')}{middle}{self._last.decode(errors='replace')}"


async def stop_group(process: asyncio.subprocess.Process, mark: str | None = None) -> None:
    """End the program and all that it started: first asked, then not."""
    _signal(process.pid, signal.SIGTERM)
    if process.returncode is None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_TERM_SECONDS):
                await process.wait()
    _signal(process.pid, signal.SIGKILL)
    for pid in await asyncio.to_thread(lambda: list(_marked(mark))) if mark else ():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(_TERM_SECONDS):
            await process.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _marked(mark: str) -> Iterator[int]:
    """Processes that have the mark in their environment."""
    needle = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if needle in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
