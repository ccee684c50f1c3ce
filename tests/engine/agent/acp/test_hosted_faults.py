"""Programs that are no good agents: they say nonsense, hang, flood, die, ask oddly. The session can be used on, and nothing is left running."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.events import until
from commonplace.testing.host_bench import HostBench, call_change, call_step, is_running, options, said_by
from commonplace.values.permission import PermissionRequest
from commonplace.values.turn_event import (
    MemoryLearned,
    PermissionAsked,
    TextAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
)

pytestmark = pytest.mark.anyio
ONCE = options(("go", "allow_once"), ("no", "reject_once"))
_SURROGATE = chr(0xD83D)


def end_of(events: list[TurnEvent]) -> TurnEnded | TurnFailed:
    [end] = [event for event in events if isinstance(event, TurnEnded | TurnFailed)]
    return end


async def failure(host: HostBench, text: str = "Hello?") -> TurnFailed:
    end = end_of(await host.turn(await host.session(), text))
    assert isinstance(end, TurnFailed), end
    return end


# ---- what it says


ODD: list[dict[str, Any]] = [
    {"print": "npm notice: a new version is there"},
    {"print": '{"jsonrpc": "2.0", "method": '},
    {"print": "[1, 2]"},
    {"print": '{"jsonrpc": "2.0", "id": [1], "result": {}}'},
    {"print": '{"jsonrpc": "2.0", "id": 99, "result": {}}'},
    {"print": '{"jsonrpc": "2.0", "id": 0, "error": "no"}'},
    {"print": "[" * 100_000},
    {"oversize": 40_000_000},
    {"flood": 100},
    {"send": {"method": "_auth/status_update", "params": {"a": 1}}},
    {"send": {"method": "session/update", "params": "odd"}},
    {"send": {"method": "session/update", "params": {"sessionId": "another", "update": {}}}},
    {"send": {"method": "session/update"}},
    {"update": {"sessionUpdate": "of_a_later_version", "content": 7}},
    {"update": {"sessionUpdate": "agent_message_chunk", "content": 7}},
    {"update": {"sessionUpdate": "tool_call"}},
    {"update": {"sessionUpdate": "tool_call", "toolCallId": 7, "content": "odd", "locations": {}}},
    {"update": {"sessionUpdate": "plan", "entries": [7, {}]}},
    {"update": {"sessionUpdate": "usage_update", "used": -1, "size": "large", "cost": {"amount": "much"}}},
    {"update": {"sessionUpdate": "current_mode_update", "currentModeId": ["yolo"]}},
    {"update": {"sessionUpdate": "config_option_update", "configOptions": [{"category": "mode", "options": 3}]}},
    {"update": {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Hello?"}}},
    {"request": "craft/drainMidTurnQueue", "params": {}},
    {"request": "elicitation/create", "params": {}},
]


@pytest.mark.parametrize("step", ODD)
async def test_a_turn_goes_on_whatever_is_said_besides(host: HostBench, step: dict[str, Any]) -> None:
    host.play([step, {"text": "Well."}])

    end = end_of(await host.turn(await host.session(), "Hello?"))

    assert isinstance(end, TurnEnded), end
    assert end.reply == "Well."


async def test_halves_of_characters_and_nuls_are_kept_as_marks(host: HostBench) -> None:
    host.play([{"text": f"a{_SURROGATE}b\0c"}])

    end = end_of(await host.turn(await host.session(), "Hello?"))

    assert isinstance(end, TurnEnded)
    assert end.reply == "a\ufffdb\ufffdc"


async def test_one_that_floods_with_nonsense_is_ended_and_the_turn_fails(host: HostBench) -> None:
    host.play([{"flood": 6_000}, {"hang": 1}])

    assert (await failure(host)).code == "hosted_agent_failed"

    await until(lambda: not any(map(is_running, host.pids)))


async def test_one_that_says_far_too_much_is_stopped_and_what_it_said_is_kept(host: HostBench) -> None:
    host.play([{"text": "word " * 10_000, "times": 60}, {"wait_for_cancel": 1}], [{"text": "Yes?"}])
    session = await host.session()

    end = end_of(await host.turn(session, "Talk."))
    after = end_of(await host.turn(session, "Are you there?"))

    assert isinstance(end, TurnEnded)
    assert end.stop_reason == "max_tokens"
    assert 1_000_000 <= len(end.reply) < 1_001_000
    assert isinstance(after, TurnEnded)


# ---- how it begins


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ({"greeting": {"protocolVersion": 2}}, "hosted_agent_failed", "version 2"),
        ({"greeting": {"error": {"code": -32603, "message": "broken inside"}}}, "hosted_agent_failed", "broken inside"),
        (
            {"session": {"error": {"code": -32000, "message": "Authentication required"}}},
            "hosted_agent_sign_in",
            "sign in",
        ),
        ({"session": {"error": {"code": -32603, "message": "no model"}}}, "hosted_agent_failed", "no model"),
        ({"session": {"sessionId": ""}}, "hosted_agent_failed", "without an id"),
        ({"session": ["odd"]}, "hosted_agent_failed", "no object"),
    ],
)
async def test_one_that_does_not_begin_says_why(host: HostBench, script: dict[str, Any], code: str, words: str) -> None:
    host.play([{"text": "Never."}], **script)

    failed = await failure(host)

    assert failed.code == code
    assert words in failed.message
    await until(lambda: not any(map(is_running, host.pids)))


@pytest.mark.parametrize("place", ["greeting", "session"])
async def test_one_that_never_answers_is_ended_after_its_time(host: HostBench, place: str) -> None:
    host.play([{"text": "Never."}], **{place: "hang"})
    host.start_seconds = 1.0

    assert (await failure(host)).code == "hosted_agent_silent"

    await until(lambda: not any(map(is_running, host.pids)))


async def test_a_command_that_is_not_there_is_named(host: HostBench) -> None:
    host.command = ("no-such-agent-program", "--acp")

    failed = await failure(host)

    assert failed.code == "hosted_agent_missing"
    assert "no-such-agent-program" in failed.message


async def test_a_program_in_the_folder_of_a_session_is_never_taken_for_the_command(
    host: HostBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = host.folder / "operator"
    for folder, words in ((operators, "the one that is meant"), (host.folder / "work", "another")):
        folder.mkdir(exist_ok=True)
        (folder / "agent").write_text(f"#!/bin/sh\necho {words} >&2\n")
        (folder / "agent").chmod(0o755)
    monkeypatch.chdir(operators)
    host.command = ("./agent",)

    failed = await failure(host)

    assert "the one that is meant" in failed.message


async def test_a_program_that_is_no_agent_fails_with_what_it_printed(host: HostBench) -> None:
    host.command = ("sh", "-c", "echo this program has moved; exit 1")

    failed = await failure(host)

    assert failed.code == "hosted_agent_failed"
    assert "this program has moved" in failed.message


# ---- how it ends


@pytest.mark.parametrize("step", [{"exit": 0}, {"die": 1}])
async def test_one_that_ends_in_the_middle_of_a_call_leaves_it_as_interrupted(host: HostBench, step: Any) -> None:
    host.play([call_step("c1", title="make", kind="execute", status="in_progress"), step])
    session = await host.session()

    events = await host.turn(session, "Make it.")
    host.play([{"text": "I look first."}])
    after = end_of(await host.turn(session, "And?"))

    assert isinstance(end_of(events), TurnFailed)
    assert len([event for event in events if isinstance(event, ToolStarted)]) == 1
    assert not [event for event in events if isinstance(event, ToolEnded)]
    assert isinstance(after, TurnEnded)
    assert any("used a tool: make" in block for block in host.blocks())


async def test_one_that_does_not_stop_is_ended_and_the_next_words_start_another(
    host: HostBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.agent.acp.host.session.STOP_SECONDS", 0.3)
    host.play([{"text": "I begin."}, {"hang": 1}])
    session = await host.session()
    ticket = await host.agent.say(session.id, "Work.")
    await host.hear(session, ticket.last_event, TextAdded)

    await host.agent.cancel_turn(session.id)
    end = end_of(await host.hear(session, ticket.last_event))
    host.play([{"text": "Yes?"}])
    after = end_of(await host.turn(session, "Are you there?"))

    assert isinstance(end, TurnEnded)
    assert end.stop_reason == "cancelled"
    assert isinstance(after, TurnEnded)
    assert len(set(host.pids)) == 2
    assert not is_running(host.pids[0])


async def test_it_takes_its_own_conversation_up_in_another_process_if_it_can(host: HostBench) -> None:
    host.play([{"text": "One."}], [{"text": "Two."}])
    session = await host.session()
    await host.turn(session, "First.")
    assert host.sessions is not None
    await host.sessions.aclose()
    host.sessions = None
    host.play([{"text": "Two."}], known=["session-1"])

    end = end_of(await host.turn(session, "Second."))

    assert isinstance(end, TurnEnded)
    assert end.reply == "Two."
    assert [message["params"]["sessionId"] for message in host.heard("session/load")] == ["session-1"]
    assert not any("First." in block for block in host.blocks())


async def test_nothing_of_it_outlives_us_however_we_end(tmp_path: Path) -> None:
    warden = Path(__file__).parents[4] / "src" / "commonplace" / "agent" / "acp" / "host" / "warden.py"
    script = (
        "import os, subprocess, sys, time\n"
        "line, ours = os.pipe()\n"
        "command = [sys.executable, '-I', '-S', sys.argv[1], str(line), 'sh', '-c', 'sleep 1000 & setsid sleep 1000 & echo $$ > pids; wait']\n"
        "subprocess.Popen(command, pass_fds=(line,), start_new_session=True, env={**os.environ, 'COMMONPLACE_CALL': 'warden-test'})\n"
        "time.sleep(1000)\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(warden), cwd=tmp_path)
    try:
        await until(lambda: (tmp_path / "pids").exists() and len(marked()) >= 4)

        parent.send_signal(signal.SIGKILL)
        await asyncio.wait_for(parent.wait(), 5)

        await until(lambda: not marked())
    finally:
        if parent.returncode is None:
            parent.kill()


def marked() -> list[int]:
    pids: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"COMMONPLACE_CALL=warden-test" in (folder / "environ").read_bytes() and is_running(int(folder.name)):
                pids.append(int(folder.name))
        except OSError:
            continue
    return pids


# ---- what it asks


async def answered(host: HostBench, *steps: dict[str, Any], choice: Any = "allow_once") -> list[PermissionRequest]:
    host.play([*steps, {"text": "Done."}])
    session = await host.session()
    ticket = await host.agent.say(session.id, "Go on.")
    requests: list[PermissionRequest] = []
    async with asyncio.timeout(10):
        async for heard in host.agent.hear(session.id, after=ticket.last_event):
            if isinstance(heard.event, PermissionAsked):
                requests.append(heard.event.request)
                await host.agent.answer_permission(session.id, heard.event.request.id, choice)
            if isinstance(heard.event, MemoryLearned):
                break
    return requests


def outcome(host: HostBench, id_: str = "q") -> Any:
    [answer] = [message for message in host.heard() if message.get("id") == id_ and "method" not in message]
    return answer["result"]["outcome"]


async def test_a_question_that_names_only_an_earlier_call_shows_that_call(host: HostBench) -> None:
    [request] = await answered(
        host,
        call_step("c1", title="bash: touch made", kind="execute", rawInput={"command": "touch made"}, name="bash"),
        {"ask": {"toolCall": {"toolCallId": "c1"}, "options": ONCE}, "id": "q"},
    )

    assert (request.title, request.kind, request.tool) == ("bash: touch made", "execute", "bash")
    assert request.rule == "bash:touch made"


async def test_a_question_about_nothing_that_is_known_is_asked_all_the_same(host: HostBench) -> None:
    [request] = await answered(host, {"ask": {"options": ONCE}, "id": "q"})

    assert request.kind == "other"
    assert outcome(host) == {"outcome": "selected", "optionId": "go"}


@pytest.mark.parametrize(
    ("offer", "choice", "option"),
    [
        (
            options(("a", "allow_always"), ("b", "allow_always"), ("c", "allow_once"), ("d", "reject_once")),
            "allow_workspace",
            "c",
        ),
        (options(("a", "allow_always"), ("b", "allow_always"), ("d", "reject_once")), "allow_session", "a"),
        (options(("allow_once", "reject_once"), ("reject_once", "allow_once")), "allow_once", "reject_once"),
        (options(("c", "allow_once"), ("d", "reject_always")), "reject_once", "d"),
        (options(("c", "allow_once")), "reject_once", None),
    ],
)
async def test_an_answer_is_chosen_by_its_kind(host: HostBench, offer: Any, choice: str, option: str | None) -> None:
    await answered(host, {"ask": {"toolCall": {"toolCallId": "c1"}, "options": offer}, "id": "q"}, choice=choice)

    chosen = outcome(host)
    assert chosen == ({"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option})


async def test_a_question_without_a_way_to_allow_it_is_refused_unasked(host: HostBench) -> None:
    requests = await answered(host, {"ask": {"toolCall": {"toolCallId": "c1"}, "options": "odd"}, "id": "q"})

    assert requests == []
    assert outcome(host) == {"outcome": "cancelled"}


async def test_a_question_that_nobody_answers_ends_with_the_turn(host: HostBench) -> None:
    asks = {"id": "q", "method": "session/request_permission"}
    params = {"sessionId": "session-1", "toolCall": {"toolCallId": "c1"}, "options": ONCE}
    host.play([{"send": {**asks, "params": params}}, {"text": "Never mind."}])

    end = end_of(await host.turn(await host.session(), "Go on."))

    assert isinstance(end, TurnEnded)
    await until(lambda: any(m.get("id") == "q" or m.get("method") == "session/prompt" for m in host.heard()))


async def test_calls_that_were_announced_and_never_ended_are_closed_with_the_turn(host: HostBench) -> None:
    host.play(
        [
            call_step("c1", title="look", kind="read"),
            call_change("c1", status="in_progress"),
            said_by("agent_message_chunk", "Done."),
        ]
    )

    events = await host.turn(await host.session(), "Look.")

    assert [event.call for event in events if isinstance(event, ToolEnded)] == ["c1"]
