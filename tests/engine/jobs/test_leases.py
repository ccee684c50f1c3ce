"""Whether the process of a worker is known to have ended."""

import os
import subprocess
import sys
from collections.abc import Generator

import pytest

from commonplace.jobs.leases import is_gone, process_space, read_stat, worker_name

pytestmark = pytest.mark.skipif(not process_space(), reason="the system has no /proc to look at")


def with_fields(**fields: str) -> str:
    """The name of a worker of this process, but for these fields."""
    names = ("host", "pid", "started", "space", "random")
    return ":".join(fields.get(name, value) for name, value in zip(names, worker_name().split(":"), strict=True))


@pytest.fixture
def process() -> Generator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.communicate(timeout=5)


def named_after(process: subprocess.Popen[bytes]) -> str:
    stat = read_stat(str(process.pid))
    assert stat is not None
    return with_fields(pid=str(process.pid), started=stat.started)


def test_a_worker_of_this_process_is_there_and_no_two_have_one_name() -> None:
    names = [worker_name() for _ in range(100)]

    assert len(set(names)) == 100
    assert not any(is_gone(name) for name in names)


def test_a_worker_whose_process_was_killed_is_gone_before_anybody_waits_for_it(
    process: subprocess.Popen[bytes],
) -> None:
    name = named_after(process)
    assert not is_gone(name)

    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert is_gone(name)
    process.wait(timeout=5)
    assert is_gone(name)


def test_a_worker_whose_process_id_is_another_programs_by_now_is_gone(process: subprocess.Popen[bytes]) -> None:
    assert is_gone(with_fields(pid=str(process.pid)))


@pytest.mark.parametrize("field", ["host", "space"])
def test_nobody_knows_of_a_worker_elsewhere(process: subprocess.Popen[bytes], field: str) -> None:
    process.kill()
    process.wait(timeout=5)
    pid = str(process.pid)

    assert is_gone(with_fields(pid=pid))
    assert not is_gone(with_fields(pid=pid, **{field: "elsewhere"}))


@pytest.mark.parametrize("field", ["pid", "started", "space"])
def test_nobody_knows_of_a_worker_whose_name_does_not_tell(process: subprocess.Popen[bytes], field: str) -> None:
    process.kill()
    process.wait(timeout=5)
    fields = {"pid": str(process.pid), field: ""}

    assert not is_gone(with_fields(**fields))


@pytest.mark.parametrize("name", ["", "w1", "host:1:1234abcd", "::::"])
def test_nobody_knows_of_a_name_that_has_another_form(name: str) -> None:
    assert not is_gone(name)


def test_nobody_knows_of_a_worker_of_the_release_before() -> None:
    assert not is_gone(f"{os.uname().nodename}:4194305:1234abcd")


@pytest.mark.parametrize("pid", ["-1", "0x1", "9" * 30])
def test_a_number_that_no_process_can_have_is_not_known_to_be_gone(pid: str) -> None:
    assert not is_gone(with_fields(pid=pid))


def test_the_process_of_another_user_is_there() -> None:
    first = read_stat("1")
    if first is None:
        pytest.skip("the first process may not be looked at")

    assert not is_gone(with_fields(pid="1", started=first.started))
