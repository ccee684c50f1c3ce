"""A hosted agent that plays a script, over a real store in a file of the test's own."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import Settings
from commonplace.testing.host_bench import HostBench


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[HostBench]:
    settings = Settings(home=tmp_path / "home", embedder="none")
    async with composed(settings, ComposeOptions()) as services:
        bench = HostBench(services, folder=tmp_path)
        yield bench
        await bench.aclose()
