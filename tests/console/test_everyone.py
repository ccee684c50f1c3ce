"""The switch with which an admin looks at everyone's memory: off by default, kept in the address, written to the audit."""

import re
from collections.abc import Callable
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Visit
from tests.console.memory_page import row, rows

NOTE = "The audit says that you looked."
PRIVATE = "Ana saves for a lighthouse."


def private_note(memory: Memory) -> str:
    """What somebody else wrote for themselves: its scope."""
    headers = {"Authorization": f"Bearer {memory.key('writer')}"}
    with httpx.Client(base_url=memory.url, headers=headers, timeout=10.0) as ana:
        scope = f"user:{ana.get('/v1/me').json()['subject']}"
        ana.post("/v1/records", json={"text": PRIVATE, "scope": scope}).raise_for_status()
    return scope


def switch(page: Page) -> Locator:
    return page.get_by_label("Everyone’s memory")


def looks(memory: Memory, action: str) -> int:
    """How many rows of the audit say that everyone's memory was read."""
    rows = memory.client.get("/v1/audit", params={"action": action}).raise_for_status().json()["rows"]
    return sum(row["details"].get("everyone") is True for row in rows)


def test_an_admin_sees_other_peoples_notes_once_they_say_so_and_the_audit_knows(page: Page, memory: Memory) -> None:
    private_note(memory)
    page.goto("/#/memory")
    expect(rows(page)).to_have_count(8)
    expect(switch(page)).not_to_be_checked()
    expect(page.get_by_text(NOTE)).to_be_hidden()
    before = looks(memory, "record.list")

    switch(page).check()

    expect(row(page, PRIVATE)).to_be_visible()
    expect(page.get_by_text(NOTE)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="9 memories")).to_be_visible()
    expect(page).to_have_url(re.compile(r"#/memory\?everyone=true$"))
    assert (before, looks(memory, "record.list") > 0) == (0, True)


def test_the_address_keeps_it_for_the_search_too_and_switching_it_off_ends_it(page: Page, memory: Memory) -> None:
    private_note(memory)

    page.goto("/#/memory?everyone=true&q=lighthouse")
    expect(rows(page).first).to_contain_text(PRIVATE)
    searched = looks(memory, "record.browse")
    switch(page).uncheck()

    expect(row(page, PRIVATE)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"#/memory\?q=lighthouse$"))
    assert searched > 0


def test_a_scope_that_is_named_is_read_alone(page: Page, memory: Memory) -> None:
    private_note(memory)

    page.goto("/#/memory/workspace%3Aweb?everyone=true")

    expect(rows(page)).to_have_count(5)
    expect(switch(page)).to_be_disabled()
    expect(page.get_by_text(NOTE)).to_be_hidden()
    assert looks(memory, "record.list") == 0


def test_nobody_but_an_admin_has_the_switch_nor_its_address(visit: Visit, memory: Memory) -> None:
    private_note(memory)
    page = visit(memory.key("reviewer"))

    page.goto("/#/memory?everyone=true")

    expect(rows(page)).to_have_count(8)
    expect(switch(page)).to_have_count(0)
    page.goto("/#/recall?everyone=true&q=lighthouse")
    expect(page.get_by_role("button", name="Ask")).to_be_visible()
    expect(switch(page)).to_have_count(0)


def test_the_recall_lab_asks_for_everyones_hits_and_block(
    page: Page, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Any]]
) -> None:
    private_note(memory)
    page.goto("/#/recall?q=lighthouse")
    expect(page.get_by_text(PRIVATE)).to_have_count(0)

    switch(page).check()

    expect(page.locator(".hit").filter(has_text=PRIVATE)).to_be_visible()
    expect(page.get_by_role("region", name="Text of the block")).to_contain_text(PRIVATE)
    expect(page).to_have_url(re.compile(r"everyone=true"))
    barriers = axe(page)
    shots(page, "everyone-recall")
    page.goto("/#/memory?everyone=true")
    expect(row(page, PRIVATE)).to_be_visible()
    barriers += axe(page)
    shots(page, "everyone-memory")
    assert barriers == []
    assert (looks(memory, "record.browse") > 0, looks(memory, "record.preview") > 0) == (True, True)


def test_an_export_has_everyones_only_when_an_admin_says_so(page: Page, memory: Memory) -> None:
    private_note(memory)
    page.goto("/#/import")
    link = page.get_by_role("link", name="Download")
    expect(link).to_have_attribute("href", "/v1/export")

    switch(page).check()

    expect(page.get_by_text(NOTE)).to_be_visible()
    with page.expect_download() as download:
        link.click()
    text = download.value.path().read_text(encoding="utf-8")
    assert PRIVATE in text
    assert PRIVATE not in memory.client.get("/v1/export").text
    assert looks(memory, "record.export") == 1
