"""Commands in a terminal of the editor, where the person watches them, and can stop them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio

from commonplace.agent.acp.connection import RequestRefused, RpcConnection
from commonplace.agent.tools.process import ProcessOutput
from commonplace.agent.tools.tool import CALL
from commonplace.errors import FileError

SECONDS: Final = 10.0
"""How long the editor may take to open a terminal, or to say what stands in it."""
_LAST_SECONDS: Final = 2.0
_VARIABLES: Final = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}

Show: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Is told of a tool call the terminal that it runs in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EditorTerminal:
    connection: RpcConnection
    session: str
    show: Show
    seconds: float = SECONDS

    async def run(self, command: Sequence[str], *, folder: Path, seconds: float, most: int) -> ProcessOutput:
        """A `RunCommand`."""
        terminal = await self._open(command, folder, most)
        try:
            if (call := CALL.get()) is not None:
                await self.show(call, terminal)
            late = await self._wait(terminal, seconds)
            if late:
                await self._asked("terminal/kill", terminalId=terminal)
            return _output(await self._asked("terminal/output", terminalId=terminal), late=late)
        finally:
            with anyio.CancelScope(shield=True):
                await self._release(terminal)

    async def _open(self, command: Sequence[str], folder: Path, most: int) -> str:
        opening = asyncio.ensure_future(
            self._asked(
                "terminal/create",
                command=command[0],
                args=list(command[1:]),
                cwd=str(folder),
                env=[{"name": name, "value": value} for name, value in _VARIABLES.items()],
                outputByteLimit=most,
            )
        )
        try:
            terminal = (await asyncio.shield(opening)).get("terminalId")
        except asyncio.CancelledError:
            # The editor may open it all the same.
            opening.add_done_callback(self._abandon)
            raise
        if not isinstance(terminal, str):
            raise FileError("The editor opened no terminal.")
        return terminal

    async def _wait(self, terminal: str, seconds: float) -> bool:
        """Whether it took too long."""
        try:
            await self._asked("terminal/wait_for_exit", seconds, terminalId=terminal)
        except _TooLate:
            return True
        return False

    async def _release(self, terminal: str) -> None:
        with suppress(FileError):
            await self._asked("terminal/release", _LAST_SECONDS, terminalId=terminal)

    def _abandon(self, opening: asyncio.Future[dict[str, Any]]) -> None:
        if (
            not opening.cancelled()
            and opening.exception() is None
            and isinstance(id := opening.result().get("terminalId"), str)
        ):
            _LEFT.add(task := asyncio.ensure_future(self._release(id)))
            task.add_done_callback(_LEFT.discard)

    async def _asked(self, method: str, limit: float | None = None, /, **fields: Any) -> dict[str, Any]:
        seconds = self.seconds if limit is None else limit
        try:
            answer = await self.connection.request(method, {"sessionId": self.session, **fields}, seconds=seconds)
        except TimeoutError as error:
            raise _TooLate(f"The editor's terminal did not answer within {seconds:g} seconds.") from error
        except ConnectionError as error:
            raise FileError("The editor has gone.") from error
        except RequestRefused as error:
            raise FileError(f"The editor's terminal could not be used: {error.message}") from error
        return answer if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownVariableType] - what an editor says


class _TooLate(FileError):
    """The editor did not answer in time."""


_LEFT: Final[set[asyncio.Future[None]]] = set()


def _output(answer: dict[str, Any], *, late: bool) -> ProcessOutput:
    output, status = answer.get("output"), answer.get("exitStatus")
    text = output if isinstance(output, str) else ""
    if answer.get("truncated"):
        text = f"[the beginning is left out]\n{text}"
    return ProcessOutput(text=text, code=None if late else _code(status), late=late)


def _code(status: Any) -> int:
    """As the system says it: a signal is a number below zero. An editor that does not say has seen no error."""
    if not isinstance(status, dict):
        return 0
    code, name = status.get("exitCode"), status.get("signal")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - as above
    if isinstance(code, int):
        return code
    return -signal.Signals[name].value if isinstance(name, str) and name in signal.Signals.__members__ else -1
