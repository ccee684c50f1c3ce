"""Processes that append to a session are killed, at any moment. What was acknowledged is there, in its place, and can be found."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from commonplace.compose.stores import open_store
from commonplace.ports.history import SessionFilter
from commonplace.testing.clock import FakeClock
from commonplace.text.analyse import query_terms
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("history_worker.py")
ROUNDS = 4
PATIENCE = 30.0


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.getfixturevalue("address") if request.param == "postgres" else str(tmp_path / "memory.db")


def killed_pair(place: str, folder: Path, seed: int, chance: random.Random) -> list[list[Any]]:
    """Two processes append at the same time, and both are killed after some lines. What they acknowledged."""
    acknowledged: list[list[Any]] = []
    workers = [
        subprocess.Popen(
            [sys.executable, str(WORKER), place, str(seed + n)], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        for n in range(2)
    ]
    # A worker that hangs is ended, and the test fails by what is missing.
    timer = threading.Timer(PATIENCE, lambda: [worker.kill() for worker in workers])
    timer.start()
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert json.loads(worker.stdout.readline()) == {"ready": True}
        for worker in workers:
            assert worker.stdout is not None
            for _ in range(chance.randint(1, 15)):
                acknowledged += json.loads(worker.stdout.readline())["kept"]
            worker.send_signal(signal.SIGKILL)
        for worker in workers:
            assert worker.stdout is not None
            # It may have said more before it died; what it had not said whole was not acknowledged.
            for line in worker.stdout.read().splitlines():
                acknowledged += json.loads(line)["kept"]
            worker.wait(timeout=5)
    finally:
        timer.cancel()
        for worker in workers:
            worker.kill()
            worker.communicate(timeout=5)
    return acknowledged


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_no_acknowledged_message_is_lost_when_its_writer_is_killed(place: str, tmp_path: Path) -> None:
    chance, acknowledged = random.Random(2026), list[list[Any]]()

    for n in range(ROUNDS):
        acknowledged += killed_pair(place, tmp_path, 10 * n, chance)

    where = place if "://" in place else Path(place)
    opened = await open_store(where, FakeClock(), home=tmp_path, from_workspace=False)
    history, messages = opened.store.history, list[Any]()
    while (page := await history.messages(DEFAULT_TENANT, "talk", after=len(messages), limit=1_000)).messages:
        messages += page.messages
    session = await history.session(DEFAULT_TENANT, "talk")
    hits = await history.search_messages(DEFAULT_TENANT, list(query_terms("word10")), SessionFilter(owner="ana"), 1)
    faults = [finding for finding in await opened.store.maintenance.check() if finding.severity == "error"]
    await opened.aclose()

    by_position = {message.position: [message.position, message.id, message.text] for message in messages}
    assert [told for told in acknowledged if by_position.get(told[0]) != told] == []
    assert sorted(by_position) == list(range(1, len(messages) + 1))
    assert session.messages == len(messages) >= len(acknowledged) > ROUNDS
    assert len(hits) == 1
    assert faults == []
