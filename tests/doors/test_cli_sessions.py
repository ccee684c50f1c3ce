"""The commands for sessions, over a store and over a daemon."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from commonplace import Client, open_memory
from commonplace.cli import complete
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import MessageDraft

BOTH = pytest.mark.parametrize("cli", ["store", "url"], indirect=True)


def begin(cli: Any, request: pytest.FixtureRequest, *texts: str, **fields: Any) -> str:
    """A session in which that was said: begun through the face of the command, spoken in as the agent does."""
    if cli.place:
        daemon, tenant = request.getfixturevalue("shared_daemon"), cli.place[1]
        with Client(daemon.url, daemon.token, tenant) as memory:
            session = memory.create_session("coder", **fields)
        file = daemon.home / "memory.db"
    else:
        tenant, file = DEFAULT_TENANT, Path(cli.store)
        with open_memory(file, embedder="none") as memory:
            session = memory.create_session("coder", **fields)

    async def say() -> None:
        store = await SqliteStore.open(file, FakeClock())
        drafts = [MessageDraft(id=text, role="user", kind="text", text=text, speaker="local") for text in texts]
        call = MessageDraft(id="c", role="assistant", kind="tool_call", call="c", data={"name": "read"})
        hidden = MessageDraft(id="h", role="event", kind="event", text="hidden", context_visible=False)
        await store.history.append_messages(tenant, session.id, [*drafts, call, hidden], session.updated_at)
        await store.aclose()

    asyncio.run(say())
    return session.id


@BOTH
def test_sessions_are_listed_shown_and_searched(cli: Any, request: pytest.FixtureRequest) -> None:
    id = begin(cli, request, "Why is the parser slow?", "And the soup?", title="Parsers")

    listed = cli.json("sessions", "list")["sessions"]
    shown = cli("sessions", "show", id).out
    page = cli.json("sessions", "show", id, "--limit", "1")
    hits = cli.json("sessions", "search", "slow parser")["hits"]

    assert [(session["id"], session["title"], session["messages"]) for session in listed] == [(id, "Parsers", 3)]
    assert "Parsers" in cli("sessions", "list").out
    assert cli("sessions", "list", "--quiet").out.split() == [id]
    assert "#1 local: Why is the parser slow?" in shown
    assert "#3 assistant (tool_call) read:" in shown
    assert "hidden" not in shown
    assert (len(page["messages"]), page["before"], page["after"]) == (1, True, False)
    assert [hit["message"]["position"] for hit in hits] == [1]
    assert f"{id}\t#1\tParsers\tWhy is the parser slow?" in cli("sessions", "search", "parser").out


@BOTH
def test_a_session_is_renamed_archived_brought_back_and_deleted(cli: Any, request: pytest.FixtureRequest) -> None:
    id = begin(cli, request, "Hello")

    assert cli.json("sessions", "rename", id, "The talk")["title"] == "The talk"
    assert cli.json("sessions", "archive", id)["archived_at"] is not None
    assert cli.json("sessions", "list")["sessions"] == []
    assert [session["id"] for session in cli.json("sessions", "list", "--archived")["sessions"]] == [id]
    assert cli.json("sessions", "unarchive", id)["archived_at"] is None
    assert cli("sessions", "delete", id, "--json").error == "invalid_input"
    assert cli.json("sessions", "delete", id, "--yes") == {"id": id, "messages": 3}
    assert cli("sessions", "show", id, "--json").error == "not_found"


@BOTH
def test_a_session_is_exported_line_by_line(cli: Any, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    id = begin(cli, request, "Hello", "你好")
    file = tmp_path / "talk.jsonl"

    printed = cli("sessions", "export", id).out.splitlines()
    written = cli.json("sessions", "export", id, str(file))

    assert json.loads(printed[0])["session"]["id"] == id
    assert [json.loads(line)["text"] for line in printed[1:]] == ["Hello", "你好", ""]
    assert written == {"file": str(file), "messages": 3}
    assert file.read_text(encoding="utf-8").splitlines() == printed
    assert cli("sessions", "export", id, str(tmp_path / "none" / "x"), "--json").error == "path_not_found"


def test_an_export_of_the_memory_carries_sessions_and_a_load_brings_them(
    cli: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    id = begin(cli, request, "Why is the parser slow?")
    file, other = tmp_path / "all.jsonl", tmp_path / "other.db"

    cli("export", str(file))
    report = cli("--store", str(other), "load", str(file), "--json")

    assert report.code == 0, report.err
    assert (report.document["sessions"], report.document["messages"]) == (1, 3)
    hits = cli("--store", str(other), "sessions", "search", "parser", "--json").document["hits"]
    assert [hit["session"]["id"] for hit in hits] == [id]


def test_the_shell_completes_ids_of_sessions(cli: Any, request: pytest.FixtureRequest, monkeypatch: Any) -> None:
    id = begin(cli, request, "Hello", title="The talk")
    context: Any = type("Context", (), {"params": {"store": cli.store}, "parent": None})()

    assert complete.session_ids(context, id[:8]) == [(id, "The talk")]
    assert complete.session_ids(context, "zzz") == []
