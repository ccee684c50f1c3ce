"""Who may knock: hosts, origins, keys."""

import pytest

from commonplace.testing.daemon import InProcess, Opened

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("host", ["localhost", "localhost:99", "127.0.0.1:4170", "[::1]:4170", "LOCALHOST:1"])
async def test_this_machine_may_be_called_by_any_of_its_names(running: InProcess, host: str) -> None:
    answer = await running.stranger.get("/health", headers={"Host": host})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4170", "127.0.0.1.evil.example", "", "[::1", "10.0.0.1"]
)
async def test_a_name_that_somebody_made_point_here_is_refused(running: InProcess, host: str) -> None:
    answer = await running.client.get("/health", headers={"Host": host})

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "host_not_allowed")


async def test_two_hosts_in_one_request_are_none(running: InProcess) -> None:
    answer = await running.client.get("/health", headers=[("Host", "localhost"), ("Host", "evil.example")])

    assert answer.status_code == 403


async def test_a_host_may_be_allowed(opened: Opened) -> None:
    async with opened(allowed_hosts=["memory.example"]) as running:
        answer = await running.stranger.get("/health", headers={"Host": "memory.example:443"})

    assert answer.status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:3000", "http://[", "file://"])
async def test_the_page_of_a_stranger_is_refused(running: InProcess, origin: str) -> None:
    answer = await running.client.get("/v1/trial/whoami", headers={"Origin": origin})

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in answer.headers


async def test_our_own_page_may_ask(running: InProcess) -> None:
    answer = await running.client.get("/v1/trial/whoami", headers={"Origin": "http://127.0.0.1:4170"})

    assert answer.status_code == 200


async def test_a_picture_in_the_page_of_a_stranger_reads_nothing_and_a_link_leads_here(running: InProcess) -> None:
    picture = await running.client.get("/docs", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})
    link = await running.client.get("/docs", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})

    assert (picture.status_code, link.status_code) == (403, 200)


async def test_an_allowed_origin_may_ask_and_read_errors_too(opened: Opened) -> None:
    mine = "https://app.example"
    asked = {"Origin": mine, "Access-Control-Request-Method": "POST"}
    async with opened(allowed_origins=[mine]) as running:
        preflight = await running.stranger.options("/v1/trial/echo", headers=asked)
        answer = await running.client.get("/v1/trial/missing", headers={"Origin": mine})
        other = await running.client.get("/v1/trial/whoami", headers={"Origin": "https://evil.example"})

    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, mine)
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (404, mine)
    assert "X-Request-Id" in answer.headers["access-control-expose-headers"]
    assert "Origin" in answer.headers["vary"]
    assert (other.status_code, other.headers.get("access-control-allow-origin")) == (403, None)


async def test_a_page_of_the_internet_that_was_allowed_may_ask_a_daemon_of_this_machine(opened: Opened) -> None:
    asked = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
        "Access-Control-Request-Private-Network": "true",
    }
    async with opened(allowed_origins=["https://app.example"]) as running:
        preflight = await running.stranger.options("/v1/trial/echo", headers=asked)

    assert (preflight.status_code, preflight.headers["access-control-allow-private-network"]) == (200, "true")


@pytest.mark.parametrize(
    "more",
    [
        {"Access-Control-Request-Method": "TRACE"},
        {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "X-Commonplace"},
    ],
)
async def test_an_allowed_origin_may_not_ask_in_every_way(opened: Opened, more: dict[str, str]) -> None:
    async with opened(allowed_origins=["https://app.example"]) as running:
        preflight = await running.stranger.options("/v1/trial/echo", headers={"Origin": "https://app.example", **more})

    assert preflight.status_code == 400


async def test_where_every_origin_is_allowed_each_is_answered_by_its_name(opened: Opened) -> None:
    async with opened(allowed_origins=["*"]) as running:
        answer = await running.client.get("/v1/trial/whoami", headers={"Origin": "https://any.example"})

    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://any.example")
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_request_of_two_origins_is_refused_though_one_is_allowed(opened: Opened) -> None:
    origins = [("Origin", "https://app.example"), ("Origin", "https://evil.example")]
    async with opened(allowed_origins=["https://app.example"]) as running:
        answer = await running.client.get("/v1/trial/whoami", headers=origins)

    assert answer.status_code == 403


async def test_nobody_gets_as_far_as_a_route_without_a_key(running: InProcess) -> None:
    unknown = await running.stranger.get("/v1/nothing")
    body = await running.stranger.post("/v1/trial/echo", content=b"{not json")

    assert (unknown.status_code, body.status_code) == (401, 401)
    assert unknown.headers["www-authenticate"].startswith("Bearer")
