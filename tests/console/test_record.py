"""A record's page: its whole life, and what can be done with it."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Language, Memory, Visit
from tests.console.shelf import filed


@pytest.fixture
def record(memory: Memory) -> dict[str, Any]:
    """One with three versions: the text was changed for a reason, then fields."""
    [first] = memory.records(key="release.day")
    where = f"/v1/records/{first['id']}"
    change = {"text": "Releases go out on Mondays, never on Fridays.", "reason": "the incident of May"}
    memory.client.patch(where, json=change).raise_for_status()
    return memory.client.patch(where, json={"tags": ["release"], "importance": 70}).raise_for_status().json()


def held(memory: Memory, id: str) -> dict[str, Any]:
    return memory.client.get(f"/v1/records/{id}").raise_for_status().json()


def at(page: Page, id: str) -> Page:
    page.goto(f"/#/record/{id}")
    expect(page.get_by_role("heading", level=2, name=re.compile("Versions"))).to_be_visible()
    return page


def version(page: Page, number: int) -> Locator:
    """What is told of a version, opened."""
    told = page.locator(".versions details").filter(has_text=f"v{number}")
    if told.get_attribute("open") is None:
        told.locator("summary").click()
    return told


def test_what_an_agent_learned_is_corrected_by_a_person_with_the_old_one_as_evidence(
    page: Page, memory: Memory
) -> None:
    body = {"text": "The team ships on Fridays", "scope": "workspace:web", "source": "auto", "kind": "fact"}
    old = memory.client.post("/v1/records", json=body).raise_for_status().json()["record"]
    at(page, old["id"])

    page.get_by_role("button", name="Correct…").click()
    dialog = page.get_by_role("dialog", name="Correct what was learned")
    expect(dialog.get_by_label("What is true")).to_have_value("The team ships on Fridays")
    dialog.get_by_label("What is true").fill("The team ships on Tuesdays")
    dialog.get_by_label("Reason").fill("asked Lena")
    dialog.get_by_role("button", name="Correct", exact=True).click()

    expect(page.get_by_text("Corrected.")).to_be_visible()
    expect(page.get_by_role("region", name="What it says")).to_contain_text("ships on Tuesdays")
    before = held(memory, old["id"])
    new = held(memory, before["superseded_by"])
    assert (before["state"], before["reason"]) == ("superseded", "asked Lena")
    assert (new["text"], new["source"], new["trust"]) == ("The team ships on Tuesdays", "manual", "system_generated")
    assert new["metadata"]["evidence"] == [old["id"]]


def test_what_a_person_wrote_is_edited_and_not_corrected(page: Page, record: dict[str, Any]) -> None:
    at(page, record["id"])

    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    expect(page.get_by_role("button", name="Correct…")).to_have_count(0)


def test_the_page_shows_the_text_and_every_field(page: Page, record: dict[str, Any]) -> None:
    at(page, record["id"])

    expect(page.get_by_role("heading", level=1)).to_have_text("Record release.day")
    expect(page.get_by_role("region", name="What it says")).to_contain_text("on Mondays, never on Fridays.")
    fields = page.get_by_role("complementary", name="All its fields")
    for told in (record["id"], "workspace:web", "note", "manual", "release", "70", "3"):
        expect(fields).to_contain_text(told)


MARKDOWN = """# Deploying

Ship with **make ship**, *never* on Fridays:

1. run `make test`
2. tag it

| step | who |
| --- | --- |
| tag | Ana |

<script>document.title = 1</script> [the page](https://example.com/ship) [not](javascript:alert(1))
"""


def test_markdown_is_shown_as_it_is_meant_and_as_it_was_written(
    page: Page, memory: Memory, shots: Callable[[Page, str], Any], axe: Callable[[Page], list[str]]
) -> None:
    noted = memory.put(MARKDOWN, scope="workspace:web")

    at(page, noted["id"])

    text = page.get_by_role("region", name="What it says")
    expect(text.get_by_role("heading", name="Deploying")).to_be_visible()
    assert text.locator("li").all_inner_texts() == ["run make test", "tag it"]
    expect(text.get_by_role("cell", name="Ana")).to_be_visible()
    expect(text).to_contain_text("<script>document.title = 1</script>")
    assert [link.get_attribute("href") for link in text.get_by_role("link").all()] == ["https://example.com/ship"]
    assert page.locator("main script").count() == 0
    assert axe(page) == []
    shots(page, "record-markdown")
    page.keyboard.press("w")
    expect(text).to_contain_text("# Deploying")
    expect(page.get_by_role("button", name="As written")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("w")
    expect(text.get_by_role("heading", name="Deploying")).to_be_visible()


def test_plain_text_has_only_one_way_to_be_shown(page: Page, record: dict[str, Any]) -> None:
    at(page, record["id"])

    expect(page.get_by_role("region", name="What it says")).to_contain_text("on Mondays")
    expect(page.get_by_role("button", name="As written")).to_have_count(0)


def test_each_version_says_what_was_changed_by_whom_and_why(page: Page, record: dict[str, Any]) -> None:
    at(page, record["id"])

    latest, second, first = (version(page, number) for number in (3, 2, 1))

    expect(latest.locator("ins").first).to_have_text("release")
    expect(latest).to_contain_text("Importance")
    expect(second.locator("del")).to_have_text("Tuesdays")
    expect(second.locator("ins")).to_have_text("Mondays")
    expect(second).to_contain_text("the incident of May")
    expect(second).to_contain_text(record["actor"])
    expect(first).to_contain_text("Releases go out on Tuesdays, never on Fridays.")


def test_going_back_to_a_version_writes_its_content_anew(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    at(page, record["id"])

    version(page, 1).get_by_role("button", name="Go back to version 1").click()

    expect(page.get_by_role("region", name="What it says")).to_contain_text("on Tuesdays")
    expect(page.locator(".versions details")).to_have_count(4)
    now = held(memory, record["id"])
    assert (now["text"], now["tags"], now["version"]) == ("Releases go out on Tuesdays, never on Fridays.", [], 4)
    assert now["reason"] == "back to version 1"


def test_the_last_change_is_taken_back(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    at(page, record["id"])

    page.get_by_role("button", name="Take the last change back").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("too early")
    page.get_by_role("dialog").get_by_role("button", name="OK").click()

    expect(page.locator(".versions summary").first).to_contain_text("restored from version 2")
    now = held(memory, record["id"])
    assert (now["importance"], now["restores"], now["reason"]) == (0, 2, "too early")


def test_a_turn_shows_what_was_said_around_it_and_leads_to_its_session(page: Page, memory: Memory) -> None:
    turns = [
        {"speaker": "ana", "text": f"Sentence {n}.", "at": f"2026-03-01T09:{n:02}:00Z", "message": f"m{n}"}
        for n in range(12)
    ]
    body = {"session": "chat-7", "scope": "agent:ana", "turns": turns}
    written = memory.client.post("/v1/turns", json=body).raise_for_status().json()["written"]
    at(page, written[6]["record"]["id"])

    around = page.get_by_role("complementary").get_by_role("listitem").filter(has_text="Sentence")
    expect(around).to_have_count(7)
    expect(around.filter(has_text="Sentence 6.")).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="All 12 turns of this session").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Conversation chat-7")
    expect(page.locator("li.turn").first).to_contain_text("Sentence 0.")
    expect(page.locator("li.turn[aria-current]")).to_contain_text("Sentence 6.")
    assert len(memory.records(session="chat-7")) == 12


def test_a_fact_leads_back_to_the_turn_and_the_file_that_told_it(page: Page, memory: Memory) -> None:
    turn = {"speaker": "ana", "text": "We moved to Lisbon.", "at": "2026-03-01T09:00:00Z", "message": "m1"}
    body = {"session": "chat-8", "scope": "agent:ana", "turns": [turn]}
    told = memory.client.post("/v1/turns", json=body).raise_for_status().json()["written"][0]["record"]
    fact = memory.put(
        "Ana lives in Lisbon.",
        scope="agent:ana",
        source="auto",
        session="chat-8",
        provenance={"message": "m1", "file": "notes/ana.md", "run": "r-9"},
    )
    at(page, fact["id"])
    origin = page.get_by_role("complementary")
    for where in ("notes/ana.md", "r-9", "m1"):
        expect(origin).to_contain_text(where)

    origin.get_by_role("listitem").filter(has_text="We moved to Lisbon.").get_by_role("link").click()

    expect(page.get_by_role("region", name="What it says")).to_have_text("We moved to Lisbon.")
    assert page.url.endswith(told["id"])


def test_what_was_superseded_and_what_took_its_place_lead_to_each_other(page: Page, memory: Memory) -> None:
    old = memory.put("The office is in Porto.", scope="workspace:web", key="office")
    where = f"/v1/records/{old['id']}/supersede"
    new = memory.client.post(where, json={"text": "The office is in Lisbon."}).raise_for_status().json()
    at(page, old["id"])

    page.get_by_role("complementary").get_by_role("link", name="office").click()
    expect(page.get_by_role("region", name="What it says")).to_have_text("The office is in Lisbon.")
    assert page.url.endswith(new["id"])
    page.get_by_role("complementary").get_by_role("link", name="The office is in Porto.").click()

    expect(page.get_by_role("region", name="What it says")).to_have_text("The office is in Porto.")
    assert held(memory, old["id"])["superseded_by"] == new["id"]


def test_the_audit_says_who_touched_it_and_the_recalls_where_it_was_found(
    page: Page, memory: Memory, record: dict[str, Any]
) -> None:
    memory.client.post("/v1/search", json={"text": "when do releases go out?", "run": "run-5"}).raise_for_status()

    at(page, record["id"])

    touched = page.get_by_role("region", name="Who touched it").get_by_role("row")
    expect(touched.filter(has_text="edited it")).to_have_count(2)
    expect(touched.filter(has_text="wrote it")).to_have_count(1)
    found = page.get_by_role("region", name="Where it was recalled").get_by_role("row").filter(has_text="run-5")
    expect(found).to_contain_text("no. 1")
    recalls = memory.client.get(f"/v1/records/{record['id']}/recalls").raise_for_status().json()["recalls"]
    assert [one["run"] for one in recalls] == ["run-5"]


def test_what_the_console_searched_for_is_no_recall(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    page.goto("/#/memory?q=releases+on+Mondays")
    expect(page.get_by_role("gridcell").filter(has_text="on Mondays").first).to_be_visible()
    page.goto("/#/recall?q=releases+on+Mondays")
    expect(page.locator(f".hit[data-id='{record['id']}']")).to_be_visible()
    expect(page.get_by_role("region", name="Text of the block")).to_contain_text("on Mondays")

    at(page, record["id"])

    expect(page.get_by_text("No search has found it yet.")).to_be_visible()
    assert memory.client.get(f"/v1/records/{record['id']}/recalls").raise_for_status().json()["searched"] == 0


def test_a_record_that_follows_a_file_says_where_the_file_was_recalled(
    operator_page: Page, operator: httpx.Client
) -> None:
    name, _ = filed(operator, word="Wombats")
    found = operator.post("/v1/search", json={"text": name, "limit": 1}).raise_for_status().json()
    operator.post("/v1/managed/recall", json={"query": name, "run": name}).raise_for_status()

    at(operator_page, found["hits"][0]["record"]["id"])

    told = operator_page.get_by_role("region", name="Where it was recalled").get_by_role("row").filter(has_text=name)
    expect(told).to_contain_text("recalled it from managed Markdown")
    expect(told).to_contain_text("no. 1")


def test_it_is_edited_pinned_and_weighed(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    at(page, record["id"])

    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Value").fill("Releases go out when they are ready.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="What it says")).to_have_text("Releases go out when they are ready.")
    page.get_by_role("button", name="Unpin").click()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    page.get_by_role("button", name="Importance 70").click()
    page.get_by_role("dialog").get_by_label("Exactly").fill("15")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()

    expect(page.get_by_role("button", name="Importance 15")).to_be_visible()
    now = held(memory, record["id"])
    assert (now["text"], now["pinned"], now["importance"]) == ("Releases go out when they are ready.", False, 15)


@pytest.mark.allow_errors(412)
def test_an_edit_that_came_too_late_keeps_what_was_typed(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    at(page, record["id"])
    page.keyboard.press("e")
    page.get_by_label("Value").fill("Mine.")
    memory.client.patch(f"/v1/records/{record['id']}", json={"text": "Theirs."}).raise_for_status()

    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="Somebody changed this")).to_contain_text("Theirs")
    expect(page.get_by_label("Value")).to_have_value("Mine.")
    page.get_by_role("button", name="Take theirs").click()

    expect(page.get_by_label("Value")).to_have_value("Theirs.")
    assert held(memory, record["id"])["text"] == "Theirs."


def test_it_is_deleted_and_brought_back_by_keyboard(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    at(page, record["id"])

    page.keyboard.press("#")
    expect(page.locator(".page-head").get_by_text("deleted", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    assert held(memory, record["id"])["state"] == "deleted"
    page.keyboard.press("z")
    page.get_by_role("dialog").get_by_label("Reason").press("Enter")

    expect(page.locator(".page-head").get_by_text("live", exact=True)).to_be_visible()
    assert held(memory, record["id"])["state"] == "live"
    page.keyboard.press("u")
    expect(page.get_by_role("grid")).to_be_visible()


def test_an_admin_purges_only_after_typing_what_is_asked(page: Page, memory: Memory, record: dict[str, Any]) -> None:
    at(page, record["id"])
    page.get_by_role("button", name="Purge…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(re.compile("To go on")).fill("no")
    dialog.get_by_role("button", name="Remove for good").click()
    expect(dialog).to_be_visible()
    assert held(memory, record["id"])["version"] == 3

    dialog.get_by_label(re.compile("To go on")).fill(record["id"][:8])
    dialog.get_by_role("button", name="Remove for good").click()

    expect(page.get_by_role("grid")).to_be_visible()
    expect(page.get_by_text("Removed for good.")).to_be_visible()
    assert memory.client.get(f"/v1/records/{record['id']}").status_code == httpx.codes.NOT_FOUND


def test_a_captured_record_says_that_it_is_read_only(page: Page, memory: Memory) -> None:
    [captured] = memory.records(source="auto")

    at(page, captured["id"])

    expect(page.get_by_text("its words are read-only")).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    expect(page.get_by_role("button", name="Pin")).to_be_visible()


def test_a_reader_sees_its_life_but_neither_its_audit_nor_anything_to_do(
    visit: Visit, memory: Memory, record: dict[str, Any]
) -> None:
    page = at(visit(memory.key("reader")), record["id"])

    expect(page.get_by_role("heading", name="Where it was recalled")).to_be_visible()
    expect(page.locator(".versions details")).to_have_count(3)
    expect(page.get_by_role("heading", name="Who touched it")).to_have_count(0)
    for offered in ("Edit", "Unpin", "Delete", "Demote…", "Promote…", "Purge…", "Take the last change back"):
        expect(page.get_by_role("button", name=offered)).to_have_count(0)
    version(page, 1)
    expect(page.get_by_role("button", name="Go back to version 1")).to_have_count(0)
    assert held(memory, record["id"])["version"] == 3


@pytest.mark.allow_errors(404)
def test_a_record_that_is_not_there_is_told_in_plain_words(page: Page, memory: Memory) -> None:
    missing = "01900000-0000-7000-8000-000000000000"

    page.goto(f"/#/record/{missing}")

    expect(page.get_by_role("alert")).to_contain_text("There is no such record.")
    expect(page.get_by_role("link", name="Back to the memory")).to_be_visible()
    assert memory.client.get(f"/v1/records/{missing}").status_code == httpx.codes.NOT_FOUND


def test_a_long_and_hostile_text_is_shown_as_text_in_a_box_of_its_own(visit: Visit, memory: Memory) -> None:
    text = "<script>alert(1)</script> \u202egnol \x1b[31m\n" + "W" * 100_000 + "\n" + "a line of it\n" * 20_000
    made = memory.put(text, scope="workspace:web", key="<b>key</b>")
    memory.client.patch(f"/v1/records/{made['id']}", json={"text": text + "<i>end</i>"}).raise_for_status()
    page = visit(memory.secret, size="narrow")

    at(page, made["id"])

    box = page.get_by_role("region", name="What it says")
    expect(box).to_contain_text("<script>alert(1)</script> U+202Egnol U+001B[31m")
    expect(version(page, 2).locator("ins").last).to_contain_text("<i>end</i>")
    assert page.locator("main script, main b, main i").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert box.evaluate("box => box.clientHeight") < 500


@pytest.mark.parametrize(("language", "label"), [("en", "Show all (2.1 MB)"), ("zh", "显示全部（2.1 MB）")])
def test_of_two_megabytes_the_start_is_shown_and_all_of_it_when_asked(
    visit: Visit, memory: Memory, language: Language, label: str
) -> None:
    text = "A sentence that is said again and again. " * 50_000 + "The end of it."
    made = memory.put(text, scope="workspace:web")
    page = visit(memory.secret, language=language)
    page.goto(f"/#/record/{made['id']}")
    box = page.locator(".whole")
    expect(box).to_contain_text("A sentence that is said again")
    assert box.evaluate("box => box.textContent.length") == 100_001

    page.locator(".text-part").get_by_role("button", name=label).press("Enter")

    expect(box).to_be_focused()
    expect(page.locator(".text-part").get_by_role("button")).to_have_count(0)
    assert box.evaluate("box => box.textContent") == text


def test_what_was_shown_whole_stays_so_while_the_record_is_tended(page: Page, memory: Memory) -> None:
    made = memory.put("word " * 30_000 + "end", scope="workspace:web")
    at(page, made["id"])
    page.locator(".text-part").get_by_role("button", name="Show all (150 kB)").click()
    box = page.get_by_role("region", name="What it says")
    expect(box).to_contain_text("word end")

    page.get_by_role("button", name="Pin", exact=True).click()

    expect(page.get_by_role("button", name="Unpin")).to_be_visible()
    expect(box).to_contain_text("word end")
    assert held(memory, made["id"])["pinned"]


def test_no_character_is_cut_in_two_where_a_text_is_cut(page: Page, memory: Memory) -> None:
    made = memory.put("a" + "😀" * 60_000, scope="workspace:web")

    at(page, made["id"])

    shown = page.get_by_role("region", name="What it says").evaluate("box => box.textContent")
    assert shown == "a" + "😀" * 49_999 + "…"


def test_a_large_difference_is_shown_in_part_and_all_of_it_when_asked(page: Page, memory: Memory) -> None:
    made = memory.put("before " * 30_000 + "end of the first", scope="workspace:web")
    body = {"text": "after " * 30_000 + "end of the second"}
    memory.client.patch(f"/v1/records/{made['id']}", json=body).raise_for_status()
    at(page, made["id"])
    for number, most in ((2, 40_100), (1, 20_001)):
        box = version(page, number).locator(".difference")
        expect(box).to_contain_text("before")
        assert box.evaluate("box => box.textContent.length") <= most

        version(page, number).get_by_role("button", name=re.compile("Show all")).click()

        expect(box).to_contain_text("end of the first")
        expect(box).to_be_focused()


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_a_screen_reader_stumbles_over_nothing_serious(
    visit: Visit, memory: Memory, record: dict[str, Any], axe: Callable[[Page], list[str]], size: str
) -> None:
    page = at(visit(memory.secret, size=size), record["id"])
    version(page, 2)
    expect(page.get_by_role("region", name="Who touched it")).to_be_visible()

    found = axe(page)

    assert found == []
