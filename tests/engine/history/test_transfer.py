"""Sessions in an export, and back."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import Conflict, Forbidden, InvalidFile
from commonplace.service.desk import Desk
from commonplace.service.engines import EngineRoom
from commonplace.service.history import History
from commonplace.service.records import Records
from commonplace.service.transfer import Moving
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import caller, operator
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.session import MessageDraft, MessagePage, Session, SessionFields

pytestmark = pytest.mark.anyio


@pytest.fixture
async def elsewhere(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Desk]:
    store = await SqliteStore.open(tmp_path / "elsewhere.db", clock)
    yield Desk(store=store, clock=clock, room=EngineRoom(store=store, clock=clock, embedders=(), count=estimate))
    await store.aclose()


async def talk(desk: Desk, who: Principal, count: int = 3, **fields: Any) -> Session:
    history = History(desk)
    session = await history.create(who, "coder", SessionFields(**fields))
    drafts = [
        MessageDraft(id=f"{n}", role="user", kind="text", text=f"parser {n} 测试", data={"n": [n]}, speaker=who.subject)
        for n in range(count)
    ]
    hidden = MessageDraft(id="hidden", role="event", kind="event", context_visible=False, data={"name": "recalled"})
    await history.append(who, session.id, [*drafts, hidden])
    return await history.session(who, session.id)


async def exported(desk: Desk, who: Principal, **options: Any) -> list[str]:
    return "".join([part async for part in Moving(desk).export(who, **options)]).splitlines(keepends=True)


async def load(desk: Desk, lines: list[str], who: Principal | None = None) -> Any:
    return await Moving(desk).load(who or operator(), io.StringIO("".join(lines)))


async def everything(desk: Desk, session: Session) -> tuple[Session, MessagePage]:
    store = desk.store.history
    messages = await store.messages(DEFAULT_TENANT, session.id, limit=10_000, hidden=True)
    return await store.session(DEFAULT_TENANT, session.id), messages


async def test_sessions_come_back_as_they_were_and_a_second_load_changes_nothing(
    desk: Desk, elsewhere: Desk, ana: Principal, bea: Principal
) -> None:
    await Records(desk).put(operator(), [Note(text="A record")])
    sessions = [await talk(desk, ana, 450, title="Long"), await talk(desk, bea, workspace="web", shared=True)]
    await History(desk).change(ana, sessions[0].id, {"archived": True})

    lines = await exported(desk, operator(), everyone=True)
    first, second = await load(elsewhere, lines), await load(elsewhere, lines)

    assert json.loads(lines[0])["version"] == 2
    assert json.loads(lines[-1]) == {"end": True, "records": 1, "sessions": 2, "messages": 455}
    assert (first.records, first.sessions, first.messages) == (1, 2, 455)
    assert (second.created, second.unchanged, second.messages) == (0, 1, 455)
    for session in sessions:
        assert await everything(elsewhere, session) == await everything(desk, session)
    hits = await History(elsewhere).search(ana, "parser", {})
    assert {hit.session.id for hit in hits} == {sessions[0].id, sessions[1].id}


async def test_an_export_has_the_callers_own_sessions_and_one_of_scopes_none(
    desk: Desk, ana: Principal, bea: Principal
) -> None:
    session = await talk(desk, ana)
    await talk(desk, bea, workspace="web", shared=True)

    own = await exported(desk, ana)
    scopes = await exported(desk, ana, scopes=[Scope("workspace", "web")])
    nobodys = await exported(desk, caller("writer", name="cyd"))

    assert [json.loads(line)["session"]["id"] for line in own if line.startswith('{"session"')] == [session.id]
    assert [json.loads(lines[0])["version"] for lines in (scopes, nobodys)] == [1, 1]
    assert len(scopes) == len(nobodys) == 2


async def test_a_session_that_went_on_here_is_not_overwritten(desk: Desk, elsewhere: Desk, ana: Principal) -> None:
    session = await talk(desk, ana)
    lines = await exported(desk, ana)
    await load(elsewhere, lines)
    for place, id in ((desk, "there"), (elsewhere, "here")):
        draft = MessageDraft(id=id, role="user", kind="text", text=id)
        await History(place).append(ana, session.id, [draft])

    with pytest.raises(Conflict):
        await load(elsewhere, await exported(desk, ana))

    assert (await everything(elsewhere, session))[1].messages[-1].id == "here"


async def test_an_admin_of_some_scopes_loads_nobody_elses_sessions(desk: Desk, elsewhere: Desk, ana: Principal) -> None:
    session = await talk(desk, ana)
    lines = await exported(desk, ana)

    with pytest.raises(Forbidden):
        await load(elsewhere, lines, caller("admin", "workspace:web", name="some"))

    assert (
        await elsewhere.store.history.session_ids(
            DEFAULT_TENANT, await History(elsewhere).to_export(ana, everyone=False)
        )
        == []
    )
    assert (await load(elsewhere, lines, caller("admin", "user:ana", name="some"))).sessions == 1
    assert await everything(elsewhere, session) == await everything(desk, session)


def change(line: str, **fields: Any) -> str:
    document = json.loads(line)
    part = document.get("session") or document["messages"][0]
    part.update(fields)
    return json.dumps(document) + "\n"


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        (1, {"id": ""}),
        (1, {"owner": None}),
        (1, {"created_at": "yesterday"}),
        (1, {"title": "a\0b"}),
        (2, {"position": 0}),
        (2, {"position": "first"}),
        (2, {"role": "god"}),
        (2, {"session": "another"}),
        (2, {"text": "\ud800"}),
        (2, {"data": [1]}),
        (2, {"run": "a\0b"}),
    ],
)
async def test_a_line_that_is_none_is_refused_and_nothing_of_its_batch_is_kept(
    desk: Desk, elsewhere: Desk, ana: Principal, place: int, fields: dict[str, Any]
) -> None:
    await talk(desk, ana)
    lines = await exported(desk, ana)
    lines[place] = change(lines[place], **fields)

    with pytest.raises(InvalidFile):
        await load(elsewhere, lines)

    filter = await History(elsewhere).to_export(operator(), everyone=True)
    assert await elsewhere.store.history.session_ids(DEFAULT_TENANT, filter) == []


async def test_a_file_cut_short_is_known_for_one(desk: Desk, elsewhere: Desk, ana: Principal) -> None:
    await talk(desk, ana)
    lines = await exported(desk, ana)

    for short in (lines[:-1], [*lines[:-2], lines[-1]], [lines[0], lines[1], lines[-1]], [lines[0], *lines[2:]]):
        with pytest.raises(InvalidFile):
            await load(elsewhere, short)
