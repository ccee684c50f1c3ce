"""
Models, servers, folders and disks that do what nobody should: a clear error in the stream, the session usable afterwards, nothing left running.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.events import Frame
from commonplace.testing.turns import AgentHouse, AgentTalk, agent_house, of, text_of
from commonplace.testing.vendor import Reply, Vendor, running_vendor, stream

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SERVER = Path(__file__).parents[1] / "engine" / "agent" / "mcp_server.py"
PATIENCE = 30.0
"""Ten megabytes take a while on a small machine."""


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with agent_house(home, vendor, agent_requests=6, agent_tool_seconds=2, agent_allow_all=True) as begun:
        yield begun


@pytest.fixture
async def talk(house: AgentHouse) -> AgentTalk:
    talk = await house.talk()
    await talk.done("POST", "/v1/agents", json={"id": "bold", "name": "Bold", "profile": {"approval": "yolo"}})
    return talk


def call(tool: str, **arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(arguments)


async def usable(talk: AgentTalk, vendor: Vendor, session: str) -> bool:
    """Whether the next turn is answered as if nothing had been."""
    vendor.replies = [stream("Here I am.")]
    return text_of(await talk.turn(session, "Are you there?", seconds=PATIENCE)) == "Here I am."


def outcome(found: list[Frame]) -> str:
    """The code of the error, or why it ended."""
    failed, ended = of(found, "turn_failed"), of(found, "turn_ended")
    return failed[0]["code"] if failed else ended[0]["stop_reason"]


AGAIN = stream(calls=[call("memory_search", query="again")])
ARGUMENTS = "1" * 10_000_000
MALFORMED = "model_malformed"
BAD: dict[str, tuple[list[Reply], str]] = {
    "loops": ([AGAIN], "max_turn_requests"),
    "names unknown tools": ([stream(calls=[call("nothing_of_that_name")])], MALFORMED),
    "names what nobody sees": ([stream(calls=[call("memory\u200b_search")])], MALFORMED),
    "sends no JSON": ([stream(calls=[("memory_search", "{not json")])], MALFORMED),
    "sends wrong arguments": ([stream(calls=[call("plan", entries="none")])], MALFORMED),
    "sends ten megabytes of arguments": (
        [stream(calls=[call("memory_search", query=ARGUMENTS)])],
        "spending_cap_reached",
    ),
    "says ten megabytes": ([stream(*["word " * 13_000] * 160)], "max_tokens"),
    "says ten megabytes at once": ([stream("word " * 2_000_000)], "max_tokens"),
    "says nothing": ([stream()], MALFORMED),
    "is cut off": ([Reply(status=0)], "model_unavailable"),
    "is out of order": ([Reply(status=500, body={"error": "x"})], "model_unavailable"),
    "refuses": ([Reply(status=400, body={"error": {"message": "no"}})], "model_refused"),
    "answers with a page": ([Reply(body="<html>", headers={"Content-Type": "text/html"})], MALFORMED),
    "streams no JSON": ([Reply(body="data: {oops\n\n", headers={"Content-Type": "text/event-stream"})], MALFORMED),
}


@pytest.mark.parametrize("how", BAD)
async def test_a_model_that_misbehaves_costs_the_turn_and_no_more(talk: AgentTalk, vendor: Vendor, how: str) -> None:
    vendor.replies, expected = list(BAD[how][0]), BAD[how][1]
    session = await talk.begin(agent="bold")

    found = await talk.turn(session, "Go.", seconds=PATIENCE)

    assert outcome(found) == expected
    assert [data["message"] for data in of(found, "turn_failed")] != [""]
    assert await usable(talk, vendor, session)
    messages = await talk.messages(session)
    assert [message["text"] for message in messages if message["role"] == "user"] == ["Go.", "Are you there?"]
    assert max(len(message["text"]) for message in messages) < 1_001_000


# ---- servers of tools


def server(how: str | None = None) -> dict[str, Any]:
    args = [str(SERVER), "stdio", *([how] if how else [])]
    return {"name": "library", "command": sys.executable, "args": args, "asks": False}


def children(mark: str = str(SERVER)) -> list[str]:
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hang", "noise", "notify", "line", "die"])
async def test_a_server_that_cannot_be_talked_to_costs_its_tools_and_no_more(
    talk: AgentTalk, vendor: Vendor, how: str
) -> None:
    profile = {"approval": "yolo", "mcp_servers": [server(how)]}
    await talk.done("POST", "/v1/agents", json={"id": how, "name": how, "profile": profile})
    session = await talk.begin(agent=how)

    found = await talk.turn(session, "Go.", seconds=PATIENCE)
    await talk.done("DELETE", f"/v1/sessions/{session}", timeout=PATIENCE)

    assert outcome(found) == "end_turn"
    assert children() == []


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["hang", "flood", "die", "fail"])
async def test_a_tool_of_a_server_that_hangs_floods_or_dies_is_a_failed_call(
    talk: AgentTalk, vendor: Vendor, tool: str
) -> None:
    profile = {"approval": "yolo", "mcp_servers": [server()]}
    await talk.done("POST", "/v1/agents", json={"id": tool, "name": tool, "profile": profile})
    session = await talk.begin(agent=tool)
    vendor.replies = [stream(calls=[(f"library_{tool}", "{}")]), stream("So be it.")]

    found = await talk.turn(session, "Go.", seconds=PATIENCE)
    good = await usable(talk, vendor, session)
    await talk.done("DELETE", f"/v1/sessions/{session}", timeout=PATIENCE)

    [ended] = of(found, "tool_ended")
    assert ended["failed"] or len(ended["text"]) < 100_000
    assert outcome(found) == "end_turn"
    assert good
    assert children() == []


# ---- folders and disks


async def test_a_workspace_that_vanishes_between_turns_is_an_error_that_the_model_is_told(
    talk: AgentTalk, vendor: Vendor, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("here")
    session = await talk.begin(agent="bold", folder=str(folder))
    vendor.replies = [stream(calls=[call("read_file", path="a.txt")]), stream("Read.")]
    before = await talk.turn(session, "Read it.")

    shutil.rmtree(folder)
    calls = [
        call("read_file", path="a.txt"),
        call("write_file", path="b.txt", content="x"),
        call("shell", command="ls"),
    ]
    vendor.replies = [stream(calls=calls), stream("It is gone.")]
    after = await talk.turn(session, "Read it again.")

    assert not of(before, "tool_ended")[0]["failed"]
    assert [ended["failed"] for ended in of(after, "tool_ended")] == [True, True, True]
    assert text_of(after) == "It is gone."
    assert not folder.exists()
    folder.mkdir()
    assert await usable(talk, vendor, session)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    mount = getattr(libc, "mount", None)
    if mount is None or mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=48m"):
        pytest.skip("this user may not mount a file system here")
    yield place
    libc.umount2(os.fsencode(place), 2)


def fill(folder: Path) -> None:
    """Until not a byte is left."""
    file = os.open(folder / "others", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        for size in (1 << 20, 4096, 1):
            try:
                while os.write(file, b"x" * size):
                    pass
            except OSError:
                continue
    finally:
        os.close(file)


async def test_on_a_full_disk_nothing_is_acknowledged_and_with_room_again_the_session_goes_on(
    small_disk: Path, vendor: Vendor
) -> None:
    async with agent_house(small_disk / "home", vendor) as house:
        talk = await house.talk()
        session = await talk.begin()
        await talk.turn(session, "Before.")
        fill(small_disk)

        refused = await talk.http.post(f"/v1/sessions/{session}/turns", json={"text": "word " * 20_000})
        (small_disk / "others").unlink()
        good = await usable(talk, vendor, session)
        said = [message["text"] for message in await talk.messages(session) if message["role"] == "user"]

    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "store_full")
    assert good
    assert said == ["Before.", "Are you there?"]


async def test_a_disk_that_fills_up_during_a_turn_ends_it_with_an_error_in_the_stream(
    small_disk: Path, vendor: Vendor
) -> None:
    async with agent_house(small_disk / "home", vendor, agent_allow_all=True) as house:
        talk = await house.talk()
        await talk.done("POST", "/v1/agents", json={"id": "bold", "name": "Bold", "profile": {"approval": "yolo"}})
        folder = small_disk / "folder"
        folder.mkdir()
        session = await talk.begin(agent="bold", folder=str(folder))
        await talk.turn(session, "Before.")
        command = "head -c 60000000 /dev/zero > fill; yes word | head -c 200000"
        vendor.replies = [stream(calls=[call("shell", command=command)]), stream("word " * 100_000)]

        found = await talk.turn(session, "Fill it.", seconds=PATIENCE)
        (folder / "fill").unlink()
        good = await usable(talk, vendor, session)

    assert outcome(found) == "store_full"
    assert good
