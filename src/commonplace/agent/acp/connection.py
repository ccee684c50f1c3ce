"""
A connection of JSON-RPC: both sides ask, answer and tell. Neither can make the other wait for ever, or fill its memory.

The library of the protocol has one as well. It cannot take a request back, and its import takes longer than our whole greeting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from commonplace.agent.acp.lines import INVALID_REQUEST, LineTransport, Message
from commonplace.errors import CommonplaceError, InternalError, InvalidInput, NotFound, Unauthenticated

LOGGER: Final = logging.getLogger("commonplace")
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
MOST_AT_ONCE: Final = 256
"""Requests that are worked on at the same time."""
_LAST_SECONDS: Final = 2.0
_MOST_PROBLEMS: Final = 5

Handle: TypeAlias = Callable[[str, Any], Awaitable[Any]]


class RequestRefused(CommonplaceError):
    """The other program answered with an error. Its log may say more."""

    code = "acp_refused"
    status = 502

    def __init__(self, message: str | None = None, *, number: int = INTERNAL_ERROR, **details: Any) -> None:
        """`number` is the code of JSON-RPC."""
        super().__init__(message, **details)
        self.number = number


class RpcConnection:
    """
    `answer` is given the method and the parameters of each request, and what it returns is the result; what it raises is told in the codes
    of JSON-RPC. `hear` is given those of each notification.
    """

    def __init__(self, transport: LineTransport, answer: Handle, hear: Handle) -> None:
        self._transport = transport
        self._answer = answer
        self._hear = hear
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._last = -1
        self._requests: dict[str | int, asyncio.Task[None]] = {}
        """Those that are not answered yet, by their ids."""
        self._at_work: set[asyncio.Task[None]] = set()
        """Those requests, and those whose answers the other side has not read."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_over = False

    async def run(self) -> None:
        """Until the other side goes away. What it asked for is still worked on; see `close`."""
        while (message := await self._transport.receive()) is not None:
            if "method" in message:
                self._take(message)
            else:
                self._resolve(message)
        self._is_over = True
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ConnectionError("The other program has gone."))

    async def close(self) -> None:
        """Stop what is still worked on."""
        tasks = {task for task in self._tasks if not task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_SECONDS)

    async def request(self, method: str, params: Message, *, seconds: float | None = None) -> Any:
        """
        The answer of the other side. A request that nobody waits for any more is taken back.

        Raises:
            RequestRefused: it is an error.
            TimeoutError: there is none within so many seconds.
            ConnectionError: the other side has gone.
        """
        if self._is_over:
            raise ConnectionError("The other program has gone.")
        self._last += 1
        id = self._last
        future = self._asked[id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._transport.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
                return await future
        finally:
            del self._asked[id]
            if (future.cancelled() or not future.done()) and not self._is_over:
                self._transport.post({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})

    async def notify(self, method: str, params: Message) -> None:
        """Raises ConnectionError: the other side has gone."""
        await self._transport.send({"jsonrpc": "2.0", "method": method, "params": params})

    def cancel(self, id: object) -> None:
        """Take back a request of the other side: `$/cancel_request`."""
        if isinstance(id, str | int) and (task := self._requests.get(id)) is not None:
            task.cancel()

    # ---- what comes in

    def _take(self, message: Message) -> None:
        if "id" not in message:
            self._begin(self._heard(message))
            return
        id = message["id"]
        if id in self._requests or len(self._at_work) >= MOST_AT_ONCE:
            why = "This id is in use." if id in self._requests else "Too many requests at once. Wait for answers."
            self._transport.post(_failure(id, INVALID_REQUEST, why))
            return
        task = self._begin(self._answered(message))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        if id is not None:
            self._requests[id] = task

    def _begin(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _heard(self, message: Message) -> None:
        with suppress(CommonplaceError, ValidationError):
            await self._hear(message["method"], message.get("params"))

    async def _answered(self, message: Message) -> None:
        id = message["id"]
        try:
            answer = {
                "jsonrpc": "2.0",
                "id": id,
                "result": await self._answer(message["method"], message.get("params")),
            }
        except asyncio.CancelledError:
            answer = _failure(id, CANCELLED, "The request was cancelled.")
        except ValidationError as error:
            answer = _failure(id, INVALID_PARAMS, _problems(error))
        except CommonplaceError as error:
            answer = _failure(id, _number(error), error.message, error.code)
        except Exception as error:
            # The top of a worker: a fault of ours costs this request, not the connection.
            LOGGER.error("unexpected", exc_info=error, extra={"told": {"method": message["method"][:80]}})
            answer = _failure(id, INTERNAL_ERROR, InternalError().message, InternalError.code)
        # Before it is sent: whoever has read the answer may ask with the same id at once.
        self._requests.pop(id, None)
        with suppress(ConnectionError):
            await self._transport.send(answer)

    def _resolve(self, message: Message) -> None:
        """An answer. One that nobody waits for is none."""
        id = message["id"]
        future = self._asked.get(id) if isinstance(id, int) else None
        if future is None or future.done():
            return
        if "result" in message:
            future.set_result(message["result"])
            return
        error = message["error"]
        number, text = error.get("code"), error.get("message")
        future.set_exception(
            RequestRefused(
                text[:500] if isinstance(text, str) and text else None,
                number=number if isinstance(number, int) else INTERNAL_ERROR,
            )
        )


def _failure(id: str | int | None, number: int, text: str, code: str | None = None) -> Message:
    error: Message = {"code": number, "message": text, **({"data": {"code": code}} if code else {})}
    return {"jsonrpc": "2.0", "id": id, "error": error}


def _number(error: CommonplaceError) -> int:
    match error:
        case RequestRefused():
            return error.number
        case NotFound():
            return NOT_FOUND
        case InvalidInput():
            return INVALID_PARAMS
        case Unauthenticated():
            return AUTH_REQUIRED
        case _:
            return INTERNAL_ERROR


def _problems(error: ValidationError) -> str:
    """In few words: the library's own report repeats the whole input."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'params'}: {problem['msg']}"[:200]
        for problem in problems[:_MOST_PROBLEMS]
    )
