"""What `Memory` is made of: an `AsyncMemory` and an event loop in a thread of its own. `memory.py` is generated over it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from commonplace.compose.memory_runs import MemoryArtifacts, MemoryRuns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator
    from types import TracebackType

    from commonplace.compose.async_memory import AsyncMemory
    from commonplace.compose.background_loop import BackgroundLoop

T = TypeVar("T")


class WaitFor(Protocol):
    """Waits for some work of the memory's event loop."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


class SyncMemory:
    """Any thread may use it. Whoever forgets to close it has it closed when it is collected, or when the program ends."""

    def __init__(self, memory: AsyncMemory, loop: BackgroundLoop) -> None:
        self._memory = memory
        self._loop = loop
        self._end = weakref.finalize(self, _end, memory, loop)

    @property
    def tenant(self) -> str:
        return self._memory.tenant

    @property
    def embedders(self) -> tuple[str, ...]:
        """The names of the embedders by which meaning is searched; none: by words only."""
        return self._memory.embedders

    @property
    def runs(self) -> MemoryRuns:
        return MemoryRuns(self._memory.runs, self._run)

    @property
    def artifacts(self) -> MemoryArtifacts:
        return MemoryArtifacts(self._memory.artifacts, self._run)

    def close(self) -> None:
        """Close the store. A second time does nothing."""
        if self._end.detach() is None:
            return
        try:
            self._run(self._memory.aclose())
        finally:
            self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    def _each(self, items: AsyncIterator[T]) -> Iterator[T]:
        async def following() -> T:
            return await anext(items)

        while True:
            try:
                yield self._run(following())
            except StopAsyncIteration:
                return


def _end(memory: AsyncMemory, loop: BackgroundLoop) -> None:
    loop.abandon(memory.aclose())
