"""Sessions and agents, in the browser: found, read, renamed, put away, deleted; set up by those who may."""

import re
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect
from tests.console.chat_page import RELEASE, begun, opened, played, say, turns
from tests.console.conftest import ROOT, Memory, Visit

from commonplace.testing.vendor import Vendor, stream

CONSOLE = ROOT / "src" / "commonplace" / "console"


def rows(page: Page) -> "list[str]":
    return page.locator(".session-title").all_inner_texts()


def test_a_session_is_found_by_what_was_said_and_read_with_its_tools_folded(page: Page, memory: Memory) -> None:
    begun(memory, title="Something else")
    opened(page)
    say(page, RELEASE)
    expect(page.locator(".reply")).to_contain_text("Tuesdays")

    page.goto("/#/sessions")
    expect(page.locator(".session-title")).to_have_count(2)
    page.get_by_label("Search what was said").fill("releases")

    expect(page.locator(".session-title")).to_have_count(1)
    expect(page.locator(".session-list")).to_contain_text("When do the releases go out?")
    page.locator(".session-title").click()
    expect(turns(page)).to_have_count(1)
    tool = page.locator("details.tool")
    expect(tool).to_have_attribute("data-state", "done")
    expect(tool.locator(".output").first).to_be_hidden()
    tool.locator("summary").click()
    expect(tool.locator(".output").last).to_contain_text("Releases go out on Tuesdays")
    # The run says what was recalled, also when nobody listened.
    expect(page.locator(".beside")).to_contain_text("Releases go out on Tuesdays, never on Fridays.")
    expect(page.locator(".beside")).to_contain_text("similar meaning")
    page.get_by_role("link", name="Continue in Chat").click()
    expect(page.get_by_label("What you say")).to_be_visible()


def test_a_session_is_renamed_put_away_brought_back_and_deleted_for_good(page: Page, memory: Memory) -> None:
    session = begun(memory, title="Old name")
    page.goto("/#/sessions")

    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("New name")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("link", name="New name")).to_be_visible()
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("main")).to_contain_text("Nobody has talked to an agent here yet")
    page.get_by_label("Which sessions").select_option("yes")
    page.get_by_role("button", name="Bring back").click()
    expect(page.locator("main")).to_contain_text("Nothing is archived")
    page.get_by_label("Which sessions").select_option("no")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“New name” goes with all that was said in it")
    dialog.get_by_role("button", name="Cancel").click()
    assert memory.client.get(f"/v1/sessions/{session}").json()["title"] == "New name"
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("main")).to_contain_text("Nobody has talked to an agent here yet")
    assert memory.client.get(f"/v1/sessions/{session}").status_code == 404


def test_an_agent_is_made_talked_to_and_changed(page: Page, memory: Memory, vendor: Vendor) -> None:
    page.goto("/#/agents")
    expect(page.locator("main")).to_contain_text("ana")
    page.get_by_role("button", name="New agent").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("Release notes")
    dialog.get_by_label("Id").fill("release-notes")
    dialog.get_by_label("Persona").fill("You write release notes, and nothing else.")
    dialog.get_by_label("Model").select_option("openai:small")
    dialog.get_by_label("All tools").uncheck()
    dialog.get_by_label("shell").uncheck()
    dialog.get_by_role("button", name="Save").click()

    card = page.get_by_role("listitem").filter(has_text="Release notes")
    expect(card).to_contain_text("18 tools")
    made = memory.client.get("/v1/agents/release-notes").json()
    assert made["profile"]["persona"] == "You write release notes, and nothing else."
    assert "shell" not in made["profile"]["tools"]
    assert made["memory_enabled"] is True
    played(vendor, stream("Release 2.0: faster."))
    card.get_by_role("link", name="Talk to it").click()
    expect(page.get_by_label("Agent", exact=True)).to_have_value("release-notes")
    say(page, "Write them.")
    expect(page.locator(".reply")).to_have_text("Release 2.0: faster.")
    assert "You write release notes" in str(vendor.requests[0]["messages"])
    page.goto("/#/agents")
    card.get_by_role("button", name="Edit").click()
    dialog.get_by_text("Skills, resources, MCP servers").click()
    dialog.get_by_label("MCP servers").fill("{")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("no JSON list")
    dialog.get_by_label("MCP servers").fill("")
    dialog.get_by_label("What it asks for").select_option("plan")
    dialog.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("changes nothing")
    assert memory.client.get("/v1/agents/release-notes").json()["profile"]["approval"] == "plan"


def test_whoever_is_no_admin_sees_what_they_may_not_change(visit: Visit, memory: Memory, tmp_path: Path) -> None:
    skills = [str(tmp_path)]
    profile = {"persona": "Be brief.", "tools": ["memory_search"], "approval": "default", "skills": skills}
    memory.client.post("/v1/agents", json={"name": "Ops", "id": "ops", "profile": profile}).raise_for_status()
    page = visit(memory.key("writer"))

    page.goto("/#/agents")
    page.get_by_role("listitem").filter(has_text="Ops").get_by_role("button", name="Edit").click()

    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("shell")).to_be_disabled()
    expect(dialog.get_by_label("All tools")).to_be_disabled()
    assert dialog.get_by_label("What it asks for").locator("option").all_inner_texts() == [
        "changes nothing",
        "asks before changes",
    ]
    dialog.get_by_text("Skills, resources, MCP servers").click()
    expect(dialog.get_by_label("Skills")).to_have_js_property("readOnly", True)
    dialog.get_by_label("Persona").fill("Be very brief.")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("Be very brief.")
    kept = memory.client.get("/v1/agents/ops").json()["profile"]
    assert (kept["persona"], kept["skills"], kept["tools"]) == ("Be very brief.", skills, ["memory_search"])


def test_an_agent_is_removed_with_what_it_remembers(page: Page, memory: Memory) -> None:
    page.goto("/#/agents")
    page.get_by_role("listitem").filter(has_text="ana").get_by_role("button", name="Remove").click()

    page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(page.get_by_text("Removed, with 1 record.")).to_be_visible()
    expect(page.locator("main")).to_contain_text("No agent is set up yet")


def test_the_tools_of_the_form_are_those_that_an_agent_has(
    operator: httpx.Client, vendor: Vendor, tmp_path: Path
) -> None:
    session = operator.post("/v1/sessions", json={"folder": str(tmp_path)}).raise_for_status().json()["id"]
    played(vendor, stream("Hello."))
    said = {"text": "Hello", "model": "openai:small"}
    operator.post(f"/v1/sessions/{session}/turns", json=said).raise_for_status()
    with operator.stream("GET", f"/v1/sessions/{session}/events", headers={"Last-Event-ID": "0"}) as heard:
        assert any(line == "event: turn_ended" for line in heard.iter_lines())

    offered = {tool["function"]["name"] for tool in vendor.requests[0]["tools"]}

    script = (CONSOLE / "text" / "agent_profile.js").read_text(encoding="utf-8")
    named = set(re.findall(r"^  '([a-z_]+)',$", script, re.MULTILINE))
    # `fetch` is off until an operator switches it on.
    assert named == offered | {"fetch"}
