"""A daemon that is a copy of a process is one like any other: its arguments, its environment, its end."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from commonplace.testing.nursery import DaemonProcess, begin_daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each is begun as by anybody")


def begun(folder: Path, *args: str, **environment: str) -> tuple[DaemonProcess, Path]:
    log = folder / "log"
    with log.open("wb") as err:
        home = {"COMMONPLACE_HOME": str(folder / "home"), **environment}
        return begin_daemon(args, {**os.environ, **home}, folder, err.fileno()), log


@pytest.mark.parametrize("more", [{}, {"PYTHONNODEBUGRANGES": "1"}], ids=["a copy", "as by anybody"])
def test_it_ends_with_its_own_code_and_words(tmp_path: Path, more: dict[str, str]) -> None:
    process, log = begun(tmp_path, "serve", "--port", "none", **more)

    assert process.wait(timeout=30) == process.poll() == process.returncode == 2
    assert "--port" in log.read_text()


def test_it_has_its_own_environment_and_folder(tmp_path: Path) -> None:
    process, log = begun(tmp_path, "serve", COMMONPLACE_PORT="none")

    assert process.wait(timeout=30) == 2
    assert "port" in log.read_text()
    assert "COMMONPLACE_PORT" not in os.environ


def test_whoever_waits_hears_of_its_end_and_a_wait_has_an_end(tmp_path: Path) -> None:
    process, _ = begun(tmp_path, "serve", "--port", "0")
    codes: list[int] = []
    waiting = [threading.Thread(target=lambda: codes.append(process.wait(timeout=30))) for _ in range(3)]
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.01)
    for thread in waiting:
        thread.start()

    process.kill()
    for thread in waiting:
        thread.join(timeout=30)
    process.terminate()

    assert codes == [-9, -9, -9]
