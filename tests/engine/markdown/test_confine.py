"""Nothing outside the folder is read or changed, whatever stands in the way and whoever moves it."""

import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import (
    CommonplaceError,
    FileChanged,
    MemoryFileTooLarge,
    MemoryWriteTimeout,
    PathEscape,
    PathNotFound,
)
from commonplace.markdown.confine import LARGEST, FileSnapshot, Folder
from commonplace.markdown.locks import locked
from commonplace.markdown.names import fault, parts_of


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("the secret", encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "user").mkdir(parents=True)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(folder: Folder, path: str, text: str) -> FileSnapshot | None:
    return folder.change(tuple(path.split("/")), lambda _: text.encode())


BAD_PATHS = [
    "",
    "..",
    "../outside/secret.md",
    "user/../../outside/secret.md",
    "user/./x.md",
    "user//x.md",
    "/etc/passwd",
    "user/x.md\0.txt",
    "user/x\n.md",
    "user/\x1b[2J.md",
    "user/x\u202egm.md",
    "user/x\u200b.md",
    "user/..／..／outside.md",
    "user∕x.md",
    "user⁄x.md",
    "user\\..\\x.md",
    "user/．．/x.md",
    "user/‥/x.md",
    "user/x.md.",
    "user/x.md ",
    "user/ x.md",
    "user/x.md\u3000",
    "user/x．",
    "user/CON",
    "user/nul.md",
    "user/COM¹.md",
    "user/lpt9.tar.md",
    "user/x.md::$DATA",
    "C:/x.md",
    "user/cafe\u0301.md",
    ".history/x.json",
    "user/.x.md.lock",
    "user/\ud800.md",
    "user/" + "x" * 201 + ".md",
    "a/" * 9 + "x.md",
    "x" * 2000,
]


@pytest.mark.parametrize("path", BAD_PATHS, ids=ascii)
def test_a_path_with_a_second_meaning_is_refused(path: str) -> None:
    with pytest.raises(PathEscape):
        parts_of(path)


@pytest.mark.parametrize("path", ["user/x.md", "user/喜欢深色模式.md", "user/café.md", "a b.md", "MEMORY.md"])
def test_a_plain_path_is_taken(path: str) -> None:
    assert "/".join(parts_of(path)) == path


@given(st.text(max_size=60))
def test_whatever_is_accepted_stays_inside(path: str) -> None:
    try:
        parts = parts_of(path)
    except PathEscape:
        return

    base = Path("/root/of/memory")
    assert os.path.normpath(base.joinpath(*parts)) == str(base.joinpath(*parts))
    assert all(fault(part) is None for part in parts)


@pytest.mark.parametrize("parts", [("..", "x.md"), ("user", ".."), ("a/b.md",), ("",), ("x\0.md",), ("/etc", "x.md")])
def test_even_parts_that_nobody_checked_cannot_climb(root: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(PathEscape):
        Folder(root).read(parts)
    with pytest.raises(PathEscape):
        Folder(root).change(parts, lambda _: b"x")


def test_a_link_to_a_file_outside_is_neither_read_nor_written(root: Path, outside: Path) -> None:
    (root / "user/x.md").symlink_to(outside / "secret.md")

    with pytest.raises(PathEscape):
        Folder(root).read(("user", "x.md"))
    with pytest.raises(PathEscape):
        write(Folder(root), "user/x.md", "changed")
    assert snapshot(outside) == {"secret.md": b"the secret"}


def test_a_link_to_nowhere_makes_no_file_there(root: Path, outside: Path) -> None:
    (root / "user/x.md").symlink_to(outside / "new.md")

    with pytest.raises(PathEscape):
        write(Folder(root), "user/x.md", "made")
    assert not (outside / "new.md").exists()


def test_a_folder_that_is_a_link_is_not_entered(root: Path, outside: Path) -> None:
    (root / "project").symlink_to(outside)

    for act in (lambda: Folder(root).read(("project", "secret.md")), lambda: write(Folder(root), "project/x.md", "x")):
        with pytest.raises(PathEscape):
            act()
    with pytest.raises(PathEscape):
        Folder(root).listing(("project",))
    assert Folder(root).walk() == []
    assert snapshot(outside) == {"secret.md": b"the secret"}


def test_a_link_between_the_anchor_and_the_folder_is_not_followed(root: Path, outside: Path) -> None:
    (root / ".commonplace").symlink_to(outside)

    with pytest.raises(PathEscape):
        write(Folder(root, (".commonplace", "memory")), "user/x.md", "x")
    assert snapshot(outside) == {"secret.md": b"the secret"}


def test_a_second_name_of_a_file_outside_is_refused(root: Path, outside: Path) -> None:
    os.link(outside / "secret.md", root / "user/x.md")

    with pytest.raises(PathEscape):
        Folder(root).read(("user", "x.md"))
    with pytest.raises(PathEscape):
        write(Folder(root), "user/x.md", "changed")
    assert snapshot(outside) == {"secret.md": b"the secret"}


def test_a_draft_or_a_lock_that_leads_out_is_not_written_through(root: Path, outside: Path) -> None:
    (root / "user/.x.md.tmp").symlink_to(outside / "secret.md")
    os.link(outside / "secret.md", root / "user/.y.md.tmp")
    os.link(outside / "secret.md", root / "user/.y.md.lock")
    (root / "user/.z.md.lock").symlink_to(outside / "lock")

    write(Folder(root), "user/x.md", "x")
    write(Folder(root), "user/y.md", "y")
    with pytest.raises(PathEscape):
        write(Folder(root), "user/z.md", "z")

    assert snapshot(outside) == {"secret.md": b"the secret"}
    assert (root / "user/x.md").read_text() == "x"
    assert not (root / "user/x.md").is_symlink()


def test_what_is_no_plain_file_is_refused_without_waiting_for_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "user/pipe.md")
    (root / "user/folder.md").mkdir()
    heard = socket.socket(socket.AF_UNIX)
    with heard:
        monkeypatch.chdir(root)  # a socket has a short address only
        heard.bind("user/socket.md")

        for name in ("pipe.md", "folder.md", "socket.md"):
            with pytest.raises(PathEscape):
                Folder(root).read(("user", name))
            with pytest.raises(PathEscape):
                write(Folder(root), f"user/{name}", "x")
        assert [one.name for one in Folder(root).listing(("user",))] == ["folder.md"]


def test_a_name_that_differs_only_in_case_or_form_is_not_made(root: Path) -> None:
    write(Folder(root), "user/tea.md", "tea")

    for name in ("user/Tea.md", "user/TEA.md", "user/ｔｅａ.md"):
        with pytest.raises(PathEscape):
            write(Folder(root), name, "other")
    with pytest.raises(PathEscape):
        write(Folder(root), "User/other.md", "other")
    assert not (root / "User").exists()
    assert (root / "user/tea.md").read_text() == "tea"


def test_a_file_larger_than_allowed_is_not_read(root: Path) -> None:
    (root / "user/x.md").write_bytes(b"x" * (LARGEST + 1))

    with pytest.raises(MemoryFileTooLarge):
        Folder(root).read(("user", "x.md"))


def test_a_missing_file_is_not_found(root: Path) -> None:
    with pytest.raises(PathNotFound):
        Folder(root).read(("user", "x.md"))


def test_a_file_keeps_its_mode_and_a_new_one_is_its_owners(root: Path) -> None:
    (root / "user/x.md").write_text("old", encoding="utf-8")
    (root / "user/x.md").chmod(0o640)

    write(Folder(root), "user/x.md", "new")
    write(Folder(root), "user/y.md", "new")

    assert (root / "user/x.md").stat().st_mode & 0o777 == 0o640
    assert (root / "user/y.md").stat().st_mode & 0o777 == 0o600


def test_an_edit_since_the_file_was_read_is_never_overwritten(root: Path) -> None:
    folder = Folder(root)
    (root / "user/x.md").write_text("one", encoding="utf-8")
    read = folder.read(("user", "x.md"))
    (root / "user/x.md").write_text("two", encoding="utf-8")

    with pytest.raises(FileChanged):
        folder.write(("user", "x.md"), b"ours", expected=read.stamp)
    with pytest.raises(FileChanged):
        folder.write(("user", "x.md"), b"ours", expected=None)
    with pytest.raises(FileChanged):
        folder.remove(("user", "x.md"), expected=read.stamp)
    assert (root / "user/x.md").read_text() == "two"


def test_an_edit_with_the_same_time_and_size_is_noticed(root: Path) -> None:
    folder, path = Folder(root), root / "user/x.md"
    path.write_text("one", encoding="utf-8")
    read = folder.read(("user", "x.md"))
    path.write_text("two", encoding="utf-8")
    os.utime(path, ns=(read.stamp.mtime, read.stamp.mtime))

    with pytest.raises(FileChanged):
        folder.write(("user", "x.md"), b"ours", expected=read.stamp)
    assert path.read_text() == "two"


def test_an_edit_while_we_compose_is_never_overwritten(root: Path) -> None:
    path = root / "user/x.md"
    path.write_text("one", encoding="utf-8")

    def compose(held: FileSnapshot | None) -> bytes:
        path.write_text("a person's", encoding="utf-8")
        return b"ours"

    with pytest.raises(FileChanged):
        Folder(root).change(("user", "x.md"), compose)
    assert path.read_text() == "a person's"
    assert [one.name for one in (root / "user").iterdir()] == ["x.md"]


def test_a_file_made_while_we_compose_is_never_overwritten(root: Path) -> None:
    def compose(held: FileSnapshot | None) -> bytes:
        (root / "user/x.md").write_text("a person's", encoding="utf-8")
        return b"ours"

    with pytest.raises(FileChanged):
        Folder(root).change(("user", "x.md"), compose)
    assert (root / "user/x.md").read_text() == "a person's"


def test_a_lock_held_for_too_long_is_told(root: Path) -> None:
    opened = os.open(root / "user", os.O_RDONLY)
    try:
        with locked(opened, "x.md"), pytest.raises(MemoryWriteTimeout):
            Folder(root, patience=0.05).change(("user", "x.md"), lambda _: b"x")
    finally:
        os.close(opened)
    write(Folder(root, patience=0.05), "user/x.md", "x")

    assert [one.name for one in (root / "user").iterdir()] == ["x.md"]


def test_many_threads_add_to_one_file_and_no_line_is_lost(root: Path) -> None:
    folder = Folder(root)

    def add(line: int) -> None:
        folder.change(("user", "x.md"), lambda held: (held.data if held else b"") + b"%d\n" % line)

    def add_all(first: int) -> None:
        for line in range(first, first + 20):
            add(line)

    threads = [threading.Thread(target=add_all, args=[first]) for first in range(0, 120, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(map(int, (root / "user/x.md").read_text().split())) == list(range(120))


@contextmanager
def swapping(place: Path, parked: Path, target: Path) -> Generator[None]:
    """Replace the folder `place` by a link to `target` and back, as fast as it goes."""
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with suppress(OSError):
                place.rename(parked)
                place.symlink_to(target)
                place.unlink()
                parked.rename(place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


def test_a_folder_swapped_for_a_link_again_and_again_never_leads_out(root: Path, outside: Path) -> None:
    folder = Folder(root)
    done = 0
    with swapping(root / "user", root / "parked", outside):
        for n in range(300):
            with suppress(CommonplaceError):
                write(folder, f"user/{n % 7}.md", str(n))
                done += 1
            with suppress(CommonplaceError):
                assert folder.read(("user", "secret.md")) is None
            with suppress(CommonplaceError):
                held = folder.read(("user", f"{n % 7}.md"))
                folder.remove(("user", f"{n % 7}.md"), expected=held.stamp)

    assert snapshot(outside) == {"secret.md": b"the secret"}
    assert done > 0


def test_a_file_swapped_for_a_link_again_and_again_never_leads_out(root: Path, outside: Path) -> None:
    folder, path, stop = Folder(root), root / "user/x.md", threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with suppress(OSError):
                path.unlink(missing_ok=True)
                path.symlink_to(outside / "secret.md")
                path.unlink(missing_ok=True)
                os.link(outside / "secret.md", path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for n in range(300):
            with suppress(CommonplaceError):
                write(folder, "user/x.md", str(n))
    finally:
        stop.set()
        thread.join(timeout=5)

    assert snapshot(outside) == {"secret.md": b"the secret"}


def test_a_file_is_on_the_disk_before_it_takes_its_name_and_the_name_before_anybody_is_answered(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, int]] = []
    sync, rename, unlink = os.fsync, os.rename, os.unlink

    def noted_sync(fd: int) -> None:
        sync(fd)
        steps.append(("sync", os.fstat(fd).st_ino))

    def noted_rename(old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        steps.append(("rename", (root / "user" / new).stat().st_ino))

    def noted_unlink(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        steps.append(("unlink", 0))

    folder = Folder(root)
    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "rename", noted_rename)
    monkeypatch.setattr(os, "unlink", noted_unlink)

    written = write(folder, "user/x.md", "kept through a loss of power")
    file, parent = (root / "user" / "x.md").stat().st_ino, (root / "user").stat().st_ino
    after_write = [step for step in steps if step[0] != "unlink"]
    steps.clear()
    assert written is not None
    folder.remove(("user", "x.md"), expected=written.stamp)

    assert after_write == [("sync", file), ("rename", file), ("sync", parent)]
    assert steps[:2] == [("unlink", 0), ("sync", parent)]
