"""The remember door over a store of its own. Tasks wait until a test lets a worker work."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.daemon import Opened, served
from commonplace.testing.lanes import MemoryDesk
from commonplace.testing.sessions import ModelGate, Program, SessionHouse, session_house
from commonplace.testing.vendor import Vendor, running_vendor, stream


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


# ---- sessions


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, workspace: Path, vendor: Vendor) -> AsyncGenerator[SessionHouse]:
    async with session_house(home, workspace, vendor) as begun:
        yield begun


@pytest.fixture
async def ana(house: SessionHouse) -> Program:
    """The operator's program."""
    return await house.program()


@pytest.fixture
def gate() -> Generator[ModelGate]:
    gate = ModelGate()
    yield gate
    gate.open()
