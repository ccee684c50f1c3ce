"""Where a model works: a folder under version control, and a daemon that the tests of a module share."""

from collections.abc import Generator
from pathlib import Path

import pytest

from commonplace.testing.daemon import Daemon, running_daemon


@pytest.fixture
def atlas(tmp_path: Path) -> Path:
    """A model that is started in this folder works on the project `atlas`."""
    folder = tmp_path / "atlas"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    home = tmp_path_factory.mktemp("daemon")
    with running_daemon(home, env={"COMMONPLACE_EMBEDDER": "none"}) as running:
        yield running
