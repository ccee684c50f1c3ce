"""With whom a session is shared, in the browser: on the page of its records, and from the list of its scope."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Role, Visit
from tests.console.memory_page import rows

SCOPE = "session:standup-7"


def key(memory: Memory, person: str, role: Role = "writer") -> str:
    body = {"name": f"{person}'s laptop", "role": role, "user": person}
    return memory.client.post("/v1/keys", json=body).raise_for_status().json()["secret"]


def ask(memory: Memory, secret: str, method: str, path: str, **sent: Any) -> httpx.Response:
    return httpx.request(method, memory.url + path, headers={"Authorization": f"Bearer {secret}"}, timeout=10.0, **sent)


def session(memory: Memory, secret: str) -> str:
    """A session that belongs to whoever holds the key: the id of its record."""
    body = {"text": "We ship on Fridays.", "scope": SCOPE}
    return ask(memory, secret, "POST", "/v1/records", json=body).raise_for_status().json()["record"]["id"]


def members(memory: Memory) -> list[str]:
    answer = memory.client.get("/v1/members", params={"scope": SCOPE}).raise_for_status().json()
    return [one["subject"] for one in answer["members"]]


def listed(page: Page) -> Locator:
    return page.locator(".member-list li")


def test_an_owner_shares_a_session_on_its_record_and_ends_it(visit: Visit, memory: Memory) -> None:
    ana, bo = key(memory, "ana"), key(memory, "bo")
    id = session(memory, ana)
    page = visit(ana)
    page.goto(f"/#/record/{id}")
    expect(listed(page)).to_have_count(1)
    expect(listed(page)).to_contain_text("ana")
    expect(listed(page)).to_contain_text("owner")
    before = ask(memory, bo, "GET", f"/v1/records/{id}").status_code

    page.get_by_role("button", name="Share…").click()
    page.get_by_role("dialog").get_by_label("With whom").fill("bo")
    page.get_by_role("dialog").get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_text("bo is a member now.")).to_be_visible()
    expect(listed(page)).to_have_count(2)
    during = ask(memory, bo, "GET", f"/v1/records/{id}").status_code
    page.get_by_role("button", name="Remove bo").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(listed(page)).to_have_count(1)
    after = ask(memory, bo, "GET", f"/v1/records/{id}").status_code
    assert (before, during, after, members(memory)) == (404, 200, 404, ["ana"])


@pytest.mark.allow_errors(409)
def test_who_is_a_member_already_is_refused_and_the_name_stays(visit: Visit, memory: Memory) -> None:
    ana = key(memory, "ana")
    id = session(memory, ana)
    page = visit(ana)
    page.goto(f"/#/record/{id}")
    page.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("With whom").fill("ana")

    dialog.get_by_role("button", name="Share", exact=True).click()

    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(dialog.get_by_label("With whom")).to_have_value("ana")
    assert members(memory) == ["ana"]


def test_a_member_leaves_but_shares_with_nobody(visit: Visit, memory: Memory) -> None:
    ana, bo = key(memory, "ana"), key(memory, "bo")
    id = session(memory, ana)
    ask(memory, ana, "POST", "/v1/members", json={"scope": SCOPE, "subject": "bo"}).raise_for_status()
    page = visit(bo)
    page.goto(f"/#/record/{id}")
    expect(listed(page)).to_have_count(2)
    expect(page.get_by_role("button", name="Share…")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove ana")).to_have_count(0)

    page.get_by_role("button", name="Leave (bo)").click()
    page.get_by_role("dialog").get_by_role("button", name="Leave", exact=True).click()

    expect(page.get_by_role("heading", level=1, name="Memory")).to_be_visible()
    assert members(memory) == ["ana"]


def test_an_admin_finds_the_members_from_the_list_of_the_scope(
    page: Page, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Any]]
) -> None:
    ana = key(memory, "ana")
    session(memory, ana)
    ask(memory, ana, "POST", "/v1/members", json={"scope": SCOPE, "subject": "bo"}).raise_for_status()
    page.goto("/#/memory/session%3Astandup-7")
    expect(rows(page)).to_have_count(1)

    page.get_by_role("button", name="Members…").click()

    dialog = page.get_by_role("dialog", name="Members")
    expect(dialog.locator("li")).to_have_count(2)
    expect(dialog.get_by_role("button", name="Share…")).to_be_visible()
    assert axe(page) == []
    shots(page, "members")
    page.keyboard.press("Escape")
    page.goto("/#/memory/workspace%3Aweb")
    expect(rows(page)).to_have_count(5)
    expect(page.get_by_role("button", name="Members…")).to_be_hidden()


def test_a_record_that_is_shared_by_its_scope_has_no_members(page: Page, memory: Memory) -> None:
    [record] = memory.records(key="release.day")

    page.goto(f"/#/record/{record['id']}")

    expect(page.locator(".page-record")).to_have_attribute("data-ready", "true")
    expect(page.get_by_role("heading", name="Members")).to_have_count(0)
