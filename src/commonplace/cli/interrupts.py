"""Ctrl-C while an agent works: counted, so that it can be asked to stop; at a question it is an interruption as ever."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Enter it with `with`. `count` is how often Ctrl-C came since."""

    def __init__(self) -> None:
        self.count = 0
        self._raises = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self.count = 0
        # Signals come to the first thread, and only there they may be asked for.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self._before = None

    @contextmanager
    def at_a_question(self) -> Generator[None, None, None]:
        """Meanwhile it raises KeyboardInterrupt."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._raises:
            raise KeyboardInterrupt
        self.count += 1
