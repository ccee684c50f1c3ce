# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Session memory ends some days after its last write: deleted, not purged, pinned kept."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.compose.work import queues_of
from commonplace.jobs.payloads import Nothing
from commonplace.service.upkeep import UPKEEP, Housekeeping
from commonplace.settings import load_settings
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served
from commonplace.values.upkeep import Rule

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)
JOB: Any = None


@pytest.fixture
def place(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.getfixturevalue("address") if kind == "postgres" else str(tmp_path / "memory.db")


async def put(running: InProcess, text: str, scope: str, **fields: Any) -> str:
    answer = await running.client.post("/v1/records", json={"text": text, "scope": scope, **fields})
    assert answer.is_success, answer.text
    return answer.json()["record"]["id"]


async def upkeep(running: InProcess) -> int:
    """What a daemon does each hour. How many records of sessions went."""
    desk, keeping = running.services.desk, running.services.keeping
    housekeeping = Housekeeping(
        store=desk.store, clock=desk.clock, events_kept=DAY, most_events=10, end_sessions=keeping.end_sessions
    )
    counts: Any = await housekeeping.run(JOB, Nothing(), lambda _done, _total: None)
    return counts["session_records"]


async def states(running: InProcess, scope: str) -> dict[str, str]:
    params = {"scope": scope, "state": ["live", "deleted"]}
    records = (await running.client.get("/v1/records", params=params)).json()["records"]
    return {record["text"]: "deleted" if record["deleted_at"] else "live" for record in records}


async def test_a_session_ends_thirty_days_after_its_last_write_and_nothing_else_does(
    place: str, tmp_path: Path, clock: FakeClock
) -> None:
    async with served(tmp_path / "home", clock=clock, store=place) as running:
        old = await put(running, "said long ago", "session:one")
        await put(running, "kept", "session:one", pinned=True)
        await put(running, "of the workspace", "workspace:web")
        await put(running, "said at first", "session:two")
        clock.advance(20 * DAY)
        await put(running, "said later", "session:two")
        clock.advance(9 * DAY)
        assert await upkeep(running) == 0
        clock.advance(2 * DAY)

        assert await upkeep(running) == 1

        assert await states(running, "session:one") == {"said long ago": "deleted", "kept": "live"}
        assert await states(running, "session:two") == {"said at first": "live", "said later": "live"}
        assert await states(running, "workspace:web") == {"of the workspace": "live"}
        assert (await running.client.post(f"/v1/records/{old}/undo", json={})).status_code == 200
        assert await upkeep(running) == 0


async def test_a_rule_with_an_age_counts_instead(place: str, tmp_path: Path, clock: FakeClock) -> None:
    async with served(tmp_path / "home", clock=clock, store=place) as running:
        await put(running, "said long ago", "session:one")
        await running.services.desk.store.maintenance.set_rule(
            "default/default", Rule(scope="session", max_age=365 * DAY)
        )
        clock.advance(60 * DAY)

        assert await upkeep(running) == 0


@pytest.mark.parametrize(("days", "count"), [(0, 0), (5, 1)])
async def test_the_number_of_days_can_be_set(
    place: str, tmp_path: Path, clock: FakeClock, days: int, count: int
) -> None:
    async with served(tmp_path / "home", clock=clock, store=place, session_days=days) as running:
        await put(running, "said long ago", "session:one")
        clock.advance(6 * DAY)

        assert await upkeep(running) == count


async def test_the_doctor_announces_it_a_week_ahead(place: str, tmp_path: Path, clock: FakeClock) -> None:
    async with served(tmp_path / "home", clock=clock, store=place) as running:
        await put(running, "said long ago", "session:one")
        clock.advance(22 * DAY)
        before = (await running.client.get("/v1/check")).json()["findings"]
        clock.advance(2 * DAY)

        after = (await running.client.get("/v1/check")).json()["findings"]

    assert "sessions" not in {finding["check"] for finding in before}
    assert [finding["severity"] for finding in after if finding["check"] == "sessions"] == ["warning"]


async def test_sessions_from_before_the_upgrade_are_counted_from_it(
    kind: str, place: str, tmp_path: Path, clock: FakeClock
) -> None:
    if kind != "sqlite":
        pytest.skip("tests/migration looks at the moment that is kept")
    async with served(tmp_path / "home", clock=clock, store=place) as running:
        await put(running, "said long ago", "session:one")
        db = apsw.Connection(place)
        upgrade = int((clock.now() + 40 * DAY).timestamp() * 1000)
        db.execute("INSERT INTO milestones VALUES ('sessions_end', ?)", (upgrade,))
        db.close()
        clock.advance(60 * DAY)
        assert await upkeep(running) == 0
        clock.advance(11 * DAY)

        assert await upkeep(running) == 1
        assert await running.services.desk.store.maintenance.idle_sessions(clock.now(), 5) == []


async def test_the_audit_says_that_a_session_ended_and_of_how_many_records(
    place: str, tmp_path: Path, clock: FakeClock
) -> None:
    async with served(tmp_path / "home", clock=clock, store=place) as running:
        for text in ("said long ago", "and this"):
            await put(running, text, "session:one")
        clock.advance(31 * DAY)

        await upkeep(running)

        rows = (await running.client.get("/v1/audit", params={"action": "session.end"})).json()["rows"]
    assert [row["details"]["records"] for row in rows if "records" in row["details"]] == [2]
    assert {(row["scope"], row["actor"]) for row in rows} == {("session:one", "daemon")}


@pytest.mark.parametrize(("days", "count"), [(0, 0), (5, 1)])
async def test_a_session_of_the_history_ends_after_its_days_and_never_by_itself(
    place: str, tmp_path: Path, clock: FakeClock, days: int, count: int
) -> None:
    async with served(tmp_path / "home", clock=clock, store=place, history_days=days) as running:
        await running.client.post("/v1/sessions", json={"id": "old"})
        clock.advance(3 * DAY)
        await running.client.post("/v1/sessions", json={"id": "new"})
        clock.advance(3 * DAY)
        [upkeep_queue] = [
            queue for kind, queue in queues_of(running.services, load_settings(home=tmp_path)).items() if kind == UPKEEP
        ]

        counts: Any = await upkeep_queue.handler(JOB, Nothing(), lambda _done, _total: None)

        left = (await running.client.get("/v1/sessions")).json()["sessions"]
    assert counts["history_sessions"] == count
    assert {session["id"] for session in left} == ({"new"} if count else {"old", "new"})
