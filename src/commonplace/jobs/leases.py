"""
Which workers are known to be dead, so that nobody waits until their leases run out.

A worker's name holds its host, its process id, the start time of that process, and the space in which process ids are valid: one boot
of one machine, and one container on it. A worker of the same host and space looks whether the process still runs; the start time
tells a process id that another program has by now. Nobody can know this of a worker elsewhere (on another machine, in another
container, before a reboot) or on a system without `/proc`: there the lease has to run out.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_ENDED_STATES: Final = ("Z", "X", "x")
_FIELDS: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessStat:
    """A process as the system lists it. `started` is in ticks since the machine booted."""

    pid: int
    state: str
    started: str


def worker_name() -> str:
    """A name for a worker of this process that no other worker has: host, process id, start time, space, random."""
    stat = read_stat("self")
    started = "" if stat is None else stat.started
    return ":".join((_host(), str(os.getpid()), started, process_space(), secrets.token_hex(4)))


def is_gone(worker: str) -> bool:
    """Whether the process of that worker is known to have ended. False: it runs, or nobody here can know."""
    host, pid, started, space, *_ = [*worker.split(":"), *[""] * _FIELDS]
    if not (pid.isdecimal() and started and space) or (host, space) != (_host(), process_space()):
        return False
    return _has_ended(int(pid), started)


@cache
def process_space() -> str:
    """Where process ids are valid: this boot of this machine, and this container. Empty: unknown."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = (_PROC / "self/ns/pid").stat().st_ino
    except (OSError, ValueError):
        return ""
    stat = read_stat("self")
    # A /proc that was mounted for another container lists other process ids than ours.
    is_ours = stat is not None and stat.pid == os.getpid()
    return sha256(f"{boot} {namespace} {_clock_namespace()}".encode()).hexdigest()[:16] if boot and is_ours else ""


def read_stat(process: str) -> ProcessStat | None:
    """None: there is no such process, or this user may not read it."""
    try:
        content = (_PROC / process / "stat").read_bytes()
        # The name of the program stands in parentheses, and may hold blanks and parentheses itself.
        pid, fields = int(content.split(b" ", 1)[0]), content.rpartition(b")")[2].split()
        return ProcessStat(pid=pid, state=fields[0].decode(), started=fields[19].decode())
    except (OSError, ValueError, IndexError):
        return None


def _has_ended(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # Another user's, or no process id at all.
    stat = read_stat(str(pid))
    return stat is not None and (stat.started != started or stat.state in _ENDED_STATES)


def _clock_namespace() -> int:
    """Start times are those of its clock. An older Linux has one clock for all."""
    try:
        return (_PROC / "self/ns/time").stat().st_ino
    except OSError:
        return 0


def _host() -> str:
    return socket.gethostname().replace(":", "-")
