"""A session in an editor: what can be set, what others do in it, and what an editor gets wrong."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.doors.acp.editor import ALL, PATIENCE, EditorPeer, editor, editor_of_daemon, selected

from commonplace.agent.local_agent import LocalAgent
from commonplace.testing.vendor import Reply, running_vendor, stream
from commonplace.values.turn_event import SessionEvent, TurnEnded

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def text(update: Any) -> str:
    return str(update["content"]["text"])


def texts(peer: EditorPeer, kind: str) -> str:
    return "".join(text(update) for update in peer.updates if update["sessionUpdate"] == kind)


def local_agent(peer: EditorPeer) -> LocalAgent:
    assert peer.opened.local is not None
    return peer.opened.local


def held(release: Event, *pieces: str) -> Reply:
    """An answer that the model gives when it is released."""
    reply = stream(*pieces)
    return Reply(body=reply.body, headers=reply.headers, until=release)


async def test_a_mode_is_set_either_way_and_the_other_way_follows(tmp_path: Path) -> None:
    async with editor(tmp_path) as peer:
        await peer.call("initialize", protocolVersion=1)
        new = (await peer.call("session/new", cwd=str(tmp_path), mcpServers=[]))["result"]
        session = new["sessionId"]
        by_mode = await peer.call("session/set_mode", sessionId=session, modeId="plan")
        followed = await peer.told("config_option_update")
        by_option = await peer.call("session/set_config_option", sessionId=session, configId="mode", value="auto-edit")
        changed = await peer.told("current_mode_update")
        resumed = (await peer.call("session/resume", sessionId=session, cwd=str(tmp_path)))["result"]

    current = {option["id"]: option["currentValue"] for option in followed["configOptions"]}
    assert new["modes"]["currentModeId"] == "default"
    assert [(option["id"], option["category"]) for option in new["configOptions"]] == [
        ("mode", "mode"),
        ("model", "model"),
    ]
    assert by_mode["result"] == {}
    assert current == {"mode": "plan", "model": "librarian"}
    assert by_option["result"]["configOptions"][0]["currentValue"] == "auto-edit"
    assert changed["currentModeId"] == "auto-edit"
    assert resumed["modes"]["currentModeId"] == "auto-edit"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/set_mode", {"modeId": "fast"}, -32602),
        ("session/set_mode", {"modeId": "yolo"}, -32603),
        ("session/set_config_option", {"configId": "model", "value": "nobody"}, -32602),
        ("session/set_config_option", {"configId": "colour", "value": "red"}, -32602),
        ("session/set_config_option", {"configId": "mode", "type": "boolean", "value": True}, -32602),
        ("session/prompt", {"prompt": []}, -32602),
        ("session/prompt", {"prompt": [{"type": "image", "data": "", "mimeType": "image/png"}]}, -32602),
        ("session/prompt", {"prompt": [{"type": "text", "text": " "}]}, -32602),
        ("session/prompt", {"prompt": [{"type": "text", "text": "\ud800"}]}, -32602),
        ("session/fork", {"cwd": "/"}, -32601),
        ("authenticate", {"methodId": "key"}, -32602),
    ],
)
async def test_what_is_not_offered_is_refused_by_its_code(tmp_path: Path, method: str, params: Any, code: int) -> None:
    async with editor(tmp_path) as peer:
        session = await peer.session(tmp_path)
        refused = await peer.call(method, sessionId=session, **params)
        ended = await peer.turn(session, "hello")

    assert refused["error"]["code"] == code
    assert ended["result"]["stopReason"] == "end_turn"


async def test_a_turn_of_somebody_else_is_shown_and_its_permission_asked(tmp_path: Path) -> None:
    call = ("write_file", json.dumps({"path": "a.md", "content": "one\n"}))
    with running_vendor() as vendor:
        vendor.replies = [stream("I write.", calls=(call,), thought="Hm."), stream("Written.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            agent = peer.opened.agent
            await agent.configure_session(session, mode="default", model=None)
            await agent.say(session, "Write it down")
            await peer.told("usage_update")
            await agent.configure_session(session, mode="plan")
            mode = await peer.told("current_mode_update")

    usage = await peer.told("usage_update")
    assert texts(peer, "user_message_chunk") == "Write it down"
    assert texts(peer, "agent_thought_chunk") == "Hm."
    assert texts(peer, "agent_message_chunk") == "I write.Written."
    assert (await peer.told("session_info_update"))["title"] == "Write it down"
    assert [method for method, _ in peer.asked] == ["session/request_permission"]
    assert (tmp_path / "a.md").exists()
    assert usage["cost"] == {"amount": pytest.approx(114e-6), "currency": "USD"}
    assert usage["used"] == 57
    assert mode["currentModeId"] == "plan"


async def test_what_the_editor_said_itself_is_not_told_to_it_again(tmp_path: Path) -> None:
    async with editor(tmp_path) as peer:
        session = await peer.session(tmp_path)
        await peer.turn(session, "Hello")
        loaded = len(peer.updates)
        await peer.call("session/load", sessionId=session, cwd=str(tmp_path))

    assert "user_message_chunk" not in peer.kinds()[:loaded]
    assert [text(one) for one in peer.updates[loaded:] if one["sessionUpdate"] == "user_message_chunk"] == ["Hello"]


async def test_a_session_loaded_in_the_middle_of_a_turn_shows_all_of_it_once(tmp_path: Path) -> None:
    release = Event()
    with running_vendor() as vendor:
        vendor.replies = [stream("First."), held(release, "Sec", "ond.")]
        async with editor(tmp_path, vendor) as peer:
            session = (await peer.opened.memory.create_session(folder=str(tmp_path))).id
            agent = peer.opened.agent
            await agent.say(session, "one")
            await local_agent(peer).settle(session)
            await agent.say(session, "two")
            await peer.call("initialize", protocolVersion=1)
            await peer.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
            release.set()
            await peer.told("usage_update")

    assert [text(one) for one in peer.updates if one["sessionUpdate"] == "user_message_chunk"] == ["one", "two"]
    assert texts(peer, "agent_message_chunk") == "First.Second."


async def test_a_question_that_somebody_else_answers_is_taken_back(tmp_path: Path) -> None:
    call = ("write_file", json.dumps({"path": "a.md", "content": "one\n"}))
    with running_vendor() as vendor:
        vendor.replies = [stream("I write.", calls=(call,)), stream("Written.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            # It never answers.
            del peer.answers["session/request_permission"]
            turn = peer.say(session, "Write it down")
            await peer.until(lambda: bool(peer.asked))
            agent = peer.opened.agent
            (request,) = await agent.permission_requests(session)
            await agent.answer_permission(session, request.id, "allow_once")
            ended = await asyncio.wait_for(turn, PATIENCE)

    assert ended["result"]["stopReason"] == "end_turn"
    assert ("$/cancel_request", {"requestId": 0}) in peer.notes
    assert (tmp_path / "a.md").exists()


async def test_an_editor_that_dismisses_a_question_has_not_permitted_it(tmp_path: Path) -> None:
    call = ("write_file", json.dumps({"path": "a.md", "content": "one\n"}))
    nonsense: list[Any] = [{"outcome": {"outcome": "cancelled"}}, {"outcome": "yes"}, selected("allow_everything"), []]
    with running_vendor() as vendor:
        vendor.replies = [stream("I try.", calls=(call,))] * 4 + [stream("No.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            peer.answers["session/request_permission"] = lambda _: nonsense.pop()
            ended = await peer.turn(session, "Write it down")

    assert ended["result"]["stopReason"] == "end_turn"
    assert not (tmp_path / "a.md").exists()


async def test_a_prompt_of_a_megabyte_is_answered_and_a_longer_one_refused(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [stream("Read.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            ends: list[Any] = []
            for text in ("word " * 200_000, "x" * 1_000_001, "hello"):
                params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
                end = peer.expect(len(text), "")
                # More than a pipe holds.
                line = {"jsonrpc": "2.0", "id": len(text), "method": "session/prompt", "params": params}
                await asyncio.to_thread(peer.write, line)
                ends.append(await asyncio.wait_for(end, PATIENCE))

    assert [end["result"]["stopReason"] for end in (ends[0], ends[2])] == ["end_turn"] * 2
    assert ends[1]["error"]["code"] == -32602


async def test_a_second_prompt_is_refused_and_a_cancel_ends_the_first(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [stream("I begin", hang=True), stream("Again.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            peer.note("session/cancel", sessionId=session)
            first = peer.say(session, "one")
            await peer.told("agent_message_chunk")
            second = await peer.turn(session, "two")
            peer.note("session/cancel", sessionId=session)
            ended = await asyncio.wait_for(first, PATIENCE)
            again = await peer.turn(session, "three")

    assert second["error"]["code"] == -32600
    assert ended["result"]["stopReason"] == "cancelled"
    assert again["result"]["stopReason"] == "end_turn"


async def test_a_prompt_is_taken_back_by_the_id_of_its_request(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [stream("I begin", hang=True), stream("Again.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "one"}]}
            turn = peer.expect("x", {"jsonrpc": "2.0", "id": "x", "method": "session/prompt", "params": prompt})
            await peer.told("agent_message_chunk")
            peer.note("$/cancel_request", requestId="unknown")
            peer.note("$/cancel_request", requestId="x")
            ended = await asyncio.wait_for(turn, PATIENCE)
            again = await peer.turn(session, "two")

    assert ended["result"]["stopReason"] == "cancelled"
    assert again["result"]["stopReason"] == "end_turn"


async def test_a_prompt_that_waits_behind_somebody_elses_turn_is_withdrawn_and_that_turn_goes_on(
    tmp_path: Path,
) -> None:
    release = Event()
    with running_vendor() as vendor:
        vendor.replies = [held(release, "Theirs.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            agent = peer.opened.agent
            ticket = await agent.say(session, "theirs")
            await peer.told("user_message_chunk")
            mine = peer.say(session, "mine")
            await asyncio.sleep(0)
            peer.note("session/cancel", sessionId=session)
            ended = await asyncio.wait_for(mine, PATIENCE)
            release.set()
            heard = [entry.event async for entry in _until_ended(peer, session, ticket.last_event)]

    assert ended["result"]["stopReason"] == "cancelled"
    assert [(event.reply, event.stop_reason) for event in heard if isinstance(event, TurnEnded)] == [
        ("Theirs.", "end_turn")
    ]


async def _until_ended(peer: EditorPeer, session: str, after: int) -> AsyncGenerator[SessionEvent]:
    async with asyncio.timeout(PATIENCE):
        async for entry in peer.opened.agent.hear(session, after=after):
            yield entry
            if isinstance(entry.event, TurnEnded):
                return


async def test_lines_that_are_no_requests_are_answered_as_such_and_the_next_one_is_read(tmp_path: Path) -> None:
    hello = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": 1}}
    lines = ("{", f"[{json.dumps(hello)}]", "7", '{"id": 1.5, "method": "initialize"}', '{"id": true, "method": "x"}', '{"jsonrpc": "2.0"}',
             "[" * 100_000, json.dumps({**hello, "pad": "x" * (2 << 20)}))  # fmt: skip
    async with editor(tmp_path) as peer:
        codes: list[int] = []
        for line in lines:
            refused = peer.expect(None, "")
            await asyncio.to_thread(peer.write, line)
            codes.append((await asyncio.wait_for(refused, PATIENCE))["error"]["code"])
        peer.write({"jsonrpc": "2.0", "id": 99, "result": {}})
        greeted = await asyncio.wait_for(peer.expect("a", hello), PATIENCE)

    assert codes == [-32700, -32600, -32600, -32600, -32600, -32600, -32700, -32600]
    assert greeted["result"]["protocolVersion"] == 1


async def test_notifications_with_an_id_are_answered_and_requests_without_one_do_nothing(tmp_path: Path) -> None:
    async with editor(tmp_path) as peer:
        session = await peer.session(tmp_path)
        peer.note("session/delete", sessionId=session)
        peer.note("session/prompt", nonsense=True)
        answered = await peer.call("session/cancel", sessionId=session)
        logged_out = await peer.call("logout")
        listed = await peer.call("session/list", cwd=str(tmp_path))
        elsewhere = await peer.call("session/list", cwd="/nowhere")

    assert answered["result"] == logged_out["result"] == {}
    assert [one["sessionId"] for one in listed["result"]["sessions"]] == [session]
    assert elsewhere["result"]["sessions"] == []


@pytest.mark.parametrize(
    "method", ["session/prompt", "session/load", "session/resume", "session/delete", "session/set_mode"]
)
async def test_a_session_that_is_not_there_is_not_found(tmp_path: Path, method: str) -> None:
    prompt = [{"type": "text", "text": "hello"}]
    async with editor(tmp_path) as peer:
        unknown = await peer.call(
            method, sessionId="nobody", prompt=prompt, cwd=str(tmp_path), mcpServers=[], modeId="plan"
        )

    assert unknown["error"]["code"] == -32002


async def test_a_closed_session_is_heard_no_more_and_can_be_prompted_again(tmp_path: Path) -> None:
    async with editor(tmp_path) as peer:
        session = await peer.session(tmp_path)
        closed = await peer.call("session/close", sessionId=session)
        told = len(peer.updates)
        await peer.opened.agent.say(session, "Hello")
        await local_agent(peer).settle(session)
        silent = peer.updates[told:]
        again = await peer.turn(session, "Hello again")

    assert closed["result"] == {}
    assert silent == []
    assert again["result"]["stopReason"] == "end_turn"


async def test_an_editor_that_goes_away_in_the_middle_of_a_turn_ends_it(tmp_path: Path) -> None:
    with running_vendor() as vendor:
        vendor.replies = [stream("I begin", hang=True)]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            peer.say(session, "one")
            await peer.told("agent_message_chunk")
            peer.leave()
            await asyncio.wait_for(local_agent(peer).settle(session), PATIENCE)
            messages = (await peer.opened.memory.session_messages(session)).messages

    assert [(message.role, message.text) for message in messages] == [("user", "one"), ("assistant", "I begin")]


async def test_through_a_daemon_the_editor_lends_nothing_and_sees_what_others_do(tmp_path: Path) -> None:
    call = ("write_file", json.dumps({"path": "a.md", "content": "one\n"}))
    server: dict[str, Any] = {"name": "books", "command": "/bin/false", "args": [], "env": []}
    with running_vendor() as vendor:
        vendor.replies = [stream("I write.", calls=(call,)), stream("Written."), stream("Theirs.")]
        async with editor_of_daemon(tmp_path, vendor) as peer:
            hello = await peer.call("initialize", protocolVersion=1, clientCapabilities=ALL)
            new = (await peer.call("session/new", cwd=str(tmp_path), mcpServers=[server]))["result"]
            session = new["sessionId"]
            ended = await peer.turn(session, "Write it down")
            await peer.opened.agent.say(session, "And who else is here?")
            await peer.until(lambda: "Theirs." in texts(peer, "agent_message_chunk"))

    assert hello["result"]["agentCapabilities"]["mcpCapabilities"]["http"] is False
    assert new["_meta"]["commonplace"]["mcpServersNotUsed"] == ["books"]
    assert ended["result"]["stopReason"] == "end_turn"
    assert [method for method, _ in peer.asked] == ["session/request_permission"]
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "one\n"
    assert texts(peer, "user_message_chunk") == "And who else is here?"


async def test_a_question_in_a_turn_of_somebody_else_is_theirs_if_the_editor_cannot_ask(tmp_path: Path) -> None:
    call = ("write_file", json.dumps({"path": "a.md", "content": "one\n"}))
    with running_vendor() as vendor:
        vendor.replies = [stream("I write.", calls=(call,)), stream("Written.")]
        async with editor(tmp_path, vendor) as peer:
            session = await peer.session(tmp_path)
            peer.answers["session/request_permission"] = lambda _: {"outcome": {"outcome": "cancelled"}}
            agent = peer.opened.agent
            await agent.say(session, "Write it down")
            await peer.until(lambda: bool(peer.asked))
            (request,) = await agent.permission_requests(session)
            await agent.answer_permission(session, request.id, "allow_once")
            await peer.told("usage_update")

    assert (tmp_path / "a.md").exists()
