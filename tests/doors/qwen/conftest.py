"""The remember door over a store of its own. Tasks wait until a test lets a worker work."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.daemon import Opened, served
from commonplace.testing.lanes import MemoryDesk


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(home: Path, workspace: Path) -> Opened:
    def open_it(**given: Any) -> Any:
        return served(home, workspace=workspace, **given)

    return open_it


@pytest.fixture
async def desk(opened: Opened, home: Path, workspace: Path) -> AsyncGenerator[MemoryDesk]:
    async with opened() as running:
        yield MemoryDesk(running, home, workspace)
