"""Tasks at the native door: who sees them, and what may be done with them."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.errors import Forbidden
from commonplace.jobs.payloads import IMPORT_PAYLOAD
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served
from commonplace.values.job import NewJob
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def there(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with served(home, clock=clock) as running:
        yield running


async def key(there: InProcess, name: str, role: str, *scopes: str) -> dict[str, str]:
    body = {"name": name, "role": role, **({"scopes": scopes} if scopes else {})}
    answer = await there.client.post("/v1/keys", json=body)
    return {"Authorization": f"Bearer {answer.json()['secret']}"}


def filled(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "note.md").write_text("We deploy with `make ship`.", encoding="utf-8")


async def imported(there: InProcess, folder: Path, scope: str = "workspace:web", **more: Any) -> str:
    filled(folder)
    answer = await there.client.post("/v1/import", json={"path": str(folder), "scope": scope}, **more)
    assert answer.status_code == 202, answer.text
    return answer.json()["job"]["id"]


async def fail(there: InProcess, id: str) -> None:
    store = there.services.desk.store
    await store.jobs.claim_job(["import"], "w1", MINUTE)
    await store.jobs.fail_job(id, "w1", "path_not_found", "It is gone.", retry_in=None, entries=Entries())


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_task_shows_how_it_stands_and_not_in_whose_name(there: InProcess, tmp_path: Path) -> None:
    id = await imported(there, tmp_path / "notes")

    task = (await there.client.get(f"/v1/tasks/{id}")).json()

    assert (task["id"], task["kind"], task["state"], task["scope"]) == (id, "import", "queued", "workspace:web")
    assert (task["attempts"], task["done"], task["total"], task["result"], task["error"]) == (0, 0, 0, None, None)
    assert "payload" not in task


async def test_tasks_are_listed_newest_first_by_kind_and_state(
    there: InProcess, tmp_path: Path, clock: FakeClock
) -> None:
    ids: list[str] = []
    for name in ("a", "b", "c"):
        ids.append(await imported(there, tmp_path / name))
        clock.advance(MINUTE)
    await fail(there, ids[0])

    async def listed(**asked: Any) -> list[str]:
        return [task["id"] for task in (await there.client.get("/v1/tasks", params=asked)).json()["tasks"]]

    assert await listed() == ids[::-1]
    assert await listed(limit=1) == ids[2:]
    assert await listed(state="failed") == ids[:1]
    assert await listed(kind="upkeep") == []


@pytest.mark.parametrize(
    ("role", "scopes", "sees"),
    [
        ("admin", (), True),
        ("reader", (), True),
        ("reader", ("workspace:web",), True),
        ("reader", ("workspace:api",), False),
        ("admin", ("workspace:api",), False),
    ],
)
async def test_a_task_is_seen_by_those_who_reach_its_scope(
    there: InProcess, tmp_path: Path, role: str, scopes: tuple[str, ...], sees: bool
) -> None:
    id = await imported(there, tmp_path / "notes")
    who = await key(there, "somebody", role, *scopes)

    one = await there.stranger.get(f"/v1/tasks/{id}", headers=who)
    listed = await there.stranger.get("/v1/tasks", headers=who)

    assert one.status_code == (200 if sees else 404)
    assert [task["id"] for task in listed.json()["tasks"]] == ([id] if sees else [])


async def test_a_task_of_another_tenant_is_not_there(there: InProcess, tmp_path: Path) -> None:
    id = await imported(there, tmp_path / "notes", headers={"X-Tenant": "other/one"})

    assert code(await there.client.get(f"/v1/tasks/{id}")) == (404, "not_found")
    assert (await there.client.get(f"/v1/tasks/{id}", headers={"X-Tenant": "other/one"})).status_code == 200


async def test_a_job_without_a_scope_is_for_admins(there: InProcess, clock: FakeClock) -> None:
    now = clock.now()
    job = NewJob(id=new_id(now), tenant=DEFAULT_TENANT, kind="upkeep", payload={}, created_at=now, created_by="daemon")
    await there.services.desk.store.journal.note(Entries(jobs=(job,)))
    reader = await key(there, "daemon", "reader")

    assert (await there.client.get(f"/v1/tasks/{job.id}")).status_code == 200
    assert (await there.stranger.get(f"/v1/tasks/{job.id}", headers=reader)).status_code == 404


async def test_a_failed_task_is_tried_again(there: InProcess, tmp_path: Path) -> None:
    id = await imported(there, tmp_path / "notes")
    await fail(there, id)
    failed = (await there.client.get(f"/v1/tasks/{id}")).json()

    again = await there.client.post(f"/v1/tasks/{id}/retry")

    assert failed["error"] == {"code": "path_not_found", "message": "It is gone."}
    assert (again.status_code, again.json()["state"], again.json()["attempts"]) == (200, "queued", 0)
    assert code(await there.client.post(f"/v1/tasks/{id}/retry")) == (409, "conflict")


async def test_a_task_that_waits_is_dropped_and_one_that_runs_is_not(there: InProcess, tmp_path: Path) -> None:
    store = there.services.desk.store
    waits = await imported(there, tmp_path / "notes")
    dropped = await there.client.delete(f"/v1/tasks/{waits}")
    runs = await imported(there, tmp_path / "notes")
    await store.jobs.claim_job(["import"], "w1", MINUTE)

    refused = await there.client.delete(f"/v1/tasks/{runs}")

    assert (dropped.status_code, dropped.content) == (204, b"")
    assert code(await there.client.get(f"/v1/tasks/{waits}")) == (404, "not_found")
    assert code(refused) == (409, "conflict")


@pytest.mark.parametrize("way", ["retry", "drop"])
async def test_only_its_creator_and_admins_change_a_task(there: InProcess, tmp_path: Path, way: str) -> None:
    id = await imported(there, tmp_path / "notes")
    await fail(there, id)

    async def change(who: dict[str, str]) -> httpx.Response:
        if way == "retry":
            return await there.stranger.post(f"/v1/tasks/{id}/retry", headers=who)
        return await there.stranger.delete(f"/v1/tasks/{id}", headers=who)

    assert code(await change(await key(there, "somebody", "writer"))) == (403, "forbidden")
    assert code(await change(await key(there, "reader", "reader"))) == (403, "forbidden")
    assert (await change(await key(there, "admin", "admin"))).status_code in (200, 204)


async def test_an_import_that_waits_already_is_answered_and_told_of_once(there: InProcess, tmp_path: Path) -> None:
    first, second = await imported(there, tmp_path / "notes"), await imported(there, tmp_path / "notes")

    told = [event.news.data for event in await there.services.desk.store.events.read_events(0, 100)]
    assert second == first
    assert [data["job"] for data in told if "job" in data] == [first]


async def test_an_import_that_also_deletes_does_not_wait_for_one_that_does_not(
    there: InProcess, tmp_path: Path
) -> None:
    first = await imported(there, tmp_path / "notes")
    body = {"path": str(tmp_path / "notes"), "scope": "workspace:web", "sync_deletes": True}
    answer = await there.client.post("/v1/import", json=body)

    assert answer.json()["job"]["id"] != first


async def test_an_import_whose_key_was_revoked_meanwhile_is_not_done(home: Path, tmp_path: Path) -> None:
    async with served(home, import_roots=[tmp_path]) as there:
        headers = await key(there, "ci", "writer", "workspace:web")
        id = await imported(there, tmp_path / "notes", headers=headers)
        [made] = (await there.client.get("/v1/keys")).json()["keys"]
        await there.client.delete(f"/v1/keys/{made['id']}")

        job = await there.services.desk.store.jobs.job(DEFAULT_TENANT, id)
        payload = IMPORT_PAYLOAD.read(job.payload)
        with pytest.raises(Forbidden):
            await there.services.moving.run_import(job, payload, lambda _done, _total: None)
        assert (await there.client.get("/v1/records")).json()["records"] == []
