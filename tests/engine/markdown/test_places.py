"""Which file a record follows, and in which folder of this machine it may lie."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonplace.markdown.places import Places
from commonplace.markdown.roots import Root, channel_root, local_root, user_root, workspace_root
from commonplace.markdown.watch import key_of
from commonplace.values.file_ref import GONE, FileRef, file_mark, refs_of
from commonplace.values.record import Provenance, Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def record(key: str | None, scope: str = "workspace:web", **fields: Any) -> Record:
    return Record(
        id="r1", scope=Scope.parse(scope), text="x", created_at=NOW, updated_at=NOW, key=key, source="managed", **fields
    )


@pytest.mark.parametrize(
    ("key", "scope", "expected"),
    [
        ("managed:user:user/tea.md", "user:local", ("user", "", "user/tea.md", None)),
        ("managed:project@1f2e3d4c:a b#c.md", "workspace:web", ("project", "1f2e3d4c", "a b#c.md", None)),
        ("managed:project:old.md", "workspace:web", ("project", "", "old.md", None)),
        (f"managed:channel:MEMORY.md#{'a' * 16}", "channel:x/y", ("channel", "", "MEMORY.md", "a" * 16)),
    ],
)
def test_the_key_of_a_record_names_its_file(key: str, scope: str, expected: tuple[object, ...]) -> None:
    [ref] = refs_of([record(key, scope, metadata={"sha256": "s"})])

    assert (ref.kind, ref.mark, ref.path, ref.line) == expected
    assert (ref.sha256, ref.current, ref.gone, ref.record) == ("s", True, False, "r1")


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        (None, "user:local"),
        ("notes/tea.md", "user:local"),
        ("managed:user:user/tea.md", "global"),
        ("managed:user:", "user:local"),
        ("managed:project@1f2e3d4c:x.md", "user:local"),
        ("managed:elsewhere:x.md", "user:local"),
    ],
)
def test_other_records_follow_no_file(key: str | None, scope: str) -> None:
    assert refs_of([record(key, scope)]) == []


def test_a_record_that_moved_or_lost_its_key_still_names_the_file_it_came_from() -> None:
    first = record("managed:user:tea.md", "user:local", metadata={"sha256": "s"})
    moved = replace(first, version=2, scope=Scope("global"), metadata={})

    [ref] = refs_of([first, moved])

    assert (ref.path, ref.scope, ref.sha256, ref.current) == ("tea.md", Scope("user", "local"), "s", False)


def test_a_record_that_waits_for_a_reviewer_names_the_file_whose_key_it_was_to_have() -> None:
    why = {"reasons": ["injection"], "key": "managed:user:tea.md"}

    [ref] = refs_of([record(None, "user:local", metadata={"quarantine": why, "sha256": "s"})])

    assert (ref.path, ref.sha256, ref.current) == ("tea.md", "s", True)


def test_a_record_whose_file_was_removed_says_so() -> None:
    first = record("managed:user:tea.md", "user:local")

    [ref] = refs_of([first, replace(first, version=2, deleted_at=NOW, reason=GONE)])

    assert ref.gone


def test_a_path_that_had_no_room_in_the_key_is_the_file_that_the_record_names_if_it_is_that_one(tmp_path: Path) -> None:
    root = user_root(tmp_path)
    path = f"user/{'x' * 300}.md"
    true, false = (
        record(key_of(root, path), "user:local", provenance=Provenance(file=file)) for file in (path, "a.md")
    )

    assert [ref.path for ref in refs_of([true])] == [path]
    assert [ref.path for ref in refs_of([false])] == [None]


def test_the_mark_of_a_file_tells_it_apart_and_does_not_name_it() -> None:
    assert file_mark("user", "tea.md") != file_mark("project", "tea.md")
    assert "tea" not in file_mark("user", "tea.md")


# ---- folders


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "web").mkdir()
    return Places(home=tmp_path / "home", workspace=tmp_path / "web", tenant=DEFAULT_TENANT)


def ref_of(root: Root, path: str = "a.md") -> FileRef:
    [ref] = refs_of([record(key_of(root, path), str(root.scope))])
    return ref


def test_a_file_of_a_person_or_a_workspace_lies_in_its_folder_if_there_is_one(places: Places) -> None:
    roots = [user_root(places.home), workspace_root(places.home, places.workspace, "web")]
    before = [places.of(ref_of(root)) for root in roots]
    for root in roots:
        root.folder.make()

    assert before == [[], []]
    assert [[candidate.root for candidate in places.of(ref_of(root))] for root in roots] == [[root] for root in roots]


def test_a_file_of_another_workspace_lies_in_the_folder_that_ends_in_its_mark(places: Places, tmp_path: Path) -> None:
    other = workspace_root(places.home, tmp_path / "elsewhere" / "web", "web")
    other.folder.make()

    [candidate] = places.of(ref_of(other))

    assert (candidate.root, candidate.own) == (other, False)
    assert places.of(replace(ref_of(other), mark="00000000")) == []


def test_a_folder_that_was_used_before_is_looked_at_for_copies_only(places: Places) -> None:
    home, inside = workspace_root(places.home, places.workspace, "web"), local_root(places.workspace, "web")
    for root in (home, inside):
        root.folder.make()

    candidates = {local: replace(places, local=local).of(ref_of(home)) for local in (False, True)}

    assert [(candidate.root, candidate.spare) for candidate in candidates[False]] == [(home, False), (inside, True)]
    assert [(candidate.root, candidate.spare) for candidate in candidates[True]] == [(inside, False), (home, True)]


def test_all_folders_of_a_scope_are_known_and_none_of_others(places: Places) -> None:
    roots = [user_root(places.home), workspace_root(places.home, places.workspace, "web")]
    rooms = [channel_root(places.home, "a", "b/c"), channel_root(places.home, "a/b", "c")]
    for root in (*roots, *rooms):
        root.folder.make()

    assert [candidate.root for candidate in places.within(roots[0].scope)] == [roots[0]]
    assert [candidate.root for candidate in places.within(roots[1].scope)] == [roots[1]]
    assert [candidate.root for candidate in places.within(Scope("channel", "a/b/c"))] == rooms
    assert places.within(Scope("user", "ana")) == []
