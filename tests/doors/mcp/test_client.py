"""Over stdio a model uses the daemon that the environment names, or the memory in its own process."""

from pathlib import Path

import pytest

from commonplace.testing.daemon import Daemon
from commonplace.testing.mcp import piped

pytestmark = pytest.mark.anyio


async def test_a_model_on_stdio_uses_the_daemon_that_the_environment_names(daemon: Daemon, atlas: Path) -> None:
    env = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}

    async with piped(atlas, env=env) as model:
        stored = await model("memory_store", content="The harbour opens at six.")
        found = await model.found("harbour")

    assert found == ["The harbour opens at six."]
    assert not (atlas / "home" / "memory.db").exists()
    with daemon.client() as client:
        assert client.get(f"/v1/records/{stored['id']}").json()["scope"] == "workspace:atlas"


async def test_a_model_on_stdio_works_within_what_its_key_reaches(daemon: Daemon, atlas: Path) -> None:
    with daemon.client() as client:
        made = client.post("/v1/keys", json={"name": "atlas", "role": "reader", "scopes": ["workspace:atlas"]}).json()
        client.post("/v1/records", json={"text": "The whale is white.", "scope": "workspace:atlas"})
        client.post("/v1/records", json={"text": "The whale is everyone's.", "scope": "global"})

    async with piped(atlas, env={"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": made["secret"]}) as model:
        found = await model.found("whale")
        refused = await model("memory_store", content="The whale is black.")

    assert found == ["The whale is white."]
    assert refused["reason"] == "forbidden"
