"""What is erased leaves no trace in its folder, and what is not erased keeps its past."""

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace.errors import FileChanged, FileError, MemoryWriteTimeout, PathEscape
from commonplace.markdown import erase
from commonplace.markdown.changes import ChangeSet, noted, past, undo
from commonplace.markdown.confine import Folder
from commonplace.markdown.consolidate import dream
from commonplace.markdown.erase import FileTarget, Quotes
from commonplace.markdown.files import MemoryFiles
from commonplace.markdown.gate import GATE, alone, epoch_of, shared
from commonplace.markdown.remember import remember
from commonplace.markdown.roots import Root, channel_root
from commonplace.markdown.shelf import Shelf
from commonplace.testing.managed import Place, traces

SECRET = "Quixotic zebras juggle marmalade"
OTHER = "Patient keepers repaint the harbour wall"


def purge(root: Root, *paths: str, now: datetime) -> None:
    with alone(root) as epochs:
        epochs.begin()
        removal = erase.take(root, [FileTarget(path=path) for path in paths], now)
        erase.thin(removal)
        erase.end(root, removal.changes)


def path_of(root: Root, words: str) -> str:
    return next(entry.path for entry in Shelf(root).scan().entries if words in entry.entry.body)


@pytest.fixture
def filed(place: Place, now: datetime) -> Root:
    """A secret and something else, each with a past."""
    for hour, fact in enumerate((SECRET, OTHER)):
        remember([place.user], f"user: {fact}", now=now - timedelta(hours=4 - hour))
        remember([place.user], f"user: {fact} every morning", now=now - timedelta(hours=2 - hour))
    assert len(past(place.user)) == 4
    return place.user


def test_an_erased_entry_is_in_no_file_index_or_history(filed: Root, now: datetime) -> None:
    purge(filed, path_of(filed, SECRET), now=now)

    assert traces(filed, "zebras", "quixotic") == []
    assert OTHER in Shelf(filed).index()


def test_the_past_of_other_entries_stays_and_can_be_taken_back(filed: Root, now: datetime) -> None:
    purge(filed, path_of(filed, SECRET), now=now)

    [newest, oldest] = past(filed)
    undo(filed, newest.id, now)
    assert path_of(filed, OTHER)
    assert "every morning" not in Shelf(filed).scan().entries[0].entry.body
    undo(filed, oldest.id, now)
    assert Shelf(filed).scan().entries == ()


def test_a_change_of_two_entries_keeps_the_step_of_the_one_that_stays(place: Place, now: datetime) -> None:
    files = MemoryFiles([place.user], now=now)
    for name, text in (("a", SECRET), ("b", OTHER)):
        files.write_file(f"user/{name}.md", f"---\nname: {name}\ndescription: {text}\ntype: user\n---\n{text}\n")

    purge(place.user, "user/a.md", now=now)

    [change] = past(place.user)
    assert change.paths == ("user/b.md",)
    assert traces(place.user, "zebras") == []


def test_what_went_into_an_entry_in_a_dream_is_erased_with_it(place: Place, now: datetime) -> None:
    long = f"{SECRET} in the evening when all the other animals of the zoo by the river have gone to sleep"
    for name, more in (("a", " quietly"), ("b", " loudly and")):
        place.entry(place.user, f"user/{name}.md", f"{long}{more}.", name)
    assert dream([place.user], now=now).files_touched
    [stays] = Shelf(place.user).scan().entries
    assert set(past(place.user)[0].paths) == {"user/a.md", "user/b.md"}

    purge(place.user, stays.path, now=now)

    assert traces(place.user, "zebras") == []
    assert past(place.user) == []


def test_an_entry_that_a_person_copied_into_another_file_leaves_no_past_under_its_old_name(
    place: Place, now: datetime
) -> None:
    remember([place.user], f"user: {SECRET}", now=now)
    old = path_of(place.user, SECRET)
    entry = Shelf(place.user).scan().entries[0]
    ChangeSet(place.user, "edit", now).remove(entry.parts, expected=entry.snapshot)
    place.entry(place.user, "user/new.md", f"{SECRET}.", "New")

    purge(place.user, "user/new.md", now=now)

    assert old != "user/new.md"
    assert traces(place.user, "zebras", "quixotic") == []


def test_what_an_entry_that_stays_says_too_is_no_reason_to_lose_its_past(place: Place, now: datetime) -> None:
    for name in ("a", "b"):
        change = ChangeSet(place.user, "edit", now)
        change.write(("user", f"{name}.md"), f"---\nname: {name}\n---\nAsk before you deploy.\n", expected=None)

    purge(place.user, "user/a.md", now=now)

    assert [change.paths for change in past(place.user)] == [("user/b.md",)]


def test_a_line_of_the_index_that_a_person_wrote_about_it_goes_and_their_others_stay(
    place: Place, now: datetime
) -> None:
    place.entry(place.user, "user/a b.md", f"{SECRET}.", "Zebras")
    own = "# My notes\n* see [it](user/a%20b.md)\n* and [it](user/a b.md)\nWe heard that quixotic zebras juggle marmalade!\nTea.\n"
    place.save(place.user, "MEMORY.md", own)

    purge(place.user, "user/a b.md", now=now)

    assert Shelf(place.user).index() == "# My notes\nTea.\n\n"


def test_drafts_and_locks_that_a_killed_process_left_are_erased(filed: Root, now: datetime) -> None:
    path = path_of(filed, SECRET)
    folder, name = os.path.split(path)
    for draft in (f"{folder}/.{name}.tmp", f"{folder}/.gone.md.tmp", ".history/.remember-1.json.tmp", ".MEMORY.md.tmp"):
        (filed.path / draft).write_text(SECRET, encoding="utf-8")
    (filed.path / f"{folder}/.{name}.lock").touch()

    purge(filed, path, now=now)

    assert traces(filed, "zebras") == []
    assert [*filed.path.rglob(".*.tmp"), *filed.path.rglob(".*.lock")] == []


def test_a_change_in_the_history_that_nobody_can_read_is_erased(filed: Root, now: datetime) -> None:
    (filed.path / ".history/dream-x.json").write_text(f'{{"steps": "{SECRET}"', encoding="utf-8")

    purge(filed, path_of(filed, SECRET), now=now)

    assert traces(filed, "zebras") == []


def test_one_file_that_changes_in_that_moment_leaves_all_as_they_were(
    filed: Root, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [entry.path for entry in Shelf(filed).scan().entries]
    for path in paths:
        (filed.path / path).chmod(0o644)
    before = {path: (filed.path / path).read_bytes() for path in paths}
    changes, index = noted(filed), Shelf(filed).index()
    unlinking = os.unlink

    def edited(name: str, *, dir_fd: int | None = None) -> None:
        # As an editor does it, right after the first file has gone.
        unlinking(name, dir_fd=dir_fd)
        if name == Path(paths[0]).name:
            before[paths[1]] = b"By hand.\n"
            (filed.path / paths[1]).write_bytes(before[paths[1]])

    monkeypatch.setattr(os, "unlink", edited)
    with alone(filed), pytest.raises(FileChanged):
        erase.take(filed, [FileTarget(path=path) for path in paths], now)

    assert {path: (filed.path / path).read_bytes() for path in paths} == before
    assert {(filed.path / path).stat().st_mode & 0o777 for path in paths} == {0o644}
    assert (noted(filed), Shelf(filed).index()) == (changes, index)


def test_what_was_taken_can_be_put_back_until_the_end(filed: Root, now: datetime) -> None:
    path = path_of(filed, SECRET)
    before, index = (filed.path / path).read_bytes(), Shelf(filed).index()
    with alone(filed):
        removal = erase.take(filed, [FileTarget(path=path)], now)
        erase.thin(removal)
        gone = not (filed.path / path).exists()

        erase.restore(removal)

    assert gone
    assert ((filed.path / path).read_bytes(), Shelf(filed).index()) == (before, index)
    assert not any(change.what == "purge" for change, _ in noted(filed))


def test_all_of_a_folder_goes_with_its_history_and_its_index(filed: Root, now: datetime) -> None:
    (filed.path / "MEMORY.md").write_text("Of my own.\n" + Shelf(filed).index(), encoding="utf-8")
    with alone(filed):
        removal = erase.take(filed, erase.all_of(filed), now, everything=True)
        erase.thin(removal)
        erase.end(filed, removal.changes)

    assert [path.name for path in filed.path.rglob("*") if path.is_file()] == [GATE]


# ---- what stands in the way


def swapped(place: Place, path: Path) -> str:
    path.unlink()
    path.symlink_to(place.outside / "secret.md")
    return "user/a.md"


def linked_twice(place: Place, path: Path) -> str:
    os.link(path, place.outside / "b.md")
    return "user/a.md"


def edited(place: Place, path: Path) -> str:
    path.write_text("By hand.", encoding="utf-8")
    return "user/a.md"


def no_text(place: Place, path: Path) -> str:
    path.write_bytes(b"\xff\xfe")
    return "user/a.md"


def history_led_elsewhere(place: Place, path: Path) -> str:
    (place.user.path / ".history").symlink_to(place.outside)
    return ".history"


def history_linked_twice(place: Place, path: Path) -> str:
    (place.user.path / ".history").mkdir()
    (place.outside / "x.json").write_text("{}", encoding="utf-8")
    os.link(place.outside / "x.json", place.user.path / ".history/edit-x.json")
    return ".history/edit-x.json"


@pytest.mark.parametrize("spoil", [swapped, linked_twice, edited, no_text, history_led_elsewhere, history_linked_twice])
def test_what_cannot_be_erased_is_named_before_anything_is_touched(
    place: Place, spoil: Callable[[Place, Path], str]
) -> None:
    path = place.entry(place.user, "user/a.md", SECRET)
    content = frozenset({place.user.folder.read(("user", "a.md")).stamp.sha256})

    name = spoil(place, path)

    assert list(erase.faults(place.user, [FileTarget(path="user/a.md", sha256=content)])) == [name]
    assert (place.outside / "secret.md").read_text(encoding="utf-8") == "the secret"


def test_nothing_stands_in_the_way_of_a_file_that_is_as_its_record_says_or_gone(place: Place) -> None:
    place.entry(place.user, "user/a.md", SECRET)
    content = frozenset({place.user.folder.read(("user", "a.md")).stamp.sha256})
    targets = [FileTarget(path=f"user/{name}.md", sha256=content) for name in ("a", "gone")]

    assert erase.faults(place.user, targets) == {}


# ---- others at work


def test_a_change_that_began_before_an_erasure_writes_nothing_any_more(filed: Root, now: datetime) -> None:
    other = next(entry for entry in Shelf(filed).scan().entries if OTHER in entry.entry.body)
    files = MemoryFiles([filed], now=now, what="dream")
    secret = files.read_file(path_of(filed, SECRET))
    files.read_file(other.path)

    purge(filed, path_of(filed, SECRET), now=now)

    with pytest.raises(FileChanged):
        files.write_file(other.path, secret)
    assert traces(filed, "zebras") == []


def test_a_change_of_an_erased_file_notes_nothing_of_it(filed: Root, now: datetime) -> None:
    entry = next(entry for entry in Shelf(filed).scan().entries if SECRET in entry.entry.body)
    purge(filed, entry.path, now=now)

    with pytest.raises(FileChanged):
        ChangeSet(filed, "edit", now).write(entry.parts, "New.", expected=entry.snapshot)

    assert traces(filed, "zebras") == []


def test_an_erasure_waits_for_whoever_is_at_work_and_they_for_it(place: Place) -> None:
    hasty = Folder(place.user.state._anchor, place.user.state._inside, patience=0.05)  # pyright: ignore[reportPrivateUsage]
    before = epoch_of(place.user)

    with shared(place.user), shared(place.user), pytest.raises(MemoryWriteTimeout), hasty.gate(GATE, shared=False):
        pass
    with alone(place.user), pytest.raises(MemoryWriteTimeout), hasty.gate(GATE, shared=True):
        pass

    assert epoch_of(place.user) == before


def test_an_erasure_begins_an_epoch_and_ends_it(place: Place) -> None:
    before = epoch_of(place.user)
    with alone(place.user) as epochs:
        epochs.begin()
        during = epoch_of(place.user)

    with shared(place.user) as after:
        assert len({before, during, after}) == 3
        assert epoch_of(place.user) == after


def test_a_gate_that_is_a_link_is_not_followed(place: Place) -> None:
    place.user.state.make()
    (place.user.path / ".state" / GATE).symlink_to(place.outside / "secret.md")

    with pytest.raises((PathEscape, FileError)), alone(place.user):
        pass

    assert (place.outside / "secret.md").read_text(encoding="utf-8") == "the secret"


# ---- rooms


def test_a_line_of_a_room_goes_and_the_others_stay(tmp_path: Path, now: datetime) -> None:
    root = channel_root(tmp_path, "dingtalk", "room")
    for line in (SECRET, OTHER):
        remember([root], line, now=now)
    mark = erase.line_hash(SECRET)
    with alone(root):
        removal = erase.take(root, [FileTarget(path="MEMORY.md", lines=frozenset({mark}))], now)
        erase.thin(removal)
        erase.end(root, removal.changes)

    assert (root.path / "MEMORY.md").read_text(encoding="utf-8") == f"- {OTHER}\n"
    assert traces(root, "zebras") == []


# ---- what tells of it elsewhere


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Saved to user memory: Quixotic zebras juggle marmalade", True),
        ("quixotic  zebras, juggle MARMALADE!", True),
        ("Updated 2026-03-01: Quixotic zebras juggle marmalade", True),
        ("Zebras juggle", False),
        ("我的银行卡密码是八个八", True),
        ("Tea", False),
        ("", False),
    ],
)
def test_a_text_is_recognised_by_a_line_that_only_the_erased_had(text: str, expected: bool) -> None:
    erased = [f"---\nname: A\ndescription: {SECRET}\n---\n{SECRET}.\n\nTea\n我的银行卡密码是八个八。\n"]

    assert Quotes(erased, ["Tea"]).are_in(text) is expected


def test_a_history_of_more_than_a_megabyte_is_erased_and_pruned(place: Place, now: datetime) -> None:
    long = "\n".join(f"Line {n} of {SECRET}" for n in range(20_000))
    change = ChangeSet(place.user, "edit", now)
    file = change.write(("user", "a.md"), long[:900_000], expected=None)
    change.write(("user", "a.md"), long[1:900_000], expected=file)
    assert (place.user.path / f".history/{change.id}.json").stat().st_size > 1024 * 1024

    purge(place.user, "user/a.md", now=now)

    assert traces(place.user, "zebras") == []
    assert json.dumps([change.id for change in past(place.user)]) == "[]"
