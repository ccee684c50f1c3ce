"""Sessions at the native door and through the client: what was said, read and searched."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace import AsyncClient
from commonplace.agent.live_sessions import LiveSessions
from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.server.auth import AppState, tier_of
from commonplace.testing.daemon import TOKEN, InProcess, served
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import MessageDraft

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:4170"
ME = Principal(subject=LOCAL, tenant=DEFAULT_TENANT, role="admin", operator=True)


@pytest.fixture
async def client(running: InProcess) -> AsyncGenerator[AsyncClient]:
    transport = httpx.ASGITransport(app=running.app, client=("127.0.0.1", 50_000))
    async with AsyncClient(URL, TOKEN, transport=transport, timeout=5.0) as opened:
        yield opened


async def say(running: InProcess, session: str, *texts: str) -> None:
    drafts = [MessageDraft(id=text, role="user", kind="text", text=text, speaker=LOCAL) for text in texts]
    hidden = MessageDraft(id=f"{texts[0]}-h", role="event", kind="event", text="recalled", context_visible=False)
    await running.services.history.append(ME, session, [*drafts, hidden])


async def test_a_session_is_begun_looked_at_changed_and_deleted(client: AsyncClient, running: InProcess) -> None:
    created = await client.create_session("coder", workspace="web", folder="/srv/web", model="m", source="chat")
    await say(running, created.id, "Why is the parser slow?")

    renamed = await client.change_session(created.id, title="The slow parser", archived=True)
    again = await client.session(created.id)

    assert (created.owner, created.agent, created.title, created.messages) == (LOCAL, "coder", None, 0)
    assert (renamed.title, renamed.messages) == ("The slow parser", 1)
    assert renamed.archived_at is not None
    assert again == renamed
    assert (await client.sessions()).sessions == ()
    assert (await client.sessions(archived="yes")).sessions == (renamed,)
    assert await client.delete_session(created.id) == 2
    with pytest.raises(NotFound):
        await client.session(created.id)


async def test_sessions_and_messages_come_page_by_page(client: AsyncClient, running: InProcess) -> None:
    ids = [(await client.create_session("coder", id=f"talk-{n}")).id for n in range(3)]
    await say(running, ids[0], *(f"message {n}" for n in range(5)))

    first = await client.sessions(limit=2)
    rest = await client.sessions(limit=2, cursor=first.cursor)
    last = await client.session_messages(ids[0], limit=2)
    before = await client.session_messages(ids[0], before=last.messages[0].position, limit=2)
    behind = await client.session_messages(ids[0], after=4)

    assert sorted(session.id for page in (first, rest) for session in page.sessions) == ids
    assert (first.cursor is None, rest.cursor) == (False, None)
    assert [message.text for message in last.messages] == ["message 3", "message 4"]
    assert (last.before, last.after) == (True, False)
    assert [message.position for message in before.messages] == [2, 3]
    assert [message.position for message in behind.messages] == [5]


async def test_what_was_said_is_searched_and_what_is_hidden_never_comes(
    client: AsyncClient, running: InProcess
) -> None:
    one, two = [(await client.create_session("coder")).id for _ in range(2)]
    await say(running, one, "The parser is slow", "Soup")
    await say(running, two, "A parser, and a recalled one")

    hits = await client.search_sessions("slow parser")
    within = await client.search_sessions("parser", session=two)

    assert [hit.session.id for hit in hits] == [one, two]
    assert hits[0].snippet == "The parser is slow"
    assert [hit.message.text for hit in within] == ["A parser, and a recalled one"]
    assert [hit.session.id for hit in await client.search_sessions("recalled")] == [two]
    assert await client.search_sessions("zebra") == []


async def test_nothing_of_a_session_is_memory(client: AsyncClient, running: InProcess) -> None:
    session = await client.create_session("coder")
    await say(running, session.id, "The parser is slow")

    assert await client.search("parser") == []
    assert (await client.list()).records == ()


async def test_an_id_that_is_taken_and_what_is_no_session_are_refused(client: AsyncClient) -> None:
    await client.create_session("coder", id="talk")

    with pytest.raises(Conflict):
        await client.create_session("coder", id="talk")
    for fields in ({"id": "search"}, {"shared": True}, {"title": ""}):
        bad: Any = fields
        with pytest.raises(InvalidInput):
            await client.create_session("coder", **bad)
    for name in ("none", "../x", "a\nb", "x" * 200):
        with pytest.raises(NotFound):
            await client.session(name)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/sessions?limit=0",
        "/v1/sessions?limit=201",
        "/v1/sessions?archived=perhaps",
        "/v1/sessions?cursor=x",
        "/v1/sessions?owner=ana",
        "/v1/sessions/search",
        "/v1/sessions/search?q=x&limit=101",
        "/v1/sessions/talk/messages?after=-1",
        "/v1/sessions/talk/messages?hidden=true",
        "/v1/sessions/talk/messages?limit=1001",
    ],
)
async def test_a_condition_that_is_none_is_refused(http: httpx.AsyncClient, path: str) -> None:
    await http.post("/v1/sessions", json={"id": "talk"})

    assert (await http.get(path)).status_code == 400


async def test_a_key_of_another_person_finds_nothing(http: httpx.AsyncClient, running: InProcess, keyed: Any) -> None:
    await http.post("/v1/sessions", json={"id": "talk", "title": "Mine"})
    await say(running, "talk", "The parser is slow")
    headers = await keyed("writer")

    listed = await http.get("/v1/sessions", headers=headers)
    found = await http.get("/v1/sessions/search?q=parser", headers=headers)
    refused = await http.get("/v1/sessions?everyone=true", headers=headers)

    assert listed.json() == {"sessions": [], "cursor": None}
    assert found.json() == {"hits": []}
    assert refused.status_code == 403
    assert (await http.patch("/v1/sessions/talk", json={"title": "x"}, headers=headers)).status_code == 404
    assert (await http.patch("/v1/sessions/talk", json={"owner": "x"})).status_code == 400


async def test_a_narrow_key_is_refused_as_forbidden_in_the_client(
    running: InProcess, http: httpx.AsyncClient, keyed: Any
) -> None:
    headers = await keyed("reader")
    transport = httpx.ASGITransport(app=running.app, client=("127.0.0.1", 50_000))
    token = headers["Authorization"].removeprefix("Bearer ")

    async with AsyncClient(URL, token, transport=transport, timeout=5.0) as reader:
        with pytest.raises(Forbidden):
            await reader.create_session("coder")


async def test_only_the_operator_chooses_a_folder_that_no_root_holds(home: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    async with served(home, agent_roots=[tmp_path / "open"]) as running:
        key = (await running.client.post("/v1/keys", json={"name": "ana", "role": "admin"})).json()["secret"]
        admin = {"Authorization": f"Bearer {key}"}

        async def begin(folder: Path, headers: dict[str, str]) -> httpx.Response:
            body = {"agent": "coder", "folder": str(folder)}
            return await running.client.post("/v1/sessions", json=body, headers=headers)

        below, outside = await begin(tmp_path / "open" / "web", admin), await begin(tmp_path, admin)
        moved = await running.client.patch(f"/v1/sessions/{below.json()['id']}", json={"folder": "/"}, headers=admin)
        ours = await begin(home / "agents", {})

        assert [answer.status_code for answer in (below, outside, moved, ours)] == [201, 403, 403, 403]
        assert {answer.json()["error"]["code"] for answer in (outside, moved, ours)} == {"folder_forbidden"}
        assert (await begin(tmp_path, {})).status_code == 201


async def test_a_deleted_session_is_stopped_and_one_that_is_shared_no_longer_asks_who_listens(
    running: InProcess,
) -> None:
    body = {"agent": "coder", "workspace": "web", "shared": True}
    id = (await running.client.post("/v1/sessions", json=body)).json()["id"]
    sessions: LiveSessions = AppState.of(running.app).use_cases[LiveSessions]
    ring = await sessions.ring(ME, id)

    with ring.seat(lambda _: ("x", {})) as seat:
        await running.client.patch(f"/v1/sessions/{id}", json={"shared": False})
        assert seat.doubted
    await running.client.delete(f"/v1/sessions/{id}")
    assert ring.closed


def test_what_sets_an_agent_to_work_counts_as_a_prompt() -> None:
    assert tier_of("POST", "/v1/sessions/talk/turns") == "prompt"
    assert tier_of("POST", "/v1/sessions/talk/cancel") == "mutation"
    # What was said elsewhere is kept, and asks no model.
    assert tier_of("POST", "/v1/turns") == "mutation"
