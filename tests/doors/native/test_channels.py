"""Channels at the native door: how they are set up, how they are connected, and what is told of that to whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.channels.guides.matrix import MATRIX
from commonplace.channels.parts import RoomParts
from commonplace.channels.platforms import PLATFORMS, Platform
from commonplace.channels.secrets import read_secret
from commonplace.ports.channel import Outgoing
from commonplace.ports.journal import Entries
from commonplace.testing.channels import FakeChannel
from commonplace.testing.daemon import InProcess, served
from commonplace.values.channel import CHANNEL_KINDS, ChannelProfile, ChannelSender, PlatformError
from commonplace.values.platform import ConnectionEntry, ConnectionState

pytestmark = pytest.mark.anyio

SECRET = "syt_a_secret_that_nobody_sees"
SETTINGS = {"options": {"homeserver": "https://matrix.example.org"}, "secrets": {"token": "MATRIX_TOKEN"}}
CHANNEL = {"name": "team", "kind": "matrix", "settings": SETTINGS}
AT = datetime(2027, 1, 4, 9, tzinfo=UTC)


@dataclass
class RefusingChannel(FakeChannel):
    """A platform that says in each of its errors again what it was given."""

    error: str = f"M_UNKNOWN_TOKEN: there is no token {SECRET}"
    written: list[Outgoing] = field(default_factory=list[Outgoing])

    @property
    def connection(self) -> ConnectionState:
        return ConnectionState(status="refused", since=AT, error=self.error, attempts=3)

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        return (ConnectionEntry(at=AT, event="refused", detail=self.error),)

    async def send(self, message: Outgoing) -> str:
        if self.broken:
            raise PlatformError(self.error)
        self.written.append(message)
        return message.key


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> RefusingChannel:
    """What channels of kind matrix are connected to."""
    made = RefusingChannel()

    def make(tenant: str, profile: ChannelProfile, parts: RoomParts) -> RefusingChannel:
        del tenant, parts
        assert read_secret(profile.settings, "token") == SECRET
        return made

    monkeypatch.setitem(PLATFORMS, "matrix", Platform(guide=MATRIX, make=make))
    monkeypatch.setenv("MATRIX_TOKEN", SECRET)
    return made


@pytest.fixture
async def http(running: InProcess, platform: RefusingChannel) -> httpx.AsyncClient:
    """The operator, who has added the channel `team`."""
    del platform
    await done(running.client, "POST", "/v1/channels", json=CHANNEL)
    return running.client


async def done(http: httpx.AsyncClient, method: str, path: str, **more: Any) -> Any:
    answer = await http.request(method, path, **more)
    assert answer.is_success, (path, answer.status_code, answer.text[:500])
    return answer.json() if answer.content else None


async def refused(http: httpx.AsyncClient, method: str, path: str, **more: Any) -> tuple[int, str]:
    answer = await http.request(method, path, **more)
    return answer.status_code, answer.json()["error"]["code"]


async def test_every_kind_has_a_guide_at_the_door_and_says_whether_it_can_be_used(running: InProcess) -> None:
    kinds = (await done(running.client, "GET", "/v1/channels/kinds"))["kinds"]

    assert {one["guide"]["kind"]: one["available"] for one in kinds} == {
        kind: kind in PLATFORMS for kind in CHANNEL_KINDS
    }
    assert all(one["guide"]["title"]["zh"] for one in kinds)


async def test_a_kind_without_a_client_and_the_name_of_the_guides_are_refused(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(PLATFORMS, "feishu", raising=False)

    unusable = await refused(running.client, "POST", "/v1/channels", json={"name": "team", "kind": "feishu"})
    shadowed = await refused(running.client, "POST", "/v1/channels", json={"name": "kinds", "kind": "web"})

    assert unusable == shadowed == (400, "invalid_input")
    assert {one["channel"]["name"] for one in (await done(running.client, "GET", "/v1/channels"))["channels"]} == {
        "web",
        "terminal",
    }


async def test_an_error_is_shown_with_its_meaning_and_without_the_secret(http: httpx.AsyncClient) -> None:
    status = await done(http, "GET", "/v1/channels/team")
    log = await http.get("/v1/channels/team/log")

    assert (status["running"], status["connection"]["status"]) == (True, "refused")
    assert status["connection"]["error"].startswith("M_UNKNOWN_TOKEN")
    assert status["meaning"] == log.json()["entries"][0]["meaning"]
    assert "access token" in status["meaning"]["en"]
    assert SECRET not in str(status) + log.text


async def test_a_test_message_says_what_came_of_it(http: httpx.AsyncClient, platform: RefusingChannel) -> None:
    sent = await done(http, "POST", "/v1/channels/team/test", json={"chat": "!room:example.org"})
    platform.broken = True
    failed = await done(http, "POST", "/v1/channels/team/test", json={"chat": "!room:example.org"})
    platform.can_cold_send = False
    silent = await done(http, "POST", "/v1/channels/team/test", json={"chat": "!room:example.org"})

    assert (sent["is_sent"], [message.chat for message in platform.written]) == (True, ["!room:example.org"])
    assert (failed["is_sent"], SECRET in str(failed)) == (False, False)
    assert "access token" in failed["meaning"]["en"]
    assert (silent["is_sent"], bool(silent["error"])) == (False, True)


async def test_a_test_message_into_a_room_of_ours_needs_the_room(running: InProcess) -> None:
    http = running.client
    await done(http, "POST", "/v1/channels/web/rooms", json={"title": "Releases", "id": "releases"})

    sent = await done(http, "POST", "/v1/channels/web/test", json={"chat": "releases"})

    assert sent["is_sent"]
    messages = (await done(http, "GET", "/v1/channels/web/rooms/releases/messages"))["messages"]
    assert [message["author"] for message in messages] == ["notice"]
    assert await refused(http, "POST", "/v1/channels/web/test", json={"chat": "nowhere"}) == (404, "room_not_found")


async def test_the_rooms_of_a_channel_show_what_they_spent_and_are_paused_by_an_admin(running: InProcess) -> None:
    http = running.client
    await done(http, "POST", "/v1/channels/web/rooms", json={"title": "Releases", "id": "releases"})
    [unlimited] = (await done(http, "GET", "/v1/channels/web/spending"))["rooms"]
    await done(http, "PATCH", "/v1/channels/web", json={"settings": {"budget": {"usd": 5}}})

    paused = await done(http, "POST", "/v1/channels/web/pause", json={"chat": "releases"})

    [limited] = (await done(http, "GET", "/v1/channels/web/spending"))["rooms"]
    assert (unlimited["limit_usd"], unlimited["until"], unlimited["room"]["paused"]) == (None, None, False)
    assert (limited["limit_usd"], limited["spent_usd"], limited["room"]["paused"]) == (5.0, 0.0, True)
    assert paused["paused"]
    resumed = await done(http, "POST", "/v1/channels/web/pause", json={"chat": "releases", "paused": False})
    assert not resumed["paused"]
    assert await refused(http, "POST", "/v1/channels/web/pause", json={"chat": "nowhere"}) == (404, "room_not_found")


async def test_null_takes_back_what_a_channel_may_be_without_and_nothing_else(running: InProcess) -> None:
    http = running.client
    settings = {"workspace": "shop", "budget": {"usd": 5}, "language": "zh", "instructions": "Be brief."}
    await done(http, "PATCH", "/v1/channels/web", json={"settings": settings})

    nothing = dict.fromkeys((*settings, "agent", "senders"))
    changed = (await done(http, "PATCH", "/v1/channels/web", json={"settings": nothing}))["settings"]

    assert [changed[name] for name in settings] == [None, None, None, "Be brief."]
    assert (changed["agent"], changed["senders"]) == ("assistant", "open")


async def test_a_channel_that_was_stopped_stays_so_after_a_restart_and_one_that_was_started_comes_back(
    home: Path, platform: RefusingChannel
) -> None:
    del platform
    async with served(home) as before:
        for name in ("stopped", "started"):
            await done(before.client, "POST", "/v1/channels", json={**CHANNEL, "name": name})
            await done(before.client, "PATCH", f"/v1/channels/{name}", json={"enabled": False})
        await done(before.client, "PATCH", "/v1/channels/started", json={"enabled": True})
        log = await done(before.client, "GET", "/v1/channels/started/log")
    async with served(home) as after:
        states = {
            one["channel"]["name"]: one["running"]
            for one in (await done(after.client, "GET", "/v1/channels"))["channels"]
        }

    assert (states["stopped"], states["started"]) == (False, True)
    # What happened before it was stopped is still there.
    assert len(log["entries"]) == 2


async def test_a_channel_whose_secret_is_gone_can_be_stopped_and_says_why_it_does_not_begin(
    home: Path, platform: RefusingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    del platform
    async with served(home) as before:
        await done(before.client, "POST", "/v1/channels", json=CHANNEL)
    monkeypatch.delenv("MATRIX_TOKEN")
    async with served(home) as after:
        status = await done(after.client, "GET", "/v1/channels/team")
        log = await done(after.client, "GET", "/v1/channels/team/log")
        started = await refused(after.client, "PATCH", "/v1/channels/team", json={"enabled": True})
        await done(after.client, "PATCH", "/v1/channels/team", json={"enabled": False})
        stopped = await done(after.client, "GET", "/v1/channels/team")

    assert (status["running"], status["connection"]["status"]) == (False, "stopped")
    assert "variable" in status["meaning"]["en"]
    assert [entry["event"] for entry in log["entries"]] == ["not_started"]
    assert started == (400, "invalid_input")
    assert (stopped["channel"]["enabled"], stopped["connection"]) == (False, None)


async def test_where_secrets_are_is_said_by_the_operator_alone_and_errors_are_for_admins(
    http: httpx.AsyncClient, keyed: Callable[..., Awaitable[dict[str, str]]]
) -> None:
    admin, reader = await keyed("admin"), await keyed("reader")

    outcomes = [
        await refused(http, "POST", "/v1/channels", json={**CHANNEL, "name": "other"}, headers=admin),
        *[
            await refused(http, "PATCH", "/v1/channels/team", json={"settings": changes}, headers=admin)
            for changes in ({"secrets": {"token": "PATH"}}, {"options": {"homeserver": "https://elsewhere.example"}})
        ],
        await refused(http, "GET", "/v1/channels/team/log", headers=reader),
    ]
    seen = await done(http, "GET", "/v1/channels/team", headers=reader)

    assert {outcome[0] for outcome in outcomes} == {403}
    await done(http, "PATCH", "/v1/channels/team", json={"settings": {"instructions": "Be brief."}}, headers=admin)
    assert (seen["connection"]["error"], seen["meaning"]) == (None, None)
    assert (seen["channel"]["settings"]["secrets"], seen["connection"]["status"]) == ({}, "refused")


async def test_whoever_waits_is_let_in_by_their_code_and_let_in_no_longer(
    http: httpx.AsyncClient, running: InProcess
) -> None:
    store = running.services.desk.store.channels
    code = "ABCDEFGH"
    waiting = ChannelSender(channel="team", sender="@eve:example.org", name="Eve", code=code, code_at=AT)
    await store.put_sender("default/default", waiting, Entries())
    path = "/v1/channels/team/senders/@eve:example.org"

    await done(http, "DELETE", path)

    assert (await done(http, "GET", "/v1/channels/team/senders"))["senders"] == []
    assert await refused(http, "DELETE", path) == (404, "not_found")
    assert await refused(http, "POST", "/v1/channels/team/pair", json={"code": code}) == (404, "pairing_not_found")
