"""Lists, the audit, and imports."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import served
from commonplace.testing.governed import Door

pytestmark = pytest.mark.anyio


async def listed(door: Door, **params: Any) -> list[str]:
    return [item["content"] for item in (await door.done("GET", "/memory", params=params))["items"]]


async def test_a_list_is_newest_first_and_goes_by_limit_and_offset(either: Door, clock: FakeClock) -> None:
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        await either.put(f"note {number}")

    page = await either.done("GET", "/memory", params={"limit": 2, "offset": 1})

    assert [item["content"] for item in page["items"]] == ["note 3", "note 2"]
    assert (page["count"], page["limit"], page["offset"], page["truncated"]) == (2, 2, 1, False)
    assert len(await listed(either)) == 5
    assert await listed(either, offset=5) == []


async def test_a_list_is_narrowed_by_text_person_project_and_channel(door: Door) -> None:
    await door.share("Rust for services", project="shop", user_id="ana")
    await door.put("Python for scripts", metadata={"channel_tag": "room"})
    await door.put("Shell for servers", channel_tag="hall", host_tag="web-1", project_tag="ops")

    assert await listed(door, q="rust") == ["Rust for services"]
    assert await listed(door, user_id="ana") == ["Rust for services"]
    assert await listed(door, project_id="shop") == ["Rust for services"]
    assert await listed(door, project_tag="ops") == ["Shell for servers"]
    assert await listed(door, channel_tag="room") == ["Python for scripts"]
    assert await listed(door, channel_tag="hall", host_tag="web-1") == ["Shell for servers"]
    assert await listed(door, host_tag="web-2") == []
    assert await listed(door, q="rust", user_id="operator") == []


async def test_nobody_below_admin_lists_what_is_somebody_elses(either: Door) -> None:
    ana, bo, admin = (
        await either.key("writer", name="ana"),
        await either.key("writer", name="bo"),
        await either.key("admin"),
    )
    await ana.put("Ana likes tea", partition={"project_id": "shop", "tier": "project"})
    [own] = (await ana.done("GET", "/memory"))["items"]

    assert await listed(bo) == await listed(bo, user_id=own["user_id"]) == await listed(bo, project_id="shop") == []
    assert await listed(admin) == []
    assert await listed(admin, user_id=own["user_id"]) == ["Ana likes tea"]
    assert await listed(ana, user_id="ana") == ["Ana likes tea"]


async def test_a_list_holds_what_the_key_reaches(door: Door) -> None:
    await door.share("for the shop", project="shop")
    await door.put("for the session")
    narrow = await door.key("reader", "workspace:shop")

    assert await listed(narrow) == ["for the shop"]


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 1001}, {"offset": -1}, {"limit": "x"}])
async def test_a_page_has_1_to_1000(door: Door, params: dict[str, Any]) -> None:
    assert (await door.refused("GET", "/memory", params=params))[0] == 400


# ---- audit


async def test_an_admin_sees_what_all_did_and_others_what_they_did_themselves(either: Door) -> None:
    ana, other = await either.key("writer", name="ana"), await either.key("writer", name="ana")
    admin, reviewer = await either.key("admin"), await either.key("reviewer")
    await ana.put("one")
    await other.put("two")
    await either.put("three")

    assert len(await ana.audit()) == len(await other.audit()) == 1
    assert len(await admin.audit()) == 3
    assert "ana" in {row["actor"] for row in await admin.audit()}
    assert await reviewer.audit() == []


async def test_a_reviewer_of_some_scopes_sees_what_was_done_there(door: Door) -> None:
    await door.share("for the shop", project="shop")
    await door.put("for the session")
    narrow = await door.key("reviewer", "workspace:shop")

    [row] = await narrow.audit()

    assert row["partition_key"] == "default/default/shop/project"


async def test_the_audit_is_newest_first_by_run_and_holds_no_text(door: Door, clock: FakeClock) -> None:
    await door.put("the secret plan", run_id="r1")
    clock.advance(timedelta(seconds=1))
    await door.search("plan", run_id="r1")
    await door.put("another plan", run_id="r2")

    rows = await door.audit(run_id="r1")

    assert [row["action"] for row in rows] == ["memory_search", "memory_put"]
    assert "plan" not in str(rows)
    assert len(await door.audit(run_id="r1", limit=1)) == 1
    for limit in (0, 501):
        assert (await door.refused("GET", "/memory/audit", params={"limit": limit}))[0] == 400


# ---- import


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "ship.md").write_text("We ship on Fridays", encoding="utf-8")
    (notes / "team.txt").write_text("Ana leads the release", encoding="utf-8")
    return notes


def importing(folder: Path | str, **fields: Any) -> dict[str, Any]:
    return {"source": {"kind": "path", "path": str(folder)}, "format": "directory", "tier": "global", **fields}


async def test_a_folder_is_imported_and_the_answer_tells_how_many_files(door: Door, folder: Path) -> None:
    body = importing(folder, tier="project", project_id="shop", sync_deletes=True)

    first = await door.done("POST", "/memory/import", json=body)
    again = await door.done("POST", "/memory/import", json=body)

    assert first == {
        "ok": True,
        "source": {"kind": "path", "path": str(folder)},
        "format": "directory",
        "tier": "project",
        "project_id": "shop",
        "session_id": None,
        "source_binding_id": None,
        "sync_deletes": True,
        "discovered_files": 2,
        "files_processed": 2,
        "indexed_files": 2,
        "skipped_files": 0,
        "deleted_files": 0,
        "chunks_created": 2,
        "errors": 0,
        "quarantined": 0,
        "withheld": [],
        "warned": [],
    }
    assert (again["indexed_files"], again["skipped_files"]) == (0, 2)
    assert await door.found("Fridays", read_scopes=["project"], partition={"project_id": "shop"})


async def test_the_binding_of_an_import_is_kept_and_a_grant_can_name_it(either: Door, folder: Path) -> None:
    body = importing(folder, source_binding_id="wiki")
    await either.put("Ship it on Fridays, says somebody else")

    done = await either.done("POST", "/memory/import", json=body)

    grant = {"grant_id": "g1", "subject": "operator", "source_binding_ids": ["wiki"]}
    assert done["source_binding_id"] == "wiki"
    [row] = (await either.search("Fridays", retrieval_grant=grant))["results"]
    assert (row["content"], row["metadata"]["source_binding_id"]) == ("We ship on Fridays", "wiki")
    assert await either.found("Fridays", retrieval_grant={**grant, "source_binding_ids": ["web"]}) == []
    (folder / "ship.md").write_text("We ship on Fridays at noon", encoding="utf-8")
    await either.done("POST", "/memory/import", json=body)
    assert await either.found("noon", retrieval_grant=grant) == ["We ship on Fridays at noon"]


@pytest.mark.parametrize(
    "fields",
    [
        {"tier": "project"},
        {"tier": "session"},
        {"tier": "team"},
        {"format": "zip"},
        {"source": {"kind": "url", "path": "x"}},
        {"source": {"kind": "path", "path": ""}},
        {"source": {"kind": "path", "path": "  "}},
        {"source": {"kind": "path", "path": "/a\0b"}},
        {"source": {"kind": "path", "path": "/there/is/no/such/folder"}},
        {"source": None},
    ],
)
async def test_an_import_that_cannot_be_done_is_refused(door: Door, folder: Path, fields: dict[str, Any]) -> None:
    status, _ = await door.refused("POST", "/memory/import", json=importing(folder, **fields))

    assert status == 400


async def test_a_folder_without_notes_is_refused_unless_its_deletes_are_wanted(door: Door, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    assert (await door.refused("POST", "/memory/import", json=importing(empty)))[0] == 400
    assert (await door.done("POST", "/memory/import", json=importing(empty, sync_deletes=True)))["ok"]


async def test_other_keys_import_below_the_roots_only(home: Path, folder: Path) -> None:
    async with served(home, import_roots=[str(folder)]) as running:
        writer = await Door(running).key("writer")

        assert (await writer.done("POST", "/memory/import", json=importing(folder)))["indexed_files"] == 2
        refused = await writer.refused("POST", "/memory/import", json=importing(folder.parent))
        assert refused == (403, "forbidden")
