"""What the port `HistoryStore` says, of every store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.errors import Conflict, InvalidQuery, NotFound
from commonplace.ports.history import SessionFilter
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.text.analyse import query_terms
from commonplace.values.event import News
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import MessageDraft, Session, SessionChanges, SessionMessage

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
MINUTE = timedelta(minutes=1)
NOTHING = Entries()
ANA = SessionFilter(owner="ana")
EVERYBODY = SessionFilter(owner=None, archived=None)


class History:
    """Makes sessions and messages by one clock, each a minute younger than the one before."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def session(self, owner: str = "ana", **fields: Any) -> Session:
        now = self.clock.advance(MINUTE)
        values: dict[str, Any] = {
            "id": new_id(now),
            "owner": owner,
            "agent": "coder",
            "created_at": now,
            "updated_at": now,
            **fields,
        }
        return Session(**values)

    def event(self, what: str) -> Entries:
        return Entries(events=(News(type=what, tenant=T, at=self.clock.now()),))


def user(id: str, text: str, **fields: Any) -> MessageDraft:
    values: dict[str, Any] = {"id": id, "role": "user", "kind": "text", "text": text, **fields}
    return MessageDraft(**values)


def hidden(id: str, text: str = "") -> MessageDraft:
    return MessageDraft(id=id, role="event", kind="event", text=text, data={"name": "x"}, context_visible=False)


@pytest.fixture
def made(clock: FakeClock) -> History:
    return History(clock)


@pytest.fixture
async def session(store: Store, made: History) -> Session:
    return await store.history.create_session(T, made.session(), NOTHING)


async def say(store: Store, session: Session, *drafts: MessageDraft, tenant: str = T) -> list[SessionMessage]:
    return await store.history.append_messages(tenant, session.id, drafts, session.updated_at + MINUTE)


async def said(store: Store, session: Session, **options: Any) -> list[str]:
    return [message.id for message in (await store.history.messages(T, session.id, **options)).messages]


async def found(store: Store, question: str, filter: SessionFilter = ANA, limit: int = 10) -> list[str]:
    hits = await store.history.search_messages(T, list(query_terms(question)), filter, limit)
    return [hit.message.id for hit in hits]


async def told(store: Store) -> list[str]:
    return [event.news.type for event in await store.events.read_events(0, 100)]


# ---- sessions


async def test_a_session_comes_back_as_it_was_put_with_its_entries_beside(store: Store, made: History) -> None:
    session = made.session(
        workspace="web",
        folder="/srv/ünd",
        title="so: 测试",
        model="m",
        source="chat",
        shared=True,
        archived_at=made.clock.now(),
    )

    created = await store.history.create_session(T, session, made.event("session.created"))

    assert created == session
    assert await store.history.session(T, session.id) == session
    assert await told(store) == ["session.created"]


async def test_a_second_session_of_the_same_id_is_refused_and_the_first_stays(store: Store, session: Session) -> None:
    with pytest.raises(Conflict):
        await store.history.create_session(T, replace(session, title="another"), NOTHING)

    assert await store.history.session(T, session.id) == session
    assert (await store.history.create_session(OTHER, session, NOTHING)) == session


async def test_a_session_of_another_tenant_is_not_there(store: Store, session: Session) -> None:
    for work in (
        store.history.session(OTHER, session.id),
        store.history.messages(OTHER, session.id),
        store.history.append_messages(OTHER, session.id, [user("1", "hi")], session.updated_at),
        store.history.change_session(OTHER, session.id, {"title": "x"}, session.updated_at, NOTHING),
        store.history.delete_session(OTHER, session.id, NOTHING),
        store.history.load_messages(OTHER, session.id, []),
    ):
        with pytest.raises(NotFound):
            await work

    assert await said(store, session) == []


async def test_sessions_are_listed_by_who_used_them_last_page_by_page(store: Store, made: History) -> None:
    sessions = [await store.history.create_session(T, made.session(), NOTHING) for _ in range(5)]
    await store.history.create_session(OTHER, made.session(), NOTHING)
    await store.history.append_messages(T, sessions[1].id, [user("1", "hi")], made.clock.advance(MINUTE))

    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = await store.history.sessions(T, ANA, 2, cursor)
        pages.append([session.id for session in page.sessions])
        if (cursor := page.cursor) is None:
            break

    assert pages == [[sessions[1].id, sessions[4].id], [sessions[3].id, sessions[2].id], [sessions[0].id]]


@pytest.mark.parametrize("cursor", ["", "x", ":", "12:", "-1:a", "9" * 30 + ":a", "²:a"])
async def test_a_cursor_that_is_none_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidQuery):
        await store.history.sessions(T, ANA, 2, cursor)


async def test_a_filter_narrows_by_owner_sharing_agent_workspace_and_archive(store: Store, made: History) -> None:
    fields: dict[str, dict[str, Any]] = {
        "own": {},
        "web": {"workspace": "web", "agent": "writer"},
        "old": {"archived_at": made.clock.now()},
        "bea": {"owner": "bea"},
        "bea shared": {"owner": "bea", "workspace": "web", "shared": True},
        "bea shared elsewhere": {"owner": "bea", "workspace": "api", "shared": True},
        "bea web": {"owner": "bea", "workspace": "web"},
    }
    for id, values in fields.items():
        await store.history.create_session(T, made.session(**{"id": id, **values}), NOTHING)

    async def listed(filter: SessionFilter) -> set[str]:
        return {session.id for session in (await store.history.sessions(T, filter, 100)).sessions}

    assert await listed(ANA) == {"own", "web"}
    assert await listed(replace(ANA, shared_in=("web",))) == {"own", "web", "bea shared"}
    assert await listed(replace(ANA, shared_in=("web", "api"), workspace="web")) == {"web", "bea shared"}
    assert await listed(replace(ANA, archived=True)) == {"old"}
    assert await listed(replace(ANA, archived=None)) == {"own", "web", "old"}
    assert await listed(replace(ANA, agent="writer")) == {"web"}
    assert await listed(replace(ANA, session="own")) == {"own"}
    assert await listed(EVERYBODY) == set(fields)
    assert await listed(replace(ANA, own_in=("web", "x"))) == {"web"}
    assert await listed(replace(ANA, own_in=(), shared_in=("api",))) == {"bea shared elsewhere"}
    assert await store.history.session_workspaces(T) == ["api", "web"]
    assert await store.history.session_workspaces(OTHER) == []


async def test_what_is_named_of_a_session_is_changed_and_nothing_else(
    store: Store, session: Session, made: History
) -> None:
    await say(store, session, user("1", "hi"))
    whole, at = await store.history.session(T, session.id), made.clock.now()
    changes: SessionChanges = {"title": "t", "model": "m", "folder": "/f", "shared": True, "archived": True}

    changed = await store.history.change_session(T, session.id, changes, at, made.event("session.changed"))
    later = await store.history.change_session(T, session.id, {"archived": True, "title": None}, at + MINUTE, NOTHING)
    back = await store.history.change_session(T, session.id, {"archived": False, "shared": False}, at, NOTHING)

    assert changed == replace(whole, title="t", model="m", folder="/f", shared=True, archived_at=at)
    assert later == changed
    assert back == replace(changed, archived_at=None, shared=False)
    assert await store.history.session(T, session.id) == back
    assert await told(store) == ["session.changed"]


async def test_of_two_who_change_different_things_both_do(store: Store, open_store: Any, session: Session) -> None:
    other: Store = await open_store()

    await asyncio.gather(
        store.history.change_session(T, session.id, {"title": "t"}, session.updated_at, NOTHING),
        other.history.change_session(T, session.id, {"archived": True}, session.updated_at, NOTHING),
        store.history.append_messages(T, session.id, [user("1", "hi")], session.updated_at),
    )

    kept = await store.history.session(T, session.id)
    assert (kept.title, kept.archived_at, kept.messages) == ("t", session.updated_at, 1)


async def test_a_session_that_is_not_there_is_not_changed_and_nothing_is_told(store: Store, made: History) -> None:
    with pytest.raises(NotFound):
        await store.history.change_session(T, "none", {"title": "t"}, made.clock.now(), made.event("session.changed"))

    assert await told(store) == []


# ---- messages


async def test_messages_are_kept_whole_in_order_and_counted(store: Store, session: Session) -> None:
    drafts = [
        user("1", "Ünd so\n测试", speaker="ana", run="r", data={"a": [1, None, {"b": "c"}]}),
        hidden("2", "nobody sees this"),
        MessageDraft(id="3", role="assistant", kind="tool_call", call="c1", data={"name": "read"}),
        MessageDraft(id="4", role="tool", kind="tool_result", call="c1", text="contents"),
    ]

    kept = await say(store, session, *drafts)

    at = session.updated_at + MINUTE
    assert kept == [
        SessionMessage(
            session=session.id, position=n, at=at, id=draft.id, role=draft.role, kind=draft.kind, text=draft.text,
            data=draft.data, run=draft.run, call=draft.call, speaker=draft.speaker, context_visible=draft.context_visible,
        )
        for n, draft in enumerate(drafts, start=1)
    ]  # fmt: skip
    assert list((await store.history.messages(T, session.id, hidden=True)).messages) == kept
    assert await said(store, session) == ["1", "3", "4"]
    assert await store.history.session(T, session.id) == replace(session, messages=3, updated_at=at)


async def test_a_message_of_the_same_id_is_kept_once_and_answered_as_it_is(store: Store, session: Session) -> None:
    [first] = await say(store, session, user("1", "hi"))

    again = await say(store, session, user("1", "something else"), user("2", "there"), user("2", "twice"))

    assert again[0] == first
    assert [(message.id, message.position, message.text) for message in again[1:]] == [("2", 2, "there")] * 2
    assert (await store.history.session(T, session.id)).messages == 2


async def test_a_title_is_given_once(store: Store, session: Session) -> None:
    for title in (None, "first", "second"):
        await store.history.append_messages(T, session.id, [], session.updated_at, title)

    assert (await store.history.session(T, session.id)).title == "first"


async def test_the_time_of_a_session_never_goes_back(store: Store, session: Session) -> None:
    await store.history.append_messages(T, session.id, [user("1", "hi")], session.updated_at - MINUTE)

    assert (await store.history.session(T, session.id)).updated_at == session.updated_at


async def test_messages_are_read_from_either_end_and_say_what_lies_beside(store: Store, session: Session) -> None:
    await say(store, session, *(user(str(n), "hi") if n % 5 else hidden(str(n)) for n in range(1, 11)))

    async def page(**options: Any) -> tuple[list[int], bool, bool]:
        found = await store.history.messages(T, session.id, **options)
        return [message.position for message in found.messages], found.before, found.after

    assert await page(limit=3) == ([7, 8, 9], True, False)
    assert await page(limit=100) == ([1, 2, 3, 4, 6, 7, 8, 9], False, False)
    assert await page(limit=2, hidden=True) == ([9, 10], True, False)
    assert await page(after=0, limit=2) == ([1, 2], False, True)
    assert await page(after=4, limit=2) == ([6, 7], True, True)
    assert await page(after=7, limit=9) == ([8, 9], True, False)
    assert await page(after=9) == ([], True, False)
    assert await page(before=4, limit=2) == ([2, 3], True, True)
    assert await page(before=3, limit=9) == ([1, 2], False, True)
    assert await page(before=1) == ([], False, True)
    assert await page(after=2, before=7, limit=2) == ([3, 4], True, True)
    assert await page(after=2, before=7) == ([3, 4, 6], True, True)


async def test_of_a_batch_that_fails_nothing_is_kept(store: Store, session: Session) -> None:
    bad: Any = user("2", "x", data={"a": object()})

    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the store says, nothing is there
        await say(store, session, user("1", "hi"), bad)

    assert await said(store, session) == []


WRITERS = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=10
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=WRITERS)
async def test_of_two_writers_no_message_is_lost_and_positions_have_no_gaps(
    store: Store, open_store: Any, made: History, batches: Sequence[Sequence[tuple[int, bool]]]
) -> None:
    stores = [store, await second(open_store)]
    session = await store.history.create_session(T, made.session(), NOTHING)
    answered: dict[str, SessionMessage] = {}

    async def append(n: int, batch: Sequence[tuple[int, bool]]) -> None:
        drafts = [user(str(id), f"{n} said {id}") if shown else hidden(str(id)) for id, shown in batch]
        for message in await stores[n % 2].history.append_messages(T, session.id, drafts, made.clock.now()):
            # Whoever was first: all are answered the same.
            assert answered.setdefault(message.id, message) == message

    await asyncio.wait_for(asyncio.gather(*(append(n, batch) for n, batch in enumerate(batches))), 5)

    kept = (await store.history.messages(T, session.id, hidden=True)).messages
    assert {message.id: message for message in kept} == answered
    assert set(answered) == {str(id) for batch in batches for id, _ in batch}
    assert [message.position for message in kept] == list(range(1, len(kept) + 1))
    visible = sum(message.context_visible for message in kept)
    assert (await store.history.session(T, session.id)).messages == visible


_seconds: dict[int, Any] = {}


async def second(open_store: Any) -> Store:
    """One more store a test, not one more an example."""
    if id(open_store) not in _seconds:
        _seconds.clear()
        _seconds[id(open_store)] = await open_store()
    return _seconds[id(open_store)]


# ---- search


async def test_a_search_finds_what_was_said_by_its_words_and_quotes_it(store: Store, session: Session) -> None:
    long = "Nothing here. " * 100 + "We ship the parser on Fridays. " + "Nothing there. " * 100
    await say(store, session, user("1", "lunch is at noon"), user("2", long), user("3", "部署前先运行测试"))

    [hit] = await store.history.search_messages(T, list(query_terms("when do we ship?")), ANA, 10)

    assert hit.message.id == "2"
    assert hit.session == await store.history.session(T, session.id)
    assert "ship the parser" in hit.snippet
    assert len(hit.snippet) < 300
    assert hit.score > 0
    assert await found(store, "测试") == ["3"]
    assert await found(store, "zebras") == []
    assert await found(store, "") == []


async def test_the_best_of_each_session_comes_first(store: Store, made: History) -> None:
    one, two = [await store.history.create_session(T, made.session(), NOTHING) for _ in range(2)]
    await say(store, one, user("a", "the red parser"), user("b", "the red parser is slow, the parser!"))
    await say(store, two, user("c", "a parser"), user("d", "soup"))

    assert await found(store, "slow red parser") == ["b", "c", "a"]
    assert await found(store, "slow red parser", limit=2) == ["b", "c"]
    assert await found(store, "parser", replace(ANA, session=two.id)) == ["c"]


async def test_no_search_finds_hidden_events_thoughts_or_the_traffic_of_tools(store: Store, session: Session) -> None:
    await say(
        store,
        session,
        hidden("1", "secret parser"),
        user("2", "secret parser", context_visible=False),
        MessageDraft(id="3", role="assistant", kind="thinking", text="secret parser"),
        MessageDraft(id="4", role="assistant", kind="tool_call", text="secret parser", call="c"),
        MessageDraft(id="5", role="tool", kind="tool_result", text="secret parser", call="c"),
        MessageDraft(id="6", role="event", kind="status", text="secret parser"),
        MessageDraft(id="7", role="assistant", kind="text", text="The parser is no secret."),
    )

    assert await found(store, "secret parser") == ["7"]


async def test_a_search_stays_in_its_tenant_and_its_filter(store: Store, made: History) -> None:
    own = await store.history.create_session(T, made.session(), NOTHING)
    shared = await store.history.create_session(T, made.session("bea", workspace="web", shared=True), NOTHING)
    private = await store.history.create_session(T, made.session("bea", workspace="web"), NOTHING)
    old = await store.history.create_session(T, made.session(archived_at=made.clock.now()), NOTHING)
    foreign = await store.history.create_session(OTHER, made.session(), NOTHING)
    for name, session in (("own", own), ("shared", shared), ("private", private), ("old", old)):
        await say(store, session, user(name, "the parser"))
    await say(store, foreign, user("foreign", "the parser"), tenant=OTHER)

    assert await found(store, "parser") == ["own"]
    assert set(await found(store, "parser", replace(ANA, shared_in=("web",)))) == {"own", "shared"}
    assert await found(store, "parser", replace(ANA, archived=True)) == ["old"]
    assert set(await found(store, "parser", EVERYBODY)) == {"own", "shared", "private", "old"}


async def test_words_that_are_indexed_anew_find_the_same(store: Store, session: Session) -> None:
    await say(store, session, user("1", "the parser"), hidden("2", "the parser"), user("3", "..."))

    assert await store.history.index_messages() == 2

    assert await found(store, "parser") == ["1"]
    await store.history.delete_session(T, session.id, NOTHING)
    assert await found(store, "parser") == []


# ---- removal


async def test_a_deleted_session_is_gone_with_its_messages_and_nobody_else_s(
    store: Store, session: Session, made: History
) -> None:
    other = await store.history.create_session(T, made.session(), NOTHING)
    for one in (session, other):
        await say(store, one, user("1", "the parser"), hidden("2"))

    assert await store.history.delete_session(T, session.id, made.event("session.deleted")) == 2

    with pytest.raises(NotFound):
        await store.history.session(T, session.id)
    assert await store.history.search_messages(T, ["parser"], ANA, 10) != []
    assert [hit.session.id for hit in await store.history.search_messages(T, ["parser"], ANA, 10)] == [other.id]
    assert await told(store) == ["session.deleted"]
    with pytest.raises(NotFound):
        await store.history.delete_session(T, session.id, made.event("again"))
    assert await told(store) == ["session.deleted"]


async def test_a_session_made_anew_under_the_id_of_a_deleted_one_is_empty(store: Store, session: Session) -> None:
    await say(store, session, user("1", "the parser"))
    await store.history.delete_session(T, session.id, NOTHING)

    await store.history.create_session(T, session, NOTHING)

    assert await said(store, session) == []
    assert [message.position for message in await say(store, session, user("1", "soup"))] == [1]
    assert await found(store, "parser") == []


async def test_what_a_person_said_goes_with_their_sessions(store: Store, made: History) -> None:
    own = await store.history.create_session(T, made.session(), NOTHING)
    bea = await store.history.create_session(T, made.session("bea", shared=True, workspace="web"), NOTHING)
    foreign = await store.history.create_session(OTHER, made.session(), NOTHING)
    await say(store, own, user("1", "the parser", speaker="ana"))
    await say(store, bea, user("2", "the parser", speaker="ana", data={"a": 1}), user("3", "a parser", speaker="bea"))
    await say(store, foreign, user("4", "the parser", speaker="ana"), tenant=OTHER)

    assert await store.history.purge_person(T, "ana", made.event("purged")) == 1

    with pytest.raises(NotFound):
        await store.history.session(T, own.id)
    emptied, kept = (await store.history.messages(T, bea.id)).messages
    assert (emptied.id, emptied.text, emptied.speaker, emptied.data) == ("2", "", None, {"purged": True})
    assert kept.text == "a parser"
    assert await found(store, "parser", EVERYBODY) == ["3"]
    assert (await store.history.messages(OTHER, foreign.id)).messages[0].text == "the parser"
    assert await told(store) == ["purged"]


async def test_sessions_that_nobody_used_end_the_oldest_first(store: Store, made: History) -> None:
    old = [await store.history.create_session(tenant, made.session(), NOTHING) for tenant in (T, OTHER, T)]
    await say(store, old[0], user("1", "the parser"))
    await say(store, old[1], user("1", "the parser"), tenant=OTHER)
    before = made.clock.advance(MINUTE)
    new = await store.history.create_session(T, made.session(), NOTHING)
    heard: list[Sequence[tuple[str, str]]] = []

    def beside(ended: Sequence[tuple[str, str]]) -> Entries:
        heard.append(ended)
        return made.event("session.expired")

    first = await store.history.expire_sessions(before, 2, beside)
    rest = await store.history.expire_sessions(before, 2, beside)

    assert sorted([*first, *rest]) == sorted((tenant, s.id) for tenant, s in zip((T, OTHER, T), old, strict=True))
    assert len(first) == 2
    assert heard == [first, rest]
    assert await store.history.expire_sessions(before, 2, beside) == []
    assert await told(store) == ["session.expired"] * 2
    assert [session.id for session in (await store.history.sessions(T, EVERYBODY, 9)).sessions] == [new.id]
    assert await found(store, "parser") == []


# ---- loaded, backed up


async def test_what_is_loaded_is_as_it_was_and_loading_it_again_changes_nothing(
    store: Store, second_store: Store, session: Session
) -> None:
    kept = await say(store, session, user("1", "the parser"), hidden("2"), user("3", "soup"))
    whole = await store.history.session(T, session.id)

    for is_new in (True, False):
        assert await second_store.history.load_session(T, whole, NOTHING) is is_new
        assert await second_store.history.load_messages(T, whole.id, kept[:2]) == (2 if is_new else 0)
        assert await second_store.history.load_messages(T, whole.id, kept[1:]) == (1 if is_new else 0)

    assert await second_store.history.session(T, session.id) == whole
    assert list((await second_store.history.messages(T, session.id, hidden=True)).messages) == kept
    assert await found(second_store, "parser") == ["1"]
    assert [message.position for message in await say(second_store, session, user("4", "go on"))] == [4]


async def test_a_session_that_went_on_elsewhere_is_not_mixed_with_what_is_loaded(
    store: Store, session: Session
) -> None:
    [first] = await say(store, session, user("1", "here"))

    with pytest.raises(Conflict):
        await store.history.load_messages(T, session.id, [replace(first, id="other", text="there")])

    assert await said(store, session) == ["1"]


async def test_a_backup_carries_sessions_and_their_words(
    store: Store, second_store: Store, session: Session, tmp_path: Path
) -> None:
    kept = await say(store, session, user("1", "the parser"), hidden("2"))

    await store.maintenance.backup(tmp_path / "backup")
    await second_store.maintenance.restore(tmp_path / "backup")

    assert list((await second_store.history.messages(T, session.id, hidden=True)).messages) == kept
    assert await found(second_store, "parser") == ["1"]


async def test_writers_and_a_deleter_meet_and_no_message_is_left_over(
    store: Store, open_store: Any, made: History
) -> None:
    stores = [store, await open_store()]
    session = await store.history.create_session(T, made.session(), NOTHING)

    async def write(n: int) -> None:
        with suppress(NotFound):
            await say(stores[n % 2], session, user(str(n), "the parser"))

    async with anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon(write, n)
        tasks.start_soon(stores[1].history.delete_session, T, session.id, NOTHING)
    await store.history.create_session(T, session, NOTHING)

    assert await said(store, session, hidden=True) == []


async def test_the_doctor_finds_a_session_that_lacks_a_message(store: Store, session: Session) -> None:
    [one, _, three] = await say(store, session, user("1", "a"), user("2", "b"), user("3", "c"))
    copy = replace(session, id="copy")
    await store.history.load_session(T, copy, NOTHING)

    async def severity() -> list[str]:
        return [finding.severity for finding in await store.maintenance.check() if finding.check == "history"]

    assert await severity() == ["ok"]
    await store.history.load_messages(T, "copy", [replace(message, session="copy") for message in (one, three)])
    assert await severity() == ["error"]
    await store.history.delete_session(T, "copy", NOTHING)
    assert await severity() == ["ok"]


async def test_a_frequent_word_does_not_hide_a_rare_one(store: Store, session: Session) -> None:
    await say(store, session, user("rare", "a pomegranate common"))
    await say(store, session, *(user(str(n), "common") for n in range(2_500)))

    assert (await found(store, "common pomegranate"))[0] == "rare"
