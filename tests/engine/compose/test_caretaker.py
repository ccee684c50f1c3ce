"""A memory inside a program is looked after as a daemon looks after its own: when it is closed, and while it is open."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from commonplace import open_memory
from commonplace.artifacts.cabinet import FOLDER as artifacts_folder  # noqa: N811 - two of one name
from commonplace.compose.caretaker import Caretaker
from commonplace.runs.archive import FOLDER as runs_folder  # noqa: N811 - as above
from commonplace.service.desk import Desk
from commonplace.service.services import ServiceOptions, Services
from commonplace.testing.clock import FakeClock
from commonplace.values.note import Note
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.seal import SealState

HOUR = timedelta(hours=1)
OWNER = Principal(subject=LOCAL, tenant=DEFAULT_TENANT, role="admin", operator=True)


def seals(path: Path, clock: FakeClock) -> SealState:
    """As they are; looking at them seals nothing, since the hour has not passed."""
    with open_memory(path, clock=clock) as memory:
        return memory.audit_seals(verify=True)


def test_closing_a_memory_seals_its_audit_at_most_once_an_hour(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "memory.db"
    for text in ("the first note", "the second note"):
        with open_memory(path, clock=clock) as memory:
            memory.put(text)
    state = seals(path, clock)
    assert (len(state.seals), state.broken, state.waiting > 0) == (1, None, True)

    clock.advance(HOUR)
    with open_memory(path, clock=clock) as memory:
        memory.put("the third note")

    state = seals(path, clock)
    assert (len(state.seals), state.broken) == (2, None)


def test_session_memory_ends_when_a_memory_is_closed_after_thirty_days_and_what_is_pinned_stays(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "memory.db"
    with open_memory(path, clock=clock) as memory:
        ended = memory.put("said in passing", scope="session:one").id
        pinned = memory.put("worth keeping", scope="session:one", pinned=True).id
        shared = memory.put("of the project", scope="workspace:web").id

    clock.advance(timedelta(days=29))
    with open_memory(path, clock=clock):
        pass
    with open_memory(path, clock=clock) as memory:
        assert memory.get(ended).deleted_at is None

    clock.advance(timedelta(days=2))
    with open_memory(path, clock=clock):
        pass

    with open_memory(path, clock=clock) as memory:
        assert memory.get(ended).deleted_at is not None
        assert memory.get(pinned).deleted_at is None
        assert memory.get(shared).deleted_at is None


def test_session_memory_stays_where_the_settings_say_so(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_SESSION_DAYS", "0")
    path = tmp_path / "memory.db"
    with open_memory(path, clock=clock) as memory:
        id = memory.put("said in passing", scope="session:one").id

    clock.advance(timedelta(days=400))
    with open_memory(path, clock=clock):
        pass

    with open_memory(path, clock=clock) as memory:
        assert memory.get(id).deleted_at is None


@pytest.mark.anyio
async def test_a_memory_that_stays_open_is_looked_after_every_hour(desk: Desk, tmp_path: Path) -> None:
    services = await with_a_note(desk)
    caretaker = Caretaker(services, every=timedelta(milliseconds=1))
    caretaker.begin()
    async with asyncio.timeout(20):
        while not (await desk.store.seals.state(1)).seals:
            pass
    await caretaker.aclose()

    assert (tmp_path / "memory.db-reserve").exists()


@pytest.mark.anyio
async def test_nothing_is_done_twice_within_the_hour(desk: Desk, clock: FakeClock) -> None:
    caretaker = Caretaker(await with_a_note(desk))

    assert await caretaker.look_after()
    clock.advance(HOUR - timedelta(milliseconds=1))
    assert not await caretaker.look_after()
    clock.advance(timedelta(milliseconds=1))
    assert await caretaker.look_after()


@pytest.mark.anyio
async def test_closing_waits_no_longer_than_its_patience(desk: Desk) -> None:
    services = await with_a_note(desk)

    await Caretaker(services, patience=0.0).aclose()

    assert not (await desk.store.seals.state(1)).seals


async def with_a_note(desk: Desk) -> Services:
    services = Services(desk, ServiceOptions())
    await services.records.put(OWNER, [Note(text="a note", scope="global")])
    return services


def test_what_is_tidied_lies_where_runs_and_artifacts_do(tmp_path: Path) -> None:
    for name in (runs_folder, artifacts_folder):
        home = tmp_path / f"with-{name}"
        (home / name).mkdir(parents=True)
        services = Services(cast(Desk, None), ServiceOptions(run_home=home))

        assert services.has_files
    assert not Services(cast(Desk, None), ServiceOptions(run_home=tmp_path)).has_files
