"""Chat, in the browser: an agent that streams, works, asks, is stopped, and shows what it recalled."""

from collections.abc import Callable
from pathlib import Path
from threading import Semaphore

import pytest
from playwright.sync_api import Page, Request, expect
from tests.console.chat_page import RELEASE, begun, call, folder_of, opened, played, say, turns
from tests.console.conftest import Memory, Visit

from commonplace.testing.vendor import Vendor, stream


def test_the_librarian_answers_and_beside_it_stands_what_was_recalled_and_why(page: Page, memory: Memory) -> None:
    opened(page)
    expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()

    say(page, RELEASE)

    turn = turns(page).first
    expect(turn.locator(".reply")).to_contain_text("Releases go out on Tuesdays")
    beside = turn.get_by_role("complementary", name="What it recalled and learned")
    row = beside.get_by_role("listitem").filter(has_text="Releases go out on Tuesdays")
    expect(row).to_contain_text("likely")
    expect(row).to_contain_text("workspace:web")
    expect(row).to_contain_text("same words")
    [record] = [one for one in memory.records(scope="workspace:web") if "Tuesdays" in one["text"]]
    assert row.get_by_role("link").get_attribute("href") == f"#/record/{record['id']}"
    expect(turn.get_by_text("librarian")).to_be_visible()
    expect(page.locator(".chat-title")).to_contain_text(RELEASE)
    expect(page.get_by_label("What you say")).to_have_value("")
    # What the session itself said is no news: no row of the second turn is one of the first.
    say(page, "And who owns the invoices service?")
    second = turns(page).nth(1)
    expect(second.locator(".reply")).to_contain_text("billing team")
    expect(second.locator(".beside")).not_to_contain_text("When do the releases")


def test_the_text_comes_piece_by_piece_and_a_reload_misses_nothing(page: Page, vendor: Vendor) -> None:
    gate = Semaphore(0)
    played(vendor, stream("One **bold", "** word, ", "then more.", thought="Let me see.", gate=gate))
    opened(page, model=True)

    say(page, "Say something slowly, please.")

    turn = turns(page).first
    expect(turn.locator("summary")).to_have_text("Its thoughts")
    gate.release()
    expect(turn.locator(".reply")).to_contain_text("One **bold")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    gate.release()
    expect(turn.locator(".reply strong")).to_have_text("bold")
    expect(turn.locator(".reply")).not_to_contain_text("more")
    page.reload()
    expect(turn.locator(".reply")).to_have_text("One bold word, ")
    gate.release(10)
    expect(turn.locator(".reply")).to_have_text("One bold word, then more.")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(turn).to_contain_text("openai:small · 50 tokens in, 7 out")
    turn.get_by_text("Its thoughts").click()
    expect(turn.locator("details")).to_contain_text("Let me see.")


def test_a_change_is_asked_for_with_its_diff_and_done_when_it_is_allowed(
    page: Page, memory: Memory, vendor: Vendor, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, notes_md="We ship on Mondays\n")
    write = call("write_file", path="notes.md", content="We ship on Fridays\n")
    played(vendor, stream("I write it down. ", calls=(write,)), stream("It is written."))
    opened(page, begun(memory, folder=folder), model=True)

    say(page, "Write down that we ship on Fridays.")

    asked = page.locator(".permission[data-state=asked]")
    expect(asked).to_contain_text("Write notes.md")
    expect(asked.locator("ins")).to_have_text("+We ship on Fridays")
    expect(asked.locator("del")).to_have_text("-We ship on Mondays")
    names = asked.locator(".permission-answers").get_by_role("button").all_inner_texts()
    assert names == ["Allow once", "Allow in this session", "Always allow here", "Deny"]
    assert (Path(folder) / "notes.md").read_text(encoding="utf-8") == "We ship on Mondays\n"
    asked.get_by_role("button", name="Allow once").click()
    expect(page.locator(".reply").last).to_have_text("It is written.")
    expect(page.locator(".permission")).to_contain_text("Allowed once: Write notes.md")
    assert (Path(folder) / "notes.md").read_text(encoding="utf-8") == "We ship on Fridays\n"
    tool = page.locator("details.tool")
    expect(tool.locator("summary")).to_have_text("doneWrite notes.md +1 −1")
    tool.locator("summary").click()
    expect(tool.locator(".patch ins")).to_have_text("+We ship on Fridays")
    expect(tool.locator("dl")).to_contain_text("notes.md")


def test_what_is_denied_is_not_done_and_the_model_is_told(
    page: Page, memory: Memory, vendor: Vendor, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path)
    played(vendor, stream(calls=(call("write_file", path="here.md", content="x"),)), stream("Then not."))
    opened(page, begun(memory, folder=folder), model=True)

    say(page, "Make a file.")
    page.get_by_role("button", name="Deny").click()

    expect(page.locator(".reply")).to_have_text("Then not.")
    expect(page.locator(".permission")).to_contain_text("Denied:")
    expect(page.locator("details.tool summary")).to_contain_text("failed")
    assert not (Path(folder) / "here.md").exists()


def test_escape_stops_what_was_said_stays_and_the_next_question_is_answered(page: Page, vendor: Vendor) -> None:
    played(vendor, stream("I will go on for", " ever", hang=True))
    opened(page, model=True)
    say(page, "Tell me a long story.")
    expect(page.locator(".reply")).to_have_text("I will go on for ever")

    page.keyboard.press("Escape")

    turn = turns(page).first
    expect(turn).to_contain_text("Stopped.")
    expect(turn.locator(".reply")).to_have_text("I will go on for ever")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    played(vendor, stream("Here I am."))
    say(page, "Are you there?")
    expect(turns(page).nth(1).locator(".reply")).to_have_text("Here I am.")


def test_what_is_said_meanwhile_waits_its_turn_and_can_be_taken_back(page: Page, vendor: Vendor) -> None:
    gate = Semaphore(0)
    played(vendor, stream("First", " answer.", gate=gate), stream("Second answer."))
    opened(page, model=True)
    say(page, "One.")
    expect(turns(page).first.locator(".reply")).to_have_text("First")
    say(page, "Two.")
    say(page, "Three.")
    expect(page.get_by_text("waits for its turn")).to_have_count(2)

    turns(page).nth(2).get_by_role("button", name="Take back").click()

    expect(turns(page)).to_have_count(2)
    expect(page.get_by_label("What you say")).to_have_value("Three.")
    page.get_by_label("What you say").fill("")
    gate.release(10)
    expect(turns(page).nth(1).locator(".reply")).to_have_text("Second answer.")
    assert len(vendor.requests) == 2


def test_what_was_learned_stands_there_and_is_taken_back(page: Page, memory: Memory, vendor: Vendor) -> None:
    played(vendor, stream("Good to know."))
    opened(page, model=True)

    say(
        page,
        "A few things about how I work. I always want the changelog updated before a release is tagged. "
        "I prefer short pull requests with one change each, and I never want force pushes to the main branch, "
        "because they once cost us a whole day of work. My favourite editor is Helix.",
    )

    learned = page.locator(".learned li").first
    expect(learned).to_be_visible()
    text = learned.locator(".memory-text").inner_text()
    [record] = [one for one in memory.records(limit="200", everyone="true") if one["text"] == text]
    learned.get_by_role("button", name="Undo").click()
    expect(learned).to_contain_text("Taken back.")
    assert memory.client.get(f"/v1/records/{record['id']}").json()["state"] == "deleted"


def test_what_was_learned_is_corrected_where_it_stands(page: Page, memory: Memory, vendor: Vendor) -> None:
    played(vendor, stream("Good to know."))
    opened(page, model=True)
    say(
        page,
        "A few things about how I work. I always want the changelog updated before a release is tagged. "
        "I prefer short pull requests with one change each, and I never want force pushes to the main branch, "
        "because they once cost us a whole day of work. My favourite editor is Helix.",
    )
    learned = page.locator(".learned li").first
    expect(learned).to_be_visible()
    text = learned.locator(".memory-text").inner_text()
    [record] = [one for one in memory.records(limit="200", everyone="true") if one["text"] == text]

    learned.get_by_role("button", name="Correct…").click()
    page.get_by_role("dialog").get_by_label("What is true").fill("I want release notes, too.")
    page.get_by_role("dialog").get_by_role("button", name="Correct", exact=True).click()

    expect(learned).to_contain_text("I want release notes, too.")
    expect(learned).to_contain_text("Corrected.")
    old = memory.client.get(f"/v1/records/{record['id']}").json()
    new = memory.client.get(f"/v1/records/{old['superseded_by']}").json()
    assert (old["state"], new["source"], new["metadata"]["evidence"]) == ("superseded", "manual", [old["id"]])


def test_a_plan_is_a_list_and_what_fails_is_a_sentence(page: Page, vendor: Vendor) -> None:
    plan = [{"text": "Look", "status": "completed"}, {"text": "Mend <b>it</b>", "status": "in_progress"}]
    played(vendor, stream(calls=(call("todo", entries=plan),)), stream("Planned."))
    opened(page, model=True)
    say(page, "Make a plan.")
    expect(page.get_by_role("region", name="Plan").get_by_role("listitem")).to_have_text(
        ["✓done: Look", "▸under way: Mend <b>it</b>"]
    )

    played(vendor, stream())
    vendor.replies = [type(vendor.replies[0])(status=400, body={"error": {"message": "no such model"}})]
    say(page, "Again.")

    alert = turns(page).nth(1).get_by_role("alert")
    expect(alert).to_contain_text("model")
    expect(page.get_by_label("What you say")).to_be_enabled()


HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def test_nothing_that_a_model_says_or_a_file_holds_becomes_markup(
    page: Page, memory: Memory, vendor: Vendor, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, notes_md=f"{HOSTILE}\n")
    name = "<svg onload=alert(1)>.md"
    played(
        vendor,
        stream(f"Look: {HOSTILE} [click](javascript:alert(1)) ![x](http://127.0.0.1:9/x.png)", thought=HOSTILE,
               calls=(call("read_file", path="notes.md"), call("write_file", path=name, content=HOSTILE))),
        stream(HOSTILE),
    )  # fmt: skip
    opened(page, begun(memory, folder=folder, title=HOSTILE), model=True)

    say(page, HOSTILE)
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".reply").last).to_have_text(HOSTILE)
    page.evaluate("() => document.querySelectorAll('main details').forEach((one) => (one.open = true))")

    expect(page.locator("details.tool .output").filter(has_text="<script>").first).to_be_visible()
    expect(page.locator("details.tool").nth(1)).to_contain_text(name)
    assert (
        page.locator("main").evaluate(
            "(main) => [...main.querySelectorAll('img, script, iframe, svg, [onerror], [onload], a[href^=javascript]')].length"
        )
        == 0
    )
    assert "owned" not in page.title()
    page.goto("/#/sessions")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    assert page.locator("main img").count() == 0


@pytest.mark.allow_errors(404)
def test_nobody_sees_or_enters_somebody_elses_session(visit: Visit, memory: Memory) -> None:
    session = begun(memory, title="Private matters")
    writer = visit(memory.key("writer"))

    writer.goto("/#/sessions")
    expect(writer.locator("main")).to_contain_text("Nobody has talked to an agent here yet")
    writer.goto(f"/#/chat/{session}")

    expect(writer.get_by_role("alert")).to_contain_text("There is no such session")
    expect(writer.get_by_label("What you say")).to_be_hidden()
    expect(writer.locator("main")).not_to_contain_text("Private matters")
    reader = visit(memory.key("reader"))
    reader.goto("/#/chat")
    expect(reader.locator("main")).to_contain_text("you need the role writer")


def test_a_line_that_breaks_is_taken_up_where_it_was(page: Page, vendor: Vendor) -> None:
    gate = Semaphore(0)
    played(vendor, stream("Before. ", "After.", gate=gate))
    opened(page, model=True)
    say(page, "Talk through a broken line.")
    expect(page.locator(".reply")).to_have_text("Before. ")

    page.evaluate("() => window.stop()")
    expect(page.get_by_text("The line is lost")).to_be_visible()
    gate.release(10)

    expect(page.locator(".reply")).to_have_text("Before. After.")
    expect(page.get_by_text("The line is lost")).to_be_hidden()
    expect(turns(page)).to_have_count(1)


def test_whoever_missed_something_reads_the_messages_again(page: Page, memory: Memory) -> None:
    session = begun(memory)
    opened(page, session)
    say(page, RELEASE)
    expect(page.locator(".reply")).to_contain_text("Tuesdays")
    with memory.client.stream("GET", f"/v1/sessions/{session}/events", headers={"Last-Event-ID": "0"}) as heard:
        assert len(heard.headers["X-Commonplace-Epoch"]) == 32
    query = {"last_event_id": "1", "epoch": "of-a-daemon-before"}
    with memory.client.stream("GET", f"/v1/sessions/{session}/events", params=query) as heard:
        assert any(line == "event: state_resync_required" for line in heard.iter_lines())
    lost = "event: state_resync_required\ndata: {}\n\n"
    page.route(
        f"**/v1/sessions/{session}/events*",
        lambda route: route.fulfill(content_type="text/event-stream", body=lost),
        times=1,
    )

    readings: list[str] = []

    def is_second(request: Request) -> bool:
        readings.extend([request.url] if request.url.endswith("messages?limit=200") else [])
        return len(readings) == 2

    with page.expect_request(is_second):
        page.reload()

    expect(turns(page)).to_have_count(1)
    expect(page.locator(".reply")).to_contain_text("Tuesdays")
    expect(page.locator(".beside")).to_contain_text("Releases go out on Tuesdays")


def test_it_speaks_chinese_fits_a_phone_and_is_in_nobodys_way_while_it_asks(
    visit: Visit,
    memory: Memory,
    vendor: Vendor,
    tmp_path: Path,
    axe: Callable[[Page], list[str]],
    shots: Callable[[Page, str], list[Path]],
) -> None:
    before = "# Releases\n\n- Mondays, after lunch\n- ask Ana\n- 先跑回归测试\n"
    folder = folder_of(tmp_path, notes_md=before)
    plan = [{"text": "读取笔记", "status": "completed"}, {"text": "改为星期二", "status": "in_progress"}]
    write = call("write_file", path="notes.md", content=before.replace("Mondays", "Tuesdays"))
    played(
        vendor,
        stream("我先看看笔记。", thought="用户想改发布日。", calls=(call("todo", entries=plan), call("read_file", path="notes.md"))),
        stream("现在我来修改：", calls=(write,)),
        stream("已改为**星期二**。\n\n```sh\nmake ship\n```"),
    )  # fmt: skip
    page = visit(memory.secret, language="zh")
    page.goto(f"/#/chat/{begun(memory, folder=folder, workspace='web')}")
    page.get_by_label("模型").select_option("openai:small")

    page.get_by_label("你要说的话").fill("发布日改成星期二，写进笔记。")
    page.get_by_label("你要说的话").press("Enter")
    expect(page.get_by_role("button", name="在此工作区始终允许")).to_be_visible()

    assert axe(page) == []
    shots(page, "chat-asks-zh")
    page.set_viewport_size({"width": 380, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator("details.tool summary").nth(1)).to_contain_text("读取 notes.md")
    page.get_by_role("button", name="允许一次").click()
    expect(page.locator(".reply pre")).to_have_text("make ship")
    shots(page, "chat-answered-zh")
