"""Runs and artifacts, in the browser: a turn as a timeline, made again from its journal, and the files it left."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.console.chat_page import begun, call, folder_of, played
from tests.console.conftest import MODEL, Memory, Visit

from commonplace.testing.vendor import Vendor, stream

HOSTILE = "<img src=x onerror=alert(1)>.md"


def say(memory: Memory, session: str, text: str, model: str | None = None) -> str:
    """The run of a turn that has ended, and learned what there was."""
    said = memory.client.post(f"/v1/sessions/{session}/turns", json={"text": text, "model": model}).raise_for_status()
    after = {"Last-Event-ID": str(said.json()["last_event"])}
    with memory.client.stream("GET", f"/v1/sessions/{session}/events", headers=after) as heard:
        for line in heard.iter_lines():
            if line == "event: permission_asked":
                [waiting] = memory.client.get(f"/v1/sessions/{session}/permissions").json()["permissions"]
                memory.client.post(f"/v1/sessions/{session}/permissions/{waiting['id']}", json={"choice": "allow_once"})
            if line in ("event: memory_learned", "event: turn_failed"):
                break
    return said.json()["run"]


@pytest.fixture
def run(memory: Memory, vendor: Vendor, tmp_path: Path) -> str:
    write = call("write_file", path="notes.md", content="Tuesday\n")
    played(vendor, stream(calls=(write,)), stream("On **Tuesdays**. I wrote it down."))
    return say(memory, begun(memory, folder=folder_of(tmp_path)), "When do the releases go out?", MODEL)


def test_a_run_tells_its_story_from_the_question_to_what_was_learned(page: Page, run: str) -> None:
    page.goto("/#/runs")
    row = page.get_by_role("row").filter(has_text="When do the releases go out?")
    expect(row).to_contain_text("completed")
    expect(row).to_contain_text("openai:small")
    expect(row).to_contain_text("$0.000114")

    row.get_by_role("link").click()

    steps = page.get_by_role("list", name="Timeline").locator("> li")
    expect(steps.get_by_role("heading", level=3)).to_have_text(
        ["Question", "Recalled", "Block as it was sent", "Permission", "Tool", "Reply", "End", "Learned"]
    )
    expect(steps.nth(1)).to_contain_text("Releases go out on Tuesdays, never on Fridays.")
    expect(steps.nth(1)).to_contain_text("likely")
    steps.nth(2).get_by_text("Show the block").click()
    expect(steps.nth(2)).to_contain_text("<memory_context>")
    expect(steps.nth(3)).to_contain_text("Allowed once: by")
    expect(steps.nth(5).locator("strong")).to_have_text("Tuesdays")
    expect(steps.nth(6)).to_contain_text("100 tokens in, 14 out · $0.000114")
    steps.nth(0).get_by_text("Raw event").click()
    expect(steps.nth(0)).to_contain_text('"type": "session_run_started"')
    page.get_by_role("link", name="Its session").click()
    expect(page.locator("li.turn")).to_have_count(1)


def test_it_is_made_again_without_drift_and_as_it_was_in_the_past(page: Page, memory: Memory, run: str) -> None:
    page.goto(f"/#/runs/{run}?tab=replay")

    page.get_by_role("button", name="Replay it").click()

    outcome = page.locator(".replay")
    expect(outcome).to_contain_text("no drift")
    expect(outcome).to_contain_text("completed")
    page.get_by_label("Up to event").fill("1")
    page.get_by_role("button", name="Replay it").click()
    expect(outcome).to_contain_text("running")
    page.get_by_role("button", name="Keep a checkpoint").click()
    expect(page.locator("main")).to_contain_text("After the events")
    assert len(memory.client.get(f"/v1/runs/{run}/checkpoints").json()["checkpoints"]) == 1
    page.get_by_role("tab", name="Blackboard").click()
    expect(page.locator("main")).to_contain_text("Nothing stands on the blackboard")


def test_a_file_of_a_run_is_downloaded_promoted_and_deleted(page: Page, memory: Memory, run: str) -> None:
    made = memory.client.post(
        "/v1/artifacts", params={"name": HOSTILE, "run": run, "type": "text/markdown"}, content=b"Ship on Tuesdays."
    ).raise_for_status()
    page.goto(f"/#/runs/{run}?tab=artifacts")
    row = page.get_by_role("list", name="Artifacts").get_by_role("listitem")
    expect(row).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0

    with page.expect_download() as fetched:
        row.get_by_role("link", name="Download").click()
    row.get_by_role("button", name="Promote").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").fill("workspace:web")
    dialog.get_by_role("combobox").press("Enter")
    expect(dialog.get_by_role("combobox")).not_to_be_focused()
    dialog.get_by_label("Key").fill("ship.day")
    dialog.get_by_role("button", name="Promote").click()

    expect(row.get_by_role("link", name="Its memory")).to_be_visible()
    assert fetched.value.path().read_bytes() == b"Ship on Tuesdays."
    record = memory.client.get(f"/v1/artifacts/{made.json()['id']}").json()["record"]
    assert memory.client.get(f"/v1/records/{record}").json()["key"] == "ship.day"
    page.get_by_label("Add a file").set_input_files({"name": "more.txt", "mimeType": "text/plain", "buffer": b"More."})
    expect(page.get_by_role("listitem").filter(has_text="more.txt")).to_be_visible()
    page.get_by_role("listitem").filter(has_text="more.txt").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("listitem").filter(has_text="more.txt")).to_have_count(0)


@pytest.mark.allow_errors(404)
def test_nobody_sees_somebody_elses_runs_and_files(visit: Visit, memory: Memory) -> None:
    run = say(memory, begun(memory), "What is my secret?")
    memory.client.post("/v1/artifacts", params={"name": "secret.txt"}, content=b"Secret.").raise_for_status()
    page = visit(memory.key("writer"))

    page.goto("/#/runs")

    expect(page.locator("main")).to_contain_text("Nothing has run yet")
    page.get_by_role("tab", name="Artifacts").click()
    expect(page.locator("main")).to_contain_text("There is no file yet")
    page.goto(f"/#/runs/{run}")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("secret")


def test_a_run_that_fails_says_why(page: Page, memory: Memory, vendor: Vendor) -> None:
    played(vendor, stream())
    vendor.replies = [type(vendor.replies[0])(status=400, body={"error": {"message": "no"}})]
    run = say(memory, begun(memory), "Break.", MODEL)

    page.goto("/#/runs?status=failed")

    expect(page.get_by_role("row").filter(has_text="Break.")).to_contain_text("failed")
    page.goto(f"/#/runs/{run}")
    expect(page.locator(".step-end .problem")).to_be_visible()
