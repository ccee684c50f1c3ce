"""A session as a conversation: who said what and when, in order, day by day, a page at a time."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Visit

SHOP = "workspace:shop"
TURNS = [
    ("ana", "When do we ship?", "2026-03-05T16:58:00Z"),
    ("coder", "On **Fridays**:\n\n- first the tests\n- then `make ship`", "2026-03-05T16:59:00Z"),
    ("ana", "<img src=x onerror=alert(1)> and tomorrow?", "2026-03-06T09:00:00Z"),
]


def say(memory: Memory, turns: list[tuple[str, str, str]], session: str = "standup-7") -> None:
    told = [{"speaker": speaker, "text": text, "at": at} for speaker, text, at in turns]
    body = {"session": session, "scope": SHOP, "turns": told}
    memory.client.post("/v1/turns", json=body).raise_for_status()


def turns(page: Page) -> Locator:
    return page.locator("li.turn")


def test_it_reads_as_a_conversation_with_speakers_times_and_days(page: Page, memory: Memory) -> None:
    say(memory, TURNS)

    page.goto("/#/session/standup-7?scope=workspace%3Ashop")

    expect(turns(page)).to_have_count(3)
    assert page.locator(".day h2").all_inner_texts() == ["5 Mar 2026", "6 Mar 2026"]
    assert turns(page).locator(".row strong").all_inner_texts() == ["ana", "coder", "ana"]
    assert turns(page).locator("time").all_inner_texts() == ["16:58", "16:59", "09:00"]
    assert turns(page).nth(1).locator(".markdown li").all_inner_texts() == ["first the tests", "then make ship"]
    expect(turns(page).nth(2)).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("main img").count() == 0
    expect(page.get_by_role("status").filter(has_text="3 turns")).to_contain_text("ana, coder")


def test_a_long_one_comes_a_page_at_a_time_and_a_turn_in_it_is_found(page: Page, memory: Memory) -> None:
    minutes = [
        (("ana", "coder")[n % 2], f"Line {n}", f"2026-03-05T{8 + n // 60:02}:{n % 60:02}:00Z") for n in range(250)
    ]
    say(memory, minutes)
    [late] = [one for one in memory.records(session="standup-7", limit="1000") if one["text"] == "Line 170"]
    page.goto("/#/session/standup-7")
    expect(turns(page)).to_have_count(100)

    page.get_by_role("button", name="Go on reading").click()
    expect(turns(page)).to_have_count(200)
    expect(turns(page).nth(100).get_by_role("link")).to_be_focused()
    page.goto(f"/#/record/{late['id']}")
    page.get_by_role("link", name=re.compile("turns of this session")).click()

    here = page.locator("li.turn[aria-current]")
    expect(here).to_contain_text("Line 170")
    expect(here).to_be_in_viewport()
    expect(turns(page)).to_have_count(200)


def test_the_list_of_a_session_leads_to_it_and_the_keyboard_reads_on(page: Page, memory: Memory) -> None:
    say(memory, TURNS)
    page.goto("/#/memory/workspace%3Ashop?session=standup-7")

    page.get_by_role("link", name="Read as a conversation").click()

    expect(turns(page)).to_have_count(3)
    page.keyboard.press("j")
    expect(turns(page).nth(0).get_by_role("link")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="What it says")).to_contain_text("then make ship")


def test_one_that_is_not_there_says_so(page: Page) -> None:
    page.goto("/#/session/nobody")

    expect(page.get_by_text("Nobody said anything in this session")).to_be_visible()


def test_it_speaks_chinese_and_fits_a_phone(
    visit: Visit, memory: Memory, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Path]]
) -> None:
    say(memory, TURNS)
    page = visit(memory.secret, language="zh")

    page.goto("/#/session/standup-7")

    expect(page.get_by_role("heading", level=1)).to_contain_text("对话")
    expect(page.get_by_role("heading", level=2).first).to_have_text("2026年3月5日")
    expect(turns(page)).to_have_count(3)
    assert axe(page) == []
    shots(page, "session-talk-zh")
    page.set_viewport_size({"width": 380, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
