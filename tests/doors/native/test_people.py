"""Who may, over HTTP."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_caller_learns_who_it_is(http: httpx.AsyncClient, keyed: Any) -> None:
    operator = await http.get("/v1/me", headers={"X-Tenant": "acme/web"})
    reader = await http.get("/v1/me", headers={**await keyed("reader", "user:*"), "X-Client-Id": "pad-1"})

    assert (operator.json()["name"], operator.json()["tenant"], operator.json()["operator"]) == (
        "operator",
        "acme/web",
        True,
    )
    told = reader.json()
    assert (told["role"], told["scopes"], told["client"], told["operator"]) == ("reader", ["user:*"], "pad-1", False)


async def test_nobody_comes_in_without_a_key(running: Any) -> None:
    answer = await running.stranger.get("/v1/me")

    assert code(answer) == (401, "unauthenticated")


async def test_a_key_is_made_listed_without_its_secret_and_revoked(http: httpx.AsyncClient) -> None:
    made = await http.post("/v1/keys", json={"name": "ci", "role": "reader", "expires_at": "2099-01-01T00:00:00Z"})
    key, secret = made.json()["key"], made.json()["secret"]
    headers = {"Authorization": f"Bearer {secret}"}

    listed = await http.get("/v1/keys")
    before = await http.get("/v1/me", headers=headers)
    revoked = await http.delete(f"/v1/keys/{key['id']}")
    after = await http.get("/v1/me", headers=headers)

    assert (made.status_code, made.headers["Cache-Control"]) == (201, "no-store")
    assert listed.json()["keys"] == [key]
    assert secret not in listed.text
    assert (before.json()["name"], revoked.json()["revoked_at"] is not None) == ("ci", True)
    assert code(after) == (401, "unauthenticated")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "operator"},
        {"name": "key/abc"},
        {"name": "x", "role": "king"},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["web"]},
        {"name": "x", "scopes": ["workspace:a\0b"]},
        {"name": "x", "scopes": ["workspace:a\x1b[2J"]},
    ],
)
async def test_a_key_that_cannot_be_is_400(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.post("/v1/keys", json=body)

    assert code(answer) == (400, "invalid_input")


async def test_a_key_reaches_no_further_than_its_maker(http: httpx.AsyncClient, keyed: Any) -> None:
    headers = await keyed("admin", "workspace:web")

    within = await http.post("/v1/keys", json={"name": "x", "scopes": ["workspace:web"]}, headers=headers)
    beyond = await http.post("/v1/keys", json={"name": "x", "scopes": ["workspace:*"]}, headers=headers)

    assert within.status_code == 201
    assert code(beyond) == (403, "forbidden")


async def test_a_user_is_added_given_a_new_key_and_removed(http: httpx.AsyncClient) -> None:
    made = await http.post("/v1/users", json={"user_id": "ana/mobile"})
    known = await http.post("/v1/users", json={"user_id": "ana/mobile"})
    rotated = await http.post("/v1/users/ana%2Fmobile/rotate")
    listed = await http.get("/v1/users")
    removed = await http.delete("/v1/users/ana%2Fmobile")
    gone = await http.delete("/v1/users/ana%2Fmobile")

    assert (made.status_code, code(known)[0]) == (201, 409)
    assert rotated.json()["user_key"] != made.json()["user_key"]
    assert [user["user_id"] for user in listed.json()["users"]] == ["ana/mobile"]
    assert "uk_" not in listed.text
    assert (removed.status_code, removed.content, gone.status_code) == (204, b"", 404)


async def test_an_admin_of_some_scopes_sees_and_revokes_no_key_that_reaches_further(
    http: httpx.AsyncClient, keyed: Any
) -> None:
    for name, scopes in (
        ("all", None),
        ("api", ["workspace:api"]),
        ("web", ["workspace:web-1"]),
        ("w", ["workspace:w*"]),
    ):
        await http.post("/v1/keys", json={"name": name, "role": "writer", "scopes": scopes})
    ids = {key["name"]: key["id"] for key in (await http.get("/v1/keys")).json()["keys"]}
    headers = await keyed("admin", "workspace:web*")

    seen = {key["name"] for key in (await http.get("/v1/keys", headers=headers)).json()["keys"]}
    answers = {name: (await http.delete(f"/v1/keys/{ids[name]}", headers=headers)).status_code for name in ids}

    assert seen & ids.keys() == {"web"}
    assert answers == {"all": 404, "api": 404, "w": 404, "web": 200}


async def test_an_admin_of_some_scopes_sees_the_users_in_them(http: httpx.AsyncClient, keyed: Any) -> None:
    for user in ("ana", "bob"):
        await http.post("/v1/users", json={"user_id": user})

    listed = await http.get("/v1/users", headers=await keyed("admin", "user:ana"))
    assert [user["user_id"] for user in listed.json()["users"]] == ["ana"]
