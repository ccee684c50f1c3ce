"""A chat from the first line to the last, with an agent that plays a script."""

import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.doors.chat.conftest import Room, Terminal

from commonplace.cli.agent_line import Partner
from commonplace.cli.exits import Exit
from commonplace.cli.permission_policy import PermissionPolicy
from commonplace.errors import DaemonUnavailable, InvalidInput
from commonplace.ports.agent_client import SessionEvent, TurnTicket
from commonplace.testing.agent_client import HANG, ScriptedAgentClient, Step
from commonplace.values.permission import PermissionChoice, PermissionRequest
from commonplace.values.turn_event import (
    EventsMissed,
    MemoryLearned,
    MemoryRecalled,
    PermissionAsked,
    RecalledMemory,
    TextAdded,
    TurnFailed,
    TurnUsage,
)

MakeRoom = Callable[..., Room]


def says(text: str) -> Sequence[Step]:
    return [TextAdded(text=text)]


def asked(rule: str = "write_file:*", kind: str = "edit", **fields: Any) -> PermissionAsked:
    tool = rule.partition(":")[0]
    request: dict[str, Any] = {
        "id": "p",
        "call": "c",
        "tool": tool,
        "kind": kind,
        "title": "Write notes.md",
        "rule": rule,
        **fields,
    }
    return PermissionAsked(request=PermissionRequest(**request))


def interrupt() -> str:
    raise KeyboardInterrupt


def test_who_answers_is_said_first_and_the_session_last(room: MakeRoom) -> None:
    code, shown = room(says("On Fridays.")).talk("When do we ship?")

    lines = [line for line in shown.splitlines() if line]
    assert code is Exit.OK
    assert lines[0].startswith("scripted answers")
    assert "/help" in lines[1]
    assert lines[2] == "On Fridays."
    assert "commonplace chat --session" in lines[-1]


def test_whoever_only_looks_in_leaves_no_session_behind(room: MakeRoom) -> None:
    _, shown = room().talk("/help", "/sessions")

    assert "/remember TEXT" in shown
    assert "--session" not in shown


def test_turns_go_to_one_session_until_it_is_cleared(room: MakeRoom) -> None:
    there = room(says("1"), says("2"), says("3"))

    _, shown = there.talk("one", "two", "/clear", "three", "/sessions")

    listed = [line for line in shown.splitlines() if "messages" in line]
    assert [text for text, _ in there.agent.prompts] == ["one", "two", "three"]
    assert len(listed) == 2
    assert [line.startswith("*") for line in listed] == [True, False]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("one\\", "two"), "one\ntwo"),
        (('"""', "one", "", 'two"""'), "one\n\ntwo"),
        (('"""one"""',), "one"),
        (('"""one',), "one"),
        (("one\\",), "one"),
    ],
)
def test_a_text_may_have_several_lines(room: MakeRoom, typed: tuple[str, ...], said: str) -> None:
    there = room(says("ok"))

    there.talk(*typed)

    assert there.agent.prompts == [(said, None)]


@pytest.mark.parametrize(
    ("key", "choice"),
    [
        ("y", "allow_once"),
        ("a", "allow_session"),
        ("w", "allow_workspace"),
        ("n", "reject_once"),
        ("YES", "allow_once"),
    ],
)
def test_a_permission_is_asked_with_its_title_and_its_difference(
    room: MakeRoom, key: str, choice: PermissionChoice
) -> None:
    there = room([asked(diff="-old\n+new\n"), TextAdded(text="Done.")])

    _, shown = there.talk("go", "what?", key)

    assert "? Write notes.md" in shown
    assert "    +new" in shown
    assert [answer.choice for answer in there.agent.answers] == [choice]


def test_only_the_answers_that_are_offered_count(room: MakeRoom) -> None:
    there = room([asked(choices=("allow_once", "reject_once")), TextAdded(text="Done.")])

    there.talk("go", "w", "a", "n")

    assert [answer.choice for answer in there.agent.answers] == ["reject_once"]


def test_the_end_of_the_input_refuses_and_ctrl_c_stops_the_turn(room: MakeRoom) -> None:
    at_the_end = room([asked(), TextAdded(text="Done.")])
    at_the_end.talk("go")
    stopped = room([asked(), TextAdded(text="Done.")], says("Later."))
    _, shown = stopped.talk("go", interrupt, "more")

    assert [answer.choice for answer in at_the_end.agent.answers] == ["reject_once"]
    assert stopped.agent.answers == []
    assert "Stopped." in shown
    assert "Later." in shown


@pytest.mark.parametrize(
    ("policy", "kind", "choice"),
    [
        (PermissionPolicy(edits=True), "edit", "allow_once"),
        (PermissionPolicy(refuse_others=True), "edit", "reject_once"),
        (PermissionPolicy(edits=True), "execute", "reject_once"),
    ],
)
def test_modes_answer_for_the_person(room: MakeRoom, policy: PermissionPolicy, kind: str, choice: str) -> None:
    there = room([asked(kind=kind), TextAdded(text="Done.")])

    # Typed only where somebody is asked.
    there.talk("go", *(["n"] if kind == "execute" else []), policy=policy)

    assert [answer.choice for answer in there.agent.answers] == [choice]


@pytest.mark.parametrize("rule", ["shell", ":x", "shell:", " : "])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(InvalidInput):
        PermissionPolicy.of([rule], edits=False, refuse_others=True)


def test_a_rule_allows_what_it_names_and_nothing_that_begins_so() -> None:
    policy = PermissionPolicy.of(["shell:make test", "fetch:*"], edits=False, refuse_others=True)
    rules = ["shell:make test", "shell:make test; rm -rf /", "fetch:example.org", "write_file:*"]

    choices = [policy.choice(asked(rule, kind="execute").request) for rule in rules]

    assert choices == ["allow_once", "reject_once", "allow_once", "reject_once"]


def test_a_hidden_file_is_allowed_by_its_own_name_alone() -> None:
    hidden = asked("write_file:.envrc").request

    choices = [
        PermissionPolicy(edits=True, rules=rules, refuse_others=True).choice(hidden)
        for rules in ((), ("write_file:*",), ("write_file:.envrc",))
    ]

    assert choices == ["reject_once", "reject_once", "allow_once"]


def test_why_tells_what_was_recalled_and_what_was_learned(room: MakeRoom) -> None:
    recalled = RecalledMemory(id="r1", text="We ship on Fridays", relevance=0.9, scope="global", why="words +1")
    learned = RecalledMemory(id="r2", text="Ana asked about shipping")
    there = room([MemoryRecalled(memories=(recalled,)), TextAdded(text="Fridays."), MemoryLearned(memories=(learned,))])

    _, before = there.talk("/why")
    _, shown = there.talk("When?", "/why")

    assert "Nothing was answered" in before
    for words in ("We ship on Fridays", "90 %", "words +1", "global", "r1", "Ana asked about shipping", "r2"):
        assert words in shown


def test_remember_recall_and_undo_use_the_memory_itself(room: MakeRoom) -> None:
    _, shown = room().talk(
        "/remember The build takes nine minutes", "/undo", "/recall How long does the build take?", "/undo"
    )

    assert "✓ Remembered in user:local" in shown
    assert "Taken back: The build takes nine minutes" in shown
    assert "No memory answers this." in shown
    assert "left to take back" in shown


def test_what_is_recalled_by_hand_is_shown_as_a_search_shows_it(
    room: MakeRoom, capsys: pytest.CaptureFixture[str]
) -> None:
    room().talk("/remember The build takes nine minutes", "/recall How long does the build take?")

    assert "The build takes nine minutes" in capsys.readouterr().out


def test_what_was_learned_is_taken_back_or_it_says_why_not(room: MakeRoom) -> None:
    gone = RecalledMemory(id="01920000-0000-7000-8000-000000000000", text="gone")

    _, shown = room([TextAdded(text="ok"), MemoryLearned(memories=(gone,))]).talk("hi", "/undo")

    assert "[record_not_found]" in shown


def test_another_model_is_asked_once_it_is_named(room: MakeRoom) -> None:
    there = room(says("1"), says("2"))

    _, shown = there.talk("one", "/model other", "two", "/model")

    assert [model for _, model in there.agent.prompts] == [None, "other"]
    assert "other answers." in shown


@pytest.mark.parametrize("typed", ["/nope", "/remember", "/recall", "/sessions nowhere"])
def test_a_command_that_cannot_be_done_says_so_and_the_chat_goes_on(room: MakeRoom, typed: str) -> None:
    code, shown = room(says("Still here.")).talk(typed, "hello")

    assert code is Exit.OK
    assert "✗ " in shown
    assert "Still here." in shown


def test_a_turn_that_fails_leaves_the_session_usable(room: MakeRoom) -> None:
    failure = TurnFailed(run="run-1", code="model_error", message="It broke.", usage=TurnUsage(model="scripted"))

    _, shown = room([TextAdded(text="Half"), failure], says("Whole.")).talk("one", "two")

    assert "✗ It broke. [model_error]" in shown
    assert "Whole." in shown


class CtrlC(PermissionPolicy):
    """Presses it when it is asked."""

    def choice(self, request: PermissionRequest) -> PermissionChoice | None:
        del request
        signal.raise_signal(signal.SIGINT)
        return "allow_once"


def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(room: MakeRoom) -> None:
    there = room([TextAdded(text="Counting "), asked(), HANG], says("Back."))

    code, shown = there.talk("count", "and now?", policy=CtrlC())

    assert code is Exit.OK
    assert "Stopped." in shown
    assert "Back." in shown


class TwiceCtrlC(PermissionPolicy):
    def choice(self, request: PermissionRequest) -> PermissionChoice | None:
        del request
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return "allow_once"


def test_a_second_ctrl_c_leaves(room: MakeRoom) -> None:
    there = room([asked(), HANG])

    code, shown = there.talk("count", policy=TwiceCtrlC())

    assert code is Exit.INTERRUPTED
    assert "commonplace chat --session" in shown


def test_at_the_prompt_ctrl_c_has_to_be_meant(room: MakeRoom) -> None:
    once, _ = room(says("ok")).talk(interrupt, "hello", interrupt)
    twice, _ = room().talk(interrupt, interrupt)

    assert (once, twice) == (Exit.OK, Exit.INTERRUPTED)


def test_a_turn_that_was_left_alone_gets_its_answer_first(room: MakeRoom) -> None:
    there = room([asked(), TextAdded(text="Done.")], says("And this."))

    @asynccontextmanager
    async def busy() -> AsyncGenerator[Partner]:
        async with there.open() as partner:
            session = (await partner.memory.create_session(folder="/work")).id
            await there.agent.say(session, "go")
            async for entry in there.agent.hear(session, after=0):
                if isinstance(entry.event, PermissionAsked):
                    break
            yield partner

    _, shown = there.talk("next", "y", opened=busy, resumes=True)

    assert "waits for 1 turn" in shown
    assert [answer.choice for answer in there.agent.answers] == ["allow_once"]
    assert shown.index("Done.") < shown.index("And this.")


def test_a_chat_hears_again_after_its_connection_was_lost(room: MakeRoom) -> None:
    there = room()

    class Deaf(ScriptedAgentClient):
        async def hear(self, session: str, *, after: int | None = None) -> AsyncGenerator[SessionEvent]:
            if len(self.prompts) == 1:
                raise DaemonUnavailable
            async for event in super().hear(session, after=after):
                yield event

    there.agent = Deaf(says("lost"), says("Back."))
    code, shown = there.talk("one", "two")

    assert code is Exit.OK
    assert "[daemon_unavailable]" in shown
    assert "Back." in shown


def test_a_turn_that_a_restart_cut_off_is_told_and_the_chat_goes_on(room: MakeRoom) -> None:
    there = room([TextAdded(text="Half of "), EventsMissed(reason="epoch_reset"), "hang"], says("Back."))

    code, shown = there.talk("one", "/help")

    assert code is Exit.OK
    assert "[turn_cut_off]" in shown


class CtrlCAtOnce(ScriptedAgentClient):
    """A turn that is gone: nobody hears of its end, and there is none to stop."""

    async def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        if text == "gone":
            signal.raise_signal(signal.SIGINT)
            return TurnTicket(run="gone", before=0, last_event=0)
        return await super().say(session, text, model=model)


def test_a_turn_that_is_gone_ends_neither_the_wait_nor_the_chat_for_good(
    room: MakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.cli.turn_follower._LAST_WORDS", 0.1)
    there = room()
    there.agent = CtrlCAtOnce(says("Still here."))

    code, shown = there.talk("gone", "hello")

    assert code is Exit.OK
    assert "[request_timeout]" in shown
    assert "Still here." in shown


def test_at_a_terminal_nothing_is_left_of_what_was_drawn(room: MakeRoom, terminal: Terminal) -> None:
    there = room([asked(diff="-old\n+new\n"), TextAdded(text="**Done**.")])

    there.talk("go", "y", paper=terminal.paper)

    assert "\x1b[32m+new\x1b[0m" in terminal.bytes
    assert "\x1b[1mDone\x1b[0m." in terminal.bytes
    assert terminal.bytes.count("\x1b[?25l") == terminal.bytes.count("\x1b[?25h")
