"""Schedules in the browser: seen with their times, run, switched, paused, removed."""

from playwright.sync_api import Page, expect
from tests.console.chat_page import begun
from tests.console.conftest import Memory, Visit


def scheduled(memory: Memory, **fields: str) -> str:
    """The id of a new schedule, in a session of its own."""
    body = {"target": f"session:{begun(memory)}", "cron": "0 9 * * 1-5", "prompt": "list my notes", **fields}
    return memory.client.post("/v1/schedules", json=body).raise_for_status().json()["id"]


def test_a_schedule_is_run_disabled_enabled_and_removed(page: Page, memory: Memory) -> None:
    id = scheduled(memory, label="Notes")
    page.goto("/#/schedules")
    card = page.locator(".schedule-list li")
    expect(card).to_contain_text("every weekday at 09:00 (UTC)")
    expect(card).to_contain_text("Next:")

    card.get_by_role("button", name="Run now").click()

    expect(card).to_contain_text("Answered")
    card.get_by_role("button", name="Disable").click()
    expect(card.locator(".badge")).to_have_text("disabled")
    card.get_by_role("button", name="Enable").click()
    expect(card.locator(".badge")).to_have_text("enabled")
    card.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("main")).to_contain_text("Nothing is scheduled")
    assert memory.client.get(f"/v1/schedules/{id}").status_code == 404


def test_all_are_paused_and_go_on(page: Page, memory: Memory) -> None:
    scheduled(memory)
    page.goto("/#/schedules")

    page.get_by_role("button", name="Pause all").click()

    expect(page.locator("main")).to_contain_text("All schedules are paused")
    expect(page.locator(".schedule-list .badge")).to_have_text("paused")
    page.get_by_role("button", name="Resume all").click()
    expect(page.locator(".schedule-list .badge")).to_have_text("enabled")


def test_a_reader_looks_and_changes_nothing(visit: Visit, memory: Memory) -> None:
    scheduled(memory)
    page = visit(memory.key("reader"))
    page.goto("/#/schedules")

    expect(page.locator("main")).to_contain_text("Nothing is scheduled")
    expect(page.get_by_role("button", name="Pause all")).to_have_count(0)
