"""Entries in their files, and the index of them."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown.confine import FileSnapshot, Stamp
from commonplace.markdown.entries import TYPES, EntryFile, EntryProblem, EntryType, MemoryEntry, new_entry, parse, write
from commonplace.markdown.index import MAX_BYTES, MAX_LINE, MAX_LINES, build, clip
from commonplace.markdown.recall import MOST, MOST_BODY, recall, staleness
from commonplace.markdown.roots import (
    channel_root,
    folder_name,
    local_root,
    user_root,
    workspace_name,
    workspace_root,
)
from commonplace.markdown.shelf import MOST_SCANNED, Shelf, shelf_for
from commonplace.testing.managed import Place

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def entry_file(
    name: str,
    body: str = "",
    kind: EntryType = "user",
    path: str = "",
    age: timedelta = timedelta(),
    description: str = "",
) -> EntryFile:
    entry = MemoryEntry(name=name, description=description or body[:100], type=kind, body=body)
    mtime = int((NOW - age).timestamp() * 1_000_000_000)
    return EntryFile(
        entry=entry, path=path or f"{kind}/{name}.md", snapshot=FileSnapshot(b"", Stamp(mtime, 0, ""), 0o600)
    )


def test_the_roots_lie_where_the_contract_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    room = channel_root(home, "dingtalk", "room 7")

    assert user_root(home).path == home / "memories"
    assert str(user_root(home).scope) == "user:local"
    assert (
        workspace_root(home, Path("/src/web"), "web").path
        == home / "projects" / workspace_name(Path("/src/web")) / "memory"
    )
    assert local_root(tmp_path, "web").path == tmp_path / ".commonplace" / "memory"
    assert room.path == home / "channels" / "memory" / "dingtalk" / "f64ddcb7b2ac1be3"
    assert str(room.scope) == "channel:dingtalk/room 7"
    assert (room.trust, user_root(home).trust) == ("connector_sourced", "system_generated")


def test_two_workspaces_never_share_a_folder() -> None:
    names = {workspace_name(Path(path)) for path in ("/a/b-c", "/a/b/c", "/a-b/c", "/", "/项目", "/项日", "/A/b/c")}

    assert len(names) == 7
    assert all("/" not in name and len(name) < 100 for name in names)


@given(st.text(min_size=1, max_size=40))
def test_a_channels_name_is_one_folder(channel: str) -> None:
    name = folder_name(channel)

    assert "/" not in name
    assert name not in (".", "..")
    assert name.isascii()


def test_an_entry_is_read_as_it_is_written_by_hand() -> None:
    text = (
        "---\nname: 'Ada''s editor'\ndescription: >-\n  Dark mode\n  everywhere\ntags: [a, b]\ntype: user\n---\n\n"
        "Uses dark mode.\n\nWhy: glare\nHow to apply: themes\n"
    )

    entry = parse(text, "user/editor.md")

    assert isinstance(entry, MemoryEntry)
    assert (entry.name, entry.description, entry.type) == ("Ada's editor", "Dark mode everywhere", "user")
    assert (entry.summary, entry.why, entry.how_to_apply) == ("Uses dark mode.", "glare", "themes")
    assert entry.extra == ("tags: [a, b]",)
    assert "tags: [a, b]" in write(entry)


@pytest.mark.parametrize(
    ("text", "path", "name", "kind"),
    [
        ("# Tea\n\nGreen.", "user/x.md", "Tea", "user"),
        ("Green tea.", "feedback/drink-green-tea.md", "drink green tea", "feedback"),
        ("---\ntype: nonsense\n---\nGreen.", "reference/x.md", "x", "reference"),
        ("---\nname: Tea\ntype: Reference\n---\nGreen.", "stray.md", "Tea", "reference"),
        ("\r\n\r\nGreen.\r\n", "stray.md", "stray", "project"),
        ("---\nname: Tea\n---\n", "x.md", "Tea", "project"),
        ('---\nname: "broken \\q quote"\n---\nx', "x.md", "broken \\q quote", "project"),
    ],
)
def test_a_file_that_is_not_quite_right_is_still_an_entry(text: str, path: str, name: str, kind: str) -> None:
    entry = parse(text, path)

    assert isinstance(entry, MemoryEntry)
    assert (entry.name, entry.type) == (name, kind)


@pytest.mark.parametrize("text", ["", "  \n\n", "---\nname: x\nno end", "---\n---\n"])
def test_a_file_that_says_nothing_is_a_problem_not_an_error(text: str) -> None:
    assert isinstance(parse(text, "user/x.md"), EntryProblem)


@given(st.text(), st.text(), st.sampled_from(TYPES), st.text())
def test_what_is_written_is_read_again(name: str, description: str, kind: EntryType, body: str) -> None:
    entry = new_entry(f"n{name}", f"d{description}", kind, f"b{body}")

    assert parse(write(entry), "user/x.md") == entry


@given(st.text())
def test_no_text_makes_reading_raise(text: str) -> None:
    assert isinstance(parse(text, "user/x.md"), MemoryEntry | EntryProblem)


def test_broken_files_are_told_of_and_left_alone(place: Place) -> None:
    place.entry(place.user, "user/good.md", "Likes tea.")
    files = {
        "user/bytes.md": b"\xff\xfe\x00",
        "user/nul.md": b"a\0b",
        "user/open.md": b"---\nname: x",
        "user/empty.md": b"",
        "user/large.md": b"x" * (1024 * 1024 + 1),
    }
    for path, data in files.items():
        place.save(place.user, path, data)

    scan = Shelf(place.user).scan()

    assert [one.path for one in scan.entries] == ["user/good.md"]
    assert sorted(one.path for one in scan.problems) == sorted(files)
    assert {path: (place.user.path / path).read_bytes() for path in files} == files


def test_only_the_newest_200_files_are_read(place: Place) -> None:
    for n in range(MOST_SCANNED + 5):
        place.entry(place.user, f"user/{n}.md", f"Fact {n}.")
    old = place.user.path / "user/7.md"
    os.utime(old, (1, 1))

    scan = Shelf(place.user).scan()

    assert (len(scan.entries), scan.total) == (MOST_SCANNED, MOST_SCANNED + 5)
    assert "user/7.md" not in {one.path for one in scan.entries}


def test_the_index_has_a_line_an_entry_and_keeps_what_a_person_wrote(place: Place) -> None:
    place.entry(place.user, "user/tea.md", "Likes tea.", name="Tea", description="Green, no sugar")
    place.entry(place.user, "feedback/tabs.md", "Use tabs.", name="Tabs [always]")
    place.save(place.user, "MEMORY.md", "# My notes\n\nRead these first.\n- [Gone](user/gone.md) — old\n")

    changed = Shelf(place.user).rebuild()
    again = Shelf(place.user).rebuild()

    assert (changed, again) == (True, False)
    assert Shelf(place.user).index() == (
        "# My notes\n\nRead these first.\n\n"
        "- [Tea](user/tea.md) — Green, no sugar\n- [Tabs (always)](feedback/tabs.md) — Use tabs.\n"
    )


@given(st.integers(0, 400), st.text(max_size=400), st.text(max_size=400))
def test_the_index_keeps_its_limits_and_says_what_is_missing(count: int, name: str, hook: str) -> None:
    entries = [new_entry(f"{n}{name}", hook, "user", "") for n in range(count)]

    index = build([entry_file(e.name, description=e.description, path=f"user/{n}.md") for n, e in enumerate(entries)])

    lines = index.split("\n")[:-1]
    links = [line for line in lines if line.startswith("- [")]
    assert len(lines) <= MAX_LINES
    assert len(index.encode("utf-8", "surrogatepass")) <= MAX_BYTES
    assert (len(links) < len(entries)) == any(line.startswith("> Warning") for line in lines)


def test_lines_of_the_index_are_short_and_the_newest_stay() -> None:
    entries = [
        entry_file(f"Title {n} {'long ' * 40}", description="hook " * 60, path=f"user/{n}.md") for n in range(300)
    ]

    lines = build(entries).splitlines()

    assert max(map(len, lines)) <= MAX_LINE
    assert any("(user/0.md)" in line for line in lines)
    assert not any("(user/299.md)" in line for line in lines)
    assert str(300 - (len(lines) - 1)) in lines[-1]


def test_what_a_person_wrote_into_the_index_stays_whole_but_a_prompt_gets_less_of_it() -> None:
    theirs = "".join(f"line {n} {'x' * 200}\n" for n in range(300))

    made_index = build([entry_file("Tea", "Green.")], theirs)

    assert made_index.startswith(theirs)
    assert len(clip(made_index).splitlines()) <= MAX_LINES
    assert len(clip(made_index).encode()) <= MAX_BYTES
    assert max(map(len, clip(made_index).splitlines())) <= MAX_LINE


def test_types_belong_to_their_roots(place: Place) -> None:
    found = {kind: shelf_for(place.roots, kind) for kind in TYPES}

    assert found == {"user": place.user, "feedback": place.user, "project": place.project, "reference": place.project}
    assert shelf_for([place.user], "project") == place.user


def test_recall_counts_words_types_and_bodies() -> None:
    entries = [
        entry_file("Tea", "Likes green tea.", "user"),
        entry_file("Deploys", "Deploys run on Tuesday.", "project"),
        entry_file("Empty tea", "", "user", description="tea"),
    ]

    found = recall(entries, "Which tea does the user prefer?", NOW)

    assert [(one.file.entry.name, one.score) for one in found] == [("Tea", 7), ("Empty tea", 6)]


def test_recall_shows_at_most_five_cut_short_and_tells_their_age() -> None:
    entries = [entry_file(f"Tea {n}", "tea " * 600, age=timedelta(days=n)) for n in range(9)]

    found = recall(entries, "tea", NOW)

    assert len(found) == MOST
    assert all(len(one.body) <= MOST_BODY for one in found)
    assert [bool(one.note) for one in found] == [False, False, True, True, True]
    assert staleness(entry_file("x", age=timedelta(hours=23)), NOW) is None


def test_recall_leaves_out_how_to_use_a_tool_at_hand_but_not_what_warns_of_it() -> None:
    usage = entry_file(
        "grep_search usage", "Call grep_search with a pattern.", "reference", description="how to use grep_search"
    )
    warning = entry_file("grep_search usage bug", "Never search binary files.", "reference")

    found = recall([usage, warning], "grep_search pattern files", NOW, tools=["grep_search"])
    without = recall([usage, warning], "grep_search pattern files", NOW)

    assert [one.file.entry.name for one in found] == ["grep_search usage bug"]
    assert len(without) == 2


def test_recall_shows_nothing_if_no_entry_holds_what_the_question_is_about() -> None:
    entries = [entry_file("Tea", "Likes green tea in the morning.", "user")]

    assert recall(entries, "Which chess opening did Magnus play in Reykjavik yesterday morning?", NOW) == []
    assert len(recall(entries, "What does she drink in the morning, tea?", NOW)) == 1


def test_recall_understands_chinese() -> None:
    found = recall([entry_file("深色", "用户喜欢深色模式。"), entry_file("Tea", "Likes tea.")], "深色模式", NOW)

    assert [one.file.entry.name for one in found] == ["深色"]
