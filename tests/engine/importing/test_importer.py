"""Folders of notes become records, once."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.engine.importing.notes import WEB, Notes

from commonplace.errors import InvalidInput, PathNotFound, RemovalRefused
from commonplace.importing.folders import OUTSIDE
from commonplace.importing.importer import key_of, namespace
from commonplace.values.transfer import ImportOptions

pytestmark = pytest.mark.anyio


async def test_each_text_file_becomes_one_record(notes: Notes) -> None:
    notes.write("deploy.md", "We deploy with make ship.")
    notes.write("sub/Plan.TXT", "The plan.")
    notes.write("image.png", b"\x89PNG")
    notes.write("code.py", "print()")

    report = await notes.run()

    record = (await notes.records())["deploy.md"]
    space = namespace(notes.root.resolve(), "directory", WEB)
    assert set(await notes.records()) == {"deploy.md", "sub/Plan.TXT"}
    assert (record.key, record.kind, record.source) == (f"{space}/deploy.md", "resource", "file")
    assert (record.trust, record.actor) == ("external_user_supplied", "ada")
    assert set(record.metadata) == {"namespace", "mtime", "size", "sha256"}
    assert space.startswith("import-")
    assert len(space) == len("import-") + 16
    assert (report.discovered_files, report.files_processed, report.indexed_files, report.chunks_created) == (
        2,
        2,
        2,
        2,
    )


async def test_a_second_import_writes_only_what_changed(notes: Notes) -> None:
    notes.write("same.md", "the same")
    notes.write("touched.md", "only touched")
    changed = notes.write("changed.md", "before")
    await notes.run()
    os.utime(notes.root / "touched.md", (1, 1))
    changed.write_text("after, and longer")

    report = await notes.run()

    versions = {name: record.version for name, record in (await notes.records()).items()}
    assert versions == {"same.md": 1, "touched.md": 1, "changed.md": 2}
    assert (report.indexed_files, report.skipped_files) == (1, 2)


async def test_a_file_with_the_time_and_size_it_had_is_not_even_read(notes: Notes) -> None:
    path = notes.write("same.md", "the same")
    await notes.run()
    before = path.stat()
    path.write_text("replaced")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    report = await notes.run()

    assert (report.skipped_files, (await notes.records())["same.md"].text) == (1, "the same")


async def test_hidden_built_and_ignored_files_are_left_out(notes: Notes) -> None:
    notes.write(".gitignore", "*.txt\n/private/\n!keep.txt\n")
    notes.write("sub/.gitignore", "draft.md\n!loud.txt\n")
    for name in (
        "a.md", "b.txt", "keep.txt", "private/c.md", "sub/draft.md", "sub/fine.md", "sub/loud.txt", "sub/quiet.txt",
        "deep/private/d.md", "draft.md", ".hidden.md", ".obsidian/e.md", "node_modules/f.md", "sub/dist/g.md",
        "target/h.md", "build/i.md",
    ):  # fmt: skip
        notes.write(name, f"the text of {name}")

    await notes.run()

    found = {"a.md", "keep.txt", "sub/fine.md", "sub/loud.txt", "deep/private/d.md", "draft.md"}
    assert set(await notes.records()) == found


async def test_links_are_not_followed_out_of_the_folder_nor_in_circles(notes: Notes, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("not for import")
    notes.write("real.md", "real")
    (notes.root / "leak.md").symlink_to(secret)
    (notes.root / "out").symlink_to(tmp_path)
    (notes.root / "circle").symlink_to(notes.root)

    await notes.run()

    assert set(await notes.records()) == {"real.md"}


async def test_links_that_lead_out_of_the_folder_are_told_and_are_no_errors(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "note.md").write_text("not for import")
    notes.write("sub/real.md", "real")
    notes.write(".gitignore", "drafts\n")
    links = {
        "sub/leak.md": tmp_path / "note.md",
        "out": tmp_path / "other",
        "gone.txt": tmp_path / "nothing here",
        "inside.md": notes.root / "sub" / "real.md",
        "circle": notes.root,
        "round.md": notes.root / "round.md",
        "picture.png": tmp_path / "note.md",
        ".hidden.md": tmp_path / "note.md",
        "node_modules": tmp_path / "other",
        "drafts": tmp_path / "other",
    }
    for name, target in links.items():
        (notes.root / name).symlink_to(target)

    report = await notes.run()

    assert report.left_out == tuple((name, OUTSIDE) for name in ("gone.txt", "out", "sub/leak.md"))
    assert (report.discovered_files, report.indexed_files, report.skipped_files, report.errors) == (1, 1, 0, 0)


async def test_the_links_of_an_openclaw_folder_that_lead_out_of_it_are_told(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("not for import")
    notes.write("memory/2026-03-01.md", "real")
    (notes.root / "MEMORY.md").symlink_to(tmp_path / "note.md")
    (notes.root / "memory" / "old.md").symlink_to(tmp_path / "note.md")

    report = await notes.run(layout="openclaw")

    assert report.left_out == (("MEMORY.md", OUTSIDE), ("memory/old.md", OUTSIDE))


@pytest.mark.parametrize("link", ["memory", "workspace", "workspace/memory"])
async def test_no_link_leads_an_openclaw_import_elsewhere(notes: Notes, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "memory").mkdir(parents=True)
    (elsewhere / "secret.md").write_text("not for import")
    (elsewhere / "memory" / "secret.md").write_text("not for import")
    (elsewhere / "MEMORY.md").write_text("not for import")
    (notes.root / link).parent.mkdir(parents=True, exist_ok=True)
    (notes.root / link).symlink_to(elsewhere)

    with pytest.raises(InvalidInput):
        await notes.run(layout="openclaw")

    assert await notes.records() == {}


async def test_files_that_cannot_be_imported_are_reported_and_the_others_kept(notes: Notes) -> None:
    notes.write("good.md", "good")
    notes.write("latin.md", "caf\xe9".encode("latin-1"))
    notes.write("huge.md", "x" * (2 * 1024 * 1024 + 1))
    notes.write("nul.md", "a\0b")
    notes.write("key.md", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n")
    notes.write("blank.md", " \n")

    report = await notes.run()

    assert set(await notes.records()) == {"good.md"}
    assert {name for name, _ in report.problems} == {"latin.md", "huge.md", "nul.md", "key.md"}
    assert (report.errors, report.indexed_files, report.skipped_files, report.discovered_files) == (4, 1, 1, 6)


async def test_files_that_are_gone_are_deleted_only_when_asked_and_only_of_this_folder(
    notes: Notes, tmp_path: Path
) -> None:
    notes.write("stays.md", "stays")
    gone = notes.write("goes.md", "goes")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "other.md").write_text("other")
    await notes.run()
    await notes.importer.import_path(elsewhere, scope=WEB)
    gone.unlink()

    kept = await notes.run()
    synced = await notes.run(sync_deletes=True)

    assert (kept.deleted_files, synced.deleted_files) == (0, 1)
    assert set(await notes.records()) == {"stays.md", "other.md"}


async def test_a_file_that_comes_back_is_there_again(notes: Notes) -> None:
    notes.write("stays.md", "stays")
    path = notes.write("goes.md", "goes")
    times = path.stat()
    await notes.run()
    path.unlink()
    await notes.run(sync_deletes=True)
    notes.write("goes.md", "goes")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    report = await notes.run()

    assert (report.indexed_files, (await notes.records())["goes.md"].version) == (1, 3)


async def test_what_a_person_deleted_stays_deleted_until_the_file_changes(notes: Notes) -> None:
    path = notes.write("a.md", "first")
    await notes.run()
    await notes.lifecycle.delete((await notes.records())["a.md"].id)

    await notes.run()
    unchanged = await notes.records()
    path.write_text("second thoughts")
    await notes.run()

    assert (unchanged, [record.text for record in (await notes.records()).values()]) == ({}, ["second thoughts"])


async def test_an_empty_folder_is_an_error_unless_deletions_are_to_be_synced(notes: Notes) -> None:
    path = notes.write("a.md", "a")
    await notes.run()
    path.unlink()

    with pytest.raises(InvalidInput):
        await notes.run()
    with pytest.raises(RemovalRefused):
        await notes.run(sync_deletes=True)
    report = await notes.run(sync_deletes=True, force=True)

    assert (report.discovered_files, report.deleted_files) == (0, 1)


async def test_a_path_that_is_not_there_is_an_error_whatever_is_asked(notes: Notes) -> None:
    with pytest.raises(PathNotFound):
        await notes.importer.import_path(notes.root / "nowhere", scope=WEB, options=ImportOptions(sync_deletes=True))


async def test_a_single_file_is_the_record_it_is_in_its_folder(notes: Notes) -> None:
    notes.write("a.md", "a")
    notes.write("b.md", "b")

    await notes.importer.import_path(notes.root / "a.md", scope=WEB)
    report = await notes.run()

    assert (report.skipped_files, report.indexed_files) == (1, 1)


@pytest.mark.parametrize("name", ["", "a.md"])
async def test_the_path_itself_may_be_a_link(notes: Notes, tmp_path: Path, name: str) -> None:
    notes.write("a.md", "a")
    alias = tmp_path / f"alias{name}"
    alias.symlink_to(notes.root / name)
    await notes.run()

    report = await notes.importer.import_path(alias, scope=WEB)

    assert (report.discovered_files, report.skipped_files) == (1, 1)


async def test_a_file_with_a_second_name_is_reported_and_the_others_are_imported(notes: Notes, tmp_path: Path) -> None:
    notes.write("a.md", "a")
    (notes.root / "twice.md").hardlink_to(notes.write("../elsewhere.md", "elsewhere"))

    report = await notes.run()

    assert set(await notes.records()) == {"a.md"}
    assert [name for name, _ in report.problems] == ["twice.md"]


async def test_an_import_leaves_no_folder_open(notes: Notes, tmp_path: Path) -> None:
    def handles() -> set[str]:
        return {path.name for path in Path("/dev/fd").iterdir() if path.is_dir()}

    notes.write("workspace/MEMORY.md", "long-term")
    await notes.run(layout="openclaw")
    before = handles()

    await notes.run(layout="openclaw")
    await notes.run()
    for layout in ("openclaw", "directory"):
        with pytest.raises(InvalidInput):
            await notes.importer.import_path(tmp_path / "memory.db", scope=WEB, options=ImportOptions(layout=layout))

    assert handles() == before


@pytest.mark.parametrize("inside", ["", "workspace/"])
async def test_openclaw_memory_is_found_at_both_roots(notes: Notes, inside: str) -> None:
    notes.write(f"{inside}MEMORY.md", "long-term")
    notes.write(f"{inside}memory/2026-03-04.md", "a day")
    notes.write(f"{inside}memory/people/ana.md", "Ana")
    notes.write(f"{inside}AGENTS.md", "not memory")
    notes.write("logs/session.md", "not memory")

    await notes.run(layout="openclaw")

    records = await notes.records()
    assert set(records) == {"MEMORY.md", "memory/2026-03-04.md", "memory/people/ana.md"}
    assert records["memory/2026-03-04.md"].at == datetime(2026, 3, 4, tzinfo=UTC)
    assert records["MEMORY.md"].at is None


async def test_both_openclaw_roots_are_the_same_folder(notes: Notes) -> None:
    notes.write("workspace/MEMORY.md", "long-term")

    await notes.run(layout="openclaw")
    report = await notes.importer.import_path(
        notes.root / "workspace", scope=WEB, options=ImportOptions(layout="openclaw")
    )

    assert (report.indexed_files, report.skipped_files) == (0, 1)


async def test_progress_ends_with_the_last_file(notes: Notes) -> None:
    for n in range(250):
        notes.write(f"{n}.md", f"note {n}")
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    await notes.run(progress=tell)

    assert told == [(100, 250), (200, 250), (250, 250)]


async def test_a_name_of_odd_bytes_is_kept_readable(notes: Notes) -> None:
    try:
        (notes.root / os.fsdecode(b"caf\xe9.md")).write_text("coffee")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")

    report = await notes.run()

    assert (report.indexed_files, set(await notes.records())) == (1, {"caf\ufffd.md"})


def test_a_long_path_has_a_key_that_fits_and_is_its_own() -> None:
    names = [f"{'folder/' * 60}{n}.md" for n in range(3)]

    keys = {key_of("import-0123456789abcdef", name) for name in names}

    assert len(keys) == 3
    assert {len(key) for key in keys} == {255}


@pytest.mark.parametrize("rule", ["*a*a*a*a*b.md", "drafts/*-*-*-*.md", "**/a/**/a/**/a/**/a/b.md", "!*a*b*c*d"])
async def test_a_rule_that_can_take_years_leaves_its_folder_out(notes: Notes, rule: str) -> None:
    notes.write("sub/.gitignore", f"*.txt\n{rule}\n")
    notes.write(f"sub/{'a' * 200}.md", "not looked at")
    notes.write("fine.md", "looked at")

    report = await notes.run()

    assert set(await notes.records()) == {"fine.md"}
    assert [(name, rule in reason) for name, reason in report.problems] == [("sub", True)]


@pytest.mark.parametrize("rule", ["# *a*a*a*a*a*", "*.*.sw*", "**/*.py[cod]", "*/*/*/*/*.txt", "**/a/**/b/**"])
async def test_a_rule_as_people_write_them_is_followed(notes: Notes, rule: str) -> None:
    notes.write(".gitignore", f"{rule}\nprivate.md\n")
    notes.write("private.md", "not for import")
    notes.write("fine.md", "looked at")

    report = await notes.run()

    assert (set(await notes.records()), report.problems) == ({"fine.md"}, ())
