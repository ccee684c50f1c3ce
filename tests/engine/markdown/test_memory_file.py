"""MEMORY.md of a workspace and of the home folder, through a door."""

import os
from pathlib import Path

import pytest

from commonplace.errors import CommonplaceError
from commonplace.markdown.locks import locked
from commonplace.markdown.memory_file import MOST_CONTENT, MOST_EXISTING, MemoryFileWrite, add, survey


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    return folder


def append(workspace: Path, home: Path, content: str) -> MemoryFileWrite:
    return add(workspace, home, scope="workspace", content=content)


def test_the_first_memory_makes_the_file_and_the_section(workspace: Path, home: Path) -> None:
    added = append(workspace, home, "\n- Use pnpm.\n")

    assert (workspace / "MEMORY.md").read_text() == "## Added Memories\n- Use pnpm.\n"
    assert added == MemoryFileWrite(path=str(workspace / "MEMORY.md"), bytes_written=30, mode="append", changed=True)


def test_a_global_memory_goes_into_the_home_folder(workspace: Path, home: Path) -> None:
    added = add(workspace, home, scope="global", content="- Tea.", mode="append")

    assert added.path == str(home / "MEMORY.md")
    assert (home / "MEMORY.md").read_text() == "## Added Memories\n- Tea.\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Notes\n", "# Notes\n\n## Added Memories\n- new\n"),
        ("# Notes", "# Notes\n\n## Added Memories\n- new\n"),
        ("## Added Memories\n- old\n", "## Added Memories\n- old\n- new\n"),
        ("## Added Memories\n- old", "## Added Memories\n- old\n- new\n"),
        ("## Added Memories\n- old\n\n## Next\ntext\n", "## Added Memories\n- old\n- new\n\n## Next\ntext\n"),
        (
            "## Added Memories\n- old\n```\n## not a heading\n```\n### deeper\n- x\n## Next\n",
            "## Added Memories\n- old\n```\n## not a heading\n```\n### deeper\n- x\n- new\n\n## Next\n",
        ),
        (
            "~~~~\n## Added Memories\n~~~\n~~~~\n# Real\n",
            "~~~~\n## Added Memories\n~~~\n~~~~\n# Real\n\n## Added Memories\n- new\n",
        ),
        ("## Added Memories\r\n- old\r\n", "## Added Memories\r\n- old\r\n- new\r\n"),
    ],
)
def test_what_is_added_goes_to_the_end_of_its_section(workspace: Path, home: Path, before: str, after: str) -> None:
    (workspace / "MEMORY.md").write_bytes(before.encode())

    append(workspace, home, "- new\n")

    assert (workspace / "MEMORY.md").read_bytes() == after.encode()


def test_bytes_that_are_no_text_stay_what_they_are(workspace: Path, home: Path) -> None:
    (workspace / "MEMORY.md").write_bytes(b"caf\xe9\n")

    append(workspace, home, "- new")

    assert (workspace / "MEMORY.md").read_bytes() == b"caf\xe9\n\n## Added Memories\n- new\n"


@pytest.mark.parametrize("content", ["", " \n\t\r\n"])
def test_only_white_space_changes_nothing(workspace: Path, home: Path, content: str) -> None:
    (workspace / "MEMORY.md").write_text("mine", encoding="utf-8")

    added = append(workspace, home, content)

    assert (added.changed, added.bytes_written) == (False, 4)
    assert (workspace / "MEMORY.md").read_text() == "mine"


def test_replacing_takes_the_content_as_it_is(workspace: Path, home: Path) -> None:
    (workspace / "MEMORY.md").write_text("old", encoding="utf-8")

    first = add(workspace, home, scope="workspace", content="new\n", mode="replace")
    again = add(workspace, home, scope="workspace", content="new\n", mode="replace")

    assert (first.changed, again.changed, first.bytes_written, first.mode) == (True, False, 4, "replace")
    assert (workspace / "MEMORY.md").read_text() == "new\n"


@pytest.mark.parametrize(
    ("told", "code", "status"),
    [
        ({"scope": "user"}, "invalid_scope", 400),
        ({"scope": None}, "invalid_scope", 400),
        ({"mode": "prepend"}, "invalid_mode", 400),
        ({"mode": ["append"]}, "invalid_mode", 400),
        ({"content": None}, "invalid_content", 400),
        ({"content": 7}, "invalid_content", 400),
        ({"content": "a\0b"}, "invalid_content", 400),
        ({"content": "x" * (MOST_CONTENT + 1)}, "content_too_large", 400),
        ({"content": "é" * (MOST_CONTENT // 2 + 1)}, "content_too_large", 400),
        ({"content": "-----BEGIN PRIVATE KEY-----\nx"}, "secret_refused", 422),
    ],
)
def test_a_bad_request_has_its_code(
    workspace: Path, home: Path, told: dict[str, object], code: str, status: int
) -> None:
    given: dict[str, object] = {"scope": "workspace", "content": "- new", "mode": None, **told}

    with pytest.raises(CommonplaceError) as refused:
        add(workspace, home, scope=given["scope"], content=given["content"], mode=given["mode"])

    assert (refused.value.code, refused.value.status) == (code, status)
    assert not (workspace / "MEMORY.md").exists()


def test_a_file_that_has_grown_too_large_is_not_added_to_but_may_be_replaced(workspace: Path, home: Path) -> None:
    with (workspace / "MEMORY.md").open("wb") as file:
        file.truncate(MOST_EXISTING + 1)

    with pytest.raises(CommonplaceError) as refused:
        append(workspace, home, "- new")
    add(workspace, home, scope="workspace", content="new", mode="replace")

    assert (refused.value.code, refused.value.status) == ("memory_file_too_large", 413)
    assert (workspace / "MEMORY.md").read_text() == "new"


def test_a_lock_that_is_not_let_go_is_a_timeout(workspace: Path, home: Path) -> None:
    opened = os.open(workspace, os.O_RDONLY)
    try:
        with locked(opened, "MEMORY.md"), pytest.raises(CommonplaceError) as refused:
            add(workspace, home, scope="workspace", content="- new", patience=0.05)
    finally:
        os.close(opened)

    assert (refused.value.code, refused.value.status) == ("memory_write_timeout", 500)


def test_a_file_that_leads_out_of_the_workspace_is_refused(workspace: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("theirs", encoding="utf-8")
    (workspace / "MEMORY.md").symlink_to(tmp_path / "other.md")

    with pytest.raises(CommonplaceError) as refused:
        append(workspace, home, "- new")

    assert refused.value.code == "path_escape"
    assert (tmp_path / "other.md").read_text() == "theirs"


def test_the_survey_counts_files_and_rules(workspace: Path, home: Path) -> None:
    empty = survey(workspace, home)
    append(workspace, home, "- new")
    add(workspace, home, scope="global", content="- Tea.")
    (workspace / ".commonplace/rules").mkdir(parents=True)
    (workspace / ".commonplace/rules/style.md").write_text("Tabs.", encoding="utf-8")

    found = survey(workspace, home)

    assert (empty.initialized, empty.files, empty.total_bytes, empty.rules) == (False, (), 0, 0)
    assert [(file.scope, file.path) for file in found.files] == [
        ("workspace", str(workspace / "MEMORY.md")),
        ("global", str(home / "MEMORY.md")),
    ]
    assert (found.initialized, found.total_bytes, found.rules, found.errors) == (True, 49, 1, ())


def test_secrets_are_taken_out_and_counted(workspace: Path, home: Path) -> None:
    added = append(workspace, home, "- token ghp_abcdefghij1234567890")

    assert added.redactions == 1
    assert "ghp_" not in (workspace / "MEMORY.md").read_text()
