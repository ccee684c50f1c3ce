"""
The program of a hosted agent, as a peer of JSON-RPC.

It is in a process group of its own, led by `warden.py`, and nothing of it is left when we stop it or end ourselves, however that
happens. Whatever it prints that is no message is kept as its last words, for the errors; a line that is too long is passed over; one
that floods is stopped.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from uuid import uuid4

import anyio
from acp import RequestError
from acp.connection import Connection

from commonplace.agent.tools.process import MARK, output_pipe, plain_environment, start_process, stop_group
from commonplace.agent.tools.tool import one_line
from commonplace.errors import CommonplaceError
from commonplace.text.scrub import scrub
from commonplace.values.agent_errors import HostedAgentFailed, HostedAgentMissing, HostedAgentSilent

Message: TypeAlias = dict[str, Any]
Handle: TypeAlias = Callable[[str, Any, bool], Awaitable[Any]]
"""Answers what the program asks: a method, its parameters, and whether no answer is expected."""

LONGEST_LINE: Final = 32 * 1024 * 1024
MOST_NOISE: Final = 4 * 1024 * 1024
"""Bytes that are no messages."""
MOST_UNASKED: Final = 256 * 1024 * 1024
"""Bytes that it may say before it is asked something again."""
_WARDEN: Final = Path(__file__).with_name("warden.py")
_PIECE: Final = 65_536
_WORDS: Final = 4_000
_TOLD: Final = 600
_LEAVE_SECONDS: Final = 0.5
_WRITE_SECONDS: Final = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedCommand:
    """
    How the operator starts the agent. `environment` are names of variables of ours that it is given, beside the few that any program
    needs to find its way; `start_seconds` is how long it may take to greet us.
    """

    command: tuple[str, ...]
    environment: tuple[str, ...] = ()
    start_seconds: float = 60.0

    @property
    def name(self) -> str:
        """What it is called in errors, and in the ledger until it has said its own name."""
        return one_line(Path(self.command[0]).name, 60)

    @property
    def variables(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in self.environment if name in os.environ}
        return {**plain_environment(), **own}

    def program(self) -> str:
        """
        The whole path of the program.

        Raises:
            HostedAgentMissing
        """
        program = shutil.which(self.command[0], path=self.variables["PATH"])
        if program is None:
            raise HostedAgentMissing(
                f"There is no program {self.command[0]!r:.200} to be the agent. The operator has to install it, or to set agent_command to its "
                "whole path."
            )
        # It is started in the folder of a session, whose files are not the operator's.
        return str(Path(program).absolute())


class AcpChild:
    """One run of the program, from `start` to `stop`."""

    def __init__(self, command: HostedCommand, handle: Handle, ready: Callable[[], Awaitable[None]]) -> None:
        """`ready` waits while we have more of its messages than we can keep up with."""
        self._command = command
        self._handle = handle
        self._ready = ready
        self._mark = uuid4().hex
        self._stack = AsyncExitStack()
        self._process: asyncio.subprocess.Process | None = None
        self._connection: Connection | None = None
        self._lines: _ChildLines | None = None
        self._words = bytearray()
        self._errors: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it runs, and can be talked to."""
        process, lines = self._process, self._lines
        return process is not None and process.returncode is None and lines is not None and not lines.is_over

    async def start(self, folder: Path) -> None:
        """
        Raises:
            HostedAgentMissing: there is no such program.
            HostedAgentFailed: it could not be started.
        """
        program = await asyncio.to_thread(self._command.program)
        line, ours = os.pipe()
        self._stack.callback(os.close, ours)
        try:
            stream, output = await self._stack.enter_async_context(output_pipe())
            errors, errors_end = await self._stack.enter_async_context(output_pipe())
            try:
                command = [sys.executable, "-I", "-S", str(_WARDEN), str(line), program, *self._command.command[1:]]
                variables = {**self._command.variables, MARK: self._mark}
                self._process = await start_process(
                    command, output, folder, variables, errors=errors_end, files=(line,)
                )
            finally:
                os.close(errors_end)
        except CommonplaceError as error:
            await self._stack.aclose()
            raise HostedAgentFailed(f"{self._command.name} could not be started: {error.message}") from error
        finally:
            os.close(line)
        self._errors = asyncio.create_task(self._drain(errors))
        self._lines = _ChildLines(self._process, stream, self._noise, self._ready)
        self._connection = Connection(self._handle, self._lines)

    async def request(self, method: str, params: Mapping[str, Any], seconds: float | None = None) -> Message:
        """
        Ask it something, and wait for the answer.

        Raises:
            acp.RequestError: it answers with an error.
            HostedAgentFailed: it ended, or its answer is none.
            HostedAgentSilent: it did not answer in time.
        """
        if self._connection is None:
            raise self.failure()
        try:
            async with asyncio.timeout(seconds):
                answer = await self._connection.send_request(method, dict(params))
        except TimeoutError:
            raise HostedAgentSilent(
                f"{self._command.name} did not answer {method} within {seconds:g} seconds, and was ended.{self.last_words}"
            ) from None
        except (ConnectionError, OSError) as error:
            await self._settle()
            raise self.failure() from error
        if answer is None:
            return {}
        if not isinstance(answer, dict):
            raise HostedAgentFailed(f"{self._command.name} answered {method} with something that is no object.")
        return cast(Message, answer)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell it, if it still listens."""
        if self._connection is not None:
            with suppress(ConnectionError, OSError):
                await self._connection.send_notification(method, dict(params))

    def failure(self) -> HostedAgentFailed:
        """That it ended, with its last words."""
        code = None if self._process is None else self._process.returncode
        how = "" if code is None else f" with exit code {code}"
        return HostedAgentFailed(
            f"{self._command.name} ended{how} in the middle of its work. Say it again: it is started anew.{self.last_words}"
        )

    @property
    def last_words(self) -> str:
        """What it printed last beside its messages, for the end of an error; nothing if it printed nothing."""
        text = self._words.decode(errors="replace").strip()
        words = one_line(scrub(text).text[-_TOLD:], _TOLD)
        return f" Its last words: {words}" if words else ""

    async def stop(self) -> None:
        """End it, and whatever it started. It may leave by itself first, as nobody talks to it any more."""
        process, connection, self._connection, self._lines = self._process, self._connection, None, None
        with anyio.CancelScope(shield=True):
            if process is not None:
                assert process.stdin is not None
                process.stdin.close()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LEAVE_SECONDS):
                        await process.wait()
                await stop_group(process, self._mark)
            if connection is not None:
                await connection.close()
            if self._errors is not None:
                self._errors.cancel()
            await self._stack.aclose()

    async def _settle(self) -> None:
        """It has just ended: what it said last, and how it ended, are known in a moment."""
        process = self._process
        if process is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await process.wait()
                    if self._errors is not None:
                        await asyncio.wait({self._errors})

    def _noise(self, data: bytes) -> None:
        self._words += data[-_WORDS:]
        del self._words[:-_WORDS]

    async def _drain(self, errors: asyncio.StreamReader) -> None:
        """Read what it says of itself, so that it never waits for somebody to do so."""
        while data := await errors.read(_PIECE):
            self._noise(data)


class _ChildLines:
    """A transport of the protocol's library over the pipes of a child."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stream: asyncio.StreamReader,
        noise: Callable[[bytes], None],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._process = process
        self._stream = stream
        self._noise = noise
        self._ready = ready
        self._rest = bytearray()
        self._skips = False
        self._waste = MOST_NOISE
        self._room = MOST_UNASKED
        self._lock = asyncio.Lock()
        self._lines: list[bytes] = []
        self.is_over = False
        """It has ended, or floods: nothing more is read of it."""

    async def send(self, message: Message) -> None:
        """Raises ConnectionError: nobody reads it."""
        data = (json.dumps(message, separators=(",", ":")) + "\n").encode()
        self._room = MOST_UNASKED
        pipe = self._process.stdin
        assert pipe is not None
        async with self._lock:
            try:
                async with asyncio.timeout(_WRITE_SECONDS):
                    pipe.write(data)
                    await pipe.drain()
            except (TimeoutError, RuntimeError) as error:
                raise ConnectionError("It does not read what it is sent.") from error

    async def receive(self) -> Message | None:
        """The next message; None if it ended or floods."""
        await self._ready()
        while True:
            while self._lines:
                if (message := self._message(self._lines.pop())) is not None:
                    return message
            if self._waste < 0 or self._room < 0 or not (data := await self._stream.read(_PIECE)):
                self.is_over = True
                return None
            self._room -= len(data)
            self._split(data)

    async def close(self) -> None:
        """The pipes are closed by whoever opened them."""

    def _split(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole, self._rest = bytes(self._rest) + line, bytearray()
            if not self._skips:
                self._lines.append(whole)
            self._skips = False
        self._lines.reverse()
        if not self._skips:
            self._rest += rest
        if len(self._rest) > LONGEST_LINE:
            self._noise(b"[a line that is too long]\n")
            self._rest.clear()
            self._skips = True

    def _message(self, line: bytes) -> Message | None:
        if not line.strip():
            return None
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if b"\\u" in line:
            message = _plain(message)
        if not _is_message(message):
            self._waste -= len(line)
            self._noise(line[:_WORDS] + b"\n")
            return None
        return cast(Message, message)


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    document = cast(Message, message)
    id_, method, error = document.get("id"), document.get("method"), document.get("error")
    if not isinstance(id_, str | int | None) or not isinstance(method, str | None):
        return False
    if method is None and "id" not in document:
        return False
    return error is None or (isinstance(error, dict) and isinstance(cast(Message, error).get("code"), int))


def _plain(value: Any) -> Any:
    """Without halves of characters and NULs, which JSON can say and no text that we keep may have."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    if isinstance(value, list):
        return [_plain(entry) for entry in cast(list[Any], value)]
    if isinstance(value, dict):
        return {_plain(name): _plain(entry) for name, entry in cast(Message, value).items()}
    return value


def refusal(error: RequestError) -> str:
    """What an answer with an error says, in one line."""
    data: Any = error.data
    more: Any = (data.get("details") or data.get("message")) if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - whatever JSON has
    text = f"{error}: {more}" if isinstance(more, str) and more != str(error) else str(error)
    return one_line(scrub(text).text, _TOLD)
