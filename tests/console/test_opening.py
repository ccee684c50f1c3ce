"""Coming in and going out: the page that opens, a key, a code, and what of them a browser keeps."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.console.conftest import Language, Memory, Visit

from commonplace.testing.daemon import Daemon


def cookies(page: Page) -> dict[str, Any]:
    context: BrowserContext = page.context
    return {cookie.get("name", ""): dict(cookie) for cookie in context.cookies()}


def sign_in(page: Page, secret: str) -> None:
    page.get_by_label("Token or key").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def held_by_scripts(page: Page) -> str:
    return page.evaluate(
        "() => JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, location.href])"
    )


def test_the_page_opens_and_its_console_stays_silent(signed_out_page: Page) -> None:
    expect(signed_out_page).to_have_title("Sign in · Commonplace")
    expect(signed_out_page.get_by_label("Token or key")).to_be_focused()


def test_a_key_opens_the_console_and_no_script_ever_holds_it(signed_out_page: Page, memory: Memory) -> None:
    page = signed_out_page

    sign_in(page, memory.secret)
    expect(page.get_by_text("console tests · admin")).to_be_visible()

    [(name, cookie)] = cookies(page).items()
    assert re.fullmatch(r"commonplace-\d+", name)
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert memory.secret not in held_by_scripts(page)
    assert cookie["value"] not in held_by_scripts(page)
    rows = memory.client.get("/v1/audit", params={"action": "auth.signed_in"}).json()["rows"]
    assert [(row["outcome"], row["details"]) for row in rows] == [("ok", {"by": "key"})]


def test_a_code_opens_it_once_and_is_gone_from_the_address(signed_out_page: Page, memory: Memory) -> None:
    made = memory.client.post("/v1/codes").json()

    signed_out_page.goto(made["url"])
    expect(signed_out_page.get_by_text("console tests · admin")).to_be_visible()

    assert made["code"] not in held_by_scripts(signed_out_page)
    used = memory.client.post("/v1/sign-in", json={"code": made["code"]})
    assert used.status_code == 401


@pytest.mark.allow_errors(401)
def test_a_code_that_was_used_leads_to_signing_in(signed_out_page: Page, memory: Memory) -> None:
    made = memory.client.post("/v1/codes").json()
    httpx.post(f"{memory.url}/v1/sign-in", json={"code": made["code"]}).raise_for_status()

    signed_out_page.goto(made["url"])

    expect(signed_out_page.get_by_role("alert")).to_contain_text("used already")
    assert made["code"] not in signed_out_page.url
    assert cookies(signed_out_page) == {}


@pytest.mark.allow_errors(401)
def test_a_wrong_key_is_told_and_begins_nothing(signed_out_page: Page) -> None:
    sign_in(signed_out_page, "cp_wrong")

    expect(signed_out_page.get_by_role("alert")).to_contain_text("opens nothing")
    assert cookies(signed_out_page) == {}


def test_signing_out_ends_it(page: Page, daemon: Daemon) -> None:
    [before] = cookies(page).values()

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token or key")).to_be_visible()

    assert cookies(page) == {}
    copied = {"Cookie": f"{before['name']}={before['value']}"}
    assert httpx.get(f"{daemon.url}/v1/me", headers=copied).status_code == 401
    page.reload()
    expect(page.get_by_label("Token or key")).to_be_visible()


def test_a_role_sees_only_its_pages(visit: Visit, memory: Memory) -> None:
    reader = visit(memory.key("reader"))

    reader.goto("/")
    pages = reader.get_by_role("navigation", name="Pages")
    expect(pages.get_by_role("link", name="Memory")).to_be_visible()

    assert pages.get_by_role("link", name="Keys").count() == 0
    assert pages.get_by_role("link", name="Review").count() == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_signing_in_is_for_everybody(
    visit: Visit,
    axe: Callable[[Page], list[str]],
    shots: Callable[[Page, str], list[Path]],
    language: Language,
) -> None:
    page = visit(language=language)
    page.goto("/")
    expect(page.locator("input[name=key]")).to_be_visible()

    assert axe(page) == []
    assert len(shots(page, f"sign-in-{language}")) == 4
