"""
Commands that a hosted agent has us run and looks at while they run. They have the limits of our own shell: of time, of output, in `bwrap` if the
operator says so, and nothing of them is left when the turn is over.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio
from acp import RequestError

from commonplace.agent.acp.host.child import Message
from commonplace.agent.acp.host.updates import Fields, text
from commonplace.agent.equipment import ToolOptions
from commonplace.agent.tools.process import FLOOD, MARK, output_pipe, plain_environment, start_process, stop_group
from commonplace.agent.tools.shell import sandbox_arguments
from commonplace.errors import InvalidInput, NotFound
from commonplace.text.scrub import scrub

MOST_TERMINALS: Final = 32
MOST_OUTPUT: Final = 1_048_576
_PIECE: Final = 65_536
_LAST_SECONDS: Final = 0.5
_LOADERS: Final = ("LD_", "DYLD_", "PYTHON", "NODE_OPTIONS", "PATH", "HOME", MARK)


class _Terminal:
    """One command. What it writes is kept up to `most` bytes, the end of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._mark = uuid4().hex
        self._output = bytearray()
        self._total = 0
        self._stack = AsyncExitStack()
        self._process: asyncio.subprocess.Process | None = None
        self._work: asyncio.Task[None] | None = None

    async def start(self, command: Sequence[str], folder: Path, variables: Mapping[str, str], seconds: float) -> None:
        stream, end = await self._stack.enter_async_context(output_pipe())
        try:
            environment = {**plain_environment(), **variables, MARK: self._mark}
            self._process = await start_process(command, end, folder, environment)
        except BaseException:
            await self._stack.aclose()
            raise
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._work = asyncio.create_task(self._follow(self._process, stream, seconds))

    async def _follow(self, process: asyncio.subprocess.Process, stream: asyncio.StreamReader, seconds: float) -> None:
        reader = asyncio.create_task(self._take(stream))
        waiter = asyncio.create_task(process.wait())
        try:
            await asyncio.wait({waiter, reader}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._total <= FLOOD and not waiter.done():
                await asyncio.wait({waiter}, timeout=seconds)
            await asyncio.wait({reader}, timeout=_LAST_SECONDS)
        finally:
            with anyio.CancelScope(shield=True):
                await stop_group(process, self._mark)
                for task in (reader, waiter):
                    task.cancel()
                await asyncio.wait({reader, waiter})
                await self._stack.aclose()

    async def _take(self, stream: asyncio.StreamReader) -> None:
        while self._total <= FLOOD and (piece := await stream.read(_PIECE)):
            self._total += len(piece)
            self._output += piece
            del self._output[: -self._most]

    @property
    def exit(self) -> Message | None:
        """As the protocol says it; None: it runs."""
        if self._work is None or not self._work.done() or self._process is None:
            return None
        code = self._process.returncode
        if code is None or code < 0:
            return {"exitCode": None, "signal": str(-(code or -9))}
        return {"exitCode": code, "signal": None}

    @property
    def output(self) -> Message:
        text_so_far = scrub(self._output.decode(errors="replace")).text
        answer: Message = {"output": text_so_far, "truncated": self._total > self._most}
        return answer if self.exit is None else {**answer, "exitStatus": self.exit}

    async def wait(self) -> Message:
        if self._work is not None:
            await asyncio.wait({self._work})
        return self.exit or {}

    async def stop(self) -> None:
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait({self._work})


class Terminals:
    """Those of one turn."""

    def __init__(self, options: ToolOptions) -> None:
        self._options = options
        self._terminals: dict[str, _Terminal] = {}

    async def create(self, words: Sequence[str], folder: Path, variables: Mapping[str, str], limit: Any = None) -> str:
        """
        Start it; the id to look at it by.

        Raises:
            InvalidInput: there are too many, or the sandbox is not installed.
            PathNotFound, FileError: it could not be started.
        """
        if len(self._terminals) >= MOST_TERMINALS:
            raise InvalidInput(f"{MOST_TERMINALS} commands are open. Release some of them.")
        most = min(limit, MOST_OUTPUT) if isinstance(limit, int) and limit > 0 else MOST_OUTPUT
        plain = {name: value for name, value in variables.items() if _is_harmless(name, value)}
        terminal = _Terminal(most)
        await terminal.start(self._command(words, folder), folder, plain, self._options.seconds)
        id_ = f"terminal-{uuid4().hex}"
        self._terminals[id_] = terminal
        return id_

    async def serve(self, method: str, params: Fields) -> Message:
        """Raises NotFound: there is no such terminal; acp.RequestError: no such method."""
        id_ = text(params.get("terminalId"))
        if (terminal := self._terminals.get(id_)) is None:
            raise NotFound("There is no such terminal.")
        match method:
            case "terminal/output":
                return terminal.output
            case "terminal/wait_for_exit":
                return await terminal.wait()
            case "terminal/kill":
                await terminal.stop()
            case "terminal/release":
                await terminal.stop()
                self._terminals.pop(id_, None)
            case _:
                raise RequestError.method_not_found(method)
        return {}

    async def aclose(self) -> None:
        """End them all."""
        terminals = [*self._terminals.values()]
        self._terminals.clear()
        await asyncio.gather(*(terminal.stop() for terminal in terminals))

    def _command(self, words: Sequence[str], folder: Path) -> list[str]:
        # Agents send a program with its arguments, or a line for the shell in the place of the program.
        plain = [*words] if len(words) > 1 or shutil.which(words[0]) else ["/bin/sh", "-c", words[0]]
        if self._options.sandbox == "none":
            return plain
        if (bwrap := shutil.which("bwrap")) is None:
            raise InvalidInput(
                "Commands are to run inside bwrap, which is not installed. The operator has to install bubblewrap, or to set "
                "agent_shell_sandbox to none."
            )
        return [bwrap, *sandbox_arguments(folder, self._options.closed), "--", *plain]


def _is_harmless(name: str, value: str) -> bool:
    """Whether a variable only says something to the command, and not to the system that starts it."""
    return name.isidentifier() and "\0" not in value and not name.upper().startswith(_LOADERS)
