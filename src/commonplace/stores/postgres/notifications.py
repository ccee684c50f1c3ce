"""
Notifications of new events: a connection of its own that hears the relays of every daemon.

It is outside the pool, whose connections come and go. Only `LISTEN` goes over it. Where the server cannot be reached, or a
pooler in between lets no notification through, the one who waits is woken by the clock instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, sql

from commonplace.errors import StoreClosed
from commonplace.stores.postgres.connection import Connection

T = TypeVar("T")


class NotificationListener:
    """Belongs to one follower, who calls all of it but `close`, which anybody may call at any time."""

    def __init__(self, conninfo: str, channel: str) -> None:
        self._conninfo = conninfo
        self._channel = channel
        self._connection: Connection | None = None
        self._heard = asyncio.Event()
        self._doing: asyncio.Task[Any] | None = None
        self.closed = False

    def close(self) -> None:
        """From now on nothing is heard, and the follower, whatever it is waiting for, goes on at once."""
        self.closed = True
        self._heard.set()
        if self._doing is not None:
            self._doing.cancel()
        self._hang_up()

    async def listen(self) -> None:
        """Connect, unless it is connected. A server that is not there is tried again by the next call."""
        if self._connection is None:
            with suppress(psycopg.Error):
                await self.unless_closed(self._connect())

    async def unless_closed(self, work: Coroutine[Any, Any, T]) -> T:
        """
        Do `work`, to its end or until the listener is closed.

        Raises:
            StoreClosed: it was closed first.
        """
        self._doing = asyncio.create_task(work)
        if self.closed:
            self._doing.cancel()
        try:
            return await self._doing
        except asyncio.CancelledError:
            me = asyncio.current_task()
            if self.closed and not (me and me.cancelling()):
                raise StoreClosed from None
            raise
        finally:
            self._doing = None

    async def wait(self, seconds: float) -> None:
        """Until something is heard, the listener is closed, or that much time has passed."""
        if self._drained():
            return
        loop = asyncio.get_running_loop()
        fd = -1 if self._connection is None else self._connection.fileno()
        if fd >= 0:
            loop.add_reader(fd, self._heard.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._heard.wait()
        finally:
            # Closing the listener has taken the reader away already, and the number may be another file's by now.
            if fd >= 0 and self._connection is not None:
                loop.remove_reader(fd)
            if not self.closed:
                self._heard.clear()

    async def _connect(self) -> None:
        connection = await AsyncConnection.connect(self._conninfo, autocommit=True)
        try:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        except BaseException:
            await connection.close()
            raise
        self._connection = connection

    def _drained(self) -> bool:
        """Whether notifications had come. They tell nothing but that there are news, so they are taken away together."""
        if self._connection is None:
            return False
        heard = False
        try:
            self._connection.pgconn.consume_input()
            while self._connection.pgconn.notifies() is not None:
                heard = True
        except psycopg.OperationalError:
            self._hang_up()
        return heard

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(psycopg.OperationalError, RuntimeError):
            asyncio.get_running_loop().remove_reader(connection.fileno())
        connection.pgconn.finish()
