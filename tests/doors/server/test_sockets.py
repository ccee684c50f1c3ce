"""Workers that listen on one socket share what comes in."""

import asyncio
import socket

import pytest

from commonplace.compose.sockets import SharedListener, sharing_loop

pytestmark = pytest.mark.anyio


class Counting(asyncio.Protocol):
    """Knows how many of its worker are open, as the daemon's protocol does."""

    def __init__(self, connections: "set[Counting]", met: asyncio.Semaphore) -> None:
        self.connections = connections
        self._met = met

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connections.add(self)
        self._transport = transport
        self._met.release()

    @property
    def open_connections(self) -> int:
        return len(self.connections)

    def close(self) -> None:
        self._transport.close()


async def test_connections_that_come_at_once_are_shared_out() -> None:
    loop = asyncio.get_running_loop()
    workers: list[set[Counting]] = [set(), set()]
    met = asyncio.Semaphore(0)
    with socket.create_server(("127.0.0.1", 0)) as taken, taken.dup() as again:
        ears = [
            SharedListener(loop, one, lambda mine=mine: Counting(mine, met))
            for one, mine in zip((taken, again), workers, strict=True)
        ]
        callers = [socket.create_connection(taken.getsockname(), timeout=5) for _ in range(20)]

        async with asyncio.timeout(5):
            for _ in callers:
                await met.acquire()

        for ear in ears:
            ear.close()
            await ear.wait_closed()
        for connection in [*workers[0], *workers[1]]:
            connection.close()
        for caller in callers:
            caller.close()
    assert min(map(len, workers)) >= 5


def test_the_loop_of_a_worker_listens_in_that_way() -> None:
    with asyncio.Runner(loop_factory=sharing_loop) as runner, socket.create_server(("127.0.0.1", 0)) as taken:

        async def listening() -> object:
            server = await asyncio.get_running_loop().create_server(asyncio.Protocol, sock=taken)
            server.close()
            await server.wait_closed()
            return server

        assert isinstance(runner.run(listening()), SharedListener)
