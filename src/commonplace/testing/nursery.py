"""
Daemons for tests that need not import everything each: a process that has imported it all makes copies of itself, each of which becomes one.

Each is a process of its own like any other. Where its environment says what is read before anything of ours is, it is begun as by anybody.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

_MODULES: Final = (
    "commonplace.cli",
    "commonplace.compose.agent_loop",
    "commonplace.compose.daemon",
    "commonplace.compose.doors",
    "commonplace.compose.work",
    "commonplace.llms.vendors",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
_READ_EARLY: Final = ("PYTHON", "LD_", "LC_", "LANG", "TZ", "MALLOC", "OMP_", "OPENBLAS_", "HOME")
_LARGEST: Final = 1_000_000


class DaemonProcess(Protocol):
    """What tests do with a process, of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> Any: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


def begin_daemon(args: Sequence[str], environment: Mapping[str, str], folder: Path, stderr: int) -> DaemonProcess:
    """`commonplace` with these arguments in `folder`, in a session of its own."""
    different = {name for name in {*environment, *os.environ} if environment.get(name) != os.environ.get(name)}
    # Workers are programs of their own that read how their parent was begun.
    if sys.platform != "linux" or "--workers" in args or any(name.startswith(_READ_EARLY) for name in different):
        return subprocess.Popen(
            [sys.executable, "-m", "commonplace", *args],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=folder,
            start_new_session=True,
        )
    return _nursery().begin(args, environment, folder, stderr)


class _Child:
    def __init__(self, nursery: _Nursery, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._nursery = nursery
        self._ending = os.pidfd_open(pid)
        weakref.finalize(self, os.close, self._ending)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            remaining = None if deadline is None else deadline - time.monotonic()
            if remaining is not None and remaining <= 0:
                raise subprocess.TimeoutExpired("commonplace", timeout or 0.0)
            select.select([self._ending], [], [], remaining)
        return code

    def send_signal(self, sig: int) -> None:
        # Nobody else has its number until it is polled.
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Nursery:
    """The process that has imported everything, as its parent sees it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "commonplace.testing.nursery", str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                pass_fds=(other.fileno(),),
                start_new_session=True,
            )
        atexit.register(self.close)

    def begin(self, args: Sequence[str], environment: Mapping[str, str], folder: Path, stderr: int) -> _Child:
        request = {"args": [*args], "environment": dict(environment), "folder": str(folder)}
        return _Child(self, self.ask(request, stderr))

    def ask(self, request: Mapping[str, Any], *files: int) -> Any:
        with self._lock:
            carried = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
            self._line.sendmsg([json.dumps(request).encode()], carried)
            return json.loads(self._line.recv(_LARGEST))

    def close(self) -> None:
        self._line.close()
        self._process.wait(timeout=10)


_begun: dict[int, _Nursery] = {}


def _nursery() -> _Nursery:
    """That of this process; none is inherited."""
    if os.getpid() not in _begun:
        _begun[os.getpid()] = _Nursery()
    return _begun[os.getpid()]


def _grow_up(line: socket.socket) -> None:
    """Answers until a copy of this process is asked for, and returns in it. Ends with the line."""
    codes: dict[int, int] = {}
    while True:
        data, files, _, _ = socket.recv_fds(line, _LARGEST, 1)
        if not data:
            sys.exit(0)
        request = json.loads(data)
        if (pid := request.get("poll")) is not None:
            line.send(json.dumps(_code(codes, pid)).encode())
            continue
        child = os.fork()
        if child == 0:
            line.close()
            os.setsid()
            os.dup2(files[0], 2)
            os.close(files[0])
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["environment"])
            sys.path[0] = request["folder"]
            sys.argv = ["commonplace", *request["args"]]
            return
        os.close(files[0])
        line.send(json.dumps(child).encode())


def _code(codes: dict[int, int], pid: int) -> int | None:
    if pid not in codes:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == 0:
            return None
        codes[pid] = os.waitstatus_to_exitcode(status)
    return codes[pid]


if __name__ == "__main__":
    for _name in _MODULES:
        importlib.import_module(_name)
    gc.collect()
    gc.freeze()
    _grow_up(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("commonplace", run_name="__main__")
