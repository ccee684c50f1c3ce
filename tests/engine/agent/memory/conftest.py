"""A memory in this process, a gateway on this machine, and a turn that uses them."""

from collections.abc import AsyncGenerator, Callable, Generator
from datetime import UTC, datetime
from functools import partial

import pytest

from commonplace import AsyncMemory, open_memory_async
from commonplace.agent.memory.backend import TurnContext
from commonplace.agent.memory.gateway_client import GatewayOptions, MemoryGatewayClient
from commonplace.testing.gateway import ScriptedGateway, running_gateway

KEY = "uk_the-key-that-nobody-may-see"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
async def memory() -> AsyncGenerator[AsyncMemory]:
    async with open_memory_async(":memory:", embedder="none") as opened:
        yield opened


@pytest.fixture
def turn(memory: AsyncMemory) -> Callable[..., TurnContext]:
    return partial(
        TurnContext,
        session="s1",
        run="r1",
        agent="helper",
        workspace="web",
        speaker="local",
        text="Where do we deploy?",
        at=AT,
        memory=memory,
    )


@pytest.fixture
def gateway() -> Generator[ScriptedGateway]:
    with running_gateway() as running:
        yield running


@pytest.fixture
async def client(gateway: ScriptedGateway) -> AsyncGenerator[MemoryGatewayClient]:
    options = GatewayOptions(base_url=f"{gateway.url}/", user_id="ana", user_key=KEY, timeout_seconds=5.0)
    opened = MemoryGatewayClient(options)
    yield opened
    await opened.aclose()
