"""How a talk's requests go out: the one part in which the two clients differ."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from commonplace.errors import StoreClosed
from commonplace.sdk.address import TIMEOUT, address
from commonplace.sdk.talk import Call, Outcome, Pause, Reply, Talk

T = TypeVar("T")
_CLOSED = "The client is closed. Make a new one."


class AsyncSender:
    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        tenant: str | None = None,
        client_id: str | None = None,
        timeout: float = TIMEOUT,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`transport` sends requests in another way than over the network, for instance into an app of this process."""
        where = address(url, token, tenant, client_id)
        self._timeout = timeout
        self._http = httpx.AsyncClient(
            base_url=where.url,
            headers=where.headers,
            timeout=timeout,
            transport=transport,
            # No proxy stands between two programs of one machine.
            trust_env=not where.is_local,
        )

    async def aclose(self) -> None:
        """Close the connections. A second time does nothing."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def _open(self) -> httpx.AsyncClient:
        if self._http.is_closed:
            raise StoreClosed(_CLOSED)
        return self._http

    def _limits(self, *, endless: bool, waits: float = 0.0) -> httpx.Timeout:
        return httpx.Timeout(self._timeout, read=None if endless else self._timeout + waits)

    async def _run(self, talk: Talk[T]) -> T:
        done: Outcome | None = None
        while True:
            try:
                step = talk.send(done)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                done = await asyncio.sleep(step.seconds)
            else:
                done = await self._sent(step.call)

    async def _sent(self, call: Call[Any]) -> Outcome:
        try:
            response = await self._open.request(
                call.method,
                call.path,
                params=call.query,
                content=call.body,
                headers=call.headers,
                timeout=self._limits(endless=call.endless, waits=call.waits),
            )
        except httpx.TransportError as error:
            return error
        return Reply.of(response, response.content)


class Sender:
    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        tenant: str | None = None,
        client_id: str | None = None,
        timeout: float = TIMEOUT,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`transport` sends requests in another way than over the network, for instance through one of your own."""
        where = address(url, token, tenant, client_id)
        self._timeout = timeout
        self._http = httpx.Client(
            base_url=where.url,
            headers=where.headers,
            timeout=timeout,
            transport=transport,
            trust_env=not where.is_local,
        )

    def close(self) -> None:
        """Close the connections. A second time does nothing."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _open(self) -> httpx.Client:
        if self._http.is_closed:
            raise StoreClosed(_CLOSED)
        return self._http

    def _limits(self, *, endless: bool, waits: float = 0.0) -> httpx.Timeout:
        return httpx.Timeout(self._timeout, read=None if endless else self._timeout + waits)

    def _run(self, talk: Talk[T]) -> T:
        done: Outcome | None = None
        while True:
            try:
                step = talk.send(done)
            except StopIteration as end:
                return end.value
            done = time.sleep(step.seconds) if isinstance(step, Pause) else self._sent(step.call)

    def _sent(self, call: Call[Any]) -> Outcome:
        try:
            response = self._open.request(
                call.method,
                call.path,
                params=call.query,
                content=call.body,
                headers=call.headers,
                timeout=self._limits(endless=call.endless, waits=call.waits),
            )
        except httpx.TransportError as error:
            return error
        return Reply.of(response, response.content)
