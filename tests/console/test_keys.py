"""Keys in the browser: made, shown once, revoked; and the gateway's users."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Visit


def opened(page: Page) -> Page:
    page.goto("/#/keys")
    expect(page.locator("[data-page=keys][data-ready=true]")).to_be_visible()
    return page


def keys(memory: Memory) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in memory.client.get("/v1/keys").raise_for_status().json()["keys"]}


def users(memory: Memory) -> list[str]:
    return [one["user_id"] for one in memory.client.get("/v1/users").raise_for_status().json()["users"]]


def me(memory: Memory, secret: str) -> httpx.Response:
    return httpx.get(f"{memory.url}/v1/me", headers={"Authorization": f"Bearer {secret}"})


def dialog(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog", name=name)


def secret_of(page: Page) -> str:
    return page.get_by_label("Secret").input_value()


# ---- keys


def test_a_key_is_made_shown_once_and_opens_what_it_says(page: Page, memory: Memory) -> None:
    opened(page).get_by_role("button", name="Make a key").click()
    asked = dialog(page, "Make a key")
    asked.get_by_label("Name").fill("ci")
    asked.get_by_label("Role").select_option("reader")
    asked.get_by_label("Only these").check()
    asked.get_by_role("textbox", name="Patterns").fill("workspace:web-*")
    expect(asked.get_by_text("each workspace that begins with “web-”")).to_be_visible()
    asked.get_by_role("button", name="Add").click()
    asked.get_by_role("textbox", name="Patterns").fill("global")
    asked.get_by_label("Expires").select_option("30")
    asked.get_by_role("button", name="Make it").click()
    expect(page.get_by_text("It is shown this once")).to_be_visible()
    secret = secret_of(page)
    page.get_by_role("button", name="I have kept it").click()

    expect(page.get_by_role("row", name="ci")).to_be_visible()
    expect(page.get_by_text(secret)).to_have_count(0)
    opens = me(memory, secret).json()
    assert (opens["role"], opens["scopes"]) == ("reader", ["workspace:web-*", "global"])
    assert keys(memory)["ci"]["expires_at"] is not None


def test_the_secret_is_copied_and_does_not_go_by_a_slip(visit: Visit, memory: Memory) -> None:
    page = opened(visit(memory.secret, permissions=["clipboard-read", "clipboard-write"]))
    page.get_by_role("button", name="Make a key").click()
    dialog(page, "Make a key").get_by_label("Name").fill("bot")
    page.keyboard.press("Enter")
    secret = secret_of(page)

    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy").click()

    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    assert me(memory, secret).json()["role"] == "writer"


def test_a_pattern_that_is_none_is_told_and_nothing_is_made(page: Page, memory: Memory) -> None:
    opened(page).get_by_role("button", name="Make a key").click()
    asked = dialog(page, "Make a key")
    asked.get_by_label("Name").fill("ci")
    asked.get_by_label("Only these").check()
    asked.get_by_role("textbox", name="Patterns").fill("web")

    asked.get_by_role("button", name="Make it").click()

    expect(asked.get_by_text("Write kind:id")).to_be_visible()
    expect(asked.get_by_label("Name")).to_have_value("ci")
    assert "ci" not in keys(memory)


@pytest.mark.allow_errors(403)
def test_a_key_that_would_reach_further_than_its_maker_is_refused_and_the_form_stays(
    visit: Visit, memory: Memory
) -> None:
    page = opened(visit(memory.key("admin", "workspace:web")))
    page.get_by_role("button", name="Make a key").click()
    asked = dialog(page, "Make a key")
    asked.get_by_label("Name").fill("too far")

    asked.get_by_role("button", name="Make it").click()

    expect(asked.get_by_role("alert")).to_be_visible()
    expect(asked.get_by_label("Name")).to_have_value("too far")
    assert "too far" not in keys(memory)


def test_a_revoked_key_opens_nothing_and_is_listed_when_asked_for(page: Page, memory: Memory) -> None:
    secret = memory.key("writer")

    opened(page).get_by_role("button", name="Revoke a writer").click()
    dialog(page, "Revoke a writer").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="a writer")).to_have_count(0)
    page.get_by_label("Show those that ended").check()

    expect(page.get_by_role("row", name="a writer").get_by_text("revoked")).to_be_visible()
    assert me(memory, secret).status_code == 401
    assert keys(memory)["a writer"]["revoked_at"] is not None


def test_thinking_better_of_it_revokes_nothing(page: Page, memory: Memory) -> None:
    secret = memory.key("writer")

    opened(page).get_by_role("button", name="Revoke a writer").click()
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert me(memory, secret).status_code == 200


def test_the_keyboard_alone_makes_a_key(page: Page, memory: Memory) -> None:
    opened(page).keyboard.press("n")
    page.keyboard.type("by hand")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Secret")).to_be_focused()
    secret = secret_of(page)
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert me(memory, secret).json()["name"] == "by hand"


def test_whose_hand_a_key_is_can_be_set_and_is_shown(page: Page, memory: Memory) -> None:
    opened(page).get_by_role("button", name="Make a key").click()
    asked = dialog(page, "Make a key")
    asked.get_by_label("Name").fill("ana's bot")
    asked.get_by_label("Person", exact=True).fill("ana")
    asked.get_by_label("A program holds it").check()
    asked.get_by_role("button", name="Make it").click()
    secret = secret_of(page)
    page.get_by_role("button", name="I have kept it").click()

    row = page.get_by_role("row", name="ana's bot")
    expect(row.get_by_role("cell", name="ana agent", exact=True)).to_be_visible()
    opens = me(memory, secret).json()
    assert (opens["subject"], opens["agent"]) == ("ana", True)
    kept = keys(memory)["ana's bot"]
    assert (kept["user"], kept["agent"]) == ("ana", True)


def test_a_key_of_nobody_in_particular_speaks_for_itself_and_is_a_persons(page: Page, memory: Memory) -> None:
    secret = memory.key("writer")

    row = opened(page).get_by_role("row", name="a writer")

    expect(row.get_by_role("cell", name="itself held by a person")).to_be_visible()
    assert (me(memory, secret).json()["subject"], me(memory, secret).json()["agent"]) == (
        f"key/{keys(memory)['a writer']['id']}",
        False,
    )


@pytest.mark.allow_errors(400)
def test_a_name_that_nobody_may_have_is_refused_and_the_form_stays(page: Page, memory: Memory) -> None:
    opened(page).get_by_role("button", name="Make a key").click()
    asked = dialog(page, "Make a key")
    asked.get_by_label("Name").fill("mallory")
    asked.get_by_label("Person", exact=True).fill("local")

    asked.get_by_role("button", name="Make it").click()

    expect(asked.get_by_role("alert")).to_be_visible()
    expect(asked.get_by_label("Person", exact=True)).to_have_value("local")
    assert "mallory" not in keys(memory)


# ---- the gateway's users


def test_a_user_of_the_gateway_is_added_given_a_new_key_and_removed(page: Page, memory: Memory) -> None:
    opened(page).get_by_role("button", name="Add a user").click()
    dialog(page, "Add a user").get_by_label("User").fill("team/ana")
    page.keyboard.press("Enter")
    first = secret_of(page)
    page.get_by_role("button", name="I have kept it").click()
    added = users(memory)
    page.get_by_role("button", name="New key for team/ana").click()
    dialog(page, "New key for team/ana").get_by_role("button", name="New key").click()
    second = secret_of(page)
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name="Remove team/ana").click()
    dialog(page, "Remove team/ana").get_by_role("button", name="Remove").click()

    expect(page.get_by_text("The gateway has no users yet.")).to_be_visible()
    assert (added, users(memory), first == second) == (["team/ana"], [], False)


@pytest.mark.allow_errors(409)
def test_a_user_who_is_there_is_not_added_twice(page: Page, memory: Memory) -> None:
    memory.client.post("/v1/users", json={"user_id": "ana"}).raise_for_status()
    opened(page).get_by_role("button", name="Add a user").click()
    asked = dialog(page, "Add a user")
    asked.get_by_label("User").fill("ana")

    page.keyboard.press("Enter")

    expect(asked.get_by_role("alert")).to_be_visible()
    expect(asked.get_by_label("User")).to_have_value("ana")
    assert users(memory) == ["ana"]


# ---- who may, and looking at it


def test_a_reviewer_is_not_offered_the_keys(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reviewer"))

    page.goto("/#/keys")

    expect(page.get_by_text("It needs the role admin.")).to_be_visible()
    expect(page.get_by_role("link", name="Keys")).to_have_count(0)


def test_the_keys_have_no_serious_barrier_and_fit_a_narrow_window(
    page: Page, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Any]]
) -> None:
    memory.key("writer", "workspace:web", "workspace:web-*")
    memory.client.post("/v1/keys", json={"name": "bot", "user": "bo", "agent": True}).raise_for_status()
    memory.client.post("/v1/users", json={"user_id": "ana"}).raise_for_status()

    found = axe(opened(page))
    shots(page, "keys")
    page.get_by_role("button", name="Make a key").click()
    page.get_by_label("Only these").check()
    found += axe(page)
    page.set_viewport_size({"width": 380, "height": 760})

    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
