"""
The gate of a root: whoever reads files to write what they say elsewhere passes it together with others; whoever erases passes it alone.

So nothing that was in an erased file is written anew by somebody who read it just before. A change that lasts longer than a step
remembers the `epoch` of its beginning: an erasure begins another one, and the change ends there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from secrets import token_hex
from typing import Final, TypeVar

from commonplace.errors import CommonplaceError
from commonplace.markdown.roots import Root

GATE: Final = ".erase-gate"
_SIZE: Final = 32
_T = TypeVar("_T")


@contextmanager
def shared(root: Root) -> Generator[str]:
    """Pass together with others. Yields the epoch. Raises MemoryWriteTimeout: somebody is erasing."""
    with root.state.gate(GATE, shared=True) as gate:
        yield os.pread(gate, _SIZE, 0).decode("ascii", "replace")


class Epochs:
    """Begins epochs of a root whose gate is held alone."""

    def __init__(self, gate: int) -> None:
        self._gate = gate
        self.begun = False

    def begin(self) -> None:
        """Before something is erased: what others read until now counts no more."""
        os.pwrite(self._gate, token_hex(_SIZE // 2).encode("ascii"), 0)
        self.begun = True


@contextmanager
def alone(root: Root) -> Generator[Epochs]:
    """Pass alone. What is read while something is erased counts no more either. Raises MemoryWriteTimeout: somebody is at work."""
    with root.state.gate(GATE, shared=False) as gate:
        epochs = Epochs(gate)
        try:
            yield epochs
        finally:
            if epochs.begun:
                epochs.begin()


def epoch_of(root: Root) -> str:
    """The epoch there is, without waiting for anybody."""
    try:
        return root.state.read((GATE,)).data.decode("ascii", "replace")[:_SIZE]
    except CommonplaceError:
        return ""


@asynccontextmanager
async def entered(gate: AbstractContextManager[_T]) -> AsyncGenerator[_T]:
    """A gate held by a coroutine: a thread waits for it. Cancelled meanwhile, the gate is let go of as soon as it was reached."""
    stack = ExitStack()
    entering = asyncio.ensure_future(asyncio.to_thread(stack.enter_context, gate))
    try:
        value = await asyncio.shield(entering)
    except asyncio.CancelledError:
        entering.add_done_callback(lambda future: (future.cancelled() or future.exception(), stack.close()))
        raise
    try:
        yield value
    finally:
        stack.close()
