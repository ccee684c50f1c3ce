"""All of a person, or of an agent, is purged: their curated files, too."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace import open_memory_async
from commonplace.errors import PurgeRefused
from commonplace.markdown.curated_pair import CuratedFiles, CuratedOperation
from commonplace.testing.daemon import served

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def files(home: Path) -> CuratedFiles:
    """Two agents that know two persons, one of whose files somebody edited."""
    files = CuratedFiles(home)
    for agent in ("helper", "writer"):
        for person in ("ana", "bo"):
            add = CuratedOperation(action="add", content=f"{person} likes tea.")
            files.change(agent, person, "user", [add], now=NOW)
        files.change(agent, None, "memory", [CuratedOperation(action="add", content="Own notes.")], now=NOW)
    (home / "agents/helper/users/ana/USER.md.bak.1").write_text("ana liked coffee.")
    return files


def holding(home: Path, words: str) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and words in path.read_text(errors="replace")]


async def test_a_daemon_that_purges_a_person_leaves_no_file_about_them(home: Path, files: CuratedFiles) -> None:
    async with served(home) as daemon:
        answer = await daemon.client.post("/v1/purge", json={"user": "ana"})

    assert answer.status_code == 200, answer.text
    assert answer.json()["files"] == 2
    assert holding(home / "agents", "ana") == []
    assert files.snapshot("helper", "bo").user == ("bo likes tea.",)
    assert files.snapshot("helper", "bo").memory == ("Own notes.",)


async def test_the_memory_of_the_settings_does_so_too_and_another_store_leaves_them_alone(
    home: Path, files: CuratedFiles
) -> None:
    async with open_memory_async(":memory:", embedder="none") as other:
        await other.purge(user="ana")
    assert files.snapshot("helper", "ana").user != ()

    async with open_memory_async(embedder="none") as own:
        await own.purge(user="ana")

    assert files.snapshot("helper", "ana").user == ()
    assert holding(home / "agents", "ana") == []


async def test_with_an_agents_scope_go_its_notes(home: Path, files: CuratedFiles) -> None:
    async with open_memory_async(embedder="none") as memory:
        await memory.purge(scope="agent:helper")

    assert not (home / "agents/helper").exists()
    assert files.snapshot("writer", "ana").user == ("ana likes tea.",)


async def test_what_a_killed_purge_left_aside_is_removed_by_the_next(home: Path, files: CuratedFiles) -> None:
    users = home / "agents/helper/users"
    (users / "ana").rename(users / ".erased-ana-00000000")

    async with open_memory_async(embedder="none") as memory:
        await memory.purge(user="ana")

    assert [path.name for path in users.iterdir()] == ["bo"]
    assert files.snapshot("helper", "bo").user == ("bo likes tea.",)


async def test_a_folder_that_cannot_be_moved_leaves_everything_as_it_was(
    home: Path, files: CuratedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if "writer" in str(self):
            raise OSError(13, "Permission denied")
        return rename(self, target)

    async with open_memory_async(embedder="none") as memory:
        await memory.put("Ana lives by the sea.", scope="user:ana")
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", refused)
            with pytest.raises(PurgeRefused):
                await memory.purge(user="ana")

        assert len((await memory.list(scopes=["user:ana"])).records) == 1
    assert files.snapshot("helper", "ana").user == ("ana likes tea.",)
    assert files.snapshot("writer", "ana").user == ("ana likes tea.",)
