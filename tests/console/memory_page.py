"""The list of the memory page, as a person finds their way in it."""

from typing import Any

from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory

WEB = "#/memory/workspace%3Aweb"


def at(page: Page, address: str = WEB) -> Page:
    page.goto(f"/{address}")
    expect(rows(page).first).to_be_visible()
    return page


def rows(page: Page) -> Locator:
    return page.get_by_role("grid").get_by_role("row").filter(has=page.get_by_role("gridcell"))


def row(page: Page, text: str) -> Locator:
    return rows(page).filter(has_text=text)


def at_row(page: Page, text: str) -> Locator:
    """The row, with the list's keys at it."""
    expect(row(page, text)).to_be_visible()
    page.get_by_role("grid").focus()
    page.keyboard.press("Home")
    for _ in range(rows(page).count()):
        if "active" in (row(page, text).get_attribute("class") or ""):
            return row(page, text)
        page.keyboard.press("j")
    raise AssertionError(f"No key leads to {text!r}.")


def held(memory: Memory, id: str) -> dict[str, Any]:
    return memory.client.get(f"/v1/records/{id}").raise_for_status().json()


def by_key(memory: Memory, key: str) -> dict[str, Any]:
    [found] = memory.records(key=key)
    return found
