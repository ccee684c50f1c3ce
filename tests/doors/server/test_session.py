"""Signing in: a cookie that stands for a key, codes that do so once, and no request of another page with either."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.doors.server.signing import NAME, OURS, cookie_of, key, opened, signed_in

from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import TOKEN, InProcess

pytestmark = pytest.mark.anyio

NOTE = {"text": "We ship on Fridays."}
WRITE = {**OURS, "Content-Type": "application/json"}


@pytest.fixture
async def running(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with opened(home, clock=clock) as begun:
        yield begun


async def code(running: InProcess, secret: str = TOKEN) -> str:
    answer = await running.stranger.post("/v1/codes", headers={"Authorization": f"Bearer {secret}"})
    return answer.raise_for_status().json()["code"]


# ---- the cookie


async def test_a_key_is_changed_for_a_cookie_that_no_script_and_no_other_site_can_use(running: InProcess) -> None:
    secret = (await key(running, "reader", scopes=["workspace:web"]))["secret"]

    answer = await signed_in(running, secret)

    cookie, me = cookie_of(answer), answer.json()
    assert (me["name"], me["role"], me["scopes"], me["operator"], me["open"]) == (
        "ana",
        "reader",
        ["workspace:web"],
        False,
        False,
    )
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "strict", "/", "")
    assert (cookie["max-age"], cookie["secure"]) == ("43200", "")
    assert answer.headers["cache-control"] == "no-store"
    assert secret not in str(answer.headers) + answer.text


async def test_whoever_does_not_stay_gets_a_cookie_that_goes_with_the_browser(running: InProcess) -> None:
    cookie = cookie_of(await signed_in(running, stay=False))

    assert (cookie["max-age"], cookie["expires"]) == ("", "")


async def test_over_https_the_cookie_goes_nowhere_else(running: InProcess) -> None:
    answer = await running.stranger.post("https://127.0.0.1:4170/v1/sign-in", json={"key": TOKEN})

    assert cookie_of(answer)["secure"] is True


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://127.0.0.1:8000", "commonplace-8000"),
        ("http://127.0.0.1", "commonplace-80"),
        ("https://localhost", "commonplace-443"),
    ],
)
async def test_the_cookies_name_bears_the_port_that_was_asked(running: InProcess, url: str, name: str) -> None:
    answer = await running.stranger.post(f"{url}/v1/sign-in", json={"key": TOKEN})

    assert answer.headers["set-cookie"].startswith(f"{name}=")


async def test_the_cookie_does_what_its_key_may_and_no_more(running: InProcess) -> None:
    await signed_in(running, (await key(running, "reader"))["secret"])

    read = await running.stranger.get("/v1/records")
    exported = await running.stranger.get("/v1/export")
    wrote = await running.stranger.post("/v1/records", json=NOTE, headers=OURS)

    assert (read.status_code, exported.status_code) == (200, 200)
    assert (wrote.status_code, wrote.json()["error"]["code"]) == (403, "forbidden")


async def test_what_is_written_with_a_session_is_its_keys(running: InProcess) -> None:
    made = await key(running)
    await signed_in(running, made["secret"])

    answer = await running.stranger.post("/v1/records", json=NOTE, headers=OURS)

    rows = (await running.client.get("/v1/audit", params={"limit": 10})).json()["rows"]
    assert answer.status_code == 201
    assert [(row["action"], row["key"]) for row in rows if row["actor"] == "ana"] == [
        ("record.put", made["key"]["id"]),
        ("auth.signed_in", made["key"]["id"]),
    ]


async def test_a_key_in_the_header_counts_more_than_the_cookie(running: InProcess) -> None:
    await signed_in(running)
    other = (await key(running))["secret"]

    right = await running.stranger.get("/v1/me", headers={"Authorization": f"Bearer {other}"})
    wrong = await running.stranger.get("/v1/me", headers={"Authorization": "Bearer wrong"})

    assert (right.json()["name"], wrong.status_code) == ("ana", 401)


# ---- who is not let in


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"key": "wrong"}, 401),
        ({"key": ""}, 401),
        ({"key": TOKEN[:-1]}, 401),
        ({"code": "c1.wrong.wrong"}, 401),
        ({"code": ""}, 401),
        ({"key": TOKEN, "code": "both"}, 400),
        ({}, 400),
        ({"key": 5}, 400),
        ({"key": TOKEN, "more": 1}, 400),
    ],
)
async def test_a_wrong_key_or_code_begins_no_session(running: InProcess, body: dict[str, Any], status: int) -> None:
    answer = await running.stranger.post("/v1/sign-in", json=body)

    assert answer.status_code == status
    assert "set-cookie" not in answer.headers
    assert TOKEN not in answer.text


async def test_a_gateways_user_has_no_session(running: InProcess) -> None:
    user = (await running.client.post("/v1/users", json={"user_id": "ana"})).json()

    answer = await running.stranger.post("/v1/sign-in", json={"key": user["user_key"]})

    assert answer.status_code == 401


async def test_whoever_guesses_keys_or_codes_has_to_wait(home: Path) -> None:
    async with opened(home, address=("192.0.2.7", 50_000), clock=FakeClock()) as running:
        guesses = [
            (await running.stranger.post("/v1/sign-in", json={kind: f"guess {number}"})).status_code
            for number in range(10)
            for kind in ("key", "code")
        ]
        right = await running.stranger.post("/v1/sign-in", json={"key": TOKEN})

    assert guesses == [401] * 20
    assert right.status_code == 429


async def test_a_revoked_key_ends_its_sessions_at_once(running: InProcess) -> None:
    made = await key(running)
    await signed_in(running, made["secret"])
    before = await running.stranger.get("/v1/me")

    await running.client.delete(f"/v1/keys/{made['key']['id']}")

    assert (before.status_code, (await running.stranger.get("/v1/me")).status_code) == (200, 401)


async def test_an_expired_key_ends_its_sessions(running: InProcess, clock: FakeClock) -> None:
    until = (clock.now() + timedelta(hours=1)).isoformat()
    await signed_in(running, (await key(running, expires_at=until))["secret"])

    clock.advance(timedelta(hours=1))

    assert (await running.stranger.get("/v1/me")).status_code == 401


async def test_a_session_ends_after_twelve_hours_and_is_then_taken_away(running: InProcess, clock: FakeClock) -> None:
    shown = {"Cookie": f"{NAME}={cookie_of(await signed_in(running)).value}"}
    running.stranger.cookies.clear()
    clock.advance(timedelta(hours=12) - timedelta(seconds=1))
    before = await running.stranger.get("/v1/me", headers=shown)

    clock.advance(timedelta(seconds=1))
    after = await running.stranger.get("/v1/me", headers=shown)
    looked = await running.stranger.get("/v1/sign-in", headers=shown)

    assert (before.status_code, after.status_code) == (200, 401)
    assert (looked.json(), cookie_of(looked)["max-age"]) == ({"open": False, "me": None}, "0")


async def test_a_session_that_is_over_is_no_guess(home: Path, clock: FakeClock) -> None:
    async with opened(home, address=("192.0.2.7", 50_000), clock=clock) as running:
        shown = {"Cookie": f"{NAME}=s1.over.over"}
        refused = [(await running.stranger.get("/v1/me", headers=shown)).status_code for _ in range(30)]

        assert refused == [401] * 30
        assert (await running.client.get("/v1/me")).status_code == 200


async def test_the_session_of_a_key_that_is_gone_is_no_guess(home: Path, clock: FakeClock) -> None:
    async with opened(home, address=("192.0.2.7", 50_000), clock=clock) as running:
        made = await key(running)
        await signed_in(running, made["secret"])
        await running.client.delete(f"/v1/keys/{made['key']['id']}")

        refused = [(await running.stranger.get("/v1/me")).status_code for _ in range(30)]

        assert refused == [401] * 30
        assert (await running.client.get("/v1/me")).status_code == 200


async def test_the_same_key_itself_is_a_guess_once_it_is_gone(home: Path, clock: FakeClock) -> None:
    async with opened(home, address=("192.0.2.7", 50_000), clock=clock) as running:
        made = await key(running)
        await running.client.delete(f"/v1/keys/{made['key']['id']}")
        shown = {"Authorization": f"Bearer {made['secret']}"}

        refused = [(await running.stranger.get("/v1/me", headers=shown)).status_code for _ in range(21)]

        assert refused == [401] * 20 + [429]


async def test_a_session_is_good_at_every_daemon_with_the_same_token_and_no_other(
    running: InProcess, home: Path, tmp_path: Path
) -> None:
    cookie = cookie_of(await signed_in(running)).value
    shown = {"Cookie": f"{NAME}={cookie}"}

    async with opened(tmp_path / "other", store=str(home / "memory.db")) as other:
        there = await other.stranger.get("/v1/me", headers=shown)

    assert there.status_code == 401  # The clock of the other daemon is real, and the session long over.
    async with opened(tmp_path / "third", store=str(home / "memory.db"), clock=FakeClock()) as third:
        assert (await third.stranger.get("/v1/me", headers=shown)).json()["operator"] is True


async def test_nobody_is_signed_in_and_that_is_no_error(running: InProcess) -> None:
    nobody = await running.stranger.get("/v1/sign-in")
    await signed_in(running)
    somebody = await running.stranger.get("/v1/sign-in")

    assert (nobody.status_code, nobody.json()) == (200, {"open": False, "me": None})
    assert somebody.json()["me"]["name"] == "operator"


async def test_where_the_daemon_is_open_nobody_needs_to_sign_in(home: Path) -> None:
    async with opened(home, no_auth=True) as running:
        stale = {"Cookie": f"{NAME}=s1.stale.stale"}

        told = [(await running.stranger.get("/v1/sign-in", headers=shown)).json() for shown in ({}, stale)]

        assert [(one["open"], one["me"]["name"], one["me"]["open"]) for one in told] == [(True, "anonymous", True)] * 2
        assert (await signed_in(running)).json()["name"] == "operator"


# ---- codes


async def test_a_code_signs_in_once(running: InProcess) -> None:
    secret = (await key(running, "reader"))["secret"]
    made = await running.stranger.post("/v1/codes", headers={"Authorization": f"Bearer {secret}"})
    given = made.json()

    first = await running.stranger.post("/v1/sign-in", json={"code": given["code"]})
    running.stranger.cookies.clear()
    second = await running.stranger.post("/v1/sign-in", json={"code": given["code"]})

    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    assert given["url"] == f"http://127.0.0.1:4170/#/enter/{given['code']}"
    assert (first.status_code, first.json()["name"], first.json()["role"]) == (200, "ana", "reader")
    assert (second.status_code, "set-cookie" in second.headers) == (401, False)


async def test_of_many_who_show_a_code_at_once_one_is_let_in(running: InProcess, home: Path, tmp_path: Path) -> None:
    given = {"code": await code(running)}
    async with opened(tmp_path / "other", store=str(home / "memory.db"), clock=FakeClock()) as other:
        ways = [one.stranger.post("/v1/sign-in", json=given) for one in (running, other) * 5]

        answers = await asyncio.gather(*ways)

    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 9


async def test_a_tenant_in_the_request_makes_no_second_use_of_a_code(running: InProcess) -> None:
    given = {"code": await code(running)}

    answers = [
        await running.stranger.post("/v1/sign-in", json=given, headers={"X-Tenant": tenant})
        for tenant in ("acme/rockets", "default/default")
    ]

    assert [answer.status_code for answer in answers] == [200, 401]


async def test_a_code_is_good_for_a_minute(running: InProcess, clock: FakeClock) -> None:
    given = {"code": await code(running)}

    clock.advance(timedelta(minutes=1))

    assert (await running.stranger.post("/v1/sign-in", json=given)).status_code == 401


async def test_a_code_of_a_key_that_was_revoked_is_worth_nothing(running: InProcess) -> None:
    made = await key(running)
    given = {"code": await code(running, made["secret"])}

    await running.client.delete(f"/v1/keys/{made['key']['id']}")

    assert (await running.stranger.post("/v1/sign-in", json=given)).status_code == 401


async def test_a_code_is_no_cookie_and_a_cookie_no_code(running: InProcess) -> None:
    given = await code(running)
    cookie = cookie_of(await signed_in(running)).value
    running.stranger.cookies.clear()

    as_cookie = await running.stranger.get("/v1/me", headers={"Cookie": f"{NAME}={given}"})
    as_code = await running.stranger.post("/v1/sign-in", json={"code": cookie})

    assert (as_cookie.status_code, as_code.status_code) == (401, 401)


async def test_a_session_makes_no_codes_and_so_never_outlives_itself(running: InProcess) -> None:
    await signed_in(running)

    answer = await running.stranger.post("/v1/codes", headers=OURS)

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


async def test_where_the_daemon_is_open_a_code_needs_a_key_still(home: Path) -> None:
    async with opened(home, no_auth=True) as running:
        answer = await running.stranger.post("/v1/codes")

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_required")


# ---- requests of other pages


OWN = "http://127.0.0.1:4170"
OTHER_PORT = "http://127.0.0.1:3000"


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", WRITE, 201),
        ("POST", {**WRITE, "Origin": OWN, "Sec-Fetch-Site": "same-origin"}, 201),
        ("POST", {"Content-Type": "application/json"}, 403),
        ("POST", {"Content-Type": "application/json", "Origin": OWN, "Sec-Fetch-Site": "same-origin"}, 403),
        ("POST", {**WRITE, "X-Commonplace": "1"}, 403),
        ("POST", {**WRITE, "Origin": "https://evil.example"}, 403),
        ("POST", {**WRITE, "Origin": OTHER_PORT}, 403),
        ("POST", {**WRITE, "Origin": OTHER_PORT, "Sec-Fetch-Site": "same-site"}, 403),
        ("POST", {**WRITE, "Origin": "null"}, 403),
        ("POST", {**WRITE, "Sec-Fetch-Site": "cross-site"}, 403),
        ("POST", {**WRITE, "Sec-Fetch-Site": "same-site"}, 403),
        ("POST", {"Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ("GET", {}, 200),
        ("GET", {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200),
        ("GET", {"Sec-Fetch-Site": "same-origin"}, 200),
        ("GET", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ("GET", {"Origin": OTHER_PORT}, 403),
    ],
)
async def test_with_the_cookie_only_our_own_page_may_ask(
    running: InProcess, method: str, headers: dict[str, str], status: int
) -> None:
    await signed_in(running)
    body = b'{"text": "We ship on Fridays."}' if method == "POST" else None

    answer = await running.stranger.request(method, "/v1/records", content=body, headers=headers)

    kept = (await running.client.get("/v1/records")).json()["records"]
    assert answer.status_code == status, answer.text
    assert len(kept) == (1 if status == 201 else 0)


async def test_an_allowed_origin_may_ask_with_a_key_but_not_with_the_cookie(home: Path) -> None:
    page = "https://board.example"
    async with opened(home, allowed_origins=[page]) as running:
        await signed_in(running)
        asked = {"Origin": page, "Sec-Fetch-Site": "cross-site"}

        with_key = await running.client.get("/v1/me", headers=asked)
        with_cookie = await running.stranger.get("/v1/me", headers=asked)
        preflight = {"Origin": page, "Access-Control-Request-Method": "POST"}
        allowed = await running.stranger.options("/v1/records", headers=preflight)

    assert (with_key.status_code, with_cookie.status_code) == (200, 403)
    assert "access-control-allow-credentials" not in allowed.headers
    assert "x-commonplace" not in allowed.headers["access-control-allow-headers"].lower()


async def test_a_page_of_another_origin_signs_nobody_in(running: InProcess) -> None:
    answer = await running.stranger.post("/v1/sign-in", json={"key": TOKEN}, headers={"Origin": OTHER_PORT})

    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
