"""The memory page: one record or many are tended; what may not be done is not offered."""

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Memory, Visit
from tests.console.memory_page import at, at_row, by_key, held, row, rows

# ---- record actions


def test_a_pin_is_set_and_taken_off(page: Page, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    at(page)
    pin = row(page, "tests.redis").get_by_role("button", name="Pin")

    with page.expect_response(f"**/v1/records/{record['id']}/pin"):
        pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert held(memory, record["id"])["pinned"] is True
    with page.expect_response(f"**/v1/records/{record['id']}/pin"):
        pin.click()

    expect(pin).to_have_attribute("aria-pressed", "false")
    assert held(memory, record["id"])["pinned"] is False


def test_the_importance_is_set_from_0_to_100(page: Page, memory: Memory) -> None:
    at(page)
    row(page, "tests.redis").get_by_role("button", name="Importance 0").click()

    page.get_by_role("dialog").get_by_label("Exactly").fill("65")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()

    expect(row(page, "tests.redis").get_by_role("button", name="Importance 65")).to_be_attached()
    expect(row(page, "tests.redis")).to_contain_text("65")
    page.reload()
    expect(row(page, "tests.redis")).to_contain_text("65")
    assert by_key(memory, "tests.redis")["importance"] == 65


def test_a_deleted_memory_comes_back_by_undo(page: Page, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    at(page)
    row(page, "tests.redis").get_by_role("button", name="More to do").click()

    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(page, "tests.redis")).to_have_count(0)
    undo = page.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_be_visible()
    assert held(memory, record["id"])["state"] == "deleted"
    undo.click()

    expect(row(page, "tests.redis")).to_be_visible()
    assert held(memory, record["id"])["state"] == "live"


def test_a_reviewer_promotes_to_a_wider_scope_with_a_reason(page: Page, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    at(page)
    row(page, "tests.redis").get_by_role("button", name="More to do").click()
    page.get_by_role("button", name="Promote…").click()
    dialog = page.get_by_role("dialog", name="Promote")

    dialog.get_by_role("combobox", name="Into the scope").click()
    dialog.get_by_role("option", name=re.compile("global")).click()
    dialog.get_by_label("Reason").fill("all teams need it")
    dialog.get_by_role("button", name="Promote").click()

    expect(page.get_by_role("status").filter(has_text="Promoted.")).to_be_visible()
    expect(row(page, "tests.redis")).to_have_count(0)
    now = held(memory, record["id"])
    assert (now["scope"], now["visibility"], now["reason"]) == ("global", "shared", "all teams need it")


def test_a_demoted_memory_leaves_the_list_and_is_kept(page: Page, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    at(page)
    row(page, "tests.redis").get_by_role("button", name="More to do").click()
    page.get_by_role("button", name="Demote…").click()

    page.get_by_role("dialog", name="Demote").get_by_role("button", name="Demote").click()

    expect(row(page, "tests.redis")).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="Demoted.")).to_be_visible()
    assert held(memory, record["id"])["state"] == "demoted"


# ---- many at once


def test_many_are_selected_by_a_range_deleted_together_and_brought_back_by_one_undo(page: Page, memory: Memory) -> None:
    at(page)
    boxes = page.get_by_role("grid").get_by_role("checkbox")
    boxes.nth(1).click()
    boxes.nth(3).click(modifiers=["Shift"])
    expect(page.get_by_role("status").filter(has_text="3 selected")).to_be_visible()

    page.get_by_role("group", name="With the selected").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("3 memories deleted.")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    assert len(memory.records(scope="workspace:web")) == 2
    page.get_by_role("button", name="Undo", exact=True).click()

    expect(rows(page)).to_have_count(5)
    expect(page.get_by_text("Taken back.")).to_be_visible()
    assert len(memory.records(scope="workspace:web")) == 5


def test_all_that_are_loaded_are_pinned_at_once(page: Page, memory: Memory) -> None:
    at(page)

    page.get_by_role("checkbox", name="Select all that are loaded").click()
    page.get_by_role("group", name="With the selected").get_by_role("button", name="Pin", exact=True).click()

    expect(page.get_by_text("5 memories pinned.")).to_be_visible()
    assert all(one["pinned"] for one in memory.records(scope="workspace:web"))


@pytest.mark.allow_errors(412)
def test_of_many_those_that_fail_are_told_and_stay_selected(page: Page, memory: Memory) -> None:
    moved = by_key(memory, "tests.redis")
    at(page)
    page.get_by_role("checkbox", name="Select all that are loaded").click()
    memory.client.patch(f"/v1/records/{moved['id']}", json={"text": "Changed meanwhile."}).raise_for_status()

    page.get_by_role("group", name="With the selected").get_by_role("button", name="Delete").click()

    expect(page.get_by_role("alert").filter(has_text="1 failed")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="1 selected")).to_be_visible()
    assert [one["id"] for one in memory.records(scope="workspace:web")] == [moved["id"]]


# ---- by keyboard, as a reader, with hostile text


def test_everything_is_done_by_keyboard_alone(page: Page, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    at(page)
    at_row(page, "tests.redis")

    with page.expect_response(f"**/v1/records/{record['id']}/pin") as pinned:
        page.keyboard.press("p")
    # Nobody is as quick as this test: the page has to have read the answer, or it edits what stood before.
    pinned.value.finished()
    page.evaluate("() => new Promise((done) => setTimeout(done, 50))")
    page.keyboard.press("e")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Redis is gone.")
    with page.expect_response(f"**/v1/records/{record['id']}"):
        page.keyboard.press("Control+Enter")
    expect(row(page, "Redis is gone.")).to_be_visible()
    now = held(memory, record["id"])
    assert (now["text"], now["pinned"]) == ("Redis is gone.", True)
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("Shift+X")
    expect(page.get_by_role("status").filter(has_text="2 selected")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("#")
    expect(page.get_by_text("1 memory deleted.")).to_be_visible()
    page.keyboard.press("z")
    expect(row(page, "Redis is gone.")).to_be_visible()
    at_row(page, "Redis is gone.")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1, name=re.compile("Record"))).to_be_visible()
    assert page.url.endswith(f"#/record/{record['id']}")
    assert held(memory, record["id"])["state"] == "live"


def test_a_reader_is_offered_nothing_that_a_reader_may_not_do(visit: Visit, memory: Memory) -> None:
    page = at(visit(memory.key("reader")))
    page.get_by_role("grid").focus()
    for key in ("e", "p", "x", "#", "n"):
        page.keyboard.press(key)
    row(page, "release.day").get_by_role("button", name="More to do").click()

    expect(page.get_by_role("dialog").get_by_role("button", name="Open")).to_be_visible()
    for offered in ("Edit", "Delete", "Demote…", "Promote…", "Unpin", "New memory"):
        expect(page.get_by_role("button", name=offered, exact=True)).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)
    expect(page.get_by_role("form")).to_have_count(0)
    assert {one["version"] for one in memory.records(scope="workspace:web")} == {1}


@pytest.mark.allow_errors(403)
def test_a_writer_who_promotes_is_told_that_somebody_else_was_asked(visit: Visit, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    page = at(visit(memory.key("writer")))

    row(page, "tests.redis").get_by_role("button", name="More to do").click()
    page.get_by_role("button", name="Promote…").click()
    page.get_by_role("dialog").get_by_role("button", name="Promote").click()

    expect(page.get_by_role("status").filter(has_text="Reviewers were asked")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="did not work")).to_have_count(0)
    [entry] = memory.client.get("/v1/approvals", params={"state": "requested"}).json()["approvals"]
    assert (entry["approval"]["target"], entry["approval"]["actor"]) == (record["id"], "a writer")


@pytest.mark.allow_errors(404)
def test_a_memory_that_was_purged_meanwhile_is_put_back_and_the_refusal_told(page: Page, memory: Memory) -> None:
    record = by_key(memory, "tests.redis")
    at(page)
    memory.client.post("/v1/purge", json={"ids": [record["id"]]}).raise_for_status()

    row(page, "tests.redis").get_by_role("button", name="Pin").click()

    expect(page.get_by_role("alert")).to_be_visible()
    expect(row(page, "tests.redis").get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "false")
    assert memory.client.get(f"/v1/records/{record['id']}").status_code == httpx.codes.NOT_FOUND


def test_hostile_text_is_shown_as_text_and_breaks_no_layout(visit: Visit, memory: Memory) -> None:
    hostile = (
        "<img src=x onerror=alert(1)><script>alert(2)</script> \u202egnol\u202c \x1b[31mred\x1b[0m " + "W" * 100_000
    )
    memory.put(hostile, scope="workspace:web", key="hostile", pinned=True, importance=100)
    page = visit(memory.secret, size="narrow")

    at(page)

    expect(rows(page).first).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_a_screen_reader_stumbles_over_nothing_serious(
    visit: Visit, memory: Memory, axe: Callable[[Page], list[str]], size: str
) -> None:
    page = at(visit(memory.secret, size=size))
    at_row(page, "release.day")
    page.keyboard.press("x")
    page.keyboard.press("e")
    expect(page.get_by_role("form", name="Edit")).to_be_visible()

    found = axe(page)

    assert found == []
