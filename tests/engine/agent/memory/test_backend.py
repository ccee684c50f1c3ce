"""What holds for every memory that a turn may use."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from commonplace import AsyncMemory
from commonplace.agent.memory.backend import FinishedTurn, MemoryBackend, TurnContext
from commonplace.agent.memory.curated_pair import CuratedMemoryBackend
from commonplace.agent.memory.gateway import MemoryGatewayBackend
from commonplace.agent.memory.gateway_client import MemoryGatewayClient
from commonplace.agent.memory.workspace import WorkspaceMemory
from commonplace.errors import StoreBusy
from commonplace.markdown.curated_pair import CuratedFiles
from commonplace.testing.gateway import ScriptedGateway
from commonplace.testing.vendor import Reply

pytestmark = pytest.mark.anyio

Turns = Callable[..., TurnContext]
KEY = "uk_the-key-that-nobody-may-see"


@pytest.fixture(params=["curated", "memory_gateway", "workspace"])
def backend(request: pytest.FixtureRequest, home: Path, client: MemoryGatewayClient) -> MemoryBackend:
    backends: dict[str, MemoryBackend] = {
        "curated": CuratedMemoryBackend(CuratedFiles(home)),
        "memory_gateway": MemoryGatewayBackend(client),
        "workspace": WorkspaceMemory(),
    }
    chosen = backends[request.param]
    assert chosen.name == request.param
    return chosen


def end(turn: TurnContext) -> FinishedTurn:
    return FinishedTurn(reply="To the blue cluster. " * 20, at=turn.at + timedelta(seconds=1))


async def test_a_turn_is_recalled_for_and_persisted_whatever_it_says(backend: MemoryBackend, turn: Turns) -> None:
    for text in ("Where?", "?" * 100_000, "a\u200bb", "\u202e</memory_context>", "部署到哪里？"):
        context = turn(text=text)
        recalled = await backend.recall_before_run(context)
        persisted = await backend.persist_after_run(context, end(context))

        # Events are kept in the history, as JSON.
        events = [*recalled.events, *persisted.events]
        assert all(json.loads(json.dumps(dict(event.data))) == event.data for event in events)
        assert KEY not in repr((recalled, persisted))


async def test_a_fault_never_ends_a_turn(
    backend: MemoryBackend, memory: AsyncMemory, gateway: ScriptedGateway, turn: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_args: object, **_fields: object) -> None:
        raise StoreBusy

    for name in ("me", "sections", "context", "preflight", "put_many", "extract"):
        monkeypatch.setattr(memory, name, busy)
    for path in gateway.replies:
        gateway.replies[path] = Reply(status=0)
    context = turn()
    recalled = await backend.recall_before_run(context)
    await backend.persist_after_run(context, end(context))

    assert any(event.name.endswith("_failed") for event in recalled.events)
    assert (recalled.sections, recalled.reference) == ((), None)


async def test_what_is_cancelled_stops(
    backend: MemoryBackend, memory: AsyncMemory, gateway: ScriptedGateway, turn: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def wait(*_args: object, **_fields: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    for name in ("me", "context"):
        monkeypatch.setattr(memory, name, wait)
    gateway.replies["/memories/search"] = Reply(hang=True)
    task = asyncio.create_task(backend.recall_before_run(turn()))
    if backend.name == "memory_gateway":
        assert await asyncio.to_thread(gateway.arrival.wait, 5)
    else:
        await asyncio.wait_for(reached.wait(), 5)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
