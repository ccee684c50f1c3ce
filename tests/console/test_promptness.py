"""How soon the console asks, which answer counts, and what is to be seen until it is there. Nothing here is about wall time."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect
from tests.console.conftest import Memory, Visit
from tests.console.memory_page import WEB, at, by_key, row, rows

SEARCH = "**/v1/search"
# Whatever waits for a timer waits for good.
NO_TIMERS = "() => { globalThis.setTimeout = () => 0; }"


class Kept:
    """Requests that are held back until they are let go, and all that were made."""

    def __init__(self, page: Page, url: str | re.Pattern[str], *, hold: int) -> None:
        self.asked: list[Any] = []
        self._hold = hold
        self._held: list[Route] = []
        page.route(url, self._come)

    def _come(self, route: Route) -> None:
        self.asked.append(route.request.post_data_json if route.request.method == "POST" else route.request.url)
        if len(self.asked) <= self._hold:
            self._held.append(route)
        else:
            route.continue_()

    def let_go(self) -> None:
        for route in self._held:
            route.continue_()
        self._held.clear()


def question_of(request: Request) -> str:
    asked: Any = request.post_data_json
    return asked["text"]


def search_box(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search")


def typed_at_once(page: Page, letters: str) -> None:
    """Every letter an event of its own, with no time between them."""
    search_box(page).evaluate(
        """(box, letters) => {
          for (let n = 1; n <= letters.length; n += 1) {
            box.value = letters.slice(0, n);
            box.dispatchEvent(new Event('input', { bubbles: true }));
          }
        }""",
        letters,
    )


def found(page: Page, told: str) -> Locator:
    return page.get_by_role("status").filter(has_text=told)


# ---- a question that is typed


def test_one_letter_is_asked_for_at_once(page: Page) -> None:
    at(page)
    page.evaluate(NO_TIMERS)

    with page.expect_request(SEARCH) as asked:
        search_box(page).press("r")

    assert question_of(asked.value) == "r"
    expect(found(page, "No memory answers this.")).to_be_visible()


def test_ten_letters_typed_fast_are_two_questions_the_first_letter_and_all_of_them(page: Page) -> None:
    at(page)
    kept = Kept(page, SEARCH, hold=0)

    typed_at_once(page, "staging db")
    expect(rows(page).first).to_contain_text("The staging database")
    expect(page).to_have_url(re.compile(r"q=staging\+db$"))

    assert [one["text"] for one in kept.asked] == ["s", "staging db"]


def test_an_answer_that_comes_late_never_overwrites_a_newer_one(page: Page) -> None:
    at(page)
    kept = Kept(page, SEARCH, hold=1)
    given_up: list[str] = []
    page.on("requestfailed", lambda request: given_up.append(question_of(request)))

    typed_at_once(page, "redis")
    expect(rows(page).first).to_contain_text("Integration tests need Redis")
    kept.let_go()
    page.evaluate("() => fetch('/v1/sign-in').then((answer) => answer.text())")

    assert [one["text"] for one in kept.asked] == ["r", "redis"]
    assert given_up == ["r"]
    expect(rows(page).first).to_contain_text("Integration tests need Redis")


def test_what_is_to_be_seen_stays_out_of_reach_until_there_is_something_else(page: Page, memory: Memory) -> None:
    at(page)
    kept = Kept(page, SEARCH, hold=1)

    search_box(page).fill("redis")
    expect(page.get_by_role("grid")).to_have_attribute("aria-busy", "true")
    expect(page.locator(".endless-row")).to_have_count(5)
    page.get_by_role("grid").focus()
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    kept.let_go()

    expect(found(page, "found, best first")).to_be_visible()
    expect(page.get_by_role("grid")).not_to_have_attribute("aria-busy", "true")
    assert "#/memory/" in page.url
    assert [one["version"] for one in memory.records(scope="workspace:web")] == [1] * 5


def test_a_search_brings_the_first_fifty_and_more_when_somebody_looks_further(page: Page, memory: Memory) -> None:
    many = [{"text": f"Lighthouse number {n} stands on a rock.", "scope": "workspace:many"} for n in range(70)]
    memory.client.post("/v1/records/bulk", json={"records": many}).raise_for_status()
    at(page, "#/memory/workspace%3Amany")
    kept = Kept(page, SEARCH, hold=0)

    search_box(page).fill("lighthouse")
    expect(found(page, "50+ found")).to_be_visible()
    assert [one["limit"] for one in kept.asked] == [50]
    page.get_by_role("grid").focus()
    page.keyboard.press("End")

    expect(found(page, "70 found")).to_be_visible()
    assert [one["limit"] for one in kept.asked] == [50, 200]


def test_a_scope_is_looked_for_with_its_first_letter(page: Page) -> None:
    at(page, "#/memory")
    box = page.get_by_role("combobox", name="Scope")
    box.click()
    expect(page.get_by_role("option", name="All scopes")).to_be_visible()
    page.evaluate(NO_TIMERS)

    page.keyboard.press("h")

    expect(page.get_by_role("option", name=re.compile("workspace:handbook"))).to_be_visible()
    expect(page.get_by_role("option", name=re.compile("agent:ana"))).to_have_count(0)


# ---- a record that is opened


def test_a_record_of_the_list_is_shown_and_all_its_parts_asked_for_before_the_server_has_answered(page: Page) -> None:
    at(page)
    kept = Kept(page, re.compile(r"/v1/(records|audit)[/?]"), hold=9)

    row(page, "release.day").click()

    expect(page.get_by_role("region", name="What it says")).to_contain_text("Releases go out on Tuesdays")
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    asked = {re.sub(r"\?.*", "", one).rpartition("/")[2] for one in kept.asked}
    assert asked == {"versions", "recalls", "records", "audit"}
    kept.let_go()
    expect(page.locator(".page-record")).to_have_attribute("data-ready", "true")


def test_what_somebody_changed_since_the_list_was_loaded_is_shown_as_it_is(page: Page, memory: Memory) -> None:
    record = by_key(memory, "release.day")
    at(page)
    memory.client.patch(f"/v1/records/{record['id']}", json={"text": "Releases go out on Mondays."}).raise_for_status()

    row(page, "Releases go out on Tuesdays").click()

    expect(page.get_by_role("region", name="What it says")).to_have_text("Releases go out on Mondays.")
    expect(page.locator(".versions > li")).to_have_count(2)


@pytest.mark.allow_errors(404)
def test_a_record_that_was_purged_since_the_list_was_loaded_is_told_in_plain_words(page: Page, memory: Memory) -> None:
    record = by_key(memory, "release.day")
    at(page)
    memory.client.post("/v1/purge", json={"ids": [record["id"]]}).raise_for_status()

    row(page, "release.day").click()

    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.get_by_role("link", name="Back to the memory")).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    expect(page.locator(".toast")).to_have_count(0)


# ---- what is asked for beside it


def test_the_rows_are_asked_for_first_and_what_is_being_counted_is_not_counted_once_more(
    visit: Visit, memory: Memory
) -> None:
    page = visit(memory.secret)
    everything: list[str] = []
    page.on("request", lambda request: everything.append(request.url))
    # How many wait for a reviewer is a question of its own, asked after the rows.
    kept = Kept(page, re.compile(r"/v1/(records|counts)\?(?!.*tag=quarantined)"), hold=1)
    page.goto(f"/{WEB}")
    expect(page.get_by_role("heading", level=1, name="Memory")).to_be_visible()
    assert "/v1/records?" in kept.asked[0]
    assert len(kept.asked) == 1
    assert "/v1/records?" in next(one for one in everything if re.search(r"/v1/(records|counts|approvals)\?", one))
    assert not any("/v1/approvals?" in one for one in everything[: everything.index(kept.asked[0])])

    kept.let_go()
    expect(found(page, "5 memories")).to_be_visible()
    page.get_by_role("group", name="Source").get_by_role("button", name=re.compile("auto 1")).click()
    expect(rows(page)).to_have_count(1)

    assert sum("/v1/counts?" in one for one in kept.asked) == 1


def test_when_nobody_does_anything_the_other_pages_are_fetched(page: Page) -> None:
    asked: list[str] = []
    with page.expect_response("**/pages/recall.js"):
        at(page)
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))

    page.get_by_role("link", name="Keys").click()
    expect(page.get_by_role("heading", level=1, name="Keys")).to_be_visible()

    assert not {"keys.js", "keys.css"} & set(asked)


def test_a_page_is_fetched_only_for_whom_it_is(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reader"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append("/".join(request.url.rsplit("/", 2)[1:])))

    with page.expect_response("**/pages/recall.js"):
        page.goto("/")

    assert "pages/health.js" in asked
    assert not {"pages/keys.js", "pages/review.js"} & set(asked)


def test_whoever_comes_back_to_the_scopes_at_once_finds_them_open(page: Page) -> None:
    box = page.get_by_role("combobox", name="Scope")
    box.click()
    expect(page.get_by_role("option", name="All scopes")).to_be_visible()

    box.evaluate("box => { box.blur(); box.focus(); }")
    page.wait_for_timeout(300)

    expect(page.get_by_role("option", name="All scopes")).to_be_visible()
