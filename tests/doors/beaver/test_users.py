"""Who is known at the gateway, and how they show it."""

import httpx
import pytest

from commonplace.testing.callers import caller
from commonplace.testing.daemon import InProcess
from commonplace.values.note import Note
from commonplace.values.principal import Role

pytestmark = pytest.mark.anyio

WRONG = {"user_id": "ana", "user_key": "uk_wrong"}


def search(**given: object) -> dict[str, object]:
    return {"query": "tea", "scope": ["all_user_memory"], **given}


async def key(door: InProcess, role: Role, *scopes: str, tenant: str = "default/default") -> dict[str, str]:
    _, secret = await door.services.identity.create_key(
        caller("admin", tenant=tenant), role, role, scopes=scopes or None
    )
    return {"Authorization": f"Bearer {secret}"}


async def test_a_user_is_given_a_key_that_opens_their_memory(door: InProcess) -> None:
    response = await door.client.post("/users", json={"user_id": "ana"})

    made = response.json()
    found = await door.stranger.post("/memories/search", json=search(**made))
    assert (response.status_code, set(made), made["user_id"]) == (201, {"user_id", "user_key"}, "ana")
    assert made["user_key"].startswith("uk_")
    assert (found.status_code, found.json()) == (200, {"results": []})


async def test_a_known_id_is_a_conflict_and_its_key_stays(door: InProcess, ana: dict[str, str]) -> None:
    again = await door.client.post("/users", json={"user_id": "ana"})

    assert (again.status_code, again.json()["code"], "user_key" in again.json()) == (409, "conflict", False)
    assert (await door.stranger.post("/memories/search", json=search(**ana))).status_code == 200


async def test_only_the_operator_and_admins_register_users(door: InProcess) -> None:
    nobody = await door.stranger.post("/users", json={"user_id": "x"})
    writer = await door.stranger.post("/users", json={"user_id": "x"}, headers=await key(door, "writer"))
    admin = await door.stranger.post("/users", json={"user_id": "x"}, headers=await key(door, "admin"))

    assert [one.status_code for one in (nobody, writer, admin)] == [401, 403, 201]


async def test_an_admin_registers_users_of_their_own_tenant_only(door: InProcess) -> None:
    admin = await key(door, "admin", tenant="acme/web")
    own = await door.stranger.post("/users", json={"user_id": "x"}, headers=admin)
    named = await door.stranger.post(
        "/users", json={"user_id": "y", "app_id": "acme", "project_id": "web"}, headers=admin
    )
    other = await door.stranger.post("/users", json={"user_id": "x", "app_id": "other"}, headers=admin)

    assert [one.status_code for one in (own, named, other)] == [201, 201, 403]
    assert [user.id for user in await door.services.desk.store.keys.users("acme/web")] == ["x", "y"]


async def test_an_admin_of_some_scopes_hands_out_no_key_to_others(door: InProcess, ana: dict[str, str]) -> None:
    narrow = await key(door, "admin", "user:bo")
    refused = await door.stranger.post("/users", json={"user_id": "eve"}, headers=narrow)
    allowed = await door.stranger.post("/users", json={"user_id": "bo"}, headers=narrow)

    assert [one.status_code for one in (refused, allowed)] == [403, 201]


@pytest.mark.parametrize("user", ["", "x" * 256, "a\0b", "a\nb", "*", "an*", 7, None])
async def test_an_id_that_cannot_be_one_is_refused(door: InProcess, user: object) -> None:
    response = await door.client.post("/users", json={"user_id": user})

    assert (response.status_code, set(response.json())) == (400, {"error", "code"})


async def test_a_user_of_one_project_is_unknown_in_another(door: InProcess) -> None:
    body = {"user_id": "ana", "app_id": "acme", "project_id": "web"}
    made = (await door.client.post("/users", json=body)).json()
    here = await door.stranger.post("/memories/search", json=search(**made, app_id="acme", project_id="web"))
    elsewhere = await door.stranger.post("/memories/search", json=search(**made))

    assert (here.status_code, elsewhere.status_code) == (200, 401)


async def test_one_id_in_two_projects_is_two_people(door: InProcess) -> None:
    one = (await door.client.post("/users", json={"user_id": "ana"})).json()
    two = (await door.client.post("/users", json={"user_id": "ana", "app_id": "acme"})).json()
    await door.stranger.post("/resources", json={**two, "app_id": "acme", "content": "green tea"})

    assert one["user_key"] != two["user_key"]
    assert (await door.stranger.post("/memories/search", json=search(**one))).json() == {"results": []}


def requests(shown: dict[str, str]) -> list[tuple[str, str, dict[str, object]]]:
    message = {"sender_id": "ana", "role": "user", "timestamp": 1, "content": "x"}
    headers = {"X-User-Id": shown["user_id"], "X-User-Key": shown["user_key"]}
    return [
        ("POST", "/memories/search", {"json": {**shown, **search()}}),
        ("POST", "/memories/add", {"json": {**shown, "session_id": "chat:1", "messages": [message]}}),
        ("POST", "/memories/flush", {"json": {**shown, "session_id": "chat:1"}}),
        ("POST", "/resources", {"json": {**shown, "content": "x"}}),
        ("GET", "/resources", {"headers": headers}),
        ("DELETE", "/resources/doc:1", {"headers": headers}),
    ]


async def test_a_wrong_pair_opens_nothing_and_tells_nothing(door: InProcess, ana: dict[str, str]) -> None:
    answers: list[httpx.Response] = []
    for shown in (WRONG, {**WRONG, "user_id": "nobody"}, {**ana, "user_id": "nobody"}):
        for method, path, given in requests(shown):
            answers.append(await door.stranger.request(method, path, **given))  # pyright: ignore[reportArgumentType]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert set(answers[0].json()) == {"error", "code"}


async def test_a_bearer_does_not_stand_for_the_pair(door: InProcess, ana: dict[str, str]) -> None:
    response = await door.client.post("/memories/search", json=search(**WRONG))

    assert response.status_code == 401


async def test_documents_are_asked_for_with_the_pair_in_headers_or_in_a_body(
    door: InProcess, ana: dict[str, str]
) -> None:
    headers = {"X-User-Id": ana["user_id"], "X-User-Key": ana["user_key"]}
    answers = [
        await door.stranger.get("/resources", headers=headers),
        await door.stranger.request("GET", "/resources", json=ana),
        await door.stranger.get("/resources", params=ana),
        await door.stranger.get("/resources"),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 401, 401]


async def test_an_id_in_a_header_is_percent_encoded_where_it_is_not_ascii(door: InProcess) -> None:
    made = (await door.client.post("/users", json={"user_id": "小明"})).json()
    headers = {"X-User-Id": "%E5%B0%8F%E6%98%8E", "X-User-Key": made["user_key"]}

    assert (await door.stranger.get("/resources", headers=headers)).status_code == 200


async def test_an_id_that_cannot_be_one_opens_nothing(door: InProcess, ana: dict[str, str]) -> None:
    headers = {"X-User-Id": "an%00a", "X-User-Key": ana["user_key"]}

    assert (await door.stranger.get("/resources", headers=headers)).status_code == 401


async def test_a_new_key_closes_the_door_for_the_old_one(door: InProcess, ana: dict[str, str]) -> None:
    _, secret = await door.services.identity.rotate_user(caller("admin"), "ana")
    old = await door.stranger.post("/memories/search", json=search(**ana))
    new = await door.stranger.post("/memories/search", json=search(user_id="ana", user_key=secret))

    assert (old.status_code, new.status_code) == (401, 200)


async def test_a_user_finds_nothing_outside_their_own_scope(door: InProcess, ana: dict[str, str]) -> None:
    scopes = ["user:bo", "user:ana2", "global", "workspace:web", "session:chat:1", "user:ana"]
    notes = [Note(text=f"green tea in {scope}", scope=scope) for scope in scopes]
    await door.services.records.put(caller("admin"), notes)
    found = await door.stranger.post(
        "/memories/search",
        json=search(**ana, scope=["current_chat", "resources", "all_user_memory"], conversation_id="1"),
    )

    assert [result["text"] for result in found.json()["results"]] == ["green tea in user:ana"]
