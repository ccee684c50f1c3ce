from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.tools.difference import unified
from commonplace.agent.tools.files import replaced
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.tools.workspace import Workspace
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.markdown import confine
from commonplace.values.permission import PermissionRequest

pytestmark = pytest.mark.anyio
Tools = dict[str, AgentTool]

ESCAPES = [
    "../secret.txt",
    "src/../../secret.txt",
    "/etc/passwd",
    "~/.ssh/id_rsa",
    "src/..",
    "a\0b",
    "..\\secret.txt",
    "link.txt",
    "linked/secret.txt",
    "re\u200badme.md",
    "\u202ereadme.md",
    ".commonplace/token",
    "x/.Commonplace/token",
    "x" * 5_000,
    "/".join("d" * 40),
]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def links(root: Path) -> None:
    (root / "link.txt").symlink_to(root.parent / "secret.txt")
    (root / "linked").symlink_to(root.parent)


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("tool", ["read_file", "list_folder", "write_file", "edit_file", "glob", "grep"])
async def test_no_tool_leaves_the_workspace(turn: Desk, tools: Tools, root: Path, tool: str, path: str) -> None:
    links(root)
    arguments = {
        "write_file": {"path": path, "content": "taken"},
        "edit_file": {"path": path, "old_text": "outside", "new_text": "taken"},
        "glob": {"path": path, "pattern": "*"},
        "grep": {"path": path, "pattern": "outside"},
    }.get(tool, {"path": path})

    answer = await turn.call(tools[tool], **arguments)

    assert answer.outcome == "failed"
    assert "outside" not in turn.results[0].text.replace("is outside the workspace", "")
    assert (root.parent / "secret.txt").read_text() == "outside"


async def test_a_whole_path_into_the_workspace_will_do(turn: Desk, tools: Tools, root: Path) -> None:
    answer = await turn.call(tools["read_file"], path=str(root / "readme.md"))

    assert answer.content == "one\ntwo\nthree"


async def test_the_home_folder_of_commonplace_is_closed_even_inside_the_workspace(root: Path) -> None:
    (root / "own").mkdir()
    (root / "own" / "token").write_text("t")
    workspace = Workspace(root, closed=[root / "own"])

    with pytest.raises(CommonplaceError):
        workspace.read("own/token")
    assert [file.path for file in workspace.walk()] == ["readme.md", "src/main.py"]


PIECES = [*"ab./\\~-", "..", "\0", "\u200b", "é", "/../", "link", "secret.txt"]


@given(path=st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_whatever_a_path_is_nothing_is_read_or_written_outside(root: Path, path: str) -> None:
    if not (root / "link").is_symlink():
        (root / "link").symlink_to(root.parent)
    workspace = Workspace(root)

    def write(path: str) -> object:
        return workspace.change(path, lambda _: b"taken")

    for act in (workspace.read, workspace.listing, write):
        with suppress(CommonplaceError):
            act(path)

    assert names(root.parent) == ["secret.txt", "work"]
    assert (root.parent / "secret.txt").read_text() == "outside"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "one\ntwo\nthree"),
        ({"offset": 2}, "two\nthree\n[Lines 2 to 3 of 3.]"),
        ({"limit": 1}, "one\n[Lines 1 to 1 of 3. Go on with offset 2.]"),
    ],
)
async def test_a_file_is_read_whole_or_in_part(turn: Desk, tools: Tools, arguments: dict[str, int], text: str) -> None:
    answer = await turn.call(tools["read_file"], path="readme.md", **arguments)

    assert answer.content == text
    assert turn.requests == []


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"\xff\xfe", b"x" * (8 * 1024 * 1024 + 1)])
async def test_what_is_no_text_or_too_large_is_refused(turn: Desk, tools: Tools, root: Path, data: bytes) -> None:
    (root / "data.bin").write_bytes(data)

    answer = await turn.call(tools["read_file"], path="data.bin")

    assert answer.outcome == "failed"
    assert len(str(answer.content)) < 200


async def test_a_folder_is_listed_without_links_and_hidden_files(turn: Desk, tools: Tools, root: Path) -> None:
    links(root)
    (root / ".env").write_text("KEY=1")

    answer = await turn.call(tools["list_folder"])

    assert answer.content == "readme.md (14 bytes)\nsrc/"


async def test_a_write_shows_the_diff_before_and_after(turn: Desk, tools: Tools, root: Path) -> None:
    answer = await turn.call(tools["write_file"], path="readme.md", content="one\n2\nthree\n")

    assert answer.outcome == "success"
    assert (root / "readme.md").read_text() == "one\n2\nthree\n"
    assert turn.requests[0].diff == turn.results[0].diff
    assert "-two\n+2\n" in (turn.requests[0].diff or "")
    assert turn.requests[0].rule == "write_file:*"


async def test_a_new_file_in_a_new_folder(turn: Desk, tools: Tools, root: Path) -> None:
    await turn.call(tools["write_file"], path="docs/new/page.md", content="text")

    assert (root / "docs/new/page.md").read_text() == "text"
    assert (turn.requests[0].diff or "").startswith("--- /dev/null\n+++ b/docs/new/page.md\n")


async def test_always_for_plain_files_does_not_hold_for_hidden_ones(turn: Desk, tools: Tools, root: Path) -> None:
    (root / ".envrc").write_text("a")

    await turn.call(tools["write_file"], path=".envrc", content="b")

    assert turn.requests[0].rule == "write_file:.envrc"


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.GIT/config"])
async def test_the_version_control_is_not_written(turn: Desk, tools: Tools, path: str) -> None:
    answer = await turn.call(tools["write_file"], path=path, content="b")

    assert answer.outcome == "failed"


@pytest.mark.parametrize("name", ["a\u200bb.md", "con", "ends.", " a", "a:b"])
async def test_no_file_is_made_whose_name_means_two_things(turn: Desk, tools: Tools, root: Path, name: str) -> None:
    answer = await turn.call(tools["write_file"], path=name, content="b")

    assert answer.outcome == "failed"
    assert names(root) == ["readme.md", "src"]


async def test_a_refused_write_changes_nothing(tools: Tools, root: Path) -> None:
    await Desk(choice="reject_once").call(tools["write_file"], path="readme.md", content="b")

    assert (root / "readme.md").read_text() == "one\ntwo\nthree\n"


async def test_a_file_that_changed_after_it_was_shown_is_left_as_it_is(tools: Tools, root: Path) -> None:
    async def edited_meanwhile(request: PermissionRequest) -> None:
        (root / "readme.md").write_text("by hand")

    answer = await Desk(on_ask=edited_meanwhile).call(tools["write_file"], path="readme.md", content="b")

    assert answer.outcome == "failed"
    assert (root / "readme.md").read_text() == "by hand"


def vanish(root: Path, instead: str) -> None:
    shutil.rmtree(root)
    if instead == "a link":
        root.symlink_to(root.parent)


def swap_file(root: Path) -> None:
    (root / "readme.md").unlink()
    (root / "readme.md").symlink_to(root.parent / "secret.txt")


def swap_folder(root: Path) -> None:
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(root.parent)


@pytest.mark.parametrize(("swap", "path"), [(swap_file, "readme.md"), (swap_folder, "src/secret.txt")])
@pytest.mark.parametrize("moment", ["asked", "started", "written"])
async def test_a_link_swapped_in_at_any_moment_leads_nowhere(
    tools: Tools, root: Path, swap: Callable[[Path], None], path: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def swapped(what: object) -> None:
        swap(root)

    fsync = os.fsync

    def in_mid_write(file: int) -> None:
        fsync(file)
        if not (root / "readme.md").is_symlink() and not (root / "src").is_symlink():
            swap(root)

    if moment == "written":
        monkeypatch.setattr(confine.os, "fsync", in_mid_write)
    turn = Desk(on_ask=swapped if moment == "asked" else None, on_start=swapped if moment == "started" else None)

    await turn.call(tools["write_file"], path=path, content="taken")

    assert (root.parent / "secret.txt").read_text() == "outside"
    assert names(root.parent) == ["secret.txt", "work"]


@pytest.mark.parametrize("tool", ["read_file", "list_folder", "write_file", "glob", "grep"])
@pytest.mark.parametrize("instead", ["nothing", "a link"])
async def test_a_workspace_that_vanishes_is_told_and_not_made_again(
    turn: Desk, tools: Tools, root: Path, tool: str, instead: str
) -> None:
    vanish(root, instead)
    arguments = {
        "read_file": {"path": "secret.txt"},
        "write_file": {"path": "secret.txt", "content": "taken"},
        "glob": {"pattern": "*"},
        "grep": {"pattern": "."},
    }.get(tool, {})

    answer = await turn.call(tools[tool], **arguments)

    assert answer.outcome == "failed"
    assert names(root.parent) == (["secret.txt", "work"] if instead == "a link" else ["secret.txt"])
    assert (root.parent / "secret.txt").read_text() == "outside"


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
async def test_a_full_disk_is_told_and_the_file_is_as_it_was(
    turn: Desk, tools: Tools, root: Path, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(confine.os, "fsync", full)

    answer = await turn.call(tools["write_file"], path="readme.md", content="b")

    assert answer.outcome == "failed"
    assert os.strerror(error) in str(answer.content)
    assert (root / "readme.md").read_text() == "one\ntwo\nthree\n"
    assert names(root) == ["readme.md", "src"]


# ---- edit


async def test_an_edit_changes_just_the_text_it_names(turn: Desk, tools: Tools, root: Path) -> None:
    await turn.call(tools["edit_file"], path="src/main.py", old_text="'hello'", new_text="'bye'")

    assert (root / "src/main.py").read_text() == "def main() -> None:\n    print('bye')\n"
    assert "-    print('hello')\n+    print('bye')\n" in (turn.requests[0].diff or "")


@pytest.mark.parametrize(
    ("old", "new", "everywhere"),
    [("", "a", False), ("absent", "a", False), ("e", "a", False), ("one", "one", False), ("absent", "a", True)],
)
async def test_an_edit_that_is_not_clear_is_refused_before_anybody_is_asked(
    turn: Desk, tools: Tools, root: Path, old: str, new: str, everywhere: bool
) -> None:
    answer = await turn.call(tools["edit_file"], path="readme.md", old_text=old, new_text=new, replace_all=everywhere)

    assert answer.outcome == "failed"
    assert turn.requests == []
    assert (root / "readme.md").read_text() == "one\ntwo\nthree\n"


async def test_an_edit_keeps_the_line_ends_of_windows(turn: Desk, tools: Tools, root: Path) -> None:
    (root / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\n")

    await turn.call(tools["edit_file"], path="dos.txt", old_text="a\nb\n", new_text="a\nx\n")

    assert (root / "dos.txt").read_bytes() == b"a\r\nx\r\nc\r\n"


def test_an_edit_cannot_blow_a_file_up() -> None:
    with pytest.raises(InvalidInput):
        replaced("a" * 100_000, "a", "b" * 100_000, everywhere=True)


LINES = st.lists(st.text(alphabet="ab \t", max_size=4), max_size=12).map("\n".join)


@given(text=LINES, old=LINES, new=LINES, everywhere=st.booleans())
def test_an_edit_replaces_what_it_names_and_nothing_else(text: str, old: str, new: str, everywhere: bool) -> None:
    try:
        after = replaced(text, old, new, everywhere=everywhere)
    except InvalidInput:
        assert not old or old == new or text.count(old) != 1
        return
    before, found, rest = text.partition(old)
    assert found == old
    assert after == (text.replace(old, new) if everywhere else before + new + rest)


@given(before=st.none() | LINES, after=LINES)
def test_a_diff_holds_every_line_that_goes_and_comes(before: str | None, after: str) -> None:
    lines = unified("f", before, after).splitlines(keepends=True)[2:]
    hunks = [line for line in lines if not line.startswith(("@@", "\\"))]

    assert _applied(before or "", unified("f", before, after)) == after.splitlines()
    assert all(line[0] in " +-" for line in hunks)


def _applied(before: str, diff: str) -> list[str]:
    """The lines after a unified diff, by what its headers and lines say."""
    old, new, place = before.splitlines(), list[str](), 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            begin = int(start) - (0 if count == "0" else 1)
            new += old[place:begin]
            place = begin
        elif line.startswith("+"):
            new.append(line[1:])
        elif not line.startswith("\\"):
            assert old[place] == line[1:]
            new += [old[place]] if line.startswith(" ") else []
            place += 1
    return new + old[place:]


def test_the_diff_of_a_large_file_that_changes_everywhere_is_made_without_comparing() -> None:
    before, after = "\n".join(f"a{n}" for n in range(50_000)), "\n".join(f"b{n}" for n in range(50_000))

    assert _applied(before, unified("f", before, after)) == after.splitlines()
