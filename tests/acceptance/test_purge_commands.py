"""A purge of what lies in managed Markdown without a daemon, inside a program, and by command."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.traces import OTHER, SECRET, in_files

from commonplace import Client, open_memory
from commonplace.errors import PurgeRefused, RecordNotFound
from commonplace.testing.daemon import running_daemon


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace that programs run in."""
    folder = tmp_path / "web"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "commonplace", *args], capture_output=True, text=True, check=False, timeout=50
    )


def remembered(memory: Any) -> Any:
    for fact in (SECRET, OTHER):
        memory.remember_workspace_memory(f"user: {fact}", context_mode="clean")
    [record] = [record for record in memory.list().records if SECRET in record.text]
    return record


@pytest.mark.parametrize("what", ["record", "scope"])
def test_a_memory_inside_a_program_purges_the_file_too(home: Path, inside: Path, what: str) -> None:
    with open_memory(embedder="none") as memory:
        record = remembered(memory)

        purged = memory.purge(ids=[record.id]) if what == "record" else memory.purge(scope="user:local")

        assert purged.files == (1 if what == "record" else 2)
        assert in_files(home) == []
        with pytest.raises(RecordNotFound):
            memory.get(record.id)
    with open_memory(embedder="none") as memory:
        assert len(memory.list().records) == (1 if what == "record" else 0)


def test_a_memory_inside_a_program_that_has_another_home_refuses_and_names_the_file(
    home: Path, inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(embedder="none") as memory:
        record = remembered(memory)
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "other"))
    (tmp_path / "other").mkdir()

    with open_memory(home / "memory.db", embedder="none") as memory:
        with pytest.raises(PurgeRefused) as refused:
            memory.purge(ids=[record.id])

        assert record.provenance.file in str(refused.value.details["files"])
        assert memory.get(record.id) == record
        assert memory.purge(ids=[record.id], leave_files=True).files_left


def test_a_store_that_follows_no_folder_here_leaves_the_folder_alone(home: Path, inside: Path, tmp_path: Path) -> None:
    with open_memory(embedder="none") as memory:
        remembered(memory)

    with open_memory(tmp_path / "other.db", embedder="none") as memory:
        memory.put("By hand", scope="user:local")
        purged = memory.purge(scope="user:local")

    assert (purged.records, purged.files) == (1, 0)
    assert list(home.rglob("*zebras*.md"))


def test_the_command_purges_the_file_without_a_daemon_and_refuses_where_it_cannot(home: Path, inside: Path) -> None:
    for fact in (SECRET, OTHER):
        assert run("remember", "--clean", f"user: {fact}", "--embedder", "none").returncode == 0
    with open_memory(embedder="none") as memory:
        ids = {record.text.split()[0]: record.id for record in memory.list().records}
    file = next(home.rglob("*patient*.md"))
    file.write_text("By hand.\n", encoding="utf-8")

    refused = run("purge", ids["Patient"], "--yes")
    ran = run("purge", ids["Quixotic"], "--yes")

    assert (refused.returncode, str(file) in refused.stderr, "purge_refused" in refused.stderr) == (4, True, True)
    assert (ran.returncode, ran.stdout) == (0, "Purged 1 record in 1 version, and 1 file of managed memory.\n")
    assert in_files(home) == []
    assert file.exists()


def test_the_command_and_the_client_purge_the_file_at_a_daemon(
    home: Path, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_daemon(home, "--embedder", "none", env={"COMMONPLACE_WORKSPACE": str(inside)}) as daemon:
        monkeypatch.setenv("COMMONPLACE_URL", daemon.url)
        monkeypatch.setenv("COMMONPLACE_TOKEN", daemon.token)
        for fact in (SECRET, OTHER):
            assert run("remember", "--clean", f"user: {fact}").returncode == 0
        with Client(daemon.url, daemon.token) as client:
            ids = {record.text.split()[0]: record.id for record in client.list().records}

            ran = run("purge", ids["Quixotic"], "--yes")

            assert ran.stdout == "Purged 1 record in 1 version, and 1 file of managed memory.\n"
            assert client.purge(ids=[ids["Patient"]], leave_files=True).files == 1
        daemon.log.unlink()
        assert in_files(home) == []
    assert [path.name for path in home.rglob("*.md") if path.name != "MEMORY.md"] == []
