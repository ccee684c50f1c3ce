"""Signing out: the session is over, for whoever copied its cookie, too; at every daemon, and after a restart."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.doors.server.signing import NAME, OURS, cookie_of, key, opened, signed_in

from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess

pytestmark = pytest.mark.anyio

OTHER_PORT = "http://127.0.0.1:3000"


@pytest.fixture
async def running(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with opened(home, clock=clock) as begun:
        yield begun


async def test_signing_out_takes_the_cookie_away(running: InProcess) -> None:
    await signed_in(running)

    answer = await running.stranger.delete("/v1/sign-in", headers=OURS)

    assert (answer.status_code, cookie_of(answer)["max-age"]) == (204, "0")
    assert (await running.stranger.get("/v1/me")).status_code == 401
    assert (await running.stranger.delete("/v1/sign-in")).status_code == 204


async def test_signing_out_ends_the_session_for_whoever_copied_the_cookie(
    running: InProcess, home: Path, tmp_path: Path
) -> None:
    stolen, other_browser = [{"Cookie": f"{NAME}={cookie_of(await signed_in(running)).value}"} for _ in range(2)]
    running.stranger.cookies.clear()

    await running.stranger.delete("/v1/sign-in", headers={**OURS, **stolen})

    async with opened(tmp_path / "other", store=str(home / "memory.db"), clock=FakeClock()) as other:
        elsewhere = await other.stranger.get("/v1/me", headers=stolen)
        looked = await other.stranger.get("/v1/sign-in", headers=stolen)
    rows = (await running.client.get("/v1/audit", params={"limit": 10})).json()["rows"]
    assert [row["details"] for row in rows if row["action"] == "auth.signed_out"] == [{"everywhere": False}]
    assert ((await running.stranger.get("/v1/me", headers=stolen)).status_code, elsewhere.status_code) == (401, 401)
    assert looked.json()["me"] is None
    assert (await running.stranger.get("/v1/me", headers=other_browser)).status_code == 200


async def test_a_session_that_was_ended_stays_so_after_a_restart_and_an_upkeep(home: Path, clock: FakeClock) -> None:
    async with opened(home, clock=clock) as running:
        stolen = {"Cookie": f"{NAME}={cookie_of(await signed_in(running)).value}"}
        await running.stranger.delete("/v1/sign-in", headers=OURS)

    clock.advance(timedelta(hours=11))
    async with opened(home, clock=clock) as running:
        shed = await running.services.desk.store.keys.trim_sessions()

        assert (shed, (await running.stranger.get("/v1/me", headers=stolen)).status_code) == (0, 401)
        clock.advance(timedelta(hours=1))
        assert await running.services.desk.store.keys.trim_sessions() == 1


async def test_signing_out_everywhere_ends_all_sessions_of_the_key_and_no_others(
    running: InProcess, clock: FakeClock
) -> None:
    mine, other = [(await key(running))["secret"] for _ in range(2)]
    shown = [{"Cookie": f"{NAME}={cookie_of(await signed_in(running, one)).value}"} for one in (mine, mine, other)]
    running.stranger.cookies.clear()
    clock.advance(timedelta(hours=1))

    answer = await running.stranger.delete("/v1/sign-in", params={"everywhere": True}, headers={**OURS, **shown[0]})

    clock.advance(timedelta(seconds=1))
    again = {"Cookie": f"{NAME}={cookie_of(await signed_in(running, mine)).value}"}
    running.stranger.cookies.clear()
    asked = [(await running.stranger.get("/v1/me", headers=one)).status_code for one in (*shown, again)]
    assert (answer.status_code, asked) == (204, [401, 401, 200, 200])
    assert (await running.client.get("/v1/me", headers={"Authorization": f"Bearer {mine}"})).status_code == 200


async def test_signing_out_of_a_session_that_is_over_takes_its_cookie_away(running: InProcess) -> None:
    for cookie in ("s1.over.over", cookie_of(await signed_in(running)).value):
        answers = [
            await running.stranger.delete("/v1/sign-in", headers={**OURS, "Cookie": f"{NAME}={cookie}"})
            for _ in range(2)
        ]

        assert [(one.status_code, cookie_of(one)["max-age"]) for one in answers] == [(204, "0")] * 2


@pytest.mark.parametrize("headers", [{}, {**OURS, "Origin": OTHER_PORT}, {**OURS, "Sec-Fetch-Site": "cross-site"}])
async def test_no_other_page_signs_anybody_out(running: InProcess, headers: dict[str, str]) -> None:
    await signed_in(running)

    answer = await running.stranger.delete("/v1/sign-in", headers=headers)

    assert answer.status_code == 403
    assert (await running.stranger.get("/v1/me")).status_code == 200


async def test_signing_out_everywhere_in_the_oldest_session_ends_those_that_began_after_it(
    running: InProcess, clock: FakeClock
) -> None:
    secret = (await key(running))["secret"]
    shown: list[dict[str, str]] = []
    for _ in range(3):
        shown.append({"Cookie": f"{NAME}={cookie_of(await signed_in(running, secret)).value}"})
        running.stranger.cookies.clear()
        clock.advance(timedelta(hours=1))

    await running.stranger.delete("/v1/sign-in", params={"everywhere": True}, headers={**OURS, **shown[0]})

    clock.advance(timedelta(hours=9, minutes=30))
    assert [(await running.stranger.get("/v1/me", headers=one)).status_code for one in shown] == [401] * 3
