"""Memories in and out over HTTP."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import served

pytestmark = pytest.mark.anyio

LINES = {"Content-Type": "application/x-ndjson"}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_an_export_is_loaded_elsewhere_with_all_its_versions(
    http: httpx.AsyncClient, put: Any, tmp_path: Path
) -> None:
    id = (await put("First", key="k", metadata={"a": [1]}))["id"]
    await http.patch(f"/v1/records/{id}", json={"text": "Second"})
    exported = await http.get("/v1/export")

    async with served(tmp_path / "elsewhere") as other:
        loaded = await other.client.post("/v1/load", content=exported.content, headers=LINES)
        again = await other.client.post("/v1/load", content=exported.content, headers=LINES)
        there = await other.client.get(f"/v1/records/{id}/versions")

    assert exported.headers["Content-Type"].startswith("application/x-ndjson")
    assert loaded.json() == {"records": 1, "created": 1, "updated": 0, "unchanged": 0}
    assert again.json()["unchanged"] == 1
    assert there.json() == (await http.get(f"/v1/records/{id}/versions")).json()


async def test_an_export_is_loaded_into_another_tenant_of_another_store(
    http: httpx.AsyncClient, put: Any, tmp_path: Path
) -> None:
    await put("Ours")
    exported = (await http.get("/v1/export")).content
    acme = {"X-Tenant": "acme/web"}

    async with served(tmp_path / "elsewhere") as other:
        loaded = await other.client.post("/v1/load", content=exported, headers={**LINES, **acme})
        theirs = await other.client.get("/v1/records", headers=acme)
        default = await other.client.get("/v1/records")

    assert loaded.json()["created"] == 1
    assert [one["tenant"] for one in theirs.json()["records"]] == ["acme/web"]
    assert default.json()["records"] == []


async def test_a_record_lives_in_one_tenant_of_a_store(http: httpx.AsyncClient, put: Any) -> None:
    await put("Ours")
    exported = (await http.get("/v1/export")).content

    answer = await http.post("/v1/load", content=exported, headers={**LINES, "X-Tenant": "acme/web"})

    assert code(answer) == (409, "conflict")


async def test_an_export_holds_what_the_key_reaches(http: httpx.AsyncClient, put: Any, keyed: Any) -> None:
    await put("Ours", scope="workspace:web")
    await put("Theirs", scope="user:ana")
    headers = await keyed("reader", "workspace:web")

    answer = await http.get("/v1/export", headers=headers)

    first, *records, last = [json.loads(line) for line in answer.text.splitlines()]
    assert (first["format"], last) == ("commonplace-export", {"end": True, "records": 1})
    assert "Theirs" not in answer.text
    assert len(records) == 1


@pytest.mark.parametrize(
    ("query", "expected"), [("scope=user:ana", (403, "forbidden")), ("scope=x", (400, "invalid_scope"))]
)
async def test_what_goes_wrong_before_the_first_line_is_an_error(
    http: httpx.AsyncClient, keyed: Any, query: str, expected: tuple[int, str]
) -> None:
    answer = await http.get(f"/v1/export?{query}", headers=await keyed("reader", "workspace:web"))

    assert code(answer) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b'{"format": "commonplace-export", "version": 99}\n',
        b'{"format": "commonplace-export", "version": 1}\n',
        b'{"format": "commonplace-export", "version": 1}\n{"versions": []}\n{"end": true, "records": 1}\n',
        b'{"format": "commonplace-export", "version": 1}\n\xff\xfe\n',
    ],
)
async def test_a_file_that_is_no_whole_export_is_refused(http: httpx.AsyncClient, content: bytes) -> None:
    answer = await http.post("/v1/load", content=content, headers=LINES)

    assert code(answer) == (400, "invalid_file")


async def test_only_an_admin_loads(http: httpx.AsyncClient, keyed: Any) -> None:
    exported = (await http.get("/v1/export")).content

    answer = await http.post("/v1/load", content=exported, headers={**LINES, **await keyed("reviewer")})

    assert code(answer) == (403, "forbidden")


async def test_an_import_is_queued_and_told_where_to_look(http: httpx.AsyncClient, tmp_path: Path) -> None:
    answer = await http.post("/v1/import", json={"path": str(tmp_path), "scope": "workspace:web"})

    job = answer.json()["job"]
    assert (answer.status_code, job["kind"], job["scope"]) == (202, "import", "workspace:web")
    assert answer.headers["Location"] == f"/v1/tasks/{job['id']}"
    assert (await http.get(answer.headers["Location"])).json()["id"] == job["id"]


async def test_a_key_imports_below_the_roots_only(http: httpx.AsyncClient, keyed: Any, tmp_path: Path) -> None:
    answer = await http.post("/v1/import", json={"path": str(tmp_path)}, headers=await keyed("admin"))

    assert code(answer) == (403, "forbidden")


@pytest.mark.parametrize("path", ["home", "home/memories", "home/memories/new"])
async def test_no_key_imports_from_the_home_folder(tmp_path: Path, path: str) -> None:
    async with served(tmp_path / "home", import_roots=[tmp_path]) as running:
        (tmp_path / "home" / "memories").mkdir(exist_ok=True)
        created = await running.client.post("/v1/keys", json={"name": "agent", "role": "admin"})
        headers = {"Authorization": f"Bearer {created.json()['secret']}"}

        answer = await running.stranger.post("/v1/import", json={"path": str(tmp_path / path)}, headers=headers)

    assert code(answer) == (403, "forbidden")


@pytest.mark.parametrize(
    "body", [{"path": ""}, {"path": "a\0"}, {"path": "x", "format": "zip"}, {"path": "x", "scope": "y"}, {}]
)
async def test_an_import_of_nothing_is_400(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.post("/v1/import", json=body)

    assert answer.status_code == 400
