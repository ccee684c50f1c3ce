"""Names in the tree: readable, the only ones in their folders, and steady."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.service.tree_index import TreeIndex, index_of
from commonplace.text.slug import readable_name
from commonplace.values.scope import Scope
from commonplace.values.tree import Outline

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WEB = Scope("workspace", "web")
HASH = "3f2a9c1b7e0d4455"


def outline(number: int = 0, **fields: Any) -> Outline:
    values: dict[str, Any] = {"id": str(UUID(int=number)), "kind": "note", "beginning": "We ship on Fridays."}
    values |= {"created_at": NOW, "updated_at": NOW, "is_live": True, **fields}
    return Outline(**values)


def paths(index: TreeIndex) -> list[str]:
    return sorted("/".join(path) for path in index.files)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"key": "deploy"}, "deploy"),
        ({"key": "docs/how to/deploy.md"}, "docs/how-to/deploy.md"),
        ({"key": "auto:likes-tea"}, "auto-likes-tea"),
        ({"key": f"auto:likes-tea-{HASH}"}, "We-ship-on-Fridays"),
        ({"key": f"notes-{HASH}/docs/a.md", "file": "docs/a.md", "kind": "resource"}, "docs/a.md"),
        ({"key": f"resource:doc:{UUID(int=7)}", "kind": "resource", "title": "Team handbook"}, "Team-handbook"),
        ({"key": "resource:notes/handbook.md", "kind": "resource", "title": "Other"}, "notes/handbook.md"),
        ({"title": "Deploying, safely"}, "Deploying-safely"),
        ({}, "We-ship-on-Fridays"),
        ({"beginning": "我们周五发布。"}, "我们周五发布"),
        ({"beginning": "\n\t…"}, "unnamed"),
        ({"kind": "turn", "session": "chat:7", "position": 2, "speaker": "Ana"}, "sessions/chat-7/0003-Ana"),
        ({"key": "../../etc/passwd"}, "etc/passwd"),
        ({"file": "C:\\notes\\plan.txt"}, "C/notes/plan.txt"),
    ],
)
def test_a_record_is_called_by_what_somebody_can_read(fields: dict[str, Any], path: str) -> None:
    assert paths(index_of(WEB, [outline(**fields)])) == [path]


def test_a_session_is_a_folder_of_its_own_turns() -> None:
    said = outline(kind="turn", session="s1", position=0, speaker="bo")

    assert paths(index_of(Scope("session", "s1"), [said])) == ["0001-bo"]


def test_the_second_of_one_name_gets_a_number_and_the_first_keeps_it_when_it_is_deleted() -> None:
    first, second, third = (outline(n, key=None, title="Plan.md") for n in range(3))

    before = index_of(WEB, [first, second, third])
    after = index_of(WEB, [replace(first, is_live=False), second, third])

    assert paths(before) == ["Plan-2.md", "Plan-3.md", "Plan.md"]
    assert after.paths[second.id] == before.paths[second.id] == ("Plan-2.md",)


def test_a_key_that_is_a_name_keeps_it_although_others_are_older() -> None:
    index = index_of(WEB, [outline(1, title="deploy"), outline(2, key="de ploy"), outline(3, key="deploy")])

    assert index.files["deploy",].id == outline(3).id


def test_a_file_called_like_a_folder_gives_way() -> None:
    index = index_of(WEB, [outline(1, key="docs"), outline(2, key="docs/deploy.md")])

    assert paths(index) == ["docs-2", "docs/deploy.md"]


def test_what_an_address_calls_the_whole_scope_is_no_name_in_it() -> None:
    index = index_of(Scope("user", "ada"), [outline(1, key="memories"), outline(2, key="memories/tea")])

    assert paths(index) == ["memories-2/tea", "memories-3"]


def test_a_folder_without_anything_to_see_lists_nothing() -> None:
    gone, soon = outline(1, key="old/a", is_live=False), outline(2, key="soon/b", expires_at=NOW + timedelta(hours=1))
    index = index_of(WEB, [gone, soon])

    assert index.listed(("old",), NOW) == []
    assert index.listed((), NOW) == index.listed(("soon",), NOW) == [soon]
    assert index.listed((), NOW + timedelta(hours=1)) == []


TEXTS = st.text(max_size=40) | st.sampled_from(
    ["a", "a/b", "a/b/c", "memories", "A", "a-2", "a.md", "a-2.md", "//", "."]
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "key": st.none() | TEXTS.filter(bool),
    "title": st.none() | TEXTS,
    "file": st.none() | TEXTS,
    "session": st.none() | TEXTS,
    "kind": st.sampled_from(["note", "turn", "resource"]),
}
OUTLINES = st.lists(st.fixed_dictionaries(FIELDS), max_size=12)


@given(OUTLINES)
def test_every_record_has_one_readable_address_of_its_own(fields: list[dict[str, Any]]) -> None:
    outlines = [outline(number, **each) for number, each in enumerate(fields)]

    index = index_of(Scope("user", "ada"), outlines)

    assert len(index.files) == len(index.paths) == len(outlines)
    assert not index.files.keys() & index.folders.keys()
    assert {entry.id for entry in index.listed((), NOW)} == {entry.id for entry in outlines}
    for path in index.files:
        assert all(step and step not in (".", "..") and "/" not in step for step in path)
        assert path[0] != "memories"
        assert all(path[:depth] in index.folders for depth in range(len(path)))


@given(st.text(max_size=200))
def test_a_readable_name_is_short_stays_itself_and_holds_no_hash(text: str) -> None:
    name = readable_name(text)

    assert len(name) <= 60
    assert readable_name(name) == name
    assert not re.search(r"[\s/\\%?#]", name)


@given(st.uuids(), st.binary(min_size=8, max_size=32))
def test_ids_and_hashes_are_no_names(id: UUID, digest: bytes) -> None:
    text = digest.hex()

    assert readable_name(str(id)) == ""
    assert readable_name(f"note {id}") == "note"
    if any(sign.isdigit() for sign in text) and any(sign.isalpha() for sign in text):
        assert readable_name(f"{text}.md") in ("md", "")
