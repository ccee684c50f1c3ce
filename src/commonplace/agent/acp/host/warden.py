"""
Stands between us and a hosted agent, so that nothing of that agent outlives us, however we end.

    python warden.py FD COMMAND [ARGUMENT…]

It leads the process group of the agent, and ends with it. FD is the end of a pipe whose other end only we have: when it is closed,
the whole group is killed, and whatever left the group and still bears the group's mark. It needs nothing but the standard library.
"""

import os
import select
import signal
import sys
from pathlib import Path
from types import FrameType

MARK = "COMMONPLACE_CALL"
NOT_STARTED = 127


def main() -> int:
    line = int(sys.argv[1])
    os.set_inheritable(line, False)
    # The end of the agent wakes us: a signal writes into the pipe.
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, _noticed)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    pid = os.fork()
    if pid == 0:
        _become(sys.argv[2:])
    # What the agent says is its own: the end of its output is seen when it ends.
    for stream in (0, 1):
        os.close(stream)
    while True:
        ready, _, _ = select.select([line, wake], [], [])
        if line in ready:
            _kill_all(pid)
        os.read(wake, 512)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _become(command: list[str]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Python ignores it; a program that writes to nobody should end.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(NOT_STARTED)


def _noticed(number: int, frame: FrameType | None) -> None:
    """There is nothing to do but to wake up."""
    del number, frame


def _kill_all(pid: int) -> None:
    mark = f"{MARK}={os.environ.get(MARK, '')}".encode()
    for folder in Path("/proc").glob("[0-9]*") if os.environ.get(MARK) else ():
        try:
            if folder.name != str(os.getpid()) and mark in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue
    try:
        os.kill(pid, signal.SIGKILL)
    finally:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
