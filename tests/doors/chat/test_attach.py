"""A session that others opened, joined at a terminal: what is seen of it, what is said and answered, and how one leaves."""

import asyncio
import json
import os
import select
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tests.doors.chat.conftest import Room, Typist
from typer.testing import CliRunner, Result

from commonplace.cli import app
from commonplace.cli.agent_line import AgentLine
from commonplace.cli.attachment import AttachOptions, JoinedSession
from commonplace.cli.exits import Exit
from commonplace.cli.line_paper import LinePaper
from commonplace.cli.line_reader import LineReader
from commonplace.cli.talk_sessions import TalkPlace
from commonplace.testing.agent_client import HANG, Step
from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.events import until as arrived
from commonplace.testing.vendor import Vendor, running_vendor, stream
from commonplace.values.permission import PermissionAnswer, PermissionRequest, PermissionTerms
from commonplace.values.turn_event import (
    EventsMissed,
    ModeChanged,
    PermissionAsked,
    PermissionVoted,
    PermissionVoteLate,
    PermissionVoteRefused,
    PlanChanged,
    PromptQueued,
    TextAdded,
    ToolEnded,
    ToolStarted,
)

MakeRoom = Callable[..., Room]
REQUEST = PermissionRequest(id="p", call="c", tool="shell", kind="execute", title="Run `make ship`", rule="shell:make")
SHIP: Sequence[Step] = [
    TextAdded(text="I ship\nit\x1b[2J."),
    ToolStarted(call="c", tool="shell", kind="execute", title="Run `make ship`"),
    PermissionAsked(request=REQUEST),
    ToolEnded(call="c", tool="shell", text="shipped"),
    PlanChanged(entries=({"text": "Tell Ana", "status": "pending"},)),
    TextAdded(text=" Done."),
]


class Joined:
    """Somebody at the session of a room, in which others say something first."""

    def __init__(self, room: Room, *says: str) -> None:
        self.shown = ""
        self._room = room
        self._says = says
        self._more = threading.Condition()

    def stay(self, *lines: str | Callable[[], str], leave_at: str | None = None, **options: Any) -> Exit:
        self._leave_at = leave_at
        with AgentLine(self._room.open) as line:
            session = line.ask(TalkPlace(source="acp", folder="/work").begin(line.partner.memory))
            for text in self._says:
                line.ask(self._room.agent.say(session.id, text))
            reader = LineReader(interactive=True, read_line=Typist(*lines))
            paper = LinePaper(write=self._write)
            self._attachment = JoinedSession(line, session, AttachOptions(**options), paper, reader, wake=lambda: None)
            return self._attachment.stay()

    def after(self, words: str, then: str) -> Callable[[], str]:
        """Type `then` once these words are seen."""

        def wait() -> str:
            with self._more:
                assert self._more.wait_for(lambda: words in self.shown, timeout=5), self.shown
            return then

        return wait

    def _write(self, text: str) -> None:
        with self._more:
            self.shown += text
            self._more.notify_all()
        if self._leave_at is not None and self._leave_at in self.shown:
            self._attachment.leave()


def test_the_turn_of_somebody_else_is_seen_from_its_beginning_and_its_question_answered(room: MakeRoom) -> None:
    place = room(SHIP)
    joined = Joined(place, "Ship it")

    code = joined.stay(joined.after("y once", "y"), joined.after("Done.", "/quit"))

    assert code is Exit.OK
    assert [(answer.choice, answer.request) for answer in place.agent.answers] == [("allow_once", "p")]
    for words in (
        "local › Ship it",
        "I ship\nit\N{REPLACEMENT CHARACTER}[2J.\n",
        "? Run `make ship`",
        "Allowed by local: allow_once.",
        "☐ Tell Ana",
        "commonplace sessions attach",
    ):
        assert words in joined.shown
    assert "\x1b" not in joined.shown


def test_a_turn_is_cancelled_and_the_session_set_by_commands_and_a_wrong_one_is_named(room: MakeRoom) -> None:
    place = room([TextAdded(text="One, "), HANG])
    joined = Joined(place, "Count")

    joined.stay(
        joined.after("local › Count", "/cancel"),
        joined.after("Stopped.", "/mode plan"),
        joined.after("local set the mode: plan.", "/model"),
        joined.after("* scripted", "/allow"),
        "/nothing",
        "/queue",
        "/withdraw 7",
    )

    assert "One, \n" in joined.shown
    assert place.agent.options.mode == "plan"
    assert joined.shown.count("[invalid_input]") == 3
    assert "Nothing waits for its turn." in joined.shown


def test_votes_are_told_in_words_and_a_request_is_cancelled_for_everybody(room: MakeRoom) -> None:
    terms = PermissionTerms(policy="consensus", asked_at=datetime.now(UTC), voters=("ana", "bob", "local"), quorum=2)
    decided = PermissionAnswer(request="q", choice="allow_once", voter="ana")
    votes: Sequence[Step] = [
        PermissionVoted(request="p", votes=1, needed=1, quorum=2, tallies={"allow_once": 1}, voter="ana"),
        PermissionVoteRefused(request="p", voter="eve", choice="allow_once", reason="designated_mismatch"),
        PermissionVoteLate(request="q", voter="bob", answer=decided),
        PermissionAsked(request=replace(REQUEST, terms=terms)),
        TextAdded(text="Not done."),
    ]
    place = room(votes)
    joined = Joined(place, "Ship it")

    joined.stay(joined.after("c cancel", "c"), joined.after("Not done.", "/quit"))

    assert [answer.decided_by for answer in place.agent.answers] == ["cancelled"]
    for words in (
        "ana voted: 1 vote, 2 have to agree, 1 more needed.",
        "The vote of eve does not count",
        "bob voted when it was decided already.",
        "2 of 3 have to agree: ana, bob, local.",
        "Refused by local",
    ):
        assert words in joined.shown


def test_what_is_said_is_heard_and_what_others_let_wait_is_named(room: MakeRoom) -> None:
    others: Sequence[Step] = [
        PromptQueued(run="r", text="And the docs", speaker="bob"),
        ModeChanged(mode="plan", previous="default", by="ana"),
        EventsMissed(reason="ring_evicted"),
        TextAdded(text="Hello."),
    ]
    joined = Joined(room(others))

    joined.stay("Good morning", joined.after("Hello.", "/quit"))

    assert "… bob, waiting: And the docs" in joined.shown
    assert "ana set the mode: plan." in joined.shown
    assert "Some events were missed." in joined.shown


def test_who_only_watches_is_asked_for_no_line_and_leaves_when_they_like(room: MakeRoom) -> None:
    joined = Joined(room([TextAdded(text="One\n"), PermissionAsked(request=REQUEST)]), "Count")

    code = joined.stay(joined.after("never", ""), leave_at="? Run `make ship`", watch=True)

    assert code is Exit.OK
    assert "One\n" in joined.shown
    assert "y once" not in joined.shown


# ---- at a daemon


@pytest.fixture(scope="module")
def vendor() -> Generator[Vendor]:
    """The model of everybody's agent."""
    with running_vendor() as begun:
        begun.replies = [stream("On Fridays.")]
        yield begun


@pytest.fixture(scope="module")
def daemon(vendor: Vendor, tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    model = {"MODEL": "openai:small", "BASE_URL": vendor.url, "PRICE": "0.1/0.1"}
    environment = {f"COMMONPLACE_LLM_{name}": value for name, value in model.items()}
    with running_daemon(tmp_path_factory.mktemp("attach") / "home", env=environment) as begun:
        yield begun


@pytest.fixture
def ana(daemon: Daemon) -> Generator[httpx.Client]:
    """Another person of the tenant."""
    with daemon.client() as operator:
        body = {"name": "ana", "user": "ana", "role": "writer"}
        secret = operator.post("/v1/keys", json=body).raise_for_status().json()["secret"]
        with httpx.Client(base_url=daemon.url, headers={"Authorization": f"Bearer {secret}"}, timeout=60) as client:
            yield client
        key = operator.get("/v1/keys").json()["keys"][-1]["id"]
        assert key


def run(daemon: Daemon, *args: str, stdin: str | None = None, token: str | None = None) -> Result:
    env = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": token or daemon.token}
    return CliRunner().invoke(app, args, input=stdin, env=env, prog_name="commonplace")


def begun(client: httpx.Client, **fields: Any) -> str:
    return client.post("/v1/sessions", json={"agent": "assistant", **fields}).raise_for_status().json()["id"]


def test_a_session_of_another_person_is_listed_joined_by_a_prefix_spoken_in_and_shared_no_longer(
    daemon: Daemon, ana: httpx.Client
) -> None:
    id = begun(ana, workspace="web", shared=True, source="acp", title="The slow parser")
    ana.get(f"/v1/sessions/{id}/state").raise_for_status()

    listed = run(daemon, "sessions", "list", "--live")
    document = json.loads(run(daemon, "sessions", "list", "--json").stdout)
    said = run(daemon, "sessions", "attach", id[:-3], "--json", stdin="What did we decide?\n")
    cancelled = run(daemon, "sessions", "cancel", id[:-3])
    unshared = run(daemon, "sessions", "unshare", id)

    [line] = [line for line in listed.stdout.splitlines() if line.startswith(id)]
    assert line.split("\t")[1:5] == ["● The slow parser", "idle", "ana, by an editor", "assistant"]
    assert [entry["session"]["id"] for entry in document["live"] if entry["session"]["id"] == id] == [id]
    events = [json.loads(line) for line in said.stdout.splitlines()]
    assert (said.exit_code, events[0]["type"], events[0]["speaker"]) == (0, "turn_started", "local"), said.stderr
    assert "turn_ended" in [event["type"] for event in events]
    assert (cancelled.exit_code, cancelled.stdout) == (0, "No turn is played.\n")
    # The operator is an admin, who governs sessions; another person's key would find none.
    assert unshared.exit_code == 0


def test_a_turn_is_cancelled_from_outside_and_the_session_goes_on(
    daemon: Daemon, ana: httpx.Client, vendor: Vendor
) -> None:
    id, asked = begun(ana, title="Endless"), len(vendor.requests)
    secret = ana.headers["Authorization"].removeprefix("Bearer ")
    vendor.replies = [stream("Once ", hang=True), stream("On Fridays.")]
    ana.post(f"/v1/sessions/{id}/turns", json={"text": "Tell me a story."}).raise_for_status()
    asyncio.run(arrived(lambda: len(vendor.requests) > asked, 20))

    cancelled = run(daemon, "sessions", "cancel", id, token=secret)
    said = run(daemon, "sessions", "attach", id, "--json", stdin="When do we ship?\n", token=secret)

    assert (cancelled.exit_code, cancelled.stdout) == (0, "Cancelled.\n")
    events = [json.loads(line) for line in said.stdout.splitlines()]
    assert [event["reply"] for event in events if event["type"] == "turn_ended"][-1] == "On Fridays."


def test_who_may_not_or_names_no_session_is_told_so(daemon: Daemon, ana: httpx.Client) -> None:
    one, other = begun(ana, id="twin-1"), begun(ana, id="twin-2")
    secret = ana.headers["Authorization"].removeprefix("Bearer ")
    with daemon.client() as operator:
        reader = operator.post("/v1/keys", json={"name": "r", "user": "rex", "role": "reader"}).json()["secret"]

    ambiguous = run(daemon, "sessions", "attach", "twin", "--json", token=secret)
    stranger = run(daemon, "sessions", "attach", one, "--json", token=reader)
    stored = run(daemon, "--store", "x.db", "sessions", "attach", other, "--json")
    nobody = run(daemon, "sessions", "attach", other, "--json", "--url", "http://127.0.0.1:9")
    refused = run(daemon, "sessions", "cancel", other, "--json", token=reader)

    codes = [json.loads(one.stderr)["error"]["code"] for one in (ambiguous, stranger, stored, nobody, refused)]
    assert codes == ["invalid_input", "not_found", "invalid_input", "daemon_unavailable", "not_found"]
    assert (ambiguous.exit_code, stranger.exit_code, stored.exit_code, nobody.exit_code) == (2, 3, 2, 5)


def test_ctrl_c_leaves_a_terminal_and_the_session_is_there_still(daemon: Daemon, ana: httpx.Client) -> None:
    id = begun(ana, workspace="web", shared=True, title="Still here")
    env = {**os.environ, "COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}
    command = [sys.executable, "-m", "commonplace", "sessions", "attach", id]
    pid, terminal = os.forkpty()
    if pid == 0:
        os.execve(sys.executable, command, env)
    seen = until(terminal, b"/help shows")
    ana.post(f"/v1/sessions/{id}/turns", json={"text": "What did we decide?"}).raise_for_status()
    seen += until(terminal, "ana › What did we decide?".encode())
    os.write(terminal, b"\x03")
    seen += until(terminal, b"the session goes on")

    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, seen
    os.close(terminal)
    assert ana.get(f"/v1/sessions/{id}/state").json()["session"] == id


def until(terminal: int, words: bytes) -> bytes:
    """What the terminal shows, up to these words."""
    seen = b""
    while words not in seen:
        readable, _, _ = select.select([terminal], [], [], 20)
        assert readable, seen
        seen += os.read(terminal, 4096)
    return seen
