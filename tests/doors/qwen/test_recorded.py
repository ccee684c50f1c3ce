"""
The exchange that was recorded between qwen-code's published client and its own daemon, replayed against ours.

The same requests in the same order. Each answer has the recorded status and every recorded field, of the same type, and where it says
something of its own also the same; what is another, on purpose, stands in `ELSE` with the reason. Events come in the recorded order, and those
whose every field is known are as long as the recorded ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.doors.qwen.recorded import Exchange, Names, Piece, differences, exchanges, pieces, sizes, whole_events

from commonplace.testing.events import Frame
from commonplace.testing.sessions import Holds, ModelGate, Program, SessionHouse, SessionStream, seen, session_house
from commonplace.testing.vendor import Vendor, stream

pytestmark = pytest.mark.anyio

OURS = "our own sentence"
THEIRS = "a part of their program, not of the protocol"
NOT_BUILT = "what we do not have is not named"
MODES = "our modes have our names and descriptions, and there is no mode `auto`"
TOOK = "what a call took is told while its turn is played, and kept in its run"
ELSE: dict[str, str] = {
    "GET /capabilities .qwenCodeVersion": THEIRS,
    "GET /capabilities .features[session_id_override]": NOT_BUILT,
    "GET /capabilities .mode": "we are another daemon, and say so",
    "GET /capabilities .sessionLiveStatePollIntervalMs": NOT_BUILT,
    "GET /capabilities .limits.maxRegisteredWorkspaces": "a daemon of ours has one workspace",
    "GET /capabilities .limits.maxChannelControlWorkspaces": NOT_BUILT,
    "GET /capabilities .limits.sessionRestoreTimeoutMs": THEIRS,
    "GET /capabilities .limits.maxWorkspaceFileUploadBytes": NOT_BUILT,
    "GET /capabilities .limits.maxSessionsPerWorkspace": "a daemon of ours has one workspace",
    "GET /capabilities .workspaces[].id": "our workspaces go by the names of their folders",
    "GET /capabilities .workspaces[].workflowsEnabled": NOT_BUILT,
    "GET /capabilities .supportedLanguages": THEIRS,
    "POST /model status": "a model that is not there is no fault of the daemon: 400, not 500",
    "POST /model .error": OURS,
    "POST /model .code": "as above",
    "POST /model .data": "as above",
    "POST /approval-mode .planExecutionMode": NOT_BUILT,
    "GET /context .recovery": "an interrupted turn is told to the model, and nobody has to continue it",
    "GET /context .state.models.currentModelId": "our model",
    "GET /context .state.models.availableModels[$runtime|openai|fake-model(openai)]": "our model",
    "GET /context .state.modes._meta": NOT_BUILT,
    "GET /context .state.modes.availableModes[].name": MODES,
    "GET /context .state.modes.availableModes[].description": MODES,
    "GET /context .state.modes.availableModes[auto]": MODES,
    "GET /context .state.configOptions[].currentValue": "our model",
    "GET /context .state.configOptions[].options[].name": MODES,
    "GET /context .state.configOptions[].options[].description": MODES,
    "GET /context .state.configOptions[].options[auto]": MODES,
    "GET /context .state.configOptions[].options[$runtime|openai|fake-model(openai)]": "our model",
    "GET /context-usage .usage.modelName": "our model",
    "GET /context-usage .usage.breakdown.startupContext": "the parts of a prompt are not counted one by one",
    "GET /context-usage .usage.breakdown.cachedTokens": "as above",
    "GET /context-usage .usage.breakdown.thresholds": THEIRS,
    "GET /context-usage .usage.breakdown.currentTier": THEIRS,
    "GET /stats .models.fake-model": "our model",
    "GET /stats .sources": "no turn of ours has helpers with a bill of their own",
    "GET /stats .tools.byName.run_shell_command": "the tool is called `shell`",
    "GET /stats .skills": NOT_BUILT,
    "GET /transcript .events[].data._meta.qwenTranscript": THEIRS,
    "GET /transcript .events[].data._meta.qwen.session.recordId": "our messages have our ids",
    "GET /transcript .events[agent_message_chunk usage]": TOOK,
    "GET /transcript .events[agent_message_chunk timing]": TOOK,
    "POST /memory .filePath": "our file is MEMORY.md",
    "GET /remember .status": "our tasks wait for a worker, and none runs here",
    "GET /remember .error": "as above",
    "GET /status .runtime.rateLimit.enabled": "ours is on unless somebody turns it off",
    "GET /status .capabilities.features[session_id_override]": NOT_BUILT,
    "GET /status .daemon.mode": "we are another daemon, and say so",
    "GET /status .daemon.startup": THEIRS,
    "GET /status .daemon.qwenCodeVersion": THEIRS,
    "GET /status .daemon.daemonId": "another process",
    "GET /status .daemon.runId": THEIRS,
    "GET /status .daemon.logMode": THEIRS,
    "GET /status .daemon.logHealth": THEIRS,
    "GET /status .security.allowOriginMode": THEIRS,
    "GET /status .limits.maxRegisteredWorkspaces": "a daemon of ours has one workspace",
    "GET /status .limits.maxChannelControlWorkspaces": NOT_BUILT,
    "GET /status .limits.listenerMaxConnections": THEIRS,
    "GET /status .limits.compactedReplayMaxBytes": THEIRS,
    "GET /status .limits.maxJournalEvents": THEIRS,
    "GET /status .limits.maxJournalBytes": THEIRS,
    "GET /status .limits.promptDeadlineMs": THEIRS,
    "GET /status .limits.writerIdleTimeoutMs": THEIRS,
    "GET /status .limits.channelIdleTimeoutMs": THEIRS,
    "GET /status .limits.sessionIdleTimeoutMs": THEIRS,
    "GET /status .limits.sessionPromptSettledCloseGraceMs": THEIRS,
    "GET /status .limits.acpConnectionCap": NOT_BUILT,
    "GET /status .limits.acpPreAttachMaxFramesPerStream": NOT_BUILT,
    "GET /status .limits.acpPreAttachMaxFramesPerConnection": NOT_BUILT,
    "GET /status .limits.acpPreAttachMaxFramesGlobal": NOT_BUILT,
    "GET /status .limits.acpPreAttachMaxPayloadBytesPerConnection": NOT_BUILT,
    "GET /status .limits.acpPreAttachMaxPayloadBytesGlobal": NOT_BUILT,
    "GET /status .limits.memory": THEIRS,
    "GET /status .runtime.sessions.admissionInFlight": THEIRS,
    "GET /status .runtime.channel": NOT_BUILT,
    "GET /status .runtime.channelWorker": NOT_BUILT,
    "GET /status .runtime.transport.acp": NOT_BUILT,
    "GET /status .runtime.rateLimit.rejectedSinceStart": THEIRS,
    "GET /status .runtime.perf": "GET /metrics has it",
    "GET /status .runtime.metrics": "GET /metrics has it",
    "GET /status .runtime.activity.lastActivityAt": THEIRS,
    "GET /status .runtime.activity.idleSinceMs": THEIRS,
    "GET /status .runtime.memory": THEIRS,
    "GET /status .runtime.process": THEIRS,
    "POST /load .state.modes.currentModeId": MODES,
    "POST /load .state.modes.availableModes[].name": MODES,
    "POST /load .state.modes.availableModes[].description": MODES,
    "POST /load .state.modes.availableModes[auto]": MODES,
    "POST /load .state.models.currentModelId": "our model",
    "POST /load .state.models.availableModels[$runtime|openai|fake-model(openai)]": "our model",
    "POST /load .state.configOptions[].currentValue": MODES,
    "POST /load .state.configOptions[].options[].name": MODES,
    "POST /load .state.configOptions[].options[].description": MODES,
    "POST /load .state.configOptions[].options[auto]": MODES,
    "POST /load .state.configOptions[].options[$runtime|openai|fake-model(openai)]": "our model",
    "POST /load .state._meta": THEIRS,
    "POST /load .compactedReplay[].data.update._meta.qwenTranscript": THEIRS,
    "POST /load .compactedReplay[].data.update._meta.qwen.session.recordId": "our messages have our ids",
    "POST /load .compactedReplay[agent_message_chunk usage]": TOOK,
    "POST /load .compactedReplay[].data.update.content.text": "a reply is kept without the blanks around it",
    "POST /load .promptTerminals": "how a turn ended is in its run",
}
"""Where ours is another on purpose: the request, the field, and why."""

TIMES = "how long it took has other digits"
TOOLS = "our tools have names, titles and arguments of their own"
ELSE_SIZES: dict[tuple[str, int], str] = {
    ("session_update", 509): TIMES,
    ("session_update", 510): TIMES,
    ("session_update", 511): TIMES,
    ("session_update", 546): TOOLS,
    ("session_update", 882): TOOLS,
    ("permission_request", 968): TOOLS,
    ("turn_complete", 433): TIMES,
    ("turn_complete", 500): "it names no point to branch from",
    ("model_switch_failed", 356): OURS,
    ("approval_mode_changed", 392): "it has no way to carry a plan out",
}
"""The recorded lengths of events that ours need not have, and why: every other recorded length is that of one of ours."""


class Replay:
    """One recorded exchange after another, asked of ours. `people` are the programs by the clients that were recorded."""

    def __init__(self, cwd: Path) -> None:
        self.names = Names()
        self.cwd = str(cwd)
        self.people: dict[str | None, Program] = {}
        self.wrong: list[str] = []
        self.used: set[str] = set()

    async def ask(self, exchange: Exchange, program: Program) -> Any:
        path, body = self.names.put([exchange.path, exchange.body])
        path = path.replace("%2Fworkspace", quote(self.cwd, safe=""))
        client = self.names.put(exchange.client)
        headers = {} if client is None else {"X-Qwen-Client-Id": client}
        more = {} if body is None else {"json": body}
        answer = await program.http.request(exchange.method, path, headers=headers, **more)
        ours = answer.json() if answer.content else ""
        self.names.learn(exchange.answer, ours)
        self._compare(exchange, answer.status_code, answer.headers, ours)
        return ours

    def _compare(self, exchange: Exchange, status: int, headers: Mapping[str, str], ours: Any) -> None:
        label = _label(exchange)
        found = [] if status == exchange.status else ["status"]
        found += [f"header {name}" for name in exchange.told if name == "retry-after" and headers.get(name) != "5"]
        theirs = json.loads(json.dumps(self.names.put(exchange.answer)).replace('"/workspace"', json.dumps(self.cwd)))
        found += differences(theirs, ours)
        for place in found:
            key = f"{label} {place}"
            reason = next((one for one in ELSE if key == one or key.startswith((f"{one}.", f"{one}["))), None)
            if reason is None:
                self.wrong.append(f"{exchange.id} {key}")
            else:
                self.used.add(reason)


def _label(exchange: Exchange) -> str:
    """The request without its ids: the last word of its path that is no id."""
    path = exchange.path.partition("?")[0]
    words = [part for part in path.split("/") if part and not re.search(r"\d|^nope$", part)]
    return f"{exchange.method} /{words[-1]}"


LATE = "permission_already_resolved"


def in_order(recorded: Sequence[Piece], ours: Sequence[Frame]) -> list[str]:
    """The recorded types that do not come in ours in that order. How many updates stand between two others is the model's affair."""
    rest = iter([frame.type for frame in ours])
    types = [kind for kind, _ in groupby(piece.type for piece in recorded)]
    return [kind for kind in types if kind not in rest]


def lengths(frames: Iterable[Frame]) -> dict[str, set[int]]:
    """By type, how many characters an event has whose id has two digits."""
    found: dict[str, set[int]] = {}
    for frame in frames:
        document = {**frame.document, "id": 10}
        if "requestId" in frame.data:
            document["data"] = {**frame.data, "requestId": "x" * 36}
        text = json.dumps(document, separators=(",", ":"))
        found.setdefault(frame.type, set()).add(len(f"id: 10\nevent: {frame.type}\ndata: {text}\n\n"))
    return found


def longer_or_shorter(name: str, frames: Sequence[Frame]) -> dict[str, set[int]]:
    """By type, the recorded lengths that none of ours has, and that it should have."""
    ours = lengths(frames)
    missing = {
        kind: {size for size in recorded - ours[kind] if (kind, size) not in ELSE_SIZES}
        for kind, recorded in sizes(name).items()
        # A vote that comes when the turn is over belongs to none.
        if kind != LATE
    }
    return {kind: these for kind, these in missing.items() if these}


async def test_the_recorded_session_is_answered_as_it_was(
    house: SessionHouse, vendor: Vendor, gate: ModelGate, workspace: Path
) -> None:
    trace, second = exchanges("qwen-serve-session.jsonl"), ModelGate()
    vendor.replies = [
        stream("Hello ", "from ", "the ", "fake ", "model."),
        stream("I will call a tool. ", calls=[("shell", '{"command": "touch made"}')]),
        stream("Made it."),
        stream("I will call a tool. ", calls=[("shell", '{"command": "touch made2"}')]),
        stream("Not made."),
        stream(*(f"w{number} " for number in range(7)), hang=True),
        gate.reply(*(f"w{number} " for number in range(15))),
        second.reply("Hello ", "from ", "the ", "fake ", "model."),
    ]
    ready: dict[int, Holds] = {
        9: seen("turn_complete"),
        10: seen("permission_request"),
        13: seen("turn_complete", 2),
        14: seen("permission_request", 2),
        17: seen("turn_complete", 3),
        18: seen("session_update", 21),
        20: seen("turn_complete", 4),
        26: seen("turn_complete", 5),
        32: seen("turn_complete", 6),
        38: seen("memory_changed"),
    }
    replay, program = Replay(workspace), await house.program()
    async with AsyncExitStack() as stack:
        listening: SessionStream | None = None
        for exchange in trace:
            if exchange.path.partition("?")[0].endswith("/events"):
                program.session = replay.names.put(exchange.path).split("/")[2]
                program.client = replay.names.put(exchange.client)
                last = int(exchange.headers["last-event-id"])
                if listening is None:
                    listening = await stack.enter_async_context(program.listening(last=last))
                    _check_headers(exchange, listening)
                else:
                    await _check_return(program, last)
                continue
            if exchange.id in ready:
                assert listening is not None
                found = await listening.wait(ready[exchange.id])
                _learn_requests(replay.names, trace, found)
            await replay.ask(exchange, program)
            if exchange.id == 22:
                gate.open()
            if exchange.id == 31:
                second.open()
        assert listening is not None
        frames = await listening.wait(seen("session_closed"))

    assert replay.wrong == [], "\n".join(replay.wrong)
    _check_frames(frames)
    unused = {name for name in ELSE if name not in replay.used}
    assert unused == set()


def _check_frames(frames: Sequence[Frame]) -> None:
    # The last one tells of what they learned meanwhile.
    told = [piece for piece in pieces("qwen-serve-session.jsonl") if piece.stream == 7][:-1]
    # Whether a late vote comes before the turn is over is its voter's affair.
    assert in_order([piece for piece in told if piece.type != LATE], frames) == []
    assert [frame.type for frame in frames].count(LATE) == [piece.type for piece in told].count(LATE)
    assert longer_or_shorter("qwen-serve-session.jsonl", frames) == {}
    [changed] = whole_events("qwen-serve-session.jsonl")
    [ours] = [frame.document for frame in frames if frame.type == changed["type"]]
    changed["data"]["filePath"] = ours["data"]["filePath"]
    assert list(differences(changed, ours)) == []
    assert changed.keys() == ours.keys()
    assert changed["data"].keys() == ours["data"].keys()


def _text(frame: Frame) -> object:
    content = frame.data.get("update", {}).get("content")
    return content.get("text") if isinstance(content, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - as it came


def _check_headers(exchange: Exchange, listening: SessionStream) -> None:
    names = ("x-accel-buffering", "cache-control")
    assert [listening.headers[name] for name in names] == [exchange.told[name] for name in names]
    assert listening.headers["content-type"].startswith("text/event-stream")
    assert {"x-qwen-event-epoch", "x-qwen-sse-stream-id"} <= set(listening.headers)


async def _check_return(program: Program, last: int) -> None:
    """Whoever comes back hears what came after, or that they have to begin anew; then that they have it all."""
    async with program.listening(last=last) as again:
        found = await again.wait(seen("replay_complete"))
        assert again.text.startswith(b"retry: 3000\n\n")
    if last < 99_999:
        assert found[0].id == last + 1
    else:
        assert (found[0].type, found[0].data["reason"], found[1].id) == ("state_resync_required", "epoch_reset", 1)
        assert found[0].data == {"reason": "epoch_reset", "lastDeliveredId": 99_999, "earliestAvailableId": 1}
    ids = [frame.id for frame in found if frame.id is not None]
    assert found[-1].data == {
        "replayedCount": len(ids),
        "lastReplayedEventId": ids[-1],
        "lastEventId": ids[-1],
    }


def _learn_requests(names: Names, trace: Sequence[Exchange], found: Sequence[Frame]) -> None:
    """The ids of requests for permission stand only in events: the first one that was recorded is our first one."""
    recorded = [
        exchange.path.rpartition("/")[2] for exchange in trace if re.match(r"/session/.*/permission/", exchange.path)
    ]
    ours = [frame.data["requestId"] for frame in found if frame.type == "permission_request"]
    names.ours.update(zip(dict.fromkeys(recorded), ours, strict=False))


async def test_the_recorded_consensus_comes_to_the_same_end(
    home: Path, workspace: Path, vendor: Vendor, gate: ModelGate
) -> None:
    trace = exchanges("qwen-serve-consensus.jsonl")
    vendor.replies = [
        stream("I will call a tool. ", calls=[("write_file", '{"path": "cons", "content": "x"}')]),
        stream("Made.", hang=True),
        stream("w0 ", hang=True),
    ]
    ready: dict[int, Holds] = {
        7: seen("permission_request"),
        13: seen("permission_resolved"),
        21: seen("turn_complete"),
        22: lambda frames: any(_text(frame) == "w0 " for frame in frames),
    }
    replay = Replay(workspace)
    settings: dict[str, Any] = {
        "agent_permission_policy": "consensus",
        "agent_shared_sessions": True,
        "agent_roots": [workspace],
    }
    async with session_house(home, workspace, vendor, **settings) as house, AsyncExitStack() as stack:
        # Four clients there are four persons here: a vote counts once a person.
        people = [await house.person(name) for name in ("ana", "bo", "cem", "dia")]
        newcomers = iter(people)
        owners: dict[str | None, Program] = {None: people[3]}
        listening: SessionStream | None = None
        for exchange in trace:
            if exchange.path.partition("?")[0].endswith("/events"):
                ana = people[0]
                ana.session = replay.names.put(exchange.path).split("/")[2]
                ana.client = replay.names.put(exchange.client)
                listening = await stack.enter_async_context(ana.listening(last=0))
                continue
            if exchange.id in ready:
                assert listening is not None
                _learn_requests(replay.names, trace, await listening.wait(ready[exchange.id]))
            program = next(newcomers) if exchange.path == "/session" else owners[exchange.client]
            await replay.ask(exchange, program)
            if exchange.path == "/session":
                owners[exchange.answer["clientId"]] = program
        assert listening is not None
        frames = await listening.wait(seen("session_closed"))

    assert replay.wrong == []
    # The mode is the one that was asked for already, and nothing changes.
    told = [piece for piece in pieces("qwen-serve-consensus.jsonl") if piece.type != "approval_mode_changed"]
    assert in_order(told, frames) == []
    assert longer_or_shorter("qwen-serve-consensus.jsonl", frames) == {}
    found = lengths(frames)
    # Two more than recorded where the recorded id has one digit.
    assert found["permission_forbidden"] == {446, 389}
    assert found["permission_partial_vote"] == {444}
    assert found["permission_resolved"] == {426}
    assert found["pending_prompt_added"] == {403}
    assert found["session_closed"] == {326}
