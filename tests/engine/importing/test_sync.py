"""What a folder takes away again: only what it is sure of, and never what a person wrote."""

import json

import pytest
from tests.engine.importing.notes import WEB, Notes

from commonplace.errors import InvalidInput, RemovalRefused
from commonplace.importing.importer import EDITED, EMPTIED, GONE, indented
from commonplace.importing.uploads import folder_of, sifted
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.transfer import ImportOptions, SentFile

pytestmark = pytest.mark.anyio


async def edited(notes: Notes, name: str, text: str) -> Record:
    """What a person makes of an imported record."""
    record = (await notes.records())[name]
    return await notes.lifecycle.edit(record.id, {"text": text})


async def texts(notes: Notes) -> dict[str, str]:
    return {name: record.text for name, record in (await notes.records()).items()}


# ---- a file that was emptied


@pytest.mark.parametrize("content", ["", " \n\t\n", "\ufeff \n", " " * 5_000])
async def test_a_file_that_was_emptied_gives_up_its_text_and_its_past_stays(notes: Notes, content: str) -> None:
    notes.write("stays.md", "stays")
    notes.write("emptied.md", "The door code is 4711.")
    await notes.run()
    id = (await notes.records())["emptied.md"].id
    notes.write("emptied.md", content)

    report = await notes.run()
    again = await notes.run()

    assert await texts(notes) == {"stays.md": "stays"}
    assert (report.deleted_files, again.deleted_files, report.files_processed) == (1, 0, 2)
    first, last = await notes.store.records.history(DEFAULT_TENANT, id)
    assert (first.text, last.reason) == ("The door code is 4711.", EMPTIED)


async def test_a_file_that_is_filled_again_is_there_again(notes: Notes) -> None:
    notes.write("stays.md", "stays")
    notes.write("emptied.md", "before")
    await notes.run()
    notes.write("emptied.md", "")
    await notes.run()
    notes.write("emptied.md", "after all")

    report = await notes.run()

    assert (await texts(notes))["emptied.md"] == "after all"
    assert report.indexed_files == 1


async def test_a_file_that_is_sent_empty_gives_up_its_text(notes: Notes) -> None:
    async def send(*files: tuple[str, str]) -> None:
        good, problems = sifted([SentFile(path=path, text=text) for path, text in files], "directory")
        await notes.importer.import_folder(folder_of(good, problems, "directory"), scope=WEB)

    await send(("a.md", "a"), ("b.md", "b"))

    await send(("a.md", " "))

    assert await texts(notes) == {"b.md": "b"}


# ---- more than half


async def test_more_than_half_is_not_deleted_unless_it_is_forced_and_nothing_is_changed(notes: Notes) -> None:
    paths = [notes.write(f"{n}.md", f"note {n}") for n in range(5)]
    await notes.run()
    for path in paths[:3]:
        path.unlink()
    notes.write("4.md", "changed")

    with pytest.raises(RemovalRefused) as refused:
        await notes.run(sync_deletes=True)
    before = await texts(notes)
    report = await notes.run(sync_deletes=True, force=True)

    assert (refused.value.details["removals"], refused.value.details["records"]) == (3, 5)
    assert "3 of the 5" in refused.value.message
    assert (len(before), before["4.md"]) == (5, "note 4")
    assert report.deleted_files == 3
    assert await texts(notes) == {"3.md": "note 3", "4.md": "changed"}


async def test_half_and_less_is_deleted(notes: Notes) -> None:
    paths = [notes.write(f"{n}.md", f"note {n}") for n in range(4)]
    await notes.run()
    for path in paths[:2]:
        path.unlink()

    assert (await notes.run(sync_deletes=True)).deleted_files == 2


async def test_a_folder_that_is_not_mounted_takes_nothing_away(notes: Notes) -> None:
    for n in range(3):
        notes.write(f"{n}.md", f"note {n}")
    await notes.run()
    notes.root.rename(notes.root.with_name("elsewhere"))
    notes.root.mkdir()

    with pytest.raises(RemovalRefused):
        await notes.run(sync_deletes=True)

    assert len(await notes.records()) == 3


async def test_files_that_were_emptied_count_as_well(notes: Notes) -> None:
    for n in range(4):
        notes.write(f"{n}.md", f"note {n}")
    await notes.run()
    for n in range(2):
        notes.write(f"{n}.md", "")
    (notes.root / "2.md").unlink()

    with pytest.raises(RemovalRefused):
        await notes.run(sync_deletes=True)
    emptied = await notes.run()

    assert emptied.deleted_files == 2
    assert set(await notes.records()) == {"2.md", "3.md"}


# ---- what a person wrote


async def test_an_edit_is_kept_and_reported_when_the_file_changes(notes: Notes) -> None:
    notes.write("a.md", "from the file")
    notes.write("b.md", "also from the file")
    await notes.run()
    await edited(notes, "a.md", "what a person knows better")
    notes.write("a.md", "from the file, again")
    notes.write("b.md", "also from the file, again")

    report, again = await notes.run(), await notes.run()

    assert await texts(notes) == {"a.md": "what a person knows better", "b.md": "also from the file, again"}
    assert report.kept_edits == again.kept_edits == (("a.md", EDITED),)
    assert report.errors == 0


async def test_an_edit_is_overwritten_by_force_and_stays_in_the_history(notes: Notes) -> None:
    notes.write("a.md", "from the file")
    await notes.run()
    record = await edited(notes, "a.md", "what a person knows better")
    notes.write("a.md", "from the file, again")

    report = await notes.run(force=True)

    assert (await texts(notes), report.kept_edits) == ({"a.md": "from the file, again"}, ())
    history = await notes.store.records.history(DEFAULT_TENANT, record.id)
    assert "what a person knows better" in [version.text for version in history]


async def test_what_a_person_went_back_to_is_kept_too(notes: Notes) -> None:
    path = notes.write("a.md", "first")
    await notes.run()
    path.write_text("second, and longer")
    await notes.run()
    await notes.lifecycle.undo((await notes.records())["a.md"].id)

    report = await notes.run()

    assert await texts(notes) == {"a.md": "first"}
    assert [name for name, _ in report.kept_edits] == ["a.md"]


async def test_what_nobody_edited_follows_its_file_whatever_else_was_done_to_it(notes: Notes) -> None:
    path = notes.write("a.md", "first")
    await notes.run()
    record = (await notes.records())["a.md"]
    await notes.lifecycle.pin(record.id)
    await notes.lifecycle.edit(record.id, {"tags": ("ops",)})
    path.write_text("second, and longer")

    report = await notes.run()

    record = (await notes.records())["a.md"]
    assert (record.text, record.pinned, record.tags, report.kept_edits) == ("second, and longer", True, ("ops",), ())


@pytest.mark.parametrize("reason", [GONE, EMPTIED])
async def test_an_edit_outlives_its_file(notes: Notes, reason: str) -> None:
    notes.write("stays.md", "stays")
    path = notes.write("a.md", "from the file")
    await notes.run()
    await edited(notes, "a.md", "what a person knows better")
    if reason == GONE:
        path.unlink()
    else:
        path.write_text("")

    report = await notes.run(sync_deletes=True)

    assert (await texts(notes))["a.md"] == "what a person knows better"
    assert report.deleted_files == 0
    assert [(name, why.startswith(reason)) for name, why in report.kept_edits] == [("a.md", True)]


# ---- kinds of files


async def test_files_of_other_kinds_are_counted_by_suffix(notes: Notes) -> None:
    for name in ("a.md", "b.py", "c.py", "sub/d.PNG", "Makefile", ".hidden", "node_modules/x.js", "ignored.log"):
        notes.write(name, "text")
    notes.write(".gitignore", "*.log\n")

    report = await notes.run()

    assert dict(report.skipped_kinds) == {".py": 2, ".png": 1, "(none)": 1}
    assert report.skipped_kinds[0] == (".py", 2)
    assert report.errors == 0


async def test_code_and_json_are_imported_only_if_somebody_asks(notes: Notes) -> None:
    for name in ("a.md", "b.py", "c.json", "d.jsonl", "e.png", "f.min.js", "package-lock.json"):
        notes.write(name, json.dumps({"of": name}))

    plain = await notes.run()
    code = await notes.run(kinds=("code",))
    both = await notes.run(kinds=("code", "json"))

    assert [report.indexed_files for report in (plain, code, both)] == [1, 1, 2]
    assert set(await notes.records()) == {"a.md", "b.py", "c.json", "d.jsonl"}
    assert dict(both.skipped_kinds) == {".png": 1, ".js": 1, ".json": 1}
    with pytest.raises(InvalidInput):
        await notes.importer.import_path(notes.root, scope=WEB, options=ImportOptions(kinds=("films",)))  # pyright: ignore[reportArgumentType]


async def test_a_sync_without_code_does_not_take_away_code_that_is_still_there(notes: Notes) -> None:
    for name in ("a.md", "b.md", "c.py"):
        notes.write(name, name)
    await notes.run(kinds=("code",))

    report = await notes.run(sync_deletes=True)

    assert report.deleted_files == 0
    assert set(await notes.records()) == {"a.md", "b.md", "c.py"}


async def test_json_on_one_line_has_passages_of_several(notes: Notes) -> None:
    rows = [{"id": n, "city": f"Town {n}", "note": "The harbour opens at nine."} for n in range(200)]
    notes.write("data.json", json.dumps(rows))

    report = await notes.run(kinds=("json",))

    record = (await notes.records())["data.json"]
    assert max(map(len, record.text.splitlines())) < 100
    assert json.loads(record.text) == rows
    assert report.chunks_created > 5
    assert (await notes.run(kinds=("json",))).skipped_files == 1


@pytest.mark.parametrize("text", ["{" * 5_000, "x" * 5_000, "[1]\n[2]\n", "[" * 100_000, ""])
def test_what_is_no_json_stays_as_it_is(text: str) -> None:
    assert indented(text) == text


async def test_a_folder_with_nothing_but_code_says_how_to_import_it(notes: Notes) -> None:
    notes.write("a.py", "print()")

    with pytest.raises(InvalidInput) as refused:
        await notes.run()

    assert "1 .py" in refused.value.message
    assert "--kind code" in refused.value.message


def test_files_that_are_sent_are_of_the_kinds_that_were_asked_for() -> None:
    files = [SentFile(path=path, text="1") for path in ("a.md", "b.py", "c.json", "d.png")]

    plain, problems = sifted(files, "directory")
    both, _ = sifted(files, "directory", ("code", "json"))

    assert [file.path for file in plain] == ["a.md"]
    assert [file.path for file in both] == ["a.md", "b.py", "c.json"]
    assert dict(folder_of(plain, problems, "directory").skipped_kinds) == {".py": 1, ".json": 1, ".png": 1}


async def test_a_folder_that_could_not_be_listed_keeps_its_own_records_and_not_those_of_a_longer_name(
    notes: Notes,
) -> None:
    for name in ("sub/a.md", "sub-other/b.md", "stays/c.md", "stays/d.md", "stays/e.md"):
        notes.write(name, f"what {name} says")
    await notes.run()
    notes.write("sub/.gitignore", "*a*a*a*a*b.md\n")
    (notes.root / "sub-other/b.md").unlink()

    report = await notes.run(sync_deletes=True)

    assert [name for name, _ in report.problems] == ["sub"]
    assert set(await notes.records()) == {"sub/a.md", "stays/c.md", "stays/d.md", "stays/e.md"}
