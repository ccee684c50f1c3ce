"""The settings' file of a workspace is read with care: it comes with whatever was cloned."""

import os
from pathlib import Path

import pytest

from commonplace.workspace.file import MAX_BYTES, WorkspaceFile, read_workspace_file


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "cloned"
    (root / ".commonplace").mkdir(parents=True)
    return root


def config(workspace: Path, name: str = "config.toml") -> Path:
    return workspace / ".commonplace" / name


def file_of(workspace: Path) -> WorkspaceFile:
    file = read_workspace_file(workspace)
    assert file is not None
    return file


def test_no_file_is_no_file(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".commonplace").write_text("no folder")
    config(workspace).symlink_to(tmp_path / "nowhere")

    assert [read_workspace_file(folder) for folder in (workspace, tmp_path / "bare", tmp_path / "odd")] == [None] * 3


def test_tables_and_camel_case_become_the_names_of_settings(workspace: Path) -> None:
    config(workspace, "config.json").write_text('{"tokenBudget": 5, "import": {"roots": ["/"]}}')

    assert file_of(workspace).settings == {"token_budget": 5, "import_roots": ["/"]}


def test_the_digest_is_of_the_file_and_of_its_name(workspace: Path) -> None:
    config(workspace, "config.json").write_text("{}")
    json = file_of(workspace)
    config(workspace).write_text("")
    toml = file_of(workspace)
    config(workspace).write_text("# other bytes, the same settings")
    other = file_of(workspace)

    assert len({json.digest, toml.digest, other.digest}) == 3
    assert toml.settings == other.settings


def test_a_link_inside_the_workspace_is_followed(workspace: Path) -> None:
    (workspace / "settings.toml").write_text("token_budget = 5")
    config(workspace).symlink_to(workspace / "settings.toml")

    assert file_of(workspace).settings == {"token_budget": 5}


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_that_leads_out_is_not(workspace: Path, tmp_path: Path, linked: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.toml").write_text('openai_api_key = "very-secret"')
    if linked == "file":
        config(workspace).symlink_to(tmp_path / "outside" / "config.toml")
    else:
        (workspace / ".commonplace").rmdir()
        (workspace / ".commonplace").symlink_to(tmp_path / "outside")

    file = file_of(workspace)

    assert file.fault
    assert (file.settings, file.digest) == ({}, "")
    assert "very-secret" not in file.fault


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_is_not_waited_for(workspace: Path) -> None:
    os.mkfifo(config(workspace))

    assert file_of(workspace).fault


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty"])
def test_a_device_is_not_opened(workspace: Path, device: str) -> None:
    config(workspace).symlink_to(device)

    assert file_of(workspace).fault


def test_a_folder_is_no_file(workspace: Path) -> None:
    config(workspace).mkdir()

    assert file_of(workspace).fault


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.toml", b"store = ["),
        ("config.toml", b"\xff\xfe"),
        ("config.toml", b"a = " + b"[" * 20_000),
        ("config.toml", b"#" * (MAX_BYTES + 1)),
        ("config.json", b"[]"),
        ("config.json", b"{"),
        ("config.json", b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
        ("config.json", b""),
    ],
)
def test_what_cannot_be_parsed_has_a_fault_and_no_settings(workspace: Path, name: str, content: bytes) -> None:
    config(workspace, name).write_bytes(content)

    file = file_of(workspace)

    assert file.fault
    assert file.settings == {}


def test_the_largest_file_is_read(workspace: Path) -> None:
    config(workspace).write_bytes(b"#" * MAX_BYTES)

    assert file_of(workspace).fault is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_has_a_fault(workspace: Path) -> None:
    config(workspace).write_text("")
    config(workspace).chmod(0)

    assert file_of(workspace).fault
