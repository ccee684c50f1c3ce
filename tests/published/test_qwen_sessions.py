"""`@qwen-code/sdk` as it is published, in sessions of our agent: two persons, a queue, a cancel, a replay, and a restart of the daemon."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.published.programs import Published

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.vendor import running_vendor, stream

SCRIPT = Path(__file__).with_name("qwen_sessions.mjs")
CALL = '{"path": "NAME.txt", "content": "x"}'


def run(published: Published, folder: Path, daemon: Daemon, keys: dict[str, str], *arguments: str) -> dict[str, Any]:
    # A module is found from where the script lies.
    script = folder / SCRIPT.name
    if not script.exists():
        shutil.copy(SCRIPT, script)
        (folder / "node_modules").symlink_to(published.modules)
    done = subprocess.run(
        [published.node, str(script), daemon.url, *arguments],
        env=published.environment(folder, **keys),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


def key(daemon: Daemon, person: str) -> str:
    body = {"name": person, "role": "writer", "user": person}
    answer = httpx.post(f"{daemon.url}/v1/keys", json=body, headers=daemon.headers)
    return answer.json()["secret"]


def settings(model: str, web: Path) -> dict[str, str]:
    return {
        "COMMONPLACE_LLM_MODEL": "openai:small",
        "COMMONPLACE_LLM_BASE_URL": model,
        "COMMONPLACE_LLM_PRICE": "0.1/0.1",
        "COMMONPLACE_AGENT_LEARN": "false",
        "COMMONPLACE_AGENT_SHARED_SESSIONS": "true",
        "COMMONPLACE_AGENT_PERMISSION_POLICY": "consensus",
        "COMMONPLACE_AGENT_ROOTS": str(web),
        "COMMONPLACE_EMBEDDER": "none",
    }


@pytest.mark.timeout(240)
def test_the_client_of_npm_talks_votes_waits_and_goes_on_after_a_restart(published: Published, tmp_path: Path) -> None:
    web, home, folder = tmp_path / "web", tmp_path / "home", tmp_path / "client"
    for place in (web, folder):
        place.mkdir()
    with running_vendor() as vendor:
        vendor.replies = [
            stream("Good ", "morning."),
            stream(calls=[("write_file", CALL.replace("NAME", "a"))]),
            stream("Written."),
            stream(calls=[("write_file", CALL.replace("NAME", "b"))]),
            stream("Written, too."),
            stream("Long ", hang=True),
            stream("Longer ", hang=True),
            stream("Next."),
        ]
        environment = settings(vendor.url, web)
        with running_daemon(home, "--workspace", str(web), env=environment) as daemon:
            keys = {"ANA": key(daemon, "ana"), "BO": key(daemon, "bo")}
            first = run(published, folder, daemon, keys, "first")
        # A new daemon tells its own address.
        (home / "daemon.log").unlink()
        with running_daemon(home, "--workspace", str(web), env=environment) as daemon:
            again = run(published, folder, daemon, keys, "again", first["session"])

    assert (web / "a.txt").exists()
    assert (web / "b.txt").exists()
    assert first == {
        "session": first["session"],
        "odd": [400, "invalid_option_id"],
        "full": ["full", 5, 5],
        "pending": ["running", "queued", "queued", "queued", "queued"],
        "removed": {"removed": True},
        "odds": [],
        "partial": {
            "requestId": None,
            "sessionId": None,
            "votesReceived": 1,
            "votesNeeded": 1,
            "quorum": 2,
            "optionTallies": {"proceed_once": 1},
        },
        "cancelled": "cancelled",
        "memory": "append",
        "prompts": 8,
        "window": 32_000,
        "unsupported": [501, "not_supported"],
        "transcript": 2,
        "name": "Two of us",
        "stranger": [400, "invalid_client_id"],
    }
    assert again["lost"] == again["closed"] == [404, "session_not_found"]
    assert again["replay"].startswith("Good morning.Written.Written, too.")
    assert (again["mode"], again["text"]) == ("plan", "Next.")
    assert again["removed"] == {"removed": [first["session"]], "notFound": [], "errors": []}


@pytest.mark.timeout(240)
def test_fifty_sessions_of_the_client_of_npm_hear_all_of_their_own_at_once(
    published: Published, tmp_path: Path
) -> None:
    web, folder = tmp_path / "web", tmp_path / "client"
    for place in (web, folder):
        place.mkdir()
    with running_vendor() as vendor:
        vendor.replies = [stream("One ", "two ", "three.")]
        environment = settings(vendor.url, web)
        with running_daemon(tmp_path / "home", "--workspace", str(web), env=environment) as daemon:
            keys = {"ANA": key(daemon, "ana"), "BO": key(daemon, "bo")}
            many = run(published, folder, daemon, keys, "many")

    assert many == {"sessions": 50, "own": 50, "texts": ["One two three."], "clients": 0}
