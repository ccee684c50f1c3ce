"""Sessions in the reach of a person: whose they are, who may change them, what is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, ScopeTaken
from commonplace.ports.journal import Entries
from commonplace.service.desk import Desk
from commonplace.service.history import History
from commonplace.service.records import Records
from commonplace.testing.callers import caller, operator
from commonplace.testing.clock import FakeClock
from commonplace.values.audit import AuditQuery
from commonplace.values.principal import Principal, Role, ScopePattern
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.session import MessageDraft, Session, SessionFields, SessionFilters

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)
SHARED: SessionFields = {"workspace": "web", "shared": True}


def said(id: str, text: str, **fields: Any) -> MessageDraft:
    values: dict[str, Any] = {"id": id, "role": "user", "kind": "text", "text": text, **fields}
    return MessageDraft(**values)


async def begun(history: History, who: Principal, text: str = "the parser", **fields: Any) -> Session:
    session = await history.create(who, "coder", SessionFields(**fields))
    await history.append(who, session.id, [said("1", text, speaker=who.subject)])
    return await history.session(who, session.id)


async def listed(history: History, who: Principal, **filters: Any) -> set[str]:
    return {session.id for session in (await history.sessions(who, SessionFilters(**filters))).sessions}


async def found(history: History, who: Principal, **filters: Any) -> set[str]:
    hits = await history.search(who, "parser", SessionFilters(**filters))
    return {hit.session.id for hit in hits}


async def rows(desk: Desk, *actions: str) -> Sequence[tuple[str, str, Any]]:
    page = await desk.store.journal.audit(DEFAULT_TENANT, AuditQuery(actions=actions), 100, None)
    return [(row.action, row.outcome, row.details.get("session")) for row in reversed(page.rows)]


async def test_the_first_thing_a_user_says_is_the_title(history: History, ana: Principal) -> None:
    session = await history.create(ana, "coder", {})
    assert session.title is None

    await history.append(ana, session.id, [said("0", "x", role="event", kind="event", context_visible=False)])
    await history.append(ana, session.id, [said("1", "\n# The slow parser\nIt takes hours.")])
    await history.append(ana, session.id, [said("2", "Another thing")])

    assert (await history.session(ana, session.id)).title == "The slow parser"


async def test_a_session_is_its_owners_alone(history: History, ana: Principal, bea: Principal) -> None:
    session = await begun(history, ana, workspace="web")

    assert await listed(history, bea) == set()
    assert await found(history, bea) == set()
    for work in (
        history.session(bea, session.id),
        history.messages(bea, session.id),
        history.append(bea, session.id, [said("2", "x")]),
        history.change(bea, session.id, {"title": "x"}),
        history.delete(bea, session.id),
        history.search(bea, "parser", {}, session=session.id),
    ):
        with pytest.raises(NotFound):
            await work
    assert (await history.messages(ana, session.id)).messages[0].text == "the parser"


async def test_the_audit_tells_who_was_denied_from_who_found_nothing(
    desk: Desk, history: History, ana: Principal, bea: Principal
) -> None:
    session = await begun(history, ana)

    for id in (session.id, "none"):
        with pytest.raises(NotFound):
            await history.session(bea, id)

    assert await rows(desk, "session.get") == [
        ("session.get", "denied", session.id),
        ("session.get", "not_found", "none"),
    ]


async def test_whoever_begins_a_session_owns_its_memory_before_anybody_speaks_in_it(
    desk: Desk, history: History, ana: Principal, bea: Principal
) -> None:
    session = await begun(history, ana, **SHARED)
    scope = Scope("session", session.id)

    [owner] = await desk.store.members.members(DEFAULT_TENANT, scope)
    with pytest.raises(Forbidden):
        await desk.require(bea, scope)

    assert (owner.subject, owner.owner) == (ana.subject, True)


@pytest.mark.parametrize("role", ["writer", "admin"])
async def test_a_session_is_not_begun_under_the_name_of_anothers_memory(
    desk: Desk, history: History, bea: Principal, role: Role
) -> None:
    scope = Scope("session", "standup")
    account = desk.account(bea, "record.put")
    await desk.store.journal.note(Entries(claims=account.claims([scope])))

    with pytest.raises(ScopeTaken):
        await history.create(caller(role, name="ana"), "coder", {"id": "standup"})

    assert (await history.create(bea, "coder", {"id": "standup"})).owner == bea.subject


async def test_a_shared_session_is_read_and_spoken_in_by_who_reaches_its_workspace(
    history: History, ana: Principal, bea: Principal
) -> None:
    session = await begun(history, ana, **SHARED)
    elsewhere = caller("writer", "workspace:api", name="cyd")

    assert await listed(history, bea) == await found(history, bea) == {session.id}
    await history.append(bea, session.id, [said("2", "hello", speaker="bea")])
    assert len((await history.messages(bea, session.id)).messages) == 2
    for work in (history.change(bea, session.id, {"title": "x"}), history.delete(bea, session.id)):
        with pytest.raises(Forbidden):
            await work
    assert await listed(history, elsewhere) == set()
    with pytest.raises(NotFound):
        await history.messages(elsewhere, session.id)


async def test_a_reader_reads_and_does_nothing_else(history: History, ana: Principal) -> None:
    session = await begun(history, ana, **SHARED)
    reader = caller("reader", name="ana")

    assert await listed(history, reader) == {session.id}
    for work in (
        history.create(reader, "coder", {}),
        history.append(reader, session.id, []),
        history.change(reader, session.id, {"title": "x"}),
        history.delete(reader, session.id),
    ):
        with pytest.raises(Forbidden):
            await work


async def test_an_admin_reaches_all_and_lists_others_only_if_they_ask(
    desk: Desk, history: History, ana: Principal, bea: Principal
) -> None:
    session, admin = await begun(history, ana), caller("admin", name="root")

    assert await listed(history, admin) == await found(history, admin) == set()
    assert await listed(history, admin, everyone=True) == await found(history, admin, everyone=True) == {session.id}
    assert (await history.session(admin, session.id)).id == session.id
    assert (await history.change(admin, session.id, {"title": "Theirs"})).title == "Theirs"
    for who in (bea, caller("admin", "workspace:web", name="some")):
        with pytest.raises(Forbidden):
            await history.sessions(who, {"everyone": True})
    await history.delete(admin, session.id)
    assert await listed(history, ana) == set()


async def test_a_key_of_a_person_that_reaches_a_workspace_sees_their_sessions_about_that_alone(
    history: History, ana: Principal
) -> None:
    private, web = await begun(history, ana), await begun(history, ana, workspace="web")
    narrow = caller("writer", "workspace:web", name="ana")

    assert await listed(history, narrow) == await found(history, narrow) == {web.id}
    with pytest.raises(NotFound):
        await history.session(narrow, private.id)
    with pytest.raises(Forbidden):
        await history.create(narrow, "coder", {})
    with pytest.raises(Forbidden):
        await history.create(narrow, "coder", {"workspace": "api"})
    assert (await history.create(narrow, "coder", {"workspace": "web"})).owner == "ana"


async def test_a_key_that_speaks_for_nobody_else_owns_what_it_begins(history: History) -> None:
    scopes = (ScopePattern("workspace:web"),)
    key = Principal(subject="key/1", tenant=DEFAULT_TENANT, role="writer", scopes=scopes, key="1")

    session = await begun(history, key)

    assert await listed(history, key) == {session.id}


async def test_changes_are_kept_told_once_and_never_say_the_title(desk: Desk, history: History, ana: Principal) -> None:
    session = await begun(history, ana, title="A secret title", workspace="web")

    archived = await history.change(ana, session.id, {"archived": True})
    again = await history.change(ana, session.id, {"archived": True})
    renamed = await history.change(ana, session.id, {"title": "Another  secret", "shared": True, "model": "m"})

    assert archived.archived_at is not None
    assert again == archived
    assert (renamed.title, renamed.shared, renamed.model) == ("Another secret", True, "m")
    assert await listed(history, ana) == set()
    assert await listed(history, ana, archived="yes") == await listed(history, ana, archived="any") == {session.id}
    assert await found(history, ana) == {session.id}
    assert await found(history, ana, archived="no") == set()
    assert (await history.change(ana, session.id, {"archived": False})).archived_at is None
    events = [event.news for event in await desk.store.events.read_events(0, 100)]
    assert [news.type for news in events] == ["scope.claimed", "session.created"] + ["session.changed"] * 3
    page = await desk.store.journal.audit(DEFAULT_TENANT, AuditQuery(), 100, None)
    assert "secret" not in f"{events} {page.rows}"
    assert [outcome for _, outcome, _ in await rows(desk, "session.change")] == ["ok", "unchanged", "ok", "ok"]


async def test_a_deleted_session_leaves_a_row_an_event_and_no_text_in_the_file(
    desk: Desk, history: History, ana: Principal, tmp_path: Any
) -> None:
    session = await begun(history, ana, "the pomegranate parser")

    assert await history.delete(ana, session.id) == 1

    with pytest.raises(NotFound):
        await history.session(ana, session.id)
    assert await rows(desk, "session.delete") == [("session.delete", "ok", session.id)]
    contents = b"".join(file.read_bytes() for file in tmp_path.glob("memory.db*"))
    assert b"pomegranate" not in contents


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "search"},
        {"id": "a\nb"},
        {"id": "x" * 129},
        {"shared": True},
        {"title": "x" * 201},
        {"workspace": ""},
        {"source": ""},
        {"folder": "a\0b"},
        {"model": "\u200b\n"},
    ],
)
async def test_what_is_no_session_is_refused(history: History, ana: Principal, fields: Any) -> None:
    with pytest.raises(InvalidInput):
        await history.create(ana, "coder", fields)


async def test_an_id_that_is_taken_is_a_conflict_and_limits_are_kept(
    history: History, ana: Principal, bea: Principal
) -> None:
    session = await begun(history, ana)

    with pytest.raises(Conflict):
        await history.create(bea, "coder", {"id": session.id})
    bad: list[Any] = [
        history.sessions(ana, {}, limit=0),
        history.sessions(ana, {}, limit=201),
        history.sessions(ana, {}, cursor="x"),
        history.sessions(ana, {"archived": "perhaps"}),  # pyright: ignore[reportArgumentType]
        history.messages(ana, session.id, limit=1_001),
        history.messages(ana, session.id, after=-1),
        history.search(ana, "x" * 10_001, {}),
        history.search(ana, "x", {}, limit=101),
        history.change(ana, session.id, {"shared": True}),
        history.change(ana, session.id, {"title": ""}),
    ]
    for work in bad:
        with pytest.raises(InvalidInput):
            await work
    assert await history.search(ana, "?!", {}) == []


async def test_what_no_store_can_hold_is_replaced_and_the_message_kept(history: History, ana: Principal) -> None:
    session = await begun(history, ana)

    [kept] = await history.append(ana, session.id, [said("2", "a\0b\ud800", data={"x\0": ["\udfff"]})])

    assert (kept.text, kept.data) == ("a\ufffdb\ufffd", {"x\ufffd": ["\ufffd"]})
    assert (await history.messages(ana, session.id)).messages[1] == kept


# ---- how long


async def test_a_session_that_nobody_uses_ends_after_its_days_and_not_before(
    desk: Desk, clock: FakeClock, ana: Principal
) -> None:
    history = History(desk, retention=30 * DAY)
    old, used = await begun(history, ana), await begun(history, ana)
    clock.advance(20 * DAY)
    await history.append(ana, used.id, [said("2", "again")])
    clock.advance(9 * DAY)
    assert await history.expire() == 0
    clock.advance(2 * DAY)

    assert await history.expire() == 1

    assert await listed(history, ana) == {used.id}
    assert await rows(desk, "session.expire") == [("session.expire", "ok", old.id)]
    assert await History(desk).expire() == 0


async def test_a_purge_of_a_person_takes_their_sessions_and_what_they_said(
    desk: Desk, history: History, ana: Principal, bea: Principal
) -> None:
    own, shared = await begun(history, ana), await begun(history, bea, **SHARED)
    await history.append(ana, shared.id, [said("2", "the parser", speaker="ana")])

    purged = await Records(desk).purge(operator(), user="ana")

    assert purged.sessions == 1
    assert await listed(history, operator(), everyone=True) == {shared.id}
    assert [message.text for message in (await history.messages(bea, shared.id)).messages] == ["the parser", ""]
    assert own.id not in await found(history, operator(), everyone=True)
