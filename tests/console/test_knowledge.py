"""Findings in the browser: where they are, how fresh, and what each role may do with them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Visit
from tests.console.test_review import decide, rows

ENDED = re.compile("That is all|No finding fits|No run has")


def opened(page: Page, query: str = "") -> Page:
    page.goto(f"/#/knowledge{query}")
    expect(page.locator("[data-page=knowledge][data-ready=true]")).to_be_visible()
    expect(page.locator(".endless-note")).to_have_text(ENDED)
    return page


def finding(memory: Memory, title: str, project: str = "web", *, days: float | None = None, status: str = "") -> str:
    """A finding of a project, fresh for so many days from now, with a status: its id."""
    client = memory.client
    space = client.post("/v1/knowledge/spaces", json={"scope": "project", "project": project}).json()["id"]
    body: dict[str, Any] = {"space": space, "title": title, "task_family": "research", "subject": title}
    if days is not None:
        body["freshness_expires_at"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    id = client.post("/v1/knowledge/items", json=body).raise_for_status().json()["id"]
    if status == "promoted":
        client.post(f"/v1/knowledge/items/{id}/promote", json={}).raise_for_status()
    return id


def item(memory: Memory, id: str) -> dict[str, Any]:
    return memory.client.get(f"/v1/knowledge/items/{id}").raise_for_status().json()


def detail(page: Page) -> Locator:
    return page.get_by_role("region", name="What is open")


def buttons(page: Page) -> list[str]:
    return [re.sub(r"\s*[afr]$", "", text) for text in detail(page).locator(".review-deeds button").all_inner_texts()]


# ---- looking


def test_findings_say_their_space_status_freshness_and_when_they_were_last_seen(page: Page, memory: Memory) -> None:
    finding(memory, "VAT is 23 % in Portugal", days=-1, status="promoted")
    finding(memory, "VAT is 20 % in Austria", "shop", days=30)

    opened(page)

    expect(rows(page)).to_have_count(2)
    old = rows(page).filter(has_text="Portugal")
    expect(old.get_by_text("out of date")).to_be_visible()
    expect(old.get_by_text("promoted")).to_be_visible()
    expect(rows(page).filter(has_text="Austria").get_by_text("fresh", exact=True)).to_be_visible()
    old.click()
    expect(detail(page).locator("dl")).to_contain_text("Last seen")
    expect(detail(page).locator("dl")).to_contain_text("Promoted by")
    expect(detail(page).locator("dl")).to_contain_text("web / general")


def test_space_status_and_freshness_narrow_the_list_and_stand_in_the_address(page: Page, memory: Memory) -> None:
    finding(memory, "VAT is 23 % in Portugal", days=-1, status="promoted")
    finding(memory, "VAT is 20 % in Austria", "shop", days=30)
    opened(page)

    page.get_by_label("Freshness").select_option("stale")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Portugal")
    expect(page).to_have_url(re.compile(r"#/knowledge\?fresh=stale$"))
    page.get_by_label("Freshness").select_option("")
    page.get_by_label("Space", exact=True).select_option(label="shop / general")

    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Austria")
    expect(page.get_by_text("for whoever reaches workspace:shop")).to_be_visible()
    page.get_by_label("Status").select_option("promoted")
    expect(page.get_by_text("No finding fits.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Status")).to_have_value("promoted")


def test_whether_a_run_would_build_on_it_is_answered_in_words(page: Page, memory: Memory) -> None:
    finding(memory, "VAT rates", status="promoted")
    opened(page).get_by_text("Is it known already?").click()

    page.get_by_label("About what").fill("release days")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("Nothing that a run may build on is known")).to_be_visible()
    page.get_by_label("About what").fill("VAT rates")
    page.get_by_label("Project").fill("web")
    page.get_by_label("Kind of task").fill("research")
    page.get_by_role("button", name="Check").click()

    expect(page.get_by_text("a run builds on what is promoted")).to_be_visible()
    expect(page.locator(".preflight-outcome li")).to_contain_text("VAT rates")


# ---- refresh, promote, give up, remove


def test_a_finding_that_still_holds_is_fresh_again_until_the_chosen_day(page: Page, memory: Memory) -> None:
    id = finding(memory, "VAT is 23 % in Portugal", days=-1, status="promoted")
    before = item(memory, id)
    opened(page, "?fresh=stale").get_by_role("button", name="Refresh").click()

    page.get_by_role("dialog").get_by_label("Fresh until").fill("2099-03-01")
    decide(page, "Refresh", "checked against the law")

    expect(page.get_by_text("Confirmed.")).to_be_visible()
    expect(page.get_by_text("No finding fits.")).to_be_visible()
    after = item(memory, id)
    assert (after["status"], after["freshness_expires_at"][:10]) == ("promoted", "2099-03-01")
    assert after["last_seen_at"] > before["last_seen_at"]


def test_without_a_day_it_is_fresh_for_as_long_again(page: Page, memory: Memory) -> None:
    id = finding(memory, "VAT is 20 % in Austria", days=1)
    before = item(memory, id)["freshness_expires_at"]
    opened(page).keyboard.press("f")

    decide(page, "Refresh", "still true")

    expect(page.get_by_text("Confirmed.")).to_be_visible()
    assert item(memory, id)["freshness_expires_at"] > before


def test_a_promoted_finding_is_confirmed_in_the_review_too(page: Page, memory: Memory) -> None:
    id = finding(memory, "VAT is 23 % in Portugal", days=-1, status="promoted")
    page.goto("/#/review/knowledge?status=promoted")
    expect(rows(page).get_by_text("out of date")).to_be_visible()
    page.get_by_role("button", name="Refresh").click()
    page.get_by_role("dialog").get_by_label("Fresh until").fill("2099-03-01")

    decide(page, "Refresh", "checked")

    expect(rows(page).get_by_text("fresh", exact=True)).to_be_visible()
    assert item(memory, id)["freshness_expires_at"].startswith("2099")


def test_a_finding_goes_from_working_to_promoted_to_given_up_to_removed(page: Page, memory: Memory) -> None:
    id = finding(memory, "VAT is 23 % in Portugal")
    opened(page).keyboard.press("a")
    decide(page, "Promote", "read the law")
    expect(rows(page).get_by_text("promoted")).to_be_visible()
    promoted = item(memory, id)["status"]
    page.get_by_role("button", name="Give up").click()
    decide(page, "Give up", "repealed")
    expect(rows(page).get_by_text("given up")).to_be_visible()
    given_up = item(memory, id)["status"]

    page.get_by_role("button", name="Remove").click()
    asked = page.get_by_role("dialog")
    asked.get_by_role("button", name="Remove").click()
    expect(asked.get_by_label("I am sure")).to_be_focused()
    asked.get_by_label("I am sure").check()
    asked.get_by_role("button", name="Remove").click()

    expect(page.get_by_text("No run has recorded a finding yet.")).to_be_visible()
    assert (promoted, given_up) == ("promoted", "deprecated")
    assert memory.client.get(f"/v1/knowledge/items/{id}").status_code == 404


# ---- who may


@pytest.mark.parametrize(
    ("role", "offered"),
    [("reader", []), ("writer", ["Promote"]), ("reviewer", ["Promote", "Refresh", "Give up"])],
)
def test_each_role_is_offered_what_it_may_do(visit: Visit, memory: Memory, role: Any, offered: list[str]) -> None:
    finding(memory, "VAT is 23 % in Portugal")

    page = opened(visit(memory.key(role)))

    expect(detail(page).get_by_role("heading", name="VAT is 23 % in Portugal")).to_be_visible()
    assert buttons(page) == offered
    expect(page.get_by_role("checkbox")).to_have_count(2 if offered else 0)


@pytest.mark.allow_errors(403)
def test_a_writer_who_promotes_asks_a_reviewer_who_finds_it_among_the_approvals(visit: Visit, memory: Memory) -> None:
    writer = memory.key("writer")
    headers = {"Authorization": f"Bearer {writer}"}
    with httpx.Client(base_url=memory.url, headers=headers, timeout=10.0) as ana:
        space = ana.post("/v1/knowledge/spaces", json={"scope": "project", "project": "web"}).json()["id"]
        body = {"space": space, "title": "VAT is 23 % in Portugal", "subject": "VAT"}
        ana.post("/v1/knowledge/items", json=body).raise_for_status()
    page = opened(visit(writer))
    page.keyboard.press("a")
    asked = page.get_by_role("dialog")
    asked.get_by_label("Reason").fill("read the law")
    asked.get_by_role("button", name="Promote").click()
    expect(asked.get_by_role("alert")).to_contain_text("Reviewers were asked")

    other = visit(memory.key("reviewer"))
    other.goto("/#/review/requests")

    expect(other.get_by_role("region", name="What is open")).to_contain_text("VAT is 23 % in Portugal")


def test_what_is_out_of_reach_is_not_listed(visit: Visit, memory: Memory) -> None:
    finding(memory, "VAT is 23 % in Portugal", "shop")
    finding(memory, "VAT is 20 % in Austria", "web")

    page = opened(visit(memory.key("reviewer", "workspace:web")))

    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Space", exact=True).get_by_role("option")).to_have_text(["All spaces", "web / general"])


# ---- looking at it


def test_the_knowledge_has_no_serious_barrier_and_fits_a_narrow_window(
    page: Page,
    visit: Visit,
    memory: Memory,
    axe: Callable[[Page], list[str]],
    shots: Callable[[Page, str], list[Any]],
    shot: Callable[[Page, str], Any],
) -> None:
    finding(memory, "VAT is 23 % in Portugal", days=-1, status="promoted")
    finding(memory, "VAT is 20 % in Austria", "shop", days=30)
    opened(page).get_by_text("Is it known already?").click()

    barriers = axe(page)
    shots(page, "knowledge")
    page.set_viewport_size({"width": 380, "height": 760})
    width = page.evaluate("document.documentElement.scrollWidth")
    chinese = visit(memory.secret, language="zh")
    chinese.goto("/#/knowledge")
    expect(rows(chinese)).to_have_count(2)
    shot(chinese, "knowledge-zh")

    assert (barriers, width <= 380) == ([], True)
