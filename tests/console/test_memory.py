"""The memory page: what is there is found and read, and written down."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Memory
from tests.console.memory_page import at, at_row, by_key, held, row, rows

# ---- looking


def test_the_scope_picker_searches_and_shows_the_records_of_one_scope_under_an_address_to_keep(
    page: Page, memory: Memory
) -> None:
    at(page, "#/memory")
    box = page.get_by_role("combobox", name="Scope")

    box.click()
    box.fill("ana")
    page.get_by_role("option", name=re.compile("agent:ana")).click()

    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Ana prefers short answers")
    expect(page.get_by_role("status").filter(has_text="1 memory")).to_be_visible()
    assert page.url.endswith("#/memory/agent%3Aana")
    assert len(memory.records(scope="agent:ana")) == 1


def test_pinned_and_important_ones_come_first_unless_another_order_is_chosen(page: Page, memory: Memory) -> None:
    at(page, "#/memory")
    expect(rows(page).nth(0)).to_contain_text("release.day")
    expect(rows(page).nth(1)).to_contain_text("Ana prefers")

    memory.put("Written last of all.", scope="workspace:web")
    page.get_by_label("Order").select_option("newest")

    expect(rows(page).first).to_contain_text("Written last of all.")


def test_a_row_tells_source_key_value_trust_importance_and_when(page: Page) -> None:
    found = row(at(page), "release.day")

    for told in ("manual", "Releases go out on Tuesdays", "system"):
        expect(found).to_contain_text(told)
    # The daemon is as old as this module's tests: less than a second where this one comes first.
    expect(found.get_by_role("time")).to_have_text(re.compile("now|sec|min"))
    expect(found.get_by_role("button", name="Importance 0")).to_be_attached()
    expect(found.locator("time")).to_have_attribute("title", re.compile(r"\d{4}"))


def test_filters_by_source_kind_pin_and_time_say_how_many_and_stay_in_the_address(page: Page) -> None:
    at(page)
    sources = page.get_by_role("group", name="Source")
    expect(sources.get_by_role("button", name=re.compile("auto 1"))).to_be_visible()

    sources.get_by_role("button", name=re.compile("auto 1")).click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("N+1 query")
    page.reload()
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Lift all filters").click()
    expect(rows(page)).to_have_count(5)
    page.get_by_label("Kind").select_option("fact")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Kind").select_option("")
    page.get_by_role("button", name="Pinned", exact=True).click()
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Pinned", exact=True).click()
    page.get_by_label("Time", exact=True).select_option("between")
    page.get_by_label("Until this day").fill("2020-01-01")

    expect(page.get_by_text("Nothing here fits.")).to_be_visible()
    assert "until=2020-01-01" in page.url


def test_deleted_and_demoted_ones_are_listed_under_their_state(page: Page, memory: Memory) -> None:
    gone = by_key(memory, "tests.redis")
    memory.client.delete(f"/v1/records/{gone['id']}").raise_for_status()
    at(page)
    expect(row(page, "Redis")).to_have_count(0)

    page.get_by_label("State").select_option("deleted")

    expect(rows(page)).to_have_count(1)
    expect(row(page, "Redis")).to_contain_text("deleted")


def test_where_no_memory_answers_the_list_says_so_and_shows_what_came_nearest_on_request(
    page: Page, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Path]]
) -> None:
    at(page)

    page.get_by_role("searchbox").fill("Which colour has the submarine of the choir?")

    expect(page.get_by_role("status").filter(has_text="No memory answers this.")).to_be_visible()
    expect(rows(page)).to_have_count(0)
    assert axe(page) == []
    shots(page, "memory-no-answer")
    page.get_by_role("button", name="Show what came nearest (5)").press("Enter")
    expect(rows(page)).to_have_count(5)
    expect(rows(page).first).to_contain_text("unlikely (")
    page.get_by_role("searchbox").fill("When do the releases go out?")
    expect(rows(page).first).to_contain_text("very likely (")
    assert rows(page).count() < len(memory.records(scope="workspace:web"))


def test_a_text_is_searched_by_meaning_best_first_and_escape_clears_it(page: Page) -> None:
    at(page)
    page.keyboard.press("/")

    page.keyboard.type("when do we release?")
    expect(page.get_by_role("status").filter(has_text="found, best first")).to_be_visible()
    expect(rows(page).first).to_contain_text("Releases go out on Tuesdays")
    expect(page).to_have_url(re.compile(r"q=when\+do\+we\+release"))
    page.keyboard.press("Escape")

    expect(page.get_by_role("status").filter(has_text="5 memories")).to_be_visible()
    assert "q=" not in page.url


def test_two_thousand_records_are_scrolled_with_a_few_dozen_rows_in_the_document(page: Page, memory: Memory) -> None:
    for part in range(2):
        notes = [{"text": f"Note {part}-{n:04}", "scope": "session:many"} for n in range(1000)]
        memory.client.post("/v1/records/bulk", json={"records": notes}).raise_for_status()
    at(page, "#/memory/session%3Amany?order=oldest")

    # Scrolled by the page itself, frame by frame: how many frames a portion takes to come is the machine's affair.
    page.get_by_role("grid").evaluate(
        "list => { const on = () => { list.scrollTop = list.scrollHeight; requestAnimationFrame(on); }; on(); }"
    )

    expect(row(page, "Note 1-0999")).to_be_visible()
    assert rows(page).count() < 60
    expect(page.get_by_role("status").filter(has_text="2,000 memories")).to_be_visible()


def test_what_others_change_waits_behind_a_quiet_button(page: Page, memory: Memory) -> None:
    with page.expect_response(lambda answer: "/v1/events" in answer.url):
        at(page)

    memory.put("Something new from elsewhere.", scope="workspace:web")
    waiting = page.get_by_role("button", name="1 change · show")
    expect(waiting).to_be_visible()
    expect(row(page, "from elsewhere")).to_have_count(0)
    waiting.click()

    expect(row(page, "from elsewhere")).to_be_visible()
    expect(waiting).to_be_hidden()


# ---- writing


def test_a_memory_is_written_in_a_row_of_its_own(page: Page, memory: Memory) -> None:
    at(page)
    page.get_by_role("button", name="New memory").click()
    form = page.get_by_role("form", name="New memory")

    form.get_by_label("Key").fill("release.owner")
    form.get_by_label("Value").fill("Bo owns the release.")
    form.get_by_label("Pin").check()
    form.get_by_label("Importance").fill("40")
    form.get_by_role("button", name="Save").click()

    expect(rows(page).first).to_contain_text("Bo owns the release.")
    expect(form).to_have_count(0)
    made = by_key(memory, "release.owner")
    assert (made["scope"], made["source"], made["pinned"], made["importance"]) == ("workspace:web", "manual", True, 40)


def test_where_no_scope_is_chosen_the_new_memory_asks_for_one(page: Page, memory: Memory) -> None:
    at(page, "#/memory")
    page.keyboard.press("n")
    form = page.get_by_role("form", name="New memory")
    form.get_by_label("Value").fill("Dee sits in Porto.")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("Choose the scope")

    box = form.get_by_role("combobox", name="Scope of the new memory")
    box.fill("user:dee")
    page.get_by_role("option", name=re.compile("user:dee")).click()
    form.get_by_role("button", name="Save").click()

    expect(row(page, "Dee sits in Porto.")).to_be_visible()
    assert [one["text"] for one in memory.records(scope="user:dee")] == ["Dee sits in Porto."]


@pytest.mark.allow_errors(409)
def test_a_key_that_is_taken_is_told_and_what_was_typed_stays(page: Page, memory: Memory) -> None:
    at(page)
    page.keyboard.press("n")
    form = page.get_by_role("form", name="New memory")
    form.get_by_label("Key").fill("release.day")
    form.get_by_label("Value").fill("Releases go out on Mondays.")

    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("release.day")
    expect(form.get_by_label("Value")).to_have_value("Releases go out on Mondays.")
    assert by_key(memory, "release.day")["version"] == 1
    form.get_by_role("button", name="Save as its next version").click()

    expect(row(page, "Releases go out on Mondays.")).to_be_visible()
    assert by_key(memory, "release.day")["version"] == 2


def test_a_memory_is_edited_where_it_stands_and_the_version_before_is_kept(page: Page, memory: Memory) -> None:
    at(page)
    at_row(page, "release.day").get_by_role("button", name="More to do").click()
    page.get_by_role("dialog").get_by_role("button", name="Edit").click()
    form = page.get_by_role("form", name="Edit")

    form.get_by_label("Value").fill("Releases go out on Wednesdays.")
    form.get_by_label("Reason").fill("the new plan")
    form.get_by_role("button", name="Save").click()

    expect(row(page, "Releases go out on Wednesdays.")).to_be_visible()
    now = by_key(memory, "release.day")
    assert (now["text"], now["version"], now["reason"]) == ("Releases go out on Wednesdays.", 2, "the new plan")


@pytest.mark.allow_errors(412)
def test_when_somebody_was_faster_theirs_is_shown_and_what_was_typed_is_kept(page: Page, memory: Memory) -> None:
    record = by_key(memory, "release.day")
    at(page)
    at_row(page, "release.day")
    page.keyboard.press("e")
    form = page.get_by_role("form", name="Edit")
    form.get_by_label("Value").fill("Mine: on Mondays.")
    memory.client.patch(f"/v1/records/{record['id']}", json={"text": "Theirs: on Sundays."}).raise_for_status()

    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("Theirs")
    expect(form.get_by_role("alert")).to_contain_text("Somebody changed this")
    expect(form.get_by_label("Value")).to_have_value("Mine: on Mondays.")
    assert held(memory, record["id"])["text"] == "Theirs: on Sundays."
    form.get_by_role("button", name="Save mine over it").click()

    expect(row(page, "Mine: on Mondays.")).to_be_visible()
    assert held(memory, record["id"])["version"] == 3


@pytest.mark.allow_errors(409)
def test_what_the_server_refuses_is_told_beside_the_form_and_nothing_typed_is_lost(page: Page, memory: Memory) -> None:
    at(page)
    at_row(page, "tests.redis")
    page.keyboard.press("e")
    form = page.get_by_role("form", name="Edit")
    form.get_by_label("Key").fill("release.day")
    form.get_by_label("Value").fill("Redis listens elsewhere.")

    form.get_by_role("button", name="Save").click()

    expect(form.get_by_role("alert")).to_contain_text("key")
    expect(form.get_by_label("Value")).to_have_value("Redis listens elsewhere.")
    assert by_key(memory, "tests.redis")["version"] == 1


def test_a_slip_on_another_row_does_not_lose_what_is_being_typed(page: Page, memory: Memory) -> None:
    at(page)
    page.keyboard.press("n")
    form = page.get_by_role("form", name="New memory")
    form.get_by_label("Value").fill("Half a sentence")

    row(page, "release.day").click()

    expect(form.get_by_label("Value")).to_be_focused()
    expect(form.get_by_label("Value")).to_have_value("Half a sentence")
    assert len(memory.records(scope="workspace:web")) == 5


def test_a_captured_memory_is_read_only_and_says_so(page: Page, memory: Memory) -> None:
    at(page)
    at_row(page, "N+1 query")

    page.keyboard.press("e")

    expect(page.get_by_role("status").filter(has_text="read-only")).to_be_visible()
    expect(page.get_by_role("form", name="Edit")).to_have_count(0)
    [captured] = memory.records(source="auto")
    assert captured["version"] == 1
