"""One daemon, and listeners who read it over a socket."""

from collections.abc import Generator
from pathlib import Path

import pytest

from commonplace.testing.daemon import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    folder: Path = tmp_path_factory.mktemp("daemon")
    with running_daemon(folder, env={"COMMONPLACE_EMBEDDER": "none"}) as running:
        yield running
