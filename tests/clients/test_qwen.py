"""qwen-code's published client, as it is, against a daemon."""

import json
import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from commonplace.testing.daemon import Daemon, running_daemon

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    folder = tmp_path_factory.mktemp("qwen")
    (folder / "web").mkdir()
    with running_daemon(folder / "home", "--workspace", str(folder / "web")) as running:
        yield running


def test_the_client_of_npm_remembers_polls_forgets_and_dreams(daemon: Daemon) -> None:
    program = shutil.which("node")
    assert program, "Node 18 or newer is needed for the published JavaScript client. Install it, then run `make test`."

    done = subprocess.run(
        [program, "qwen.mjs", daemon.url],
        cwd=HERE,
        env={**os.environ, "COMMONPLACE_TOKEN": daemon.token},
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert not Path(told["saved"]).exists()
    assert "The project ships on Fridays" in Path(told["shipped"]).read_text(encoding="utf-8")
    refusals = {name: tuple(told[name]) for name in ("hidden", "alien", "empty", "mode", "query", "client", "lost")}
    assert refusals == {
        "hidden": (404, "remember_task_not_found"),
        "alien": (404, "remember_task_not_found"),
        "empty": (400, "invalid_content"),
        "mode": (400, "invalid_context_mode"),
        "query": (400, "invalid_query"),
        "client": (400, "invalid_client_id"),
        "lost": (404, "dream_task_not_found"),
    }
