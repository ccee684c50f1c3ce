"""The ids of requests, and how many of them are worked on at once."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from commonplace.agent.acp.connection import MOST_AT_ONCE, RpcConnection
from commonplace.agent.acp.lines import INVALID_REQUEST, LineTransport
from commonplace.testing.events import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

LONGER_THAN_A_PIPE = "x" * (1 << 20)


class Program:
    """What the other side of a connection writes, and reads of what we answer."""

    def __init__(self, reader: int, writer: int) -> None:
        self._writer = writer
        self._file = os.fdopen(reader, "rb")

    def ask(self, *ids: int) -> None:
        lines = [json.dumps({"jsonrpc": "2.0", "id": id, "method": "say"}) for id in ids]
        os.write(self._writer, "".join(f"{line}\n" for line in lines).encode())

    def note(self) -> None:
        os.write(self._writer, b'{"jsonrpc": "2.0", "method": "say"}\n')

    async def read(self, count: int) -> dict[int, Any]:
        """So many answers by their ids."""
        async with asyncio.timeout(20):
            lines = [await asyncio.to_thread(self._file.readline) for _ in range(count)]
        return {(answer := json.loads(line))["id"]: answer for line in lines}

    def leave(self) -> None:
        os.close(self._writer)
        self._file.close()


class Speaker:
    """Answers every request with this text, once it may."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.may = asyncio.Event()
        self.asked = 0
        self.heard = 0

    async def answer(self, method: str, params: Any) -> str:
        del method, params
        self.asked += 1
        await self.may.wait()
        return self.text

    async def hear(self, method: str, params: Any) -> None:
        del method, params
        self.heard += 1


@asynccontextmanager
async def connected(speaker: Speaker) -> AsyncGenerator[Program]:
    (source, to_us), (from_us, target) = os.pipe(), os.pipe()
    connection = RpcConnection(LineTransport(source, target), speaker.answer, speaker.hear)
    running = asyncio.create_task(connection.run())
    program = Program(from_us, to_us)
    try:
        yield program
    finally:
        program.leave()
        await asyncio.wait_for(running, 5)
        await connection.close()
        os.close(target)


async def test_an_id_is_free_again_as_soon_as_its_answer_is_on_its_way() -> None:
    speaker = Speaker(LONGER_THAN_A_PIPE)
    speaker.may.set()
    async with connected(speaker) as program:
        program.ask(1)
        await until(lambda: speaker.asked == 1)
        # The first answer does not fit into the pipe: it is being sent until it is read.
        program.ask(1)
        await until(lambda: speaker.asked == 2)
        answers = [await program.read(1) for _ in range(2)]

    assert [answer[1]["result"] for answer in answers] == [LONGER_THAN_A_PIPE] * 2


async def test_an_id_that_is_worked_on_is_refused_and_its_request_is_answered() -> None:
    speaker = Speaker("Here.")
    async with connected(speaker) as program:
        program.ask(1, 1)
        refused = await program.read(1)
        speaker.may.set()
        answered = await program.read(1)

    assert refused[1]["error"]["code"] == INVALID_REQUEST
    assert answered[1]["result"] == "Here."
    assert speaker.asked == 1


async def test_more_requests_at_once_than_are_worked_on_are_refused_until_one_is_answered() -> None:
    speaker = Speaker("Here.")
    async with connected(speaker) as program:
        program.ask(*range(MOST_AT_ONCE + 1))
        refused = await program.read(1)
        speaker.may.set()
        answered = await program.read(MOST_AT_ONCE)
        program.ask(0)
        again = await program.read(1)

    assert refused[MOST_AT_ONCE]["error"]["code"] == INVALID_REQUEST
    assert {answer["result"] for answer in answered.values()} == {"Here."}
    assert again[0]["result"] == "Here."


async def test_answers_that_nobody_reads_count_as_requests_that_are_worked_on() -> None:
    speaker = Speaker(LONGER_THAN_A_PIPE)
    speaker.may.set()
    async with connected(speaker) as program:
        program.ask(0)
        await until(lambda: speaker.asked == 1)
        # These stand behind the first one, which does not fit into the pipe.
        speaker.text = "Here."
        program.ask(*range(1, MOST_AT_ONCE))
        await until(lambda: speaker.asked == MOST_AT_ONCE)
        program.ask(MOST_AT_ONCE)
        program.note()
        await until(lambda: speaker.heard == 1)
        answers = await program.read(MOST_AT_ONCE + 1)

    assert [id for id, answer in answers.items() if "error" in answer] == [MOST_AT_ONCE]
