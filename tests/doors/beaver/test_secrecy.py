"""A user's key is nowhere but in the answer that showed it; what they said is in no log and no audit."""

import logging
from pathlib import Path

import pytest

from commonplace.testing.daemon import InProcess
from commonplace.values.audit import AuditQuery

pytestmark = pytest.mark.anyio

WORDS = "rhubarb"


def _is_in_a_file(secret: str, folder: Path) -> bool:
    return any(secret.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_users_key_and_words_are_in_no_log_no_audit_no_error_and_no_event(
    door: InProcess, ana: dict[str, str], caplog: pytest.LogCaptureFixture, home: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    secret, said = ana["user_key"], {"sender_id": "ana", "role": "user", "timestamp": 1, "content": WORDS}
    bodies: list[tuple[str, dict[str, object]]] = [
        ("/memories/add", {"session_id": "chat:1", "messages": [said]}),
        ("/memories/flush", {"session_id": "chat:1"}),
        ("/memories/search", {"query": WORDS, "scope": ["all_user_memory"]}),
        ("/resources", {"content": WORDS, "uri": "r"}),
    ]
    for path, body in bodies:
        assert (await door.stranger.post(path, json={**ana, **body})).status_code < 300
    errors = [
        await door.stranger.post(path, json={**ana, **body, **bad})
        for path, body in bodies
        for bad in ({"user_id": "nobody"}, {"app_id": secret + "/"}, {"user_key": [secret]}, {"user_id": ""})
    ]

    store = door.services.desk.store
    rows = (await store.journal.audit(None, AuditQuery(), 1_000, None)).rows
    events = await store.events.read_events(0, 1_000)
    told = [error.text for error in errors] + [repr(row) for row in rows] + [repr(event) for event in events]
    assert {error.status_code for error in errors} == {400, 401}
    assert not any(secret in text for text in told)
    assert not any(WORDS in text for text in told)
    assert secret not in caplog.text
    assert WORDS not in caplog.text
    assert not _is_in_a_file(secret, home)


async def test_what_a_user_does_is_in_the_audit(door: InProcess, ana: dict[str, str]) -> None:
    message = {"sender_id": "ana", "role": "user", "timestamp": 1, "content": "I live in Berlin."}
    await door.stranger.post("/memories/add", json={**ana, "session_id": "chat:1", "messages": [message]})
    await door.stranger.post("/memories/flush", json={**ana, "session_id": "chat:1"})
    await door.stranger.post("/memories/search", json={**ana, "query": "x", "scope": ["all_user_memory"]})
    await door.stranger.post("/memories/search", json={**ana, "user_key": "uk_x", "query": "x"})

    rows = (
        await door.services.desk.store.journal.audit("default/default", AuditQuery(doors=("gateway",)), 100, None)
    ).rows
    assert [(row.action, row.outcome, row.actor) for row in reversed(rows)] == [
        ("user.create", "ok", "operator"),
        ("record.put", "ok", "ana"),
        ("record.extract", "ok", "ana"),
        ("record.search", "ok", "ana"),
        ("auth.denied", "denied", "unknown"),
    ]
