"""Whatever is sent, the answer is never our mistake: every field of every route, on both stores."""

import copy
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest

from commonplace.testing.daemon import InProcess, served

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ID = "01920000-0000-7000-8000-000000000000"
NOTE = {
    "text": "x", "scope": "global", "key": "k", "kind": "note", "source": "s", "tags": ["t"], "metadata": {"a": "b"},
    "importance": 1, "at": "2026-01-01", "session": "s", "position": 1, "speaker": "p", "provenance": {"run": "r"},
    "expected": 0, "reason": "why",
}  # fmt: skip
ROUTES: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "/v1/records", NOTE),
    ("POST", "/v1/records/bulk", {"records": [{"text": "x", "key": "k"}], "dedupe": "near"}),
    ("POST", "/v1/turns", {"session": "s", "turns": [{"speaker": "a", "text": "b", "message": "m", "at": "2026-01-01"}]}),
    ("PATCH", "/v1/records/{id}", {"text": "x", "key": "k", "tags": ["t"], "metadata": {"a": 1}, "clear": ["key"]}),
    ("POST", "/v1/records/{id}/supersede", {"text": "x", "scope": "global", "session": "s", "position": 3}),
    ("POST", "/v1/records/{id}/promote", {"scope": "global", "reason": "r"}),
    ("POST", "/v1/records/{id}/expire", {"at": "2026-01-01T00:00:00Z", "expected": 1}),
    ("POST", "/v1/purge", {"ids": [ID]}),
    ("POST", "/v1/purge", {"user": "nobody"}),
    ("POST", "/v1/purge", {"source": "nothing"}),
    ("POST", "/v1/search", {"text": "x", "scopes": ["global"], "sessions": ["s"], "speaker": "p", "weights": {"words": 1}}),
    ("POST", "/v1/context", {"query": "x", "session": "s", "budget": 10}),
    ("POST", "/v1/context", {"agent": "a", "workspace": "w"}),
    ("POST", "/v1/import", {"path": "/nowhere", "scope": "global"}),
    ("PUT", "/v1/rules", {"scope": "session", "max_age": 1.5, "max_records": 1}),
    ("POST", "/v1/tidy", {"purge_after": 10}),
    ("POST", "/v1/keys", {"name": "x", "scopes": ["workspace:web"], "expires_at": "2026-01-01"}),
    ("POST", "/v1/users", {"user_id": "x"}),
]  # fmt: skip
HOSTILE = [None, "", "\0", "a\0b", "\ud800", "\uffff\u202e", "'; --", "%", "../..", "x" * 5000, "٣", 0, -1, 1.5, 1e308, 2**31, 2**63,
           2**64, 10**400, True, [], {}, [None], {"\0": "\0"}, {"a": {"b": [10**400, "\udfff"]}}]  # fmt: skip
QUERIES = [
    "/v1/records?{name}={value}",
    "/v1/search?q=x&{name}={value}",
    "/v1/audit?{name}={value}",
    "/v1/upkeep?{name}={value}",
    "/v1/export?{name}={value}",
]
NAMES = ["scope", "kind", "tag", "trust", "session", "speaker", "key", "key_prefix", "state", "since", "order", "limit", "cursor",
         "q", "as_of", "diversity", "action", "actor", "record", "run", "door"]  # fmt: skip
PATHS = [
    ("GET", "/v1/records/{value}"),
    ("GET", "/v1/records/{value}/versions"),
    ("DELETE", "/v1/records/{value}"),
    ("POST", "/v1/records/{value}/undo"),
    ("DELETE", "/v1/keys/{value}"),
    ("POST", "/v1/users/{value}/rotate"),
    ("DELETE", "/v1/users/{value}"),
    ("GET", "/v1/tasks/{value}"),
]


def variants(value: Any) -> Iterator[Any]:
    """The body with each of its values, at any depth, replaced by something hostile."""
    yield from copy.deepcopy(HOSTILE)
    if isinstance(value, dict):
        found = cast(dict[str, Any], value)
        for name, inner in found.items():
            for odd in variants(inner):
                yield {**found, name: odd}
    elif isinstance(value, list):
        for odd in variants(value[0]):
            yield [odd]


@pytest.fixture(params=["sqlite", "postgres"])
async def running(home: Path, request: pytest.FixtureRequest) -> AsyncGenerator[InProcess]:
    more = {} if request.param == "sqlite" else {"store": request.getfixturevalue("address")}
    async with served(home, **more) as begun:
        yield begun


async def test_no_body_is_answered_with_a_mistake_of_ours(running: InProcess) -> None:
    http = running.client
    id = (await http.post("/v1/records", json={"text": "x"})).json()["record"]["id"]
    broken: list[str] = []

    for method, path, body in ROUTES:
        for odd in variants(body):
            sent = json.dumps(odd).encode()
            answer = await http.request(
                method, path.format(id=id), content=sent, headers={"Content-Type": "application/json"}
            )
            if answer.status_code >= 500:
                broken.append(f"{method} {path} {sent[:120]!r}: {answer.text[:200]}")

    assert broken == []


async def test_no_address_is_answered_with_a_mistake_of_ours(running: InProcess) -> None:
    http = running.client
    texts = [odd for odd in HOSTILE if isinstance(odd, str) and odd] + [
        str(2**64),
        "1e999",
        "nan",
        "0001-01-01T00:00:00+14:00",
    ]
    values = ["%00", "%ff", "%ed%a0%80", *[quote(text, safe="", errors="replace") for text in texts]]
    asked = [("GET", query.format(name=name, value=value)) for query in QUERIES for name in NAMES for value in values]
    asked += [(method, path.format(value=value)) for method, path in PATHS for value in values]
    broken: list[str] = []

    for method, path in asked:
        answer = await http.request(method, path)
        if answer.status_code >= 500:
            broken.append(f"{method} {path[:120]}: {answer.text[:200]}")

    assert broken == []
