# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The seals of the audit: made by a job, shown to the operator, verified by `check`."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

from commonplace import AsyncClient, open_memory
from commonplace.compose.work import queues_of
from commonplace.jobs.payloads import Nothing
from commonplace.service.seals import EVERY, SEAL, Sealing
from commonplace.settings import load_settings
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import TOKEN, InProcess, served

pytestmark = pytest.mark.anyio

JOB: Any = None


async def seal(running: InProcess, retention: timedelta | None = None) -> Any:
    """What a worker does every ten minutes."""
    return await Sealing(desk=running.services.desk, retention=retention).run(
        JOB, Nothing(), lambda _done, _total: None
    )


def tamper(home: Path) -> None:
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("DROP TRIGGER audit_is_not_changed; UPDATE audit SET actor = 'mallory' WHERE number = 1")
    db.close()


async def finding(http: httpx.AsyncClient, **headers: str) -> Any:
    findings = (await http.get("/v1/check", headers=headers)).json()["findings"]
    [audit] = [finding for finding in findings if finding["check"] == "audit"]
    return audit


async def test_a_daemon_seals_every_ten_minutes_once_for_all(running: InProcess) -> None:
    queue = queues_of(running.services, load_settings())[SEAL]

    assert queue.every == EVERY == timedelta(minutes=10)


async def test_what_was_done_is_sealed_shown_and_verified(running: InProcess, http: httpx.AsyncClient) -> None:
    await http.post("/v1/records", json={"text": "Deploy with make ship"})

    result = await seal(running)
    shown = (await http.get("/v1/audit/seals")).json()
    verified = (await http.get("/v1/audit/seals", params={"verify": "true"})).json()

    assert (result["rows"] >= 1, result["trimmed"]) == (True, 0)
    assert (shown["seals"][0]["number"], shown["sealed"], shown["verified"]) == (1, result["rows"], False)
    assert (verified["verified"], verified["broken"], verified["seals"]) == (True, None, shown["seals"])
    assert (await finding(http))["severity"] == "ok"


async def test_a_row_that_was_changed_in_the_file_is_an_error_that_names_the_seal(
    running: InProcess, http: httpx.AsyncClient, home: Path
) -> None:
    await http.post("/v1/records", json={"text": "Deploy with make ship"})
    await seal(running)

    tamper(home)

    audit = await finding(http)
    assert audit["severity"] == "error"
    assert "seal 1 " in audit["message"]
    assert audit["advice"]
    assert (await http.get("/v1/audit/seals", params={"verify": "true"})).json()["broken"] == 1


async def test_seals_are_for_the_operator_and_an_admin_learns_no_number_of_other_tenants(
    running: InProcess, http: httpx.AsyncClient, keyed: Any
) -> None:
    await http.post("/v1/records", json={"text": "of another tenant"}, headers={"X-Tenant": "acme/web"})
    await seal(running)
    admin = await keyed("admin")

    refused = await http.get("/v1/audit/seals", headers=admin)

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert (await finding(http, **admin))["message"] == "the audit fits its 1 seals"


async def test_the_client_shows_the_same(running: InProcess, http: httpx.AsyncClient) -> None:
    await http.post("/v1/records", json={"text": "Deploy with make ship"})
    await seal(running)
    transport = httpx.ASGITransport(app=running.app)
    async with AsyncClient("http://127.0.0.1:4170", TOKEN, transport=transport) as client:
        state = await client.audit_seals(verify=True, limit=1)

    assert (state.verified, state.broken, len(state.seals)) == (True, None, 1)


async def test_rows_older_than_they_are_kept_go_and_the_rest_is_still_verified(tmp_path: Path) -> None:
    clock = FakeClock()
    async with served(tmp_path / "home", clock=clock) as running:
        await running.client.post("/v1/records", json={"text": "Deploy with make ship"})
        await seal(running)
        clock.advance(timedelta(days=40))
        await running.client.post("/v1/records", json={"text": "Deploy with make release"})

        result = await seal(running, timedelta(days=30))

        state = (await running.client.get("/v1/audit/seals", params={"verify": "true"})).json()
        rows = (await running.client.get("/v1/audit")).json()["rows"]
    assert result["trimmed"] >= 1
    assert (state["broken"], state["trimmed"]) == (None, result["trimmed"])
    assert [row["details"]["seal"] for row in rows if row["action"] == "audit.trim"] == [1]


async def test_a_memory_inside_a_program_seals_when_it_tidies(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", embedder="none") as memory:
        memory.put("Deploy with make ship")
        memory.search("deploy")
        before = memory.audit_seals()

        memory.tidy()

        after = memory.audit_seals(verify=True)
    assert (before.sealed, before.waiting > 0) == (0, True)
    assert (after.sealed >= before.waiting, after.broken) == (True, None)
