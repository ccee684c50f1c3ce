"""`commonplace import` at the terminal, with the store and with a daemon: nothing goes unseen, nothing goes unasked."""

from pathlib import Path
from typing import Any

import pytest

BOTH = pytest.mark.parametrize("cli", ["store", "url"], indirect=True)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md", "d.py", "e.json"):
        (folder / name).write_text(f'"of {name}"')
    return folder


@BOTH
def test_an_import_that_would_delete_most_is_refused_unless_it_is_forced(cli: Any, notes: Path) -> None:
    cli.json("import", str(notes))
    for name in ("a.md", "b.md"):
        (notes / name).unlink()

    refused = cli("import", str(notes), "--sync-deletes", "--json")
    before = len(cli.texts())
    forced = cli.json("import", str(notes), "--sync-deletes", "--force")

    assert (refused.error, before) == ("removal_refused", 3)
    assert (forced["deleted_files"], cli.texts()) == (2, ['"of c.md"'])


@BOTH
def test_files_of_other_kinds_are_counted_and_imported_if_somebody_asks(cli: Any, notes: Path) -> None:
    plain = cli.json("import", str(notes))
    shown = cli("import", str(notes)).err
    both = cli.json("import", str(notes), "--kind", "code", "--kind", "json")

    assert (plain["indexed_files"], both["indexed_files"], both["skipped_kinds"]) == (3, 2, [])
    assert sorted(plain["skipped_kinds"]) == [[".json", 1], [".py", 1]]
    assert "Skipped 2 files of other kinds" in shown
    assert "--kind code" in shown
    assert cli("import", str(notes), "--kind", "films", "--json").error == "invalid_input"


@BOTH
def test_an_edit_is_kept_and_named(cli: Any, notes: Path) -> None:
    cli.json("import", str(notes))
    [id] = [record["id"] for record in cli.json("list")["records"] if record["text"] == '"of a.md"']
    cli.json("edit", id, "--text", "What a person knows better")
    (notes / "a.md").write_text("changed in the folder")

    shown = cli("import", str(notes)).err
    report = cli.json("import", str(notes))

    assert "Kept: a.md" in shown
    assert [name for name, _ in report["kept_edits"]] == ["a.md"]
    assert "What a person knows better" in cli.texts()
