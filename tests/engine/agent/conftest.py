"""An agent whose model plays a script, over a real store in a file of the test's own."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import Settings
from commonplace.testing.agents import TurnBench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[TurnBench]:
    settings = Settings(home=tmp_path / "home", embedder="none")
    async with composed(settings, ComposeOptions()) as services:
        agent = TurnBench(services)
        yield agent
        await agent.aclose()
