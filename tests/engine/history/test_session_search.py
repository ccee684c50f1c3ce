"""`session_search`: four forms, in the reach of who speaks."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.errors import InvalidInput, NotFound
from commonplace.history.session_search import LONGEST, LONGEST_CALL, SessionSearch, SessionSearchRequest
from commonplace.service.desk import Desk
from commonplace.service.history import History
from commonplace.service.local import LocalMemory
from commonplace.service.services import ServiceOptions, Services
from commonplace.values.principal import Principal
from commonplace.values.session import MessageDraft, Session, SessionFields

pytestmark = pytest.mark.anyio


@pytest.fixture
def services(desk: Desk) -> Services:
    return Services(desk, ServiceOptions())


def search_of(services: Services, who: Principal, current: str | None = None) -> SessionSearch:
    return SessionSearch(LocalMemory(services, who), current=current)


def said(id: int, text: str, **fields: Any) -> MessageDraft:
    values: dict[str, Any] = {"id": str(id), "role": "user" if id % 2 else "assistant", "kind": "text", "text": text}
    return MessageDraft(**{**values, **fields})


async def talk(history: History, who: Principal, *drafts: MessageDraft, **fields: Any) -> Session:
    session = await history.create(who, "coder", SessionFields(**fields))
    await history.append(who, session.id, drafts)
    return await history.session(who, session.id)


async def test_a_question_discovers_sessions_but_neither_others_nor_the_one_that_asks(
    services: Services, ana: Principal, bea: Principal
) -> None:
    history = services.history
    mine = await talk(history, ana, said(1, "the slow parser"), said(2, "x" * 5_000 + " parser"))
    now = await talk(history, ana, said(1, "remember the parser?"))
    await talk(history, bea, said(1, "my parser"))
    old = await talk(history, ana, said(1, "an old parser"))
    await history.change(ana, old.id, {"archived": True})

    answer = await search_of(services, ana, now.id)(SessionSearchRequest(query="parser"))

    assert answer.form == "discover"
    assert [hit.session.id for hit in answer.hits[:2]] != []
    assert {hit.session.id for hit in answer.hits} == {mine.id, old.id}
    assert all(len(hit.message.text) <= LONGEST + 1 for hit in answer.hits)


async def test_a_question_may_be_about_one_session(services: Services, ana: Principal, bea: Principal) -> None:
    mine = await talk(services.history, ana, said(1, "the parser"), said(2, "soup"), said(3, "a parser"))
    theirs = await talk(services.history, bea, said(1, "my parser"))
    search = search_of(services, ana)

    answer = await search(SessionSearchRequest(query="parser", session=mine.id))

    assert {hit.message.position for hit in answer.hits} == {1, 3}
    with pytest.raises(NotFound):
        await search(SessionSearchRequest(query="parser", session=theirs.id))


async def test_a_session_is_scrolled_around_a_message_without_what_is_hidden(
    services: Services, ana: Principal
) -> None:
    drafts = [
        said(1, "one"),
        said(2, "hidden", role="event", kind="event", context_visible=False),
        said(3, "thought", role="assistant", kind="thinking"),
        said(4, "", role="assistant", kind="tool_call", call="c", data={"name": "read", "arguments": {"path": "x"}}),
        said(5, "y" * 1_000, role="tool", kind="tool_result", call="c", data={"name": "read"}),
        said(6, "six"),
        said(7, "seven"),
    ]
    session = await talk(services.history, ana, *drafts)

    answer = await search_of(services, ana)(SessionSearchRequest(session=session.id, message=5, limit=3))

    assert (answer.form, answer.session, answer.before, answer.after) == ("scroll", session, False, False)
    assert [message.position for message in answer.messages] == [1, 4, 5, 6, 7]
    assert answer.messages[1].data == {"name": "read"}
    assert len(answer.messages[2].text) == LONGEST_CALL + 1
    assert "hidden" not in str(answer)


async def test_a_session_is_read_backwards_page_by_page(services: Services, ana: Principal) -> None:
    session = await talk(services.history, ana, *(said(n, f"number {n}") for n in range(1, 8)))
    search = search_of(services, ana)

    last = await search(SessionSearchRequest(session=session.id, limit=3))
    before = await search(SessionSearchRequest(session=session.id, limit=3, before=last.messages[0].position))

    assert [message.position for message in last.messages] == [5, 6, 7]
    assert (last.form, last.before, last.after) == ("read", True, False)
    assert [message.position for message in before.messages] == [2, 3, 4]
    assert (before.before, before.after) == (True, True)


async def test_nothing_browses_the_sessions_used_last(services: Services, ana: Principal, bea: Principal) -> None:
    mine = [await talk(services.history, ana, said(1, f"talk {n}")) for n in range(3)]
    await talk(services.history, bea, said(1, "theirs"))
    shared = await talk(services.history, bea, said(1, "ours"), workspace="web", shared=True)
    search = search_of(services, ana, mine[2].id)

    answer = await search(SessionSearchRequest(query="  "))
    few = await search(SessionSearchRequest(limit=1))

    assert answer.form == "browse"
    assert {session.id for session in answer.sessions} == {mine[0].id, mine[1].id, shared.id}
    assert not answer.has_more
    assert (len(few.sessions), few.has_more) == (1, True)


@pytest.mark.parametrize(
    "fields",
    [
        {"message": 1},
        {"before": 1},
        {"query": "x", "message": 1},
        {"session": "x", "message": 1, "before": 2},
        {"limit": 0},
        {"limit": 51},
    ],
)
async def test_what_does_not_go_together_is_refused(services: Services, ana: Principal, fields: Any) -> None:
    with pytest.raises(InvalidInput):
        await search_of(services, ana)(SessionSearchRequest(**fields))


async def test_a_session_that_is_out_of_reach_is_not_found(services: Services, ana: Principal, bea: Principal) -> None:
    theirs = await talk(services.history, bea, said(1, "x"))

    for request in (SessionSearchRequest(session=theirs.id), SessionSearchRequest(session=theirs.id, message=1)):
        with pytest.raises(NotFound):
            await search_of(services, ana)(request)
