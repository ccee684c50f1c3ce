"""How many bytes of requests a daemon holds in memory at once."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from commonplace.errors import Overloaded


class BytesInFlight:
    """Bodies that were received and are not answered yet, `most` bytes in all."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0

    @contextmanager
    def request(self) -> Generator[RequestBytes]:
        """For one request: what it took is free again at the end."""
        request = RequestBytes(self)
        try:
            yield request
        finally:
            self.total -= request.size


class RequestBytes:
    def __init__(self, in_flight: BytesInFlight) -> None:
        self._in_flight = in_flight
        self.size = 0

    def take(self, size: int) -> None:
        """Raises Overloaded: there is no room for so many."""
        if self._in_flight.total + size > self._in_flight.most:
            raise Overloaded("The daemon holds as many bytes of requests as it may. Try again in a moment.")
        self._in_flight.total += size
        self.size += size
