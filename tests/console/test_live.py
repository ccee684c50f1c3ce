"""Live, in the browser: what happens is on the page a moment later, and the line mends itself."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.console.conftest import Memory, Visit

from commonplace.testing.daemon import running_daemon


def opened(page: Page, query: str = "") -> Page:
    page.goto(f"/#/live{query}")
    expect(page.get_by_text("Listening")).to_be_visible()
    return page


def test_what_is_written_elsewhere_shows_up_and_leads_to_its_record(page: Page, memory: Memory) -> None:
    opened(page)

    made = memory.put("The kettle is descaled in spring.", scope="workspace:web")

    row = page.get_by_role("list", name="Events").get_by_role("listitem").filter(has_text="record.created")
    expect(row).to_contain_text("workspace:web")
    row.get_by_role("link").click()
    expect(page.get_by_text("The kettle is descaled in spring.").first).to_be_visible()
    assert page.url.endswith(f"#/record/{made['id']}")


def test_a_filter_keeps_other_scopes_and_kinds_out(page: Page, memory: Memory) -> None:
    opened(page, "?scope=agent:ana")

    memory.put("Not for this page.", scope="workspace:web")
    memory.put("Ana likes tea.", scope="agent:ana")

    events = page.get_by_role("list", name="Events")
    expect(events).to_contain_text("agent:ana")
    expect(events).not_to_contain_text("workspace:web")


def test_whoever_pauses_misses_nothing(page: Page, memory: Memory) -> None:
    opened(page).get_by_role("button", name="Pause").click()

    for number in range(3):
        memory.put(f"Thing {number}", scope="workspace:web")

    resume = page.get_by_role("button", name="Resume (3 waiting)")
    expect(page.get_by_role("list", name="Events")).not_to_contain_text("record.created")
    resume.click()
    expect(page.get_by_text("record.created")).to_have_count(3)


def test_a_burst_leaves_the_page_quick_and_no_more_rows_than_are_kept(page: Page, memory: Memory) -> None:
    opened(page)

    memory.client.post("/v1/records/bulk", json={"records": [{"text": f"Thing {n}"} for n in range(900)]})

    rows = page.get_by_role("list", name="Events").get_by_role("listitem")
    expect(rows).to_have_count(500)
    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_class("quiet")


def test_a_task_is_followed_to_its_end(page: Page, memory: Memory) -> None:
    opened(page)

    body = {"scope": "workspace:web", "files": [{"path": "tea.md", "text": "# Tea\n\nGreen, at eighty degrees."}]}
    memory.client.post("/v1/import/files", json=body).raise_for_status()

    expect(page.locator(".task").filter(has_text="import")).to_contain_text("is done")
    assert memory.client.get("/v1/tasks", params={"kind": "import"}).json()["tasks"][0]["state"] == "done"


def test_the_audit_tells_who_did_what_and_can_be_narrowed(page: Page, memory: Memory) -> None:
    memory.put("Somebody wrote this.", scope="workspace:web")
    opened(page)
    table = page.get_by_role("region", name="Audit").get_by_role("table")
    expect(table).to_contain_text("record.put")

    page.get_by_label("Action", exact=True).fill("key.create")

    expect(table).not_to_contain_text("record.put")
    expect(table).to_contain_text("key.create")
    assert memory.client.get("/v1/audit", params={"action": "key.create"}).json()["rows"]


def test_the_audit_can_be_taken_home(page: Page, memory: Memory) -> None:
    opened(page)

    with page.expect_download() as begun:
        page.get_by_role("link", name="Export", exact=True).click()

    text = begun.value.path().read_text(encoding="utf-8")
    assert memory.tenant in text


def test_a_reader_hears_events_and_is_told_whom_the_audit_is_for(visit: Visit, memory: Memory) -> None:
    page = opened(visit(memory.key("reader")))

    expect(page.get_by_text("The audit is for reviewers.")).to_be_visible()
    expect(page.get_by_role("table")).to_have_count(0)


# ---- a line that breaks


@pytest.fixture
def port(tmp_path: Path) -> tuple[Path, int]:
    """A home whose daemon was up, and the port that it had."""
    home = tmp_path / "home"
    with running_daemon(home, patience=50.0) as daemon:
        found = int(daemon.url.rpartition(":")[2])
    return home, found


@pytest.mark.allow_errors
def test_the_page_says_that_the_line_is_lost_and_goes_on_where_it_was(browser: Browser, port: tuple[Path, int]) -> None:
    home, number = port
    context = browser.new_context(base_url=f"http://127.0.0.1:{number}", locale="en-GB")
    try:
        with running_daemon(home, "--port", str(number), patience=50.0) as daemon, daemon.client() as client:
            assert context.request.post("/v1/sign-in", data={"key": daemon.token}).ok
            page = context.new_page()
            opened(page)
            client.post("/v1/records", json={"text": "Before", "scope": "user:before"}).raise_for_status()
            expect(page.get_by_text("user:before")).to_be_visible()
        expect(page.get_by_text("The line was lost.")).to_be_visible()

        with running_daemon(home, "--port", str(number), patience=50.0) as daemon, daemon.client() as client:
            client.post("/v1/records", json={"text": "After", "scope": "user:after"}).raise_for_status()

            expect(page.get_by_text("Listening again")).to_be_visible(timeout=20_000)
            expect(page.get_by_text("user:after")).to_be_visible()
    finally:
        context.close()
