"""
Loaded as `sitecustomize` by a process that a test starts: the packages named in `ABSENT` are not there for it, as if they had never
been installed. The file named in `ABSENT_LOG` gets a line for each of them that it looks for, and for each address that is not of
this machine.
"""

import importlib.abc
import importlib.machinery
import ipaddress
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_ABSENT = frozenset(os.environ["ABSENT"].split())
_LOG = os.open(os.environ["ABSENT_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _log(*words: str) -> None:
    os.write(_LOG, " ".join(words).encode() + b"\n")


class Filtered(importlib.abc.MetaPathFinder):
    """A finder of Python's, which overlooks what is absent."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package = fullname.partition(".")[0]
        if package in _ABSENT:
            _log("import", package)
            return None
        return self._finder.find_spec(fullname, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        _check(args[0])
    elif event == "socket.connect" and not isinstance(args[1], str | bytes):
        _check(args[1][0])


def _check(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    try:
        local = name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        local = False
    if not local:
        _log("network", name)


sys.meta_path[:] = [Filtered(finder) for finder in sys.meta_path]
sys.addaudithook(_watch)
