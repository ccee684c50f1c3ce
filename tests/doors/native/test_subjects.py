"""Persons over HTTP: whom a key speaks for, what it may hand on, and with whom a session is shared."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served

pytestmark = pytest.mark.anyio


@pytest.fixture
async def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def running(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with served(tmp_path / "home", clock=clock) as begun:
        yield begun


async def key(http: httpx.AsyncClient, headers: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    answer = await http.post("/v1/keys", json={"name": "k", "role": "writer", **fields}, headers=headers)
    assert answer.is_success, answer.text
    return answer.json()


def bearer(made: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {made['secret']}"}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_two_keys_of_one_person_share_what_is_theirs_and_two_of_one_name_do_not(running: InProcess) -> None:
    http = running.client
    laptop, phone = [bearer(await key(http, name=name, user="ana")) for name in ("laptop", "phone")]
    namesakes = [bearer(await key(http, name="ana")) for _ in range(2)]
    await http.post("/v1/records", json={"text": "My lantern is green", "scope": "user:ana"}, headers=laptop)
    me = (await http.get("/v1/me", headers=namesakes[0])).json()
    own = {"text": "My lantern is blue", "scope": f"user:{me['subject']}"}
    assert (await http.post("/v1/records", json=own, headers=namesakes[0])).is_success

    found = [
        [hit["record"]["text"] for hit in (await http.get("/v1/search?q=lantern", headers=who)).json()["hits"]]
        for who in (phone, *namesakes)
    ]

    assert found == [["My lantern is green"], ["My lantern is blue"], []]


@pytest.mark.parametrize("name", ["local", "LOCAL", "operator", "Operator", "anonymous", "key/1", "Key/1", "an*", ""])
async def test_nobody_gets_a_name_that_means_somebody_else(running: InProcess, name: str) -> None:
    as_user = await running.client.post("/users", json={"user_id": name})
    as_person = await running.client.post("/v1/keys", json={"name": "k", "user": name})

    assert (as_user.status_code, as_person.status_code) == (400, 400)


async def test_a_user_of_the_gateway_is_not_made_out_of_a_person_of_a_key(running: InProcess) -> None:
    await key(running.client, user="ana")

    answer = await running.client.post("/v1/users", json={"user_id": "ana"})

    assert code(answer) == (409, "conflict")


async def test_a_key_ends_with_the_one_that_made_it_and_is_revoked_with_it(
    running: InProcess, clock: FakeClock
) -> None:
    http, soon = running.client, clock.now() + timedelta(hours=1)
    parent = await key(http, name="parent", role="admin", expires_at=soon.isoformat())
    later = (soon + timedelta(days=1)).isoformat()

    child = await key(http, bearer(parent), name="child", role="admin")
    grandchild = await key(http, bearer(child), name="grandchild")
    refused = await http.post("/v1/keys", json={"name": "x", "expires_at": later}, headers=bearer(parent))
    before = await http.get("/v1/me", headers=bearer(grandchild))
    await http.delete(f"/v1/keys/{parent['key']['id']}")
    after = [(await http.get("/v1/me", headers=bearer(made))).status_code for made in (parent, child, grandchild)]

    assert child["key"]["expires_at"] == grandchild["key"]["expires_at"] == parent["key"]["expires_at"]
    assert code(refused) == (403, "forbidden")
    assert (before.status_code, after) == (200, [401, 401, 401])


async def test_a_session_is_its_first_writers_until_they_share_it(running: InProcess) -> None:
    http = running.client
    ana, bo = bearer(await key(http, user="ana")), bearer(await key(http, user="bo"))
    note = {"text": "The lantern is out", "scope": "session:s1"}
    assert (await http.post("/v1/records", json=note, headers=ana)).is_success

    refused = [
        await http.post("/v1/records", json={**note, "text": "Mine now"}, headers=bo),
        await http.get("/v1/records?scope=session:s1", headers=bo),
        await http.get("/v1/members?scope=session:s1", headers=bo),
        await http.post("/v1/members", json={"scope": "session:s1", "subject": "bo"}, headers=bo),
    ]
    shared = await http.post("/v1/members", json={"scope": "session:s1", "subject": "bo"}, headers=ana)
    found = (await http.get("/v1/search?q=lantern", headers=bo)).json()["hits"]
    onward = await http.post("/v1/members", json={"scope": "session:s1", "subject": "cy"}, headers=bo)
    left = await http.post("/v1/members/remove", json={"scope": "session:s1", "subject": "bo"}, headers=bo)
    gone = await http.get("/v1/records?scope=session:s1", headers=bo)
    owner = await http.post("/v1/members/remove", json={"scope": "session:s1", "subject": "ana"}, headers=ana)

    assert [answer.status_code for answer in refused] == [403, 403, 404, 404]
    assert (shared.status_code, [hit["record"]["text"] for hit in found]) == (201, ["The lantern is out"])
    assert (code(onward), left.status_code, gone.status_code) == ((403, "forbidden"), 204, 403)
    assert code(owner) == (409, "conflict")


async def test_a_session_that_nobody_wrote_to_is_empty_for_everybody(running: InProcess) -> None:
    bo = bearer(await key(running.client, user="bo"))

    answer = await running.client.get("/v1/records?scope=session:new", headers=bo)

    assert (answer.status_code, answer.json()["records"]) == (200, [])


async def test_a_purged_session_belongs_to_nobody(running: InProcess) -> None:
    http = running.client
    ana, bo = bearer(await key(http, user="ana")), bearer(await key(http, user="bo"))
    note = {"text": "The lantern is out", "scope": "session:s1"}
    await http.post("/v1/records", json=note, headers=ana)

    await http.post("/v1/purge", json={"scope": "session:s1"})

    assert (await http.post("/v1/records", json=note, headers=bo)).is_success


async def test_each_person_has_files_of_memory_of_their_own(running: InProcess, tmp_path: Path) -> None:
    http = running.client
    ana, bo = bearer(await key(http, user="ana")), bearer(await key(http, user="bo"))
    text = "---\nname: Tea\ndescription: Likes tea\ntype: user\n---\n\nGreen tea, no sugar.\n"
    place = "/v1/managed/user/user/tea.md"

    written = await http.put(place, json={"text": text}, headers={**ana, "If-None-Match": "*"})
    seen = [(await http.get(place, headers=who)).status_code for who in (ana, bo)]
    owner = (await http.get(place)).status_code
    found = [
        [hit["record"]["scope"] for hit in (await http.get("/v1/search?q=tea", headers=who)).json()["hits"]]
        for who in (ana, bo)
    ]

    assert written.is_success, written.text
    assert (seen, owner) == ([200, 404], 404)
    assert (tmp_path / "home" / "users" / "ana" / "memories" / "user" / "tea.md").is_file()
    assert found == [["user:ana"], []]
