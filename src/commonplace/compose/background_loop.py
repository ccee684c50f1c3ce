"""An event loop in a thread of its own, for callers who have none."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Final, TypeVar

from commonplace.errors import CommonplaceError, StoreClosed

T = TypeVar("T")
_LAST: Final = 5.0


class BackgroundLoop:
    """
    Runs coroutines for blocking callers, from any thread. Ctrl-C ends the wait, and with it the work waited for. The
    thread never keeps a process alive.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._live, name="commonplace-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """
        The result of `work`.

        Raises:
            StoreClosed: the loop was stopped, before or meanwhile, or belongs to the process this one was forked from.
        """
        if refusal := self._refusal():
            work.close()
            raise refusal
        answer: Future[T] = Future()
        begun: list[asyncio.Task[T]] = []
        try:
            with self._lock:
                if self._stopped:
                    work.close()
                    raise StoreClosed
                self._loop.call_soon_threadsafe(_begin, work, begun, answer)
            return answer.result()
        except CancelledError:
            raise StoreClosed from None
        except BaseException:
            # KeyboardInterrupt above all, whenever it comes: whoever no longer waits does not want the rest done either.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_end, work, begun)
            raise

    def stop(self) -> None:
        """End what still runs, and the thread. Nothing happens the second time, or in a forked process."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).add_done_callback(
            lambda _: self._loop.call_soon_threadsafe(self._loop.stop)
        )
        self._thread.join()

    def _live(self) -> None:
        """Until it is stopped, and its end: all on this thread, since the one that stops it may run a loop of its own."""
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    def abandon(self, last: Coroutine[Any, Any, None]) -> None:
        """
        Do one last thing and stop, when nobody is left to wait or to be told. At the end of a program the threads that
        it needs may be gone already; what was acknowledged is safe in the store all the same.
        """
        if self._refusal() is not None or self._stopped:
            last.close()
            return
        with suppress(TimeoutError, RuntimeError, CommonplaceError):
            asyncio.run_coroutine_threadsafe(last, self._loop).result(timeout=_LAST)
        with suppress(RuntimeError):
            self.stop()

    def _refusal(self) -> Exception | None:
        if self._pid != os.getpid():
            return StoreClosed("This memory was opened before the process forked. Open it again in the new process.")
        if threading.current_thread() is self._thread:
            return RuntimeError("A callback of the memory cannot wait for that memory. Note what it was told instead.")
        return None


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _begin(work: Coroutine[Any, Any, T], begun: list[asyncio.Task[T]], answer: Future[T]) -> None:
    task = asyncio.ensure_future(work)
    begun.append(task)
    task.add_done_callback(lambda _: _settle(task, answer))


def _settle(task: asyncio.Task[T], answer: Future[T]) -> None:
    if task.cancelled():
        answer.cancel()
    elif (error := task.exception()) is not None:
        answer.set_exception(error)
    else:
        answer.set_result(task.result())


def _end(work: Coroutine[Any, Any, Any], begun: Sequence[asyncio.Task[Any]]) -> None:
    if not begun:
        work.close()
    for task in begun:
        task.cancel()
