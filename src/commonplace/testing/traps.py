"""What happens in the last moment before this process opens a file or a folder, so that a test of a race has no luck in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

_EVENTS: Final = ("open", "os.scandir")


@dataclass(slots=True)
class Trap:
    """`act` is called once, in the thread that opens a file or folder called `name`, by whatever path. Then it is `sprung`."""

    name: str
    act: Callable[[], None]
    sprung: bool = False


_traps: Final[list[Trap]] = []
_lock: Final = Lock()
_installed: Final[list[bool]] = []


@contextmanager
def before_open(name: str, act: Callable[[], None]) -> Generator[Trap]:
    trap = Trap(name, act)
    with _lock:
        # An audit hook stays for as long as the process lives.
        if not _installed:
            sys.addaudithook(_hear)
            _installed.append(True)
        _traps.append(trap)
    try:
        yield trap
    finally:
        with _lock:
            _traps.remove(trap)


def _hear(event: str, args: tuple[object, ...]) -> None:
    if not _traps or event not in _EVENTS or not isinstance(args[0], str):
        return
    name = args[0].rpartition(os.sep)[2]
    for trap in tuple(_traps):
        with _lock:
            springs = trap.name == name and not trap.sprung
            trap.sprung |= springs
        if springs:
            trap.act()
