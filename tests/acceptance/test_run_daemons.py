"""Several daemons and the same runs: over one home folder they share them; over two, one says that it has not got them."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon

TOKEN = "a-token-that-both-know"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@contextmanager
def started(home: Path, store: object) -> Generator[Daemon]:
    env = {"COMMONPLACE_TOKEN": TOKEN, "COMMONPLACE_STORE": str(store), "COMMONPLACE_EMBEDDER": "none"}
    with running_daemon(home, env=env) as daemon:
        yield daemon


def begun(client: httpx.Client) -> str:
    return client.post("/context/runs", json={"objective": "Ship it"}).json()["run"]["run_id"]


def test_a_run_of_a_daemon_whose_home_is_not_shared_is_told_apart_from_none(tmp_path: Path, address: str) -> None:
    with (
        started(tmp_path / "one", address) as one,
        started(tmp_path / "two", address) as two,
        one.client() as here,
        two.client() as there,
    ):
        run = begun(here)
        key = here.post("/v1/keys", json={"name": "bo", "user": "bo"}).json()["secret"]
        away = [there.get(f"/v1/runs/{run}"), there.get(f"/context/runs/{run}/replay"), there.delete(f"/v1/runs/{run}")]
        append = there.post(f"/context/runs/{run}/events", json={"type": "note"})
        artifact = here.post("/v1/artifacts", params={"name": "plan.txt"}, content=b"Ship it.").json()["id"]
        file = f"/v1/artifacts/{artifact}"
        files = [there.get(file), there.get(f"{file}/content"), there.delete(file)]
        no_files = [there.get(file, headers={"Authorization": f"Bearer {key}"}), there.get(f"{file}0")]
        none = there.get("/v1/runs/nobody")
        others = there.get(f"/v1/runs/{run}", headers={"Authorization": f"Bearer {key}"})
        ended = here.delete(f"/v1/runs/{run}")
        after = there.get(f"/v1/runs/{run}")

    assert [answer.status_code for answer in (*away, append)] == [409] * 4
    assert (away[0].json()["error"]["code"], append.json()["code"]) == ("runs_unavailable", "runs_unavailable")
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in files] == [(409, "runs_unavailable")] * 3
    assert [answer.status_code for answer in no_files] == [404, 404]
    assert (none.status_code, others.status_code, ended.status_code, after.status_code) == (404, 404, 204, 404)


def test_two_daemons_over_one_home_give_each_task_to_one_and_lose_nothing_when_one_is_killed(
    tmp_path: Path, address: str
) -> None:
    home = tmp_path / "shared"
    with started(home, address) as one, started(home, address) as two, one.client() as here, two.client() as there:
        run = begun(here)
        tasks = [{"task_type": "t", "id": f"t{number}"} for number in range(20)]
        here.post(f"/context/runs/{run}/tasks", json={"tasks": tasks})

        def claim(number: int) -> str | None:
            client = (here, there)[number % 2]
            answer = client.post(f"/context/runs/{run}/tasks/claim", json={"agent_id": f"a{number}"})
            assert answer.status_code == 200, answer.text
            return answer.json().get("task", {}).get("id")

        with ThreadPoolExecutor(6) as pool:
            claims = list(pool.map(claim, range(24)))
        kept = [
            here.post(f"/context/runs/{run}/events", json={"type": "note"}).json()["event"]["seq"] for _ in range(5)
        ]
        one.process.kill()
        events = there.get(f"/context/runs/{run}/events").json()["events"]
        replay = there.get(f"/context/runs/{run}/replay").json()
        more = there.post(f"/context/runs/{run}/events", json={"type": "note"}).json()["event"]

    assert sorted(filter(None, claims)) == sorted(task["id"] for task in tasks)
    assert claims.count(None) == 4
    assert [event["seq"] for event in events] == list(range(1, kept[-1] + 1))
    assert replay["drift"]["mismatch"] is False
    assert more["seq"] == kept[-1] + 1
