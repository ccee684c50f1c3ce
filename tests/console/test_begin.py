"""An empty memory offers three ways to begin: connect an editor, import a folder, look at a sample that can be taken away again."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Language, Memory, Visit
from tests.console.memory_page import row, rows

TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
WAYS = ["Connect an editor", "Import a folder", "Look around with a sample"]


def opened(visit: Visit, secret: str, language: Language = "en") -> Page:
    page = visit(secret, language=language)
    page.goto("/#/memory")
    return page


def test_a_memory_without_anything_in_it_says_how_to_begin(
    visit: Visit, empty_memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Path]]
) -> None:
    page = opened(visit, empty_memory.secret)

    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()

    assert page.get_by_role("heading", level=3).all_inner_texts() == WAYS
    expect(page.get_by_role("grid")).to_be_hidden()
    assert axe(page) == []
    shots(page, "begin")
    page.set_viewport_size({"width": 380, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Choose files or a folder").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import and export")


def test_an_editor_is_connected_with_a_key_of_its_own(visit: Visit, empty_memory: Memory) -> None:
    page = opened(visit, empty_memory.secret)
    page.get_by_label("Editor").select_option("Cursor")
    page.get_by_label("Project").fill("shop front")

    page.get_by_role("button", name="Make a key and show what to paste").click()

    box = page.get_by_label("Put this into .cursor/mcp.json")
    expect(box).to_be_focused()
    server = json.loads(box.input_value())["mcpServers"]["commonplace"]
    assert server["url"] == f"{empty_memory.url}/mcp?project=shop%20front"
    answer = httpx.post(server["url"], json=TOOLS, headers={**server["headers"], **ACCEPT}, timeout=10)
    assert "memory_search" in answer.raise_for_status().text
    page.get_by_label("Editor").select_option("Claude Code")
    command = shlex.split(page.get_by_label("Run this in the project’s folder:").input_value())
    assert command[:5] == ["claude", "mcp", "add", "--transport", "http"]
    assert command[6] == server["url"]
    assert command[8] == f"Authorization: {server['headers']['Authorization']}"
    keys = empty_memory.client.get("/v1/keys").raise_for_status().json()["keys"]
    [made] = [key for key in keys if key["name"] == "Cursor"]
    assert (made["role"], made["agent"]) == ("writer", True)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_sample_is_added_and_taken_away_again_in_one_click(
    visit: Visit, empty_memory: Memory, language: Language, shots: Callable[[Page, str], list[Path]]
) -> None:
    page = opened(visit, empty_memory.secret, language)
    add, remove = {"en": ("Add the sample", "Remove the sample"), "zh": ("添加示例", "移除示例")}[language]

    page.get_by_role("button", name=add).click()

    expect(rows(page)).to_have_count(12)
    sample = empty_memory.records()
    assert {one["scope"] for one in sample} == {"workspace:sample"}
    assert all("sample-data" in one["tags"] and not one.get("quarantine") for one in sample)
    shots(page, f"begin-sample-{language}")
    page.get_by_role("button", name=remove).click()
    expect(page.get_by_role("button", name=add)).to_be_visible()
    states = ("live", "deleted")
    assert [empty_memory.records(state=state, scope="workspace:sample") for state in states] == [[], []]


def test_the_sample_goes_and_what_was_written_since_stays(visit: Visit, empty_memory: Memory) -> None:
    page = opened(visit, empty_memory.key("writer"))
    expect(page.get_by_text("Ask an admin to make one")).to_be_visible()
    page.get_by_role("button", name="Add the sample").click()
    expect(rows(page)).to_have_count(12)
    empty_memory.put("We ship on Fridays.", scope="workspace:sample")

    page.get_by_role("button", name="Remove the sample").click()

    expect(rows(page)).to_have_count(1)
    expect(row(page, "We ship on Fridays.")).to_be_visible()
    expect(page.get_by_role("button", name="Remove the sample")).to_have_count(0)


def test_whoever_writes_the_first_memory_sees_the_list(visit: Visit, empty_memory: Memory) -> None:
    page = opened(visit, empty_memory.key("writer", "agent:new"))
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()

    page.keyboard.press("n")
    form = page.get_by_role("form", name="New memory")
    form.get_by_role("combobox", name="Scope of the new memory").fill("agent:new")
    page.get_by_role("option", name=re.compile("agent:new")).click()
    form.get_by_label("Value").fill("The first one.")
    form.get_by_role("button", name="Save").click()

    expect(row(page, "The first one.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_have_count(0)


def test_a_reader_is_told_that_there_is_nothing(visit: Visit, empty_memory: Memory) -> None:
    page = opened(visit, empty_memory.key("reader"))

    expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Add the sample")).to_have_count(0)
