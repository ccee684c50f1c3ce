from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.service.desk import Desk
from commonplace.service.services import ServiceOptions, Services
from commonplace.testing.agents import TurnBench


@pytest.fixture
async def bench(desk: Desk, tmp_path: Path) -> AsyncGenerator[TurnBench]:
    services = Services(desk, ServiceOptions(run_home=tmp_path / "home", home=tmp_path / "home"))
    begun = TurnBench(services)
    yield begun
    await begun.aclose()
