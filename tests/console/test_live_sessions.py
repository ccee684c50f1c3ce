"""Sessions that others have open, in the browser: seen live, spoken in, voted on, by whoever may."""

import json
import socket
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.console.chat_page import begun, call, folder_of, opened, played, say, turns
from tests.console.conftest import MODEL, Memory, Visit
from tests.doors.acp.editor_process import Editor

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.vendor import Vendor, stream

WRITE = call("write_file", path="notes.md", content="Tuesdays\n")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, vendor: Vendor) -> Generator[Daemon]:
    """One where those who are present decide together."""
    env = {
        "COMMONPLACE_LLM_MODELS": MODEL,
        "COMMONPLACE_LLM_BASE_URL": vendor.url,
        "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
        "COMMONPLACE_LLM_PRICE": "1/1",
        "COMMONPLACE_AGENT_ROOTS": str(tmp_path_factory.getbasetemp()),
        "COMMONPLACE_AGENT_PERMISSION_POLICY": "consensus",
    }
    folder = tmp_path_factory.mktemp("together")
    (folder / "shop").mkdir()
    place = str(folder / "shop")
    with running_daemon(folder / "home", "--workspace", place, env=env, patience=50.0) as begun_daemon:
        yield begun_daemon


def person(memory: Memory, name: str, role: str = "writer") -> str:
    """Their key's secret."""
    body = {"name": name, "user": name, "role": role}
    return memory.client.post("/v1/keys", json=body).raise_for_status().json()["secret"]


def speak(memory: Memory, secret: str, session: str, text: str) -> None:
    """As another program of this person does."""
    headers = {"Authorization": f"Bearer {secret}"}
    body = {"text": text, "model": MODEL}
    httpx.post(f"{memory.url}/v1/sessions/{session}/turns", json=body, headers=headers, timeout=60).raise_for_status()


def _texts(editor: Editor) -> str:
    """What the agent said."""
    updates = [update for update in editor.updates if update is not None]
    return "".join(one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk")


class SessionProgram:
    """A program of the session door, attached to a session of its own for as long as it is entered."""

    def __init__(self, memory: Memory) -> None:
        self._http = httpx.Client(base_url=memory.url, headers={"Authorization": f"Bearer {memory.secret}"}, timeout=60)
        attached = self.post("/session", {"sessionScope": "thread"})
        self.session: str = attached["sessionId"]
        self._http.headers["X-Qwen-Client-Id"] = attached["clientId"]
        self.post(f"/session/{self.session}/model", {"modelId": MODEL})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._http.post(path, json=body).raise_for_status()
        return answer.json() if answer.content else None

    def prompt(self, text: str) -> None:
        self.post(f"/session/{self.session}/prompt", {"prompt": [{"type": "text", "text": text}]})

    def heard(self, *, until: int) -> list[dict[str, Any]]:
        """What was told from the first event on, up to the end of so many turns."""
        events: list[dict[str, Any]] = []
        headers = {"Last-Event-ID": "0"}
        with self._http.stream("GET", f"/session/{self.session}/events", headers=headers) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                if sum(event["type"] == "turn_complete" for event in events) == until:
                    break
        return events


def test_what_an_editor_has_open_is_listed_live_and_its_question_answered_from_the_list(
    visit: Visit, memory: Memory, vendor: Vendor, tmp_path: Path, shots: Callable[[Page, str], list[Path]]
) -> None:
    # Only the operator's editor works in the folder that it has open.
    operator, page = memory.daemon.token, visit(memory.daemon.token)
    played(vendor, stream("Let me see.", calls=(WRITE,)), stream("Written."))
    page.goto("/#/sessions")
    expect(page.locator(".page-sessions[data-ready]")).to_be_visible()
    live = page.locator(".live-sessions")
    expect(live).to_be_hidden()

    editor = Editor(tmp_path, "--url", memory.url, COMMONPLACE_TOKEN=operator)
    editor.call("initialize", protocolVersion=1)
    session = editor.call("session/new", cwd=folder_of(tmp_path), mcpServers=[])["result"]["sessionId"]
    editor.call("session/set_config_option", sessionId=session, configId="model", value=MODEL)
    with memory.daemon.client() as client:
        client.patch(f"/v1/sessions/{session}", json={"title": "Release notes"}).raise_for_status()
    question = editor.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Write it down"}])
    assert question.get("method") == "session/request_permission", (question, editor.updates)

    row = live.locator("li.live-session")
    expect(row.locator(".live-title")).to_have_text("Release notes")
    expect(row).to_contain_text("Editor")
    expect(row.locator(".live-state")).to_have_text("waits for an answer")
    expect(row.locator(".permission")).to_contain_text("notes.md")
    expect(row.locator(".time-left")).to_contain_text("left")
    badge = page.locator("nav a[data-page=sessions] .waiting-count")
    expect(badge).to_have_text("1")
    shots(page, "sessions-live")
    page.goto("/#/chat")
    expect(page.locator(".recent li").first).to_contain_text("waits for an answer")
    page.goto("/#/sessions")
    row.get_by_role("button", name="Allow once").click()
    expect(badge).to_have_count(0)
    expect(row.locator(".permission")).to_have_count(0)
    ended = editor.read()
    # Nobody has it open, and it does nothing any more.
    assert editor.leave() == 0
    expect(live).to_be_hidden()
    assert ended["result"]["stopReason"] == "end_turn"
    assert _texts(editor) == "Let me see.Written."
    assert (tmp_path / "work" / "notes.md").read_text() == "Tuesdays\n"


def test_two_people_agree_in_one_session_and_a_reader_only_sees_it(
    page: Page,
    visit: Visit,
    memory: Memory,
    vendor: Vendor,
    tmp_path: Path,
    axe: Callable[[Page], list[str]],
    shots: Callable[[Page, str], list[Path]],
) -> None:
    played(vendor, stream("Let me see.", calls=(WRITE,)), stream("Written."), stream("It says Tuesdays."))
    session = begun(memory, folder=folder_of(tmp_path), workspace="web", shared=True, title="Release notes")
    bob, rex = person(memory, "bob"), person(memory, "rex", "reader")
    his, readers = visit(bob), visit(rex)
    for each in (page, his, readers):
        opened(each, session)
        expect(each.locator(".session-bar")).to_contain_text("shared in web")

    page.get_by_label("Model").select_option(MODEL)
    say(page, "Write it down")
    say(his, "And what does it say?")

    # Everybody sees the question, what waits, and who said it.
    for each in (page, his, readers):
        expect(each.locator(".permission[data-state=asked]")).to_contain_text("2 of 2 have to agree")
        expect(turns(each).nth(1).locator(".said")).to_contain_text("And what does it say?")
    expect(turns(page).nth(1).locator(".said")).to_contain_text("bob")
    expect(readers.locator(".permission button")).to_have_count(0)
    expect(readers.get_by_role("button", name="Take back")).to_have_count(0)
    expect(his.locator(".chat-mode")).to_be_hidden()
    his.get_by_role("button", name="Allow once").click()
    expect(his.locator(".permission")).to_contain_text("Your vote is counted")
    expect(page.locator(".permission")).to_contain_text("1 of 2 needed. bob")
    assert axe(page) == []
    shots(page, "chat-vote")
    page.get_by_role("button", name="Allow once").click()

    for each in (page, his, readers):
        expect(turns(each).nth(0).locator(".reply").last).to_have_text("Written.")
        expect(each.locator(".permission[data-state=answered]")).to_contain_text("Allowed once:")
        expect(turns(each).nth(1).locator(".reply")).to_have_text("It says Tuesdays.")


def test_the_mode_is_set_for_everybody_the_queue_survives_a_reload_and_a_cancel_ends_the_question(
    page: Page, visit: Visit, memory: Memory, vendor: Vendor, tmp_path: Path
) -> None:
    played(vendor, stream("Let me see.", calls=(WRITE,)), stream("Then not."), stream("Later."))
    program = SessionProgram(memory)
    session = program.session
    memory.client.patch(f"/v1/sessions/{session}", json={"shared": True}).raise_for_status()
    bob = person(memory, "bob")
    his = visit(bob, language="zh", size="narrow")
    his.goto(f"/#/chat/{session}")
    opened(page, session)
    program.prompt("Write it down")
    speak(memory, bob, session, "Later, please")

    expect(turns(page).nth(1)).to_have_attribute("data-state", "waiting")
    page.reload()
    expect(turns(page).nth(1).locator(".said")).to_contain_text("bob")
    expect(his.locator(".session-bar")).to_contain_text("qwen SDK")
    assert his.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Mode", exact=True).select_option("plan")
    expect(his.locator(".session-bar")).to_contain_text("只做计划")
    page.get_by_role("button", name="Cancel for everybody").click()

    expect(page.locator(".permission[data-state=answered]")).to_contain_text("Cancelled:")
    expect(turns(page).nth(0).locator(".reply").last).to_have_text("Then not.")
    expect(turns(page).nth(1).locator(".reply")).to_have_text("Later.")
    with program:
        heard = program.heard(until=2)
    assert [event["data"]["stopReason"] for event in heard if event["type"] == "turn_complete"] == ["end_turn"] * 2
    [resolved] = [event["data"] for event in heard if event["type"] == "permission_resolved"]
    assert resolved["outcome"] == {"outcome": "cancelled"}
    assert {"approval_mode_changed", "pending_prompt_added"} <= {event["type"] for event in heard}


@pytest.mark.allow_errors
@pytest.mark.timeout(150)
def test_a_daemon_that_begins_anew_is_found_again_by_the_chat_and_by_the_list(browser: Browser, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    context = browser.new_context(base_url=f"http://127.0.0.1:{number}", locale="en-GB")
    context.set_default_timeout(60_000)
    try:
        with running_daemon(tmp_path / "home", "--port", str(number), patience=50.0) as begun, begun.client() as client:
            assert context.request.post("/v1/sign-in", data={"key": begun.token}).ok
            body = {"workspace": "web", "title": "Still here", "source": "acp"}
            session = client.post("/v1/sessions", json=body).json()["id"]
            chat, sessions = opened(context.new_page(), session), context.new_page()
            sessions.goto("/#/sessions")
            expect(sessions.locator(".live-title")).to_have_text("Still here")
        expect(chat.get_by_text("The line is lost.")).to_be_visible()

        with running_daemon(tmp_path / "home", "--port", str(number), patience=50.0) as begun, begun.client() as client:
            client.post(f"/v1/sessions/{session}/turns", json={"text": "Are you there?"}, timeout=60).raise_for_status()

            expect(turns(chat).locator(".said")).to_contain_text("Are you there?", timeout=30_000)
            expect(turns(chat).locator(".reply")).to_be_visible(timeout=30_000)
            expect(chat.get_by_text("The line is lost.")).to_be_hidden()
            expect(sessions.locator(".live-session")).to_contain_text("1 listens", timeout=30_000)
    finally:
        context.close()
