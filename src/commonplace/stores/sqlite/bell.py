"""Wakes whoever follows the events of a file."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Generator


class Bell:
    """Wakes whoever waits for events of this process, in whichever loop that is."""

    def __init__(self) -> None:
        self._hung: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._hanging = threading.Lock()

    @contextlib.contextmanager
    def hung(self) -> Generator[asyncio.Event]:
        """An event that is set whenever the bell rings."""
        heard = asyncio.Event()
        with self._hanging:
            self._hung[heard] = asyncio.get_running_loop()
        try:
            yield heard
        finally:
            with self._hanging:
                del self._hung[heard]

    def ring(self) -> None:
        with self._hanging:
            hung = list(self._hung.items())
        for heard, loop in hung:
            # A loop that was closed under a waiter's hands has nobody left to wake.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(heard.set)
