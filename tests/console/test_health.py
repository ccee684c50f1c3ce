"""Health, in the browser: pictures whose figures are the server's, and the charts' own arithmetic."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import SEED, Memory, Visit


def opened(page: Page) -> Page:
    page.goto("/#/health")
    expect(page.locator(".page-health[data-ready]")).to_be_visible()
    return page


def figures(page: Page, name: str) -> list[list[str]]:
    """The cells of the table behind a picture."""
    table = page.get_by_role("table", name=re.compile(name))
    rows: Any = table.evaluate("(one) => [...one.rows].map((row) => [...row.cells].map((cell) => cell.textContent))")
    return rows


def card(page: Page, heading: str) -> Locator:
    return page.locator("section.card").filter(has=page.get_by_role("heading", name=heading))


def test_the_figures_are_those_of_the_server(page: Page, memory: Memory) -> None:
    opened(page)

    stats = memory.client.get("/v1/stats").json()
    tiles: Any = page.locator(".tile").evaluate_all(
        "(all) => Object.fromEntries(all.map((one) => [one.querySelector('dt').textContent, one.querySelector('dd').textContent]))"
    )
    assert tiles["live records"] == str(stats["live"])
    assert tiles["passages searched"] == str(stats["passages"])
    expect(page.get_by_text(f"Store {stats['store']}, schema {stats['schema']}")).to_be_visible()


def test_records_over_time_are_stacked_by_source(page: Page, memory: Memory) -> None:
    opened(page)

    by_source = {
        one["by"]["source"]: one["records"]
        for one in memory.client.get("/v1/counts", params={"by": "source"}).json()["counts"]
    }
    head, *rows = figures(page, "by the day they were made")
    drawn = {name: sum(int(row[at]) for row in rows) for at, name in enumerate(head) if at}
    assert drawn == by_source
    expect(card(page, "Records over time").locator("rect.drawn")).to_have_count(len(by_source))


def test_a_scope_in_the_picture_leads_to_its_records(page: Page) -> None:
    opened(page)

    page.get_by_role("table", name="Records by scope").get_by_role("link", name="agent:ana").click()

    expect(page.get_by_text("Ana prefers short answers")).to_be_visible()


def test_latency_is_shown_once_something_was_recalled(page: Page, memory: Memory) -> None:
    memory.client.post("/v1/search", json={"text": "when do we release?"}).raise_for_status()
    opened(page)

    count = memory.client.get("/v1/latency").json()["count"]
    assert count >= 1
    expect(page.get_by_text(re.compile(r"recalls in the last hour: half within")).first).to_be_visible()


def test_an_empty_memory_says_so(visit: Visit, memory: Memory) -> None:
    page = opened(visit(memory.key("reader", "agent:nobody")))

    expect(page.get_by_text("There are no records yet.")).to_have_count(3)


def test_an_admin_looks_for_faults(page: Page) -> None:
    opened(page)

    page.get_by_role("button", name="Look for faults").click()

    expect(page.locator(".finding").first).to_be_visible()


def test_an_admin_sets_a_rule_and_lifts_it(page: Page, memory: Memory) -> None:
    opened(page)
    page.get_by_role("button", name="Set a rule").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Scope").fill("session")
    asked.get_by_label("Days to keep").fill("90")
    asked.get_by_role("button", name="Save").click()

    expect(page.get_by_text("90 days")).to_be_visible()
    assert memory.client.get("/v1/rules").json()["rules"] == [
        {"scope": "session", "max_age": 7776000.0, "max_records": None}
    ]
    page.get_by_role("button", name="Lift").click()
    page.get_by_role("dialog").get_by_role("button", name="OK").click()
    expect(page.get_by_text("Everything is kept")).to_be_visible()
    assert memory.client.get("/v1/rules").json()["rules"] == []


@pytest.mark.allow_errors(400)
def test_a_rule_that_is_refused_says_why_and_keeps_what_was_typed(page: Page, memory: Memory) -> None:
    opened(page)
    page.get_by_role("button", name="Set a rule").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Scope").fill("nonsense")
    asked.get_by_label("Most records").fill("5")
    asked.get_by_role("button", name="Save").click()

    expect(asked.get_by_role("alert")).to_be_visible()
    expect(asked.get_by_label("Scope")).to_have_value("nonsense")
    assert memory.client.get("/v1/rules").json()["rules"] == []


def test_a_reader_is_not_offered_what_admins_do(visit: Visit, memory: Memory) -> None:
    page = opened(visit(memory.key("reader")))

    expect(page.get_by_role("button", name="Look for faults")).to_have_count(0)
    expect(page.get_by_text(str(len(SEED))).first).to_be_visible()


# ---- the charts' own arithmetic


def chart(page: Page, call: str) -> Any:
    page.goto("/")
    base = page.locator("script[type=module]").get_attribute("src") or ""
    source = base.replace("app.js", "parts/chart.js")
    return page.evaluate(f"async (source) => {{ const chart = await import(source); return {call}; }}", source)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, [0, 1]), (1, [0, 1]), (7, [0, 2, 4, 6, 8]), (100, [0, 25, 50, 75, 100]), (1_000_001, None)],
)
def test_steps_are_round_and_reach_the_greatest(page: Page, most: int, expected: list[int] | None) -> None:
    steps = chart(page, f"chart.ticks({most})")

    assert expected is None or steps == expected
    assert steps[0] == 0
    assert steps[-1] >= most
    assert len(steps) <= 7


def test_a_day_without_anything_has_its_column(page: Page) -> None:
    counts = "[{day:'2026-03-01',name:'a',records:2},{day:'2026-03-04',name:'b',records:1}]"

    made = chart(page, f"chart.columns({counts}, {{today: '2026-03-05'}})")

    assert made["days"] == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"]
    assert [one["values"] for one in made["series"]] == [[2, 0, 0, 0, 0], [0, 0, 0, 1, 0]]


def test_a_long_time_is_shown_by_weeks_and_nothing_is_left_out(page: Page) -> None:
    counts = (
        "Array.from({length: 400}, (_, at) => "
        "({day: new Date(Date.UTC(2025, 0, 1 + at)).toISOString().slice(0, 10), name: `s${at % 11}`, records: 1}))"
    )

    made = chart(page, f"chart.columns({counts}, {{today: '2026-02-04'}})")

    assert made["step"] == 7
    assert len(made["days"]) == 58
    assert len(made["series"]) == 8
    assert sum(sum(one["values"]) for one in made["series"]) == 400
