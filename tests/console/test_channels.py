"""Channels in the browser: what a kind needs, one that is added, tried, set, stopped and removed, and who is let in."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Visit

from commonplace.cli.channel_guide import GUIDE_WORDS
from commonplace.console import __file__ as console_file
from commonplace.testing.daemon import Daemon

NOWHERE = "http://127.0.0.1:1"
"""Nobody listens there."""
FOREIGN: dict[str, tuple[dict[str, str], str]] = {
    "dingtalk": ({"client_id": "ding-console", "endpoint": NOWHERE}, "client_secret"),
    "feishu": ({"app_id": "cli_console", "domain": NOWHERE}, "app_secret"),
}


@pytest.fixture
def till(operator: httpx.Client) -> Generator[str]:
    """A channel of the operator's, in whose room Cleo asked to be let in."""
    settings = {"senders": "pairing"}
    operator.post("/v1/channels", json={"name": "till", "kind": "terminal", "settings": settings}).raise_for_status()
    operator.post("/v1/channels/till/rooms", json={"title": "Till 2", "id": "till-2"}).raise_for_status()
    said = {"text": "/status", "speaker": "cleo"}
    operator.post("/v1/channels/till/rooms/till-2/messages", json=said).raise_for_status()
    yield "till"
    operator.delete("/v1/channels/till").raise_for_status()


def guide_of(memory: Memory, kind: str) -> dict[str, Any]:
    kinds = memory.client.get("/v1/channels/kinds").raise_for_status().json()["kinds"]
    return next(one["guide"] for one in kinds if one["guide"]["kind"] == kind)


def state(page: Page) -> Locator:
    return page.locator(".page-head .badge")


def test_a_channel_is_added_tried_stopped_started_and_removed(page: Page, memory: Memory) -> None:
    page.goto("/#/channels")
    page.get_by_role("link", name="Add a channel").first.click()
    page.get_by_role("link", name="Rooms of this console").click()
    page.get_by_label("Name").fill("team")
    page.get_by_role("button", name="Add the channel").click()
    expect(state(page)).to_have_text("at work")
    memory.client.post("/v1/channels/team/rooms", json={"title": "Shop", "id": "shop"}).raise_for_status()

    page.get_by_label("Room", exact=True).fill("shop")
    page.get_by_role("button", name="Write a test message").click()

    expect(page.get_by_text("The platform took it. Look whether it is in shop.")).to_be_visible()
    messages = memory.client.get("/v1/channels/team/rooms/shop/messages").json()["messages"]
    assert [message["author"] for message in messages] == ["notice"]
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(state(page)).to_have_text("stopped")
    page.get_by_role("button", name="Start").click()
    expect(state(page)).to_have_text("at work")
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator(".channel-list h2")).to_have_text(["web", "terminal"], use_inner_text=True)
    assert memory.client.get("/v1/channels/team").status_code == 404


@pytest.mark.allow_errors(404)
def test_a_test_message_into_no_room_says_so_in_words(page: Page) -> None:
    page.goto("/#/channels/web")

    page.get_by_label("Room", exact=True).fill("nowhere")
    page.get_by_role("button", name="Write a test message").click()

    expect(page.locator("form .problem")).to_contain_text("There is no such room")


def test_what_is_set_is_kept_and_what_is_emptied_is_taken_back(page: Page, memory: Memory) -> None:
    page.goto("/#/channels/web?tab=settings")
    page.get_by_label("Workspace").fill("shop")
    page.get_by_label("Budget of a room, in US dollars").fill("2.5")
    page.get_by_label("Budget of a room, in tokens").fill("9000")
    page.get_by_label("What a tool may do").select_option("consensus")
    page.get_by_label("People by name").fill("ana\nbob")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. It is at work at once.")).to_be_visible()
    first = memory.client.get("/v1/channels/web").json()["channel"]["settings"]

    expect(page.get_by_label("Workspace")).to_have_value("shop")
    page.get_by_label("Workspace").fill("")
    page.get_by_label("Budget of a room, in US dollars").fill("")
    page.get_by_label("Budget of a room, in tokens").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. It is at work at once.")).to_have_count(2)

    then = memory.client.get("/v1/channels/web").json()["channel"]["settings"]
    assert (first["workspace"], first["budget"]) == ("shop", {"micro_usd": 2_500_000, "hours": 24, "tokens": 9_000})
    assert (then["workspace"], then["budget"]) == (None, None)
    assert (then["permissions"], then["allowed"], then["senders"]) == ("consensus", ["ana", "bob"], "open")


def test_a_room_shows_what_it_spent_and_is_paused(page: Page, memory: Memory) -> None:
    settings = {"budget": {"usd": 5, "tokens": 20_000}}
    memory.client.patch("/v1/channels/web", json={"settings": settings}).raise_for_status()
    memory.client.post("/v1/channels/web/rooms", json={"title": "Releases", "id": "releases"}).raise_for_status()
    page.goto("/#/channels/web?tab=rooms")
    room = page.locator(".channel-rooms li")
    expect(room).to_contain_text("$0.00 of $5.00 spent")
    expect(room).to_contain_text("0 of 20,000 tokens")

    room.get_by_role("button", name="Pause").click()

    expect(room.locator(".badge")).to_have_text("paused")
    assert memory.client.get("/v1/channels/web/rooms/releases").json()["paused"]
    room.get_by_role("button", name="Resume").click()
    expect(room.locator(".badge")).to_have_count(0)
    room.get_by_role("link", name="Releases").click()
    expect(page.locator(".page-rooms .chat-title")).to_have_text("Releases")


def test_whoever_waits_is_let_in_linked_and_let_in_no_longer(
    operator_page: Page, operator: httpx.Client, till: str
) -> None:
    page = operator_page
    page.goto(f"/#/channels/{till}?tab=senders")

    page.get_by_role("button", name="Let in: cleo").click()

    expect(page.get_by_text("cleo is let in.")).to_be_visible()
    page.get_by_role("button", name="Link to a person…: cleo").click()
    page.get_by_role("dialog").get_by_label("Person").fill("cleopatra")
    page.get_by_role("dialog").get_by_role("button", name="Link").click()
    expect(page.locator(".sender-list").last).to_contain_text("terminal:cleo is cleopatra")
    links = operator.get("/v1/sender-links").json()["links"]
    assert ("terminal:cleo", "cleopatra") in [(one["identity"], one["subject"]) for one in links]
    page.get_by_role("button", name="Take back: terminal:cleo").click()
    page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Let in no longer: cleo").click()
    page.get_by_role("dialog").get_by_role("button", name="Let in no longer").click()
    expect(page.get_by_text("Nobody yet.")).to_be_visible()
    assert operator.get(f"/v1/channels/{till}/senders").json()["senders"] == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["web", "terminal", "matrix", "dingtalk", "feishu"])
def test_each_kind_has_its_steps_and_says_how_sure_the_names_of_permissions_are(
    visit: Visit, memory: Memory, kind: str, language: Any
) -> None:
    guide = guide_of(memory, kind)
    page = visit(memory.secret, language=language)

    page.goto(f"/#/channels?add={kind}")

    expect(page.locator(".guide")).to_contain_text(guide["summary"][language].split("`")[0])
    expect(page.locator(".guide-steps li")).to_have_count(len(guide["steps"]))
    expect(page.locator(".guide-permissions .warn")).to_have_count(
        len([one for one in guide["permissions"] if not one["certain"]])
    )


def test_a_channel_of_a_foreign_kind_is_filled_in_and_says_what_went_wrong_and_what_that_means(
    operator_page: Page, operator: httpx.Client, memory: Memory, tmp_path: Path
) -> None:
    page, guide = operator_page, guide_of(memory, "feishu")
    secret = tmp_path / "secret"
    secret.write_text("the-app-secret", encoding="utf-8")
    meanings = {one["sign"]: one["meaning"]["en"] for one in guide["problems"]}
    page.goto("/#/channels?add=feishu")
    page.get_by_label("Name").fill("team-chat")
    page.get_by_label("App ID").fill("cli_console")
    page.get_by_label("App Secret").fill(f"file:{secret}")
    page.get_by_label("Which service").fill(NOWHERE)
    page.get_by_label("How events come").select_option("websocket")
    page.get_by_role("button", name="Add the channel").click()

    try:
        expect(state(page)).to_have_text("waiting")
        expect(page.get_by_role("status").first).to_contain_text(meanings["cannot be reached"])
        expect(page.locator(".channel-log")).to_contain_text(meanings["cannot be reached"])
        page.get_by_label("Room", exact=True).fill("oc_room")
        page.get_by_role("button", name="Write a test message").click()
        failed = page.locator("form [role=status]")
        expect(failed).to_contain_text("It was not written:")
        expect(failed).to_contain_text(meanings["gave no token"])
        made = operator.get("/v1/channels/team-chat").raise_for_status().json()["channel"]["settings"]
    finally:
        operator.delete("/v1/channels/team-chat")

    assert made["options"] == {"app_id": "cli_console", "domain": NOWHERE, "mode": "websocket"}
    assert made["secrets"] == {"app_secret": f"file:{secret}"}
    assert (made["group_policy"], made["senders"]) == ("pairing", "pairing")


@pytest.fixture(params=list(FOREIGN))
def guided(request: pytest.FixtureRequest, operator: httpx.Client, tmp_path: Path) -> Generator[str]:
    """The kind of a foreign channel of the operator's, `guided`."""
    options, secret = FOREIGN[request.param]
    (tmp_path / "secret").write_text("the-secret", encoding="utf-8")
    settings = {"options": options, "secrets": {secret: f"file:{tmp_path / 'secret'}"}}
    body = {"name": "guided", "kind": request.param, "settings": settings}
    operator.post("/v1/channels", json=body).raise_for_status()
    yield request.param
    operator.delete("/v1/channels/guided").raise_for_status()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_guide_of_a_channel_lists_every_error_and_what_only_the_real_platform_shows(
    visit: Visit, daemon: Daemon, memory: Memory, guided: str, language: Any
) -> None:
    guide = guide_of(memory, guided)
    page = visit(daemon.token, language=language)

    page.goto("/#/channels/guided?tab=guide")

    expect(page.locator(".guide-problems dt")).to_have_text([one["sign"] for one in guide["problems"]])
    expect(page.locator(".guide-problems dd")).to_have_text(
        [shown(one["meaning"][language]) for one in guide["problems"]]
    )
    expect(page.locator(".guide section").last.locator("li")).to_have_text(
        [shown(one[language]) for one in guide["open_points"]]
    )


def shown(text: str) -> str:
    """What stands between backticks is code."""
    return text.replace("`", "")


def test_a_reader_sees_the_channels_and_why_nothing_can_be_set(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reader"))

    page.goto("/#/channels")

    expect(page.locator(".channel-list h2")).to_have_text(["web", "terminal"], use_inner_text=True)
    expect(page.locator("main")).to_contain_text("Channels are set up by an admin")
    expect(page.get_by_role("link", name="Add a channel")).to_have_count(0)
    page.goto("/#/channels/web")
    expect(page.locator("main")).to_contain_text("Channels are set up by an admin")
    expect(page.get_by_role("tab")).to_have_count(0)


@pytest.mark.allow_errors(404)
def test_a_channel_that_is_gone_is_said_to_be(page: Page) -> None:
    page.goto("/#/channels/nothing")

    expect(page.locator("main")).to_contain_text("There is no such channel any more.")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_command_says_it_in_the_same_words(language: Any) -> None:
    words = (Path(console_file).parent / "words" / language / "channels.js").read_text(encoding="utf-8")

    assert [text for name, text in GUIDE_WORDS[language].items() if name != "secret" and f"'{text}'" not in words] == []
