# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""A damaged store: what can be read comes out, what cannot is named, and one bad row takes no other with it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace import Memory, open_memory
from commonplace.errors import StoreCorrupt
from commonplace.testing.daemon import running_daemon

RECORDS = 240
WEB = "workspace:web"
LATER = datetime(2100, 1, 1, tzinfo=UTC)


def text_of(n: int) -> str:
    return f"Lantern number {n} hangs in the hall {n}. " + "It is made of brass. " * 4


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A store of many records, one of them with three versions, and their ids."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    with open_memory(path) as memory:
        ids = [memory.put(text_of(n), scope=WEB, key=f"k{n}").id for n in range(RECORDS)]
        memory.edit(ids[7], text="Lantern seven was moved", reason="moved")
        memory.edit(ids[7], text="Lantern seven was moved again")
    sql(path, "PRAGMA journal_mode = DELETE")
    sql(path, "VACUUM")
    sql(path, "PRAGMA journal_mode = WAL")
    return path, ids


@pytest.fixture
def path(template: tuple[Path, list[str]], tmp_path: Path) -> Path:
    """A copy of that store, to be damaged."""
    return Path(shutil.copy(template[0], tmp_path / "memory.db"))


@pytest.fixture
def ids(template: tuple[Path, list[str]]) -> list[str]:
    return template[1]


def sql(path: Path, statement: str, *bound: Any) -> list[Any]:
    db = apsw.Connection(str(path))
    try:
        return list(db.execute(statement, bound))
    finally:
        db.close()


def exported(memory: Memory, path: Path) -> tuple[list[dict[str, Any]], set[str]]:
    """The records of an export, and the ids of what it could not read."""
    count = memory.export(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["records"] == count == len(lines) - 2
    assert [item["id"] for item in lines[-1].get("unreadable", [])] == [item.id for item in count.unreadable]
    return [line["versions"][-1] for line in lines[1:-1]], {item.id for item in count.unreadable}


# ---- one bad row

BAD_ROWS: dict[str, str] = {
    "metadata": "UPDATE records SET metadata = '{\"a\": ' WHERE id = ?",
    "metadata that is no object": "UPDATE records SET metadata = '[1]' WHERE id = ?",
    "tags": "UPDATE records SET tags = 'not json' WHERE id = ?",
    "provenance": "UPDATE records SET provenance = '{\"planet\": 3}' WHERE id = ?",
    "a moment": "UPDATE records SET created_at = 'noon' WHERE id = ?",
    "a moment out of range": "UPDATE records SET at = 9000000000000000 WHERE id = ?",
    "a text that is none": "UPDATE contents SET text = x'ff' WHERE number = (SELECT content FROM records WHERE id = ?)",
    "a text that is no UTF-8": "UPDATE contents SET text = CAST(x'ff61' AS TEXT)"
    " WHERE number = (SELECT content FROM records WHERE id = ?)",
    "a text that is gone": "DELETE FROM contents WHERE number = (SELECT content FROM records WHERE id = ?)",
    "a scope that is gone": "UPDATE records SET scope = 999 WHERE id = ?",
}
PARTS = ("metadata", "metadata that is no object", "tags")


@pytest.mark.parametrize("what", BAD_ROWS)
def test_one_bad_row_takes_no_other_with_it(path: Path, ids: list[str], tmp_path: Path, what: str) -> None:
    bad = ids[20]
    sql(path, BAD_ROWS[what], bytes.fromhex(bad.replace("-", "")))

    with open_memory(path) as memory:
        listed = memory.list(scopes=WEB, limit=500).records
        hits = memory.search("lantern in the hall", scopes=WEB, limit=500)
        records, unreadable = exported(memory, tmp_path / "all.jsonl")
        findings = {finding.check: finding for finding in memory.check()}

    others = set(ids) - {bad}
    assert {record.id for record in listed} == others
    assert others - {ids[7]} <= {hit.record.id for hit in hits} | {bad}
    assert bad not in {hit.record.id for hit in hits}
    if what == "a scope that is gone":
        # In no scope it is nobody's.
        assert {record["id"] for record in records} == others
    else:
        assert unreadable == {bad}
        assert {record["id"] for record in records} == (set(ids) if what in PARTS else others)
    assert findings["rows"].severity == "error"
    assert bad in findings["rows"].message


def test_a_filter_by_tag_survives_tags_that_are_no_json(path: Path, ids: list[str], tmp_path: Path) -> None:
    with open_memory(path) as memory:
        memory.edit(ids[3], tags=["brass"])
    sql(path, "UPDATE records SET tags = 'not json' WHERE number = 1")

    with open_memory(path) as memory:
        assert [record.id for record in memory.list(scopes=WEB, tags=["brass"]).records] == [ids[3]]


def test_a_bad_record_is_an_error_with_a_name_to_whoever_asks_for_it(
    path: Path, ids: list[str], tmp_path: Path
) -> None:
    sql(path, "UPDATE records SET metadata = '{' WHERE number = 1")

    with open_memory(path) as memory, pytest.raises(StoreCorrupt):
        memory.get(ids[0])


def test_a_past_version_that_cannot_be_read_leaves_the_others(path: Path, ids: list[str], tmp_path: Path) -> None:
    sql(path, "DELETE FROM contents WHERE number = (SELECT content FROM versions WHERE version = 2)")

    with open_memory(path) as memory:
        records, unreadable = exported(memory, tmp_path / "all.jsonl")
        with open_memory(tmp_path / "new.db") as new:
            report = new.load(tmp_path / "all.jsonl")
            history = new.history(ids[7])

    assert unreadable == {ids[7]}
    assert len(records) == report.records == RECORDS
    assert [(version.version, version.text) for version in history] == [
        (1, text_of(7)),
        (2, "Lantern seven was moved again"),
    ]


def test_what_was_deleted_does_not_come_back_because_its_last_version_cannot_be_read(
    path: Path, ids: list[str], tmp_path: Path
) -> None:
    with open_memory(path) as memory:
        memory.delete(ids[7])
    sql(path, "UPDATE records SET created_at = 'noon' WHERE id = ?", bytes.fromhex(ids[7].replace("-", "")))

    with open_memory(path) as memory:
        records, unreadable = exported(memory, tmp_path / "all.jsonl")

    assert ids[7] not in {record["id"] for record in records}
    assert unreadable == {ids[7]}


# ---- what is derived


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE vectors SET vector = x'0102' WHERE passage % 7 = 0",
        "UPDATE passages SET terms = x'010203' WHERE number % 7 = 0",
        "UPDATE passages SET terms = 'text' WHERE number % 7 = 0",
        "UPDATE words_data SET block = zeroblob(4) WHERE id > 10",
    ],
)
def test_damage_to_what_is_derived_is_met_by_no_search_and_mended_by_a_reindex(
    path: Path, ids: list[str], tmp_path: Path, harm: str
) -> None:
    sql(path, harm)

    with open_memory(path) as memory:
        for mode in ("hybrid", "words", "meaning"):
            memory.search("lantern in the hall", scopes=WEB, mode=mode, limit=500)
        assert len(memory.list(scopes=WEB, limit=500).records) == RECORDS

        memory.reindex()

    with open_memory(path) as memory:
        assert len(memory.search("lantern", scopes=WEB, mode="words", limit=500)) >= RECORDS - 1


# ---- bad pages


def pages_of(path: Path, table: str) -> list[int]:
    """The pages of a table that hold its rows, by number; the first is 1."""
    return [page for (page,) in sql(path, "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", table)]


def ruin(path: Path, page: int) -> None:
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    data[(page - 1) * size : page * size] = b"\xa5" * size
    path.write_bytes(data)


@pytest.mark.parametrize(
    "table", ["records", "contents", "sqlite_autoindex_records_1", "passages", "records_updated", "versions"]
)
def test_a_ruined_page_costs_what_stood_on_it_and_no_more(
    path: Path, ids: list[str], tmp_path: Path, table: str
) -> None:
    leaves = pages_of(path, table)
    assert len(leaves) > 1 or table in ("records_updated", "versions")
    ruin(path, leaves[len(leaves) // 2])

    with open_memory(path) as memory:
        listed = {record.id for record in memory.list(scopes=WEB, limit=500).records}
        hits = {hit.record.id for hit in memory.search("lantern in the hall", scopes=WEB, limit=500)}
        past = {hit.record.id for hit in memory.search("lantern in the hall", scopes=WEB, limit=500, as_of=LATER)}
        records, unreadable = exported(memory, tmp_path / "all.jsonl")
        errors = {finding.check for finding in memory.check() if finding.severity == "error"}

    out = {record["id"] for record in records}
    lost = set(ids) - out
    assert "file" in errors
    if table in ("records", "contents"):
        assert 0 < len(lost) < RECORDS
        assert unreadable
        assert listed == out
        assert hits <= out
        assert len(hits) > 0
        assert past <= out
        assert len(past) > 0
    else:
        assert lost == set()
        assert listed == set(ids)
        assert len(past) > 0


# ---- as people meet it


def command(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "commonplace", *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("harm", ["row", "page"])
def test_the_command_exports_the_rest_names_what_is_missing_and_ends_with_1(
    path: Path, ids: list[str], tmp_path: Path, harm: str
) -> None:
    if harm == "row":
        sql(path, BAD_ROWS["a moment"], bytes.fromhex(ids[20].replace("-", "")))
    else:
        ruin(path, pages_of(path, "records")[1])

    ended = command("--store", str(path), "export", str(tmp_path / "all.jsonl"))
    checked = command("--store", str(path), "check")

    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False)
    assert "Not exported: " in ended.stderr
    assert 0 < len(lines) - 2 < RECORDS
    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    if harm == "row":
        assert ids[20] in ended.stderr
        assert ids[20] in checked.stdout


CUT: dict[str, Callable[[bytes], bytes]] = {
    "a tenth": lambda whole: whole[: len(whole) // 10],
    "half": lambda whole: whole[: len(whole) // 2],
    "the last page": lambda whole: whole[:-4096],
    "in the middle of a page": lambda whole: whole[:-6000],
}


@pytest.mark.parametrize("cut", CUT)
def test_a_file_that_was_cut_short_ends_no_command_with_a_traceback(
    path: Path, ids: list[str], tmp_path: Path, cut: str
) -> None:
    path.write_bytes(CUT[cut](path.read_bytes()))

    for args in (["export", str(tmp_path / "all.jsonl")], ["list"], ["search", "lantern"], ["check"], ["doctor"]):
        ended = command("--store", str(path), *args)

        assert "Traceback" not in ended.stderr, ended.stderr
        assert ended.returncode in (0, 1, 3), ended.stderr


def test_a_daemon_tells_that_its_store_is_damaged_and_goes_on(path: Path, ids: list[str], tmp_path: Path) -> None:
    ruin(path, pages_of(path, "contents")[1])

    with running_daemon(tmp_path / "home", "--store", str(path)) as daemon, daemon.client() as client:
        listed = client.get("/v1/records", params={"scope": WEB, "limit": 200}).json()["records"]
        found = client.get("/v1/search", params={"q": "lantern in the hall", "scope": WEB, "limit": 50})
        ready = client.get("/ready")
        metrics = client.get("/metrics").text
        checked = client.get("/v1/check").json()["findings"]

    assert 0 < len(listed) < len(ids)
    assert found.status_code == 200
    assert found.json()["hits"]
    assert (ready.status_code, ready.json()) == (200, {"status": "damaged", "store": "damaged"})
    [unreadable] = [line for line in metrics.splitlines() if line.startswith("commonplace_store_unreadable")]
    assert float(unreadable.split()[1]) > 0
    assert {"file", "rows"} <= {finding["check"] for finding in checked if finding["severity"] == "error"}
    assert any('"unreadable"' in line for line in daemon.lines())
