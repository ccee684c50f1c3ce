"""One turn for a script: what it prints, and how it ends."""

import json
import signal
from collections.abc import Callable, Sequence

import pytest
from tests.doors.chat.conftest import Room

from commonplace.cli.agent_line import AgentLine
from commonplace.cli.door import Door
from commonplace.cli.exits import Exit
from commonplace.cli.one_turn import OneTurn
from commonplace.cli.permission_policy import PermissionPolicy
from commonplace.cli.talk_sessions import TalkPlace
from commonplace.testing.agent_client import HANG, Step
from commonplace.values.permission import PermissionChoice, PermissionRequest
from commonplace.values.turn_event import (
    MemoryLearned,
    PermissionAsked,
    RecalledMemory,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnFailed,
    TurnUsage,
)
from commonplace.wire.turns import EVENT

MakeRoom = Callable[..., Room]
REQUEST = PermissionRequest(
    id="p", call="c", tool="shell", kind="execute", title="Run `make test`", rule="shell:make test"
)
ASKED = PermissionAsked(request=REQUEST)
WORK: Sequence[Step] = [
    ThinkingAdded(text="Let me see."),
    ToolStarted(call="c", tool="grep", kind="search", title="Search for ship"),
    ToolEnded(call="c", tool="grep", text="a\nb"),
    TextAdded(text="On Fridays\x1b[2J."),
    MemoryLearned(memories=(RecalledMemory(id="1", text="x"),)),
]


def play(
    room: Room,
    *,
    door: Door | None = None,
    seconds: float | None = None,
    policy: PermissionPolicy | None = None,
    deny: bool = False,
) -> Exit:
    policy = policy or PermissionPolicy(refuse_others=True)
    with AgentLine(room.open) as line:
        session = line.ask(TalkPlace(source="run").begin(line.partner.memory))
        turn = OneTurn(door or Door(), line, policy, is_denied_silently=deny, verbose=False)
        return turn.play(session, "go", model=None, seconds=seconds)


def test_the_reply_is_on_stdout_and_the_rest_on_stderr(room: MakeRoom, capsys: pytest.CaptureFixture[str]) -> None:
    code = play(room(WORK))

    out, err = capsys.readouterr()
    assert code is Exit.OK
    assert out == "On Fridays\N{REPLACEMENT CHARACTER}[2J.\n"
    assert "✓ Search for ship · 2 lines" in err
    assert "commonplace run --session" in err


def test_quiet_says_nothing_but_the_reply(room: MakeRoom, capsys: pytest.CaptureFixture[str]) -> None:
    play(room(WORK), door=Door(quiet=True))

    assert capsys.readouterr().err == ""


def test_json_is_a_line_an_event_from_the_beginning_to_what_was_learned(
    room: MakeRoom, capsys: pytest.CaptureFixture[str]
) -> None:
    code = play(room(WORK), door=Door(json=True))

    out, err = capsys.readouterr()
    events = [EVENT.validate_python(json.loads(line)) for line in out.splitlines()]
    assert code is Exit.OK
    assert [event.type for event in events] == [
        "turn_started", "thinking", "tool_started", "tool_ended", "text", "turn_ended", "memory_learned",
    ]  # fmt: skip
    assert err == ""


@pytest.mark.parametrize(
    ("policy", "deny", "choice", "code"),
    [
        (PermissionPolicy(refuse_others=True), False, "reject_once", Exit.NOT_PERMITTED),
        (PermissionPolicy(refuse_others=True), True, "reject_once", Exit.OK),
        (PermissionPolicy(edits=True, refuse_others=True), False, "reject_once", Exit.NOT_PERMITTED),
        (PermissionPolicy(rules=("shell:make test",), refuse_others=True), False, "allow_once", Exit.OK),
        (PermissionPolicy(rules=("shell:*",), refuse_others=True), False, "allow_once", Exit.OK),
    ],
)
def test_what_is_not_allowed_is_refused_and_the_exit_code_says_so(
    room: MakeRoom, policy: PermissionPolicy, deny: bool, choice: PermissionChoice, code: Exit
) -> None:
    there = room([ASKED, TextAdded(text="Done.")])

    assert play(there, policy=policy, deny=deny) is code

    assert [answer.choice for answer in there.agent.answers] == [choice]


def test_a_refusal_names_the_rule_that_would_have_allowed_it(
    room: MakeRoom, capsys: pytest.CaptureFixture[str]
) -> None:
    play(room([ASKED, TextAdded(text="Done.")]), door=Door(quiet=True))

    assert "--allow 'shell:make test'" in capsys.readouterr().err


def test_a_turn_that_fails_ends_with_1_and_its_code(room: MakeRoom, capsys: pytest.CaptureFixture[str]) -> None:
    failure = TurnFailed(run="run-1", code="model_error", message="It broke.", usage=TurnUsage(model="scripted"))

    code = play(room([TextAdded(text="Half"), failure]))

    out, err = capsys.readouterr()
    assert code is Exit.ERROR
    assert out == ""
    assert "[model_error]" in err


def test_what_takes_too_long_is_stopped_and_ends_with_124(room: MakeRoom, capsys: pytest.CaptureFixture[str]) -> None:
    there = room([TextAdded(text="Half"), HANG])

    assert play(there, seconds=0.01) is Exit.TIMED_OUT

    out, err = capsys.readouterr()
    assert out == ""
    assert "[timed_out]" in err


class CtrlC(PermissionPolicy):
    def choice(self, request: PermissionRequest) -> PermissionChoice | None:
        del request
        signal.raise_signal(signal.SIGINT)
        return "allow_once"


def test_ctrl_c_ends_with_130(room: MakeRoom) -> None:
    assert play(room([ASKED, HANG]), policy=CtrlC()) is Exit.INTERRUPTED
