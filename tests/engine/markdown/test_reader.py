"""A folder that is read for somebody else stays the folder that was checked."""

import gc
import os
from pathlib import Path

import pytest

from commonplace.errors import Forbidden, MemoryFileTooLarge, PathEscape, PathNotFound
from commonplace.markdown.reader import FolderReader, HandleReader, PathReader, identities, is_link, open_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "note.md").write_text("a note", encoding="utf-8")
    (folder / "sub" / "deep.md").write_text("deep", encoding="utf-8")
    (folder / "link.md").symlink_to("note.md")
    os.mkfifo(folder / "pipe.md")
    return folder


@pytest.fixture(params=["handle", "path"])
def reader(request: pytest.FixtureRequest, root: Path) -> FolderReader:
    return open_folder(root) if request.param == "handle" else PathReader(root)


def handles() -> set[str]:
    return {path.name for path in Path("/dev/fd").iterdir()}


def test_a_listing_says_what_each_thing_is_and_follows_no_link(reader: FolderReader, root: Path) -> None:
    entries = {entry.name: entry for entry in reader.entries()}

    kinds = {name: entry.kind for name, entry in entries.items()}
    assert kinds == {"note.md": "file", "sub": "folder", "link.md": "link", "pipe.md": "other"}
    assert (entries["note.md"].size, entries["note.md"].mtime) == (6, (root / "note.md").stat().st_mtime_ns)
    assert entries["link.md"].target == "note.md"
    assert [entry.name for entry in reader.entries(("sub",))] == ["deep.md"]


def test_one_entry_is_looked_at_where_it_stands(reader: FolderReader) -> None:
    link, deep = reader.entry(("link.md",)), reader.entry(("sub", "deep.md"))

    assert link is not None
    assert deep is not None
    assert (link.kind, deep.kind) == ("link", "file")
    assert reader.entry(("none.md",)) is None
    assert reader.entry(("none", "note.md")) is None
    assert reader.entry(("note.md", "note.md")) is None


def test_a_file_is_read_up_to_the_limit_and_no_further(reader: FolderReader) -> None:
    assert reader.read(("note.md",), 6).data == b"a note"
    assert reader.below(("sub",)).read(("deep.md",), 6).data == b"deep"
    with pytest.raises(MemoryFileTooLarge):
        reader.read(("note.md",), 5)


def test_what_is_no_plain_file_is_not_read_and_not_waited_for(reader: FolderReader, root: Path) -> None:
    (root / "again.md").hardlink_to(root / "note.md")

    for name in ("pipe.md", "again.md"):
        with pytest.raises(PathEscape):
            reader.read((name,), 100)


def test_a_link_is_neither_read_nor_entered(root: Path, tmp_path: Path) -> None:
    reader = open_folder(root)
    (root / "out").symlink_to(tmp_path)

    for act in (lambda: reader.read(("link.md",), 100), lambda: reader.entries(("out",))):
        with pytest.raises(OSError, match=r"symbolic links|Not a directory", check=is_link):
            act()
    assert reader.entry(("out", "root")) is None


def test_even_parts_that_nobody_checked_cannot_climb(root: Path) -> None:
    reader = open_folder(root / "sub")

    for parts in (("..", "note.md"), (".", "deep.md"), ("a/b", "c"), ("", "x"), ("x\0", "y")):
        with pytest.raises(PathEscape):
            reader.read(parts, 100)


def test_a_folder_keeps_its_identity_when_its_name_is_given_to_another(root: Path, tmp_path: Path) -> None:
    reader = open_folder(tmp_path, ("root",))
    root.rename(tmp_path / "aside")
    root.mkdir()
    (root / "note.md").write_text("another", encoding="utf-8")

    assert reader.read(("note.md",), 100).data == b"a note"


def test_a_barred_folder_is_not_entered_by_any_way(root: Path, tmp_path: Path) -> None:
    barred = identities([root / "sub", tmp_path / "not there"])
    reader = open_folder(tmp_path, ("root",), barred=barred)

    assert reader.read(("note.md",), 100).data == b"a note"
    for act in (
        lambda: reader.entries(("sub",)),
        lambda: reader.read(("sub", "deep.md"), 100),
        lambda: reader.below(("sub",)),
        lambda: open_folder(tmp_path, ("root", "sub"), barred=barred),
        lambda: open_folder(root / "sub", barred=barred),
    ):
        with pytest.raises(Forbidden):
            act()


def test_a_folder_above_that_may_be_passed_but_not_listed_is_passed(root: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0 or not hasattr(os, "O_PATH"):
        pytest.skip("the superuser may list any folder, and not every system can pass through one")
    root.chmod(0o311)
    try:
        assert open_folder(tmp_path, ("root", "sub")).read(("deep.md",), 100).data == b"deep"
        with pytest.raises(PermissionError):
            open_folder(tmp_path, ("root",)).entries()
    finally:
        root.chmod(0o755)


def test_a_closed_reader_reads_nothing_through_a_handle_of_the_same_number(root: Path) -> None:
    reader = open_folder(root / "sub")
    reader.close()
    other = os.open(root, os.O_RDONLY)
    try:
        with pytest.raises(PathNotFound):
            reader.read(("note.md",), 100)
        reader.close()
        assert os.fstat(other)
    finally:
        os.close(other)


def test_no_handle_stays_open_whatever_goes_wrong(root: Path, tmp_path: Path) -> None:
    gc.collect()
    before = handles()
    reader = open_folder(tmp_path, ("root",), barred=identities([root / "sub"]))
    reader.entries()
    for act in (
        lambda: reader.read(("none", "note.md"), 100),
        lambda: reader.read(("link.md",), 100),
        lambda: reader.entries(("sub",)),
        lambda: open_folder(root, ("none",)),
        lambda: open_folder(root, ("note.md",)),
    ):
        with pytest.raises((OSError, Forbidden)):
            act()
    reader.close()

    assert handles() == before


def test_a_reader_that_nobody_has_any_more_is_closed(root: Path) -> None:
    gc.collect()
    before = handles()
    reader = open_folder(root)
    assert isinstance(reader, HandleReader)
    assert handles() != before

    del reader
    gc.collect()
    assert handles() == before


def test_without_handles_a_daemon_refuses_and_a_person_reads_by_paths(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set[object]())

    with pytest.raises(Forbidden):
        open_folder(root)
    assert open_folder(root, ("sub",), own=True).read(("deep.md",), 100).data == b"deep"
    with pytest.raises(NotADirectoryError):
        open_folder(root, ("note.md",), own=True)


def test_without_handles_a_link_is_still_not_read(root: Path) -> None:
    with pytest.raises((OSError, PathEscape)) as refused:
        PathReader(root).read(("link.md",), 100)

    assert not isinstance(refused.value, FileNotFoundError)
