"""The recall lab in a browser: what an agent would get and why; weights that are turned and not kept."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Language, Memory, Visit

QUESTION = "When do the releases go out?"
GIVEN = "What an agent would get"
BELOW = "Just below the cut"
UNLIKELY = "Less likely to answer it"
NONSENSE = "Which colour has the submarine of the choir?"


def _search(memory: Memory, **more: Any) -> list[dict[str, Any]]:
    body = {"text": QUESTION, "limit": 18, **more}
    return memory.client.post("/v1/search", json=body).raise_for_status().json()["hits"]


def _ids(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["record"]["id"] for hit in hits]


def _split(hits: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Those that answer, and the others."""
    return _ids([hit for hit in hits if hit["relevant"]]), _ids([hit for hit in hits if not hit["relevant"]])


def _more_releases(memory: Memory) -> None:
    for team, day in (("billing", "Mondays"), ("search", "Wednesdays"), ("mobile", "Thursdays")):
        memory.put(f"The releases of the {team} team go out on {day}.", scope="workspace:web")


def _ask(page: Page, question: str = QUESTION) -> None:
    page.goto("/#/recall")
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Ask").click()


def _items(page: Page, name: str = GIVEN) -> Locator:
    return page.get_by_role("list", name=name, exact=True).locator("> li")


def _shown(page: Page, name: str = GIVEN) -> list[str | None]:
    return [one.get_attribute("data-id") for one in _items(page, name).all()]


def _add_scope(page: Page, scope: str) -> None:
    box = page.get_by_role("combobox", name="Add a scope")
    box.fill(scope)
    page.get_by_role("option", name=scope).click()


def test_a_question_shows_what_an_agent_would_get_and_why_and_changes_nothing(page: Page, memory: Memory) -> None:
    before = memory.records()

    _ask(page)

    wanted = _search(memory)
    answers, others = _split(wanted)
    expect(_items(page)).to_have_count(len(answers))
    assert (_shown(page), _shown(page, UNLIKELY)) == (answers, others)
    first = _items(page).first
    expect(first).to_contain_text(f"very likely ({wanted[0]['relevance']:.0%}".replace("%", " %"))
    expect(first).to_contain_text(f"Score {wanted[0]['score']:.2f}")
    expect(first.get_by_text(f"words +{wanted[0]['why']['parts']['words']:.2f}")).to_be_visible()
    expect(first.locator("mark").first).to_have_text("Releases")
    assert memory.records() == before


def test_where_no_memory_answers_it_says_so_and_shows_what_came_nearest_on_request(
    page: Page, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Path]]
) -> None:
    _ask(page, NONSENSE)

    expect(page.get_by_text("No memory answers this.")).to_be_visible()
    expect(page.get_by_text("Nothing is recalled, so the block is empty.")).to_be_visible()
    hits = _search(memory, text=NONSENSE)
    assert hits
    assert not any(hit["relevant"] for hit in hits)
    expect(_items(page)).to_have_count(0)
    expect(_items(page, UNLIKELY)).to_have_count(0)
    assert axe(page) == []
    shots(page, "recall-no-answer")
    page.get_by_text(f"Show what came nearest ({len(hits)})").click()
    expect(_items(page, UNLIKELY)).to_have_count(len(hits))
    expect(_items(page, UNLIKELY).first).to_contain_text("unlikely (")


def test_what_was_just_below_the_cut_stands_below_a_line(page: Page, memory: Memory) -> None:
    _more_releases(memory)
    _ask(page)

    page.get_by_label("Hits").fill("2")
    page.get_by_label("Hits").press("Enter")

    expect(_items(page)).to_have_count(2)
    expect(page.get_by_role("heading", name="The cut: 2 hits")).to_be_visible()
    assert [*_shown(page), *_shown(page, BELOW)] == _split(_search(memory, limit=10))[0]


def test_a_weight_that_is_turned_moves_the_hits_and_is_kept_nowhere(page: Page, memory: Memory) -> None:
    memory.put("Releases go out, releases go out: when they are ready.", scope="workspace:web", key="release.chatter")
    _ask(page)
    usual = _split(_search(memory))
    expect(_items(page)).to_have_count(len(usual[0]))
    turned = _split(_search(memory, weights={"words": 0, "importance": 2}))
    assert turned != usual

    page.get_by_label("Words", exact=True).press("Home")
    page.get_by_label("Importance", exact=True).press("End")

    expect(page.get_by_role("heading", name=re.compile(r"[1-9]\d* moved"))).to_be_visible()
    expect(_items(page, UNLIKELY).first).to_have_attribute("data-id", turned[1][0])
    assert (_shown(page), _shown(page, UNLIKELY)) == turned
    expect(page.get_by_text(re.compile(r"^up \d+$")).first).to_be_attached()
    assert _split(_search(memory)) == usual
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("heading", name=re.compile("moved"))).to_have_count(0)
    assert (_shown(page), _shown(page, UNLIKELY)) == usual


def test_the_context_block_is_the_one_that_agents_get_within_the_budget(page: Page, memory: Memory) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _ask(page)
    block = page.get_by_role("region", name="Text of the block")
    expect(block).to_contain_text("<memory_context>")

    page.get_by_label("Budget in tokens").press("Home")

    small = memory.client.post("/v1/context", json={"query": QUESTION, "budget": 50}).raise_for_status().json()
    expect(page.get_by_text(f"{small['tokens']} of 50 tokens")).to_be_visible()
    page.get_by_label("Budget in tokens").press("End")
    whole = memory.client.post("/v1/context", json={"query": QUESTION, "budget": 8000}).raise_for_status().json()
    expect(page.get_by_text(f"{whole['tokens']} of 8,000 tokens")).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == whole["text"]


def test_scopes_and_options_narrow_the_question_and_stay_in_the_address(page: Page, memory: Memory) -> None:
    _ask(page)

    _add_scope(page, "workspace:web")
    _add_scope(page, "global")
    page.get_by_label("Look by").select_option("words")

    wanted, _ = _split(_search(memory, scopes=["workspace:web", "global"], mode="words"))
    expect(_items(page)).to_have_count(len(wanted))
    assert _shown(page) == wanted
    page.reload()
    expect(_items(page)).to_have_count(len(wanted))
    expect(page.get_by_label("Question")).to_have_value(QUESTION)
    page.get_by_role("button", name="Leave out workspace:web").click()
    expect(_items(page)).to_have_count(0)
    assert not any(hit["relevant"] for hit in _search(memory, scopes=["global"], mode="words"))


def test_the_memory_can_be_asked_as_it_stood(page: Page, memory: Memory) -> None:
    _ask(page)
    expect(_items(page).first).to_be_visible()

    page.get_by_label("As it stood at").fill("2020-01-01T00:00")

    expect(page.get_by_text("The memory has no answer")).to_be_visible()
    assert _search(memory, as_of="2020-01-01T00:00:00Z") == []


def test_an_example_asks_itself(page: Page, memory: Memory) -> None:
    page.goto("/#/recall")

    page.get_by_role("button", name="How does Ana like her answers?").click()

    hits = _search(memory, text="How does Ana like her answers?")
    expect(_items(page).first).to_have_attribute("data-id", hits[0]["record"]["id"])


def test_the_keyboard_alone_asks_turns_and_opens(page: Page, memory: Memory) -> None:
    expect(page.get_by_role("navigation")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_label("Question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(_items(page).first).to_be_visible()

    page.get_by_label("Pin", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("button", name="Reset")).to_be_enabled()
    first = _search(memory, weights={"pin": 0.45})[0]["record"]["id"]
    expect(_items(page).first).to_have_attribute("data-id", first)
    _items(page).first.get_by_role("link").focus()
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(f"#/record/{first}"))


def test_a_reader_of_one_scope_gets_what_is_in_it(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reader", "agent:ana"))
    page.goto("/")

    _ask(page, "How does Ana like her answers?")

    expect(_items(page)).to_have_count(1)
    assert [one["scope"] for one in memory.records() if one["id"] in _shown(page)] == ["agent:ana"]


@pytest.mark.allow_errors(403)
def test_what_is_refused_is_told_and_the_question_stays(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reader", "agent:ana"))

    page.goto("/#/recall?q=release&scope=workspace:web")

    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.get_by_label("Question")).to_have_value("release")
    expect(page.get_by_role("button", name="Leave out workspace:web")).to_be_visible()


def test_stored_text_is_text_whatever_it_looks_like(page: Page, memory: Memory) -> None:
    nasty = '<img src=x onerror="document.title=1"> releases \u202e go out ' + "x" * 100_000
    held = memory.put(nasty, scope="workspace:web")

    _ask(page)

    item = page.locator(f"[data-id='{held['id']}']")
    expect(item).to_contain_text("<img src=x")
    expect(item).to_contain_text("U+202E")
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_fit_for_a_screen_reader_and_for_a_phone(
    page: Page, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Path]]
) -> None:
    _more_releases(memory)
    _ask(page)
    page.get_by_label("Hits").fill("2")
    page.get_by_label("Pin", exact=True).press("Home")
    expect(page.get_by_role("list", name=BELOW)).to_be_visible()

    assert axe(page) == []
    shots(page, "recall-en")
    page.set_viewport_size({"width": 380, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_speaks_chinese(visit: Visit, memory: Memory, shots: Callable[[Page, str], list[Path]]) -> None:
    page = visit(memory.secret, language="zh")

    page.goto("/#/recall?q=什么时候发布")

    expect(page.get_by_role("list", name="智能体会得到的内容").locator("> li").first).to_contain_text("发布")
    expect(page.locator("mark", has_text="发布").first).to_be_visible()
    assert _search(memory, text="什么时候发布")[0]["record"]["key"] == "release.zh"
    shots(page, "recall-zh")


@pytest.mark.parametrize(
    ("language", "same", "otherwise"),
    [
        ("en", "1 more memory says the same:", "Another memory says otherwise:"),
        ("zh", "另有 1 条记忆内容相同：", "有 1 条记忆与此矛盾："),
    ],
)
def test_a_hit_leads_to_what_says_the_same_and_to_what_says_otherwise(
    visit: Visit, memory: Memory, language: Language, same: str, otherwise: str
) -> None:
    texts = (
        "The harbour office opens at 9:00",
        "The harbour office opens at 9:00!",
        "The harbour office opens at 11:00",
    )
    ids = [memory.put(text, scope="workspace:web")["id"] for text in texts]
    page = visit(memory.secret, language=language)

    page.goto("/#/recall?q=When+does+the+harbour+office+open")

    hit = page.locator(f".hit[data-id='{ids[0]}'], .hit[data-id='{ids[1]}']")
    expect(hit.locator(".evidence")).to_contain_text(same)
    expect(hit.locator(".contradicted")).to_contain_text(otherwise)
    expect(hit.locator(".contradicted a")).to_have_attribute("href", re.compile(ids[2]))
