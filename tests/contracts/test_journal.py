# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What the port `Journal` says, of every store, and what `beside` keeps together with a write of records."""

import base64
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import apsw
import psycopg
import pytest

from commonplace.errors import AlreadyAnswered, Forbidden, InvalidQuery, RecordChanged, RecordNotFound
from commonplace.ports.journal import Beside, Entries, IdempotentReply
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store
from commonplace.values.audit import AuditGroup, AuditQuery, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.job import NewJob
from commonplace.values.moment import new_id
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Lineage, Record, Written
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
WEB = Scope("workspace", "web")
MINUTE = timedelta(minutes=1)
EVERYTHING = AuditQuery()


class Journaling:
    """Writes entries by one clock."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def row(self, action: str = "record.put", **fields: Any) -> AuditRow:
        told: dict[str, Any] = {"tenant": T, "actor": "ann", **fields}
        return AuditRow(id=new_id(self.clock.now()), at=self.clock.now(), action=action, **told)

    def later(self, action: str = "record.put", **fields: Any) -> AuditRow:
        """A row a minute after the one before."""
        self.clock.advance(MINUTE)
        return self.row(action, **fields)

    def reply(self, key: str = "k", **fields: Any) -> IdempotentReply:
        told: dict[str, Any] = {"tenant": T, "owner": "ann", "expires_at": self.clock.now() + MINUTE, **fields}
        return IdempotentReply(key=key, fingerprint=b"what was asked", **told)

    def all_kinds(self, name: str, reply: IdempotentReply | None = None) -> Entries:
        """An audit row, an event and a job, and perhaps a reply."""
        now = self.clock.now()
        job = NewJob(id=new_id(now), tenant=T, kind=name, payload={}, created_at=now, created_by="ann")
        return Entries(audit=(self.row(name),), events=(News(type=name, tenant=T, at=now),), jobs=(job,), reply=reply)


@pytest.fixture
def entries(clock: FakeClock) -> Journaling:
    return Journaling(clock)


async def audited(store: Store, query: AuditQuery = EVERYTHING, tenant: str | None = T) -> list[AuditRow]:
    return list((await store.journal.audit(tenant, query, 1000, None)).rows)


async def kept(store: Store) -> tuple[list[str], list[str], list[str]]:
    """The names of what is kept in audit, events and jobs."""
    rows, events = await audited(store), await store.events.read_events(0, 1000)
    return (
        [row.action for row in rows],
        [event.news.type for event in events],
        [job.kind for job in await store.jobs.list_jobs(T)],
    )


async def everything(store: Store) -> list[Record]:
    return list((await store.records.find(T, Filter(states=ALL_STATES), "oldest", 1000, None)).records)


def noting(entries: Entries, told: list[Any]) -> Callable[[Sequence[Any]], Entries]:
    def beside(written: Sequence[Any]) -> Entries:
        told[:] = written
        return entries

    return beside


def refusing(written: Sequence[Any]) -> Entries:
    raise Forbidden


# ---- the audit


async def test_a_row_of_the_audit_comes_back_as_it_was_noted(store: Store, entries: Journaling) -> None:
    bare = entries.row()
    whole = entries.later(
        "record.search",
        tenant="acme/web: 世界",
        outcome="budget_exhausted",
        record="not even an id",
        version=7,
        scope=Scope("channel", "dingtalk/room: 7"),
        run="run-1",
        door="governed",
        key="key-1",
        client="cli:1.0",
        address="127.0.0.1",
        request="req-1",
        details={"z": 1, "a": [1.5, None, True, {"deep": "ü"}], "big": 2**60},
    )

    await store.journal.note(Entries(audit=(bare, whole)))

    assert await audited(store, tenant=None) == [whole, bare]


async def test_the_audit_is_told_newest_first_a_page_at_a_time_while_others_write(
    store: Store, entries: Journaling
) -> None:
    rows = [entries.later(f"step.{n}") for n in range(25)]
    await store.journal.note(Entries(audit=tuple(rows)))
    told: list[AuditRow] = []
    cursor = None

    for _ in range(3):
        page = await store.journal.audit(T, EVERYTHING, 10, cursor)
        told += page.rows
        cursor = page.cursor
        await store.journal.note(Entries(audit=(entries.later("in between"),)))

    assert told == rows[::-1]
    assert cursor is None


async def test_rows_of_one_moment_are_each_told_once(store: Store, entries: Journaling) -> None:
    rows = [entries.row(f"step.{n}") for n in range(7)]
    await store.journal.note(Entries(audit=tuple(rows)))
    told: list[AuditRow] = []
    cursor = None

    for _ in range(4):
        page = await store.journal.audit(None, EVERYTHING, 2, cursor)
        told += page.rows
        cursor = page.cursor

    assert sorted(row.id for row in told) == sorted(row.id for row in rows)
    assert cursor is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (AuditQuery(actions=("record.put", "key.create")), {0, 1, 3}),
        (AuditQuery(outcomes=("denied", "refused")), {1, 2}),
        (AuditQuery(actor="ben"), {2}),
        (AuditQuery(record="r1"), {0, 2}),
        (AuditQuery(run="run-1"), {1}),
        (AuditQuery(doors=("keyed",)), {3}),
        (AuditQuery(since=datetime(2026, 1, 1, 0, 3, tzinfo=UTC)), {2, 3}),
        (AuditQuery(until=datetime(2026, 1, 1, 0, 3, tzinfo=UTC)), {0, 1}),
        (AuditQuery(actions=("record.put",), outcomes=("denied",)), {1}),
        (AuditQuery(record="r1", actor="ann", doors=("native",)), {0}),
        (AuditQuery(actor="nobody"), set[int]()),
    ],
)
async def test_a_query_narrows_the_audit(
    store: Store, entries: Journaling, query: AuditQuery, expected: set[int]
) -> None:
    rows = [
        entries.later("record.put", record="r1"),
        entries.later("record.put", record="r2", outcome="denied", run="run-1"),
        entries.later("record.delete", record="r1", outcome="refused", actor="ben"),
        entries.later("key.create", door="keyed"),
    ]
    await store.journal.note(Entries(audit=(*rows, entries.row("record.put", tenant=OTHER, record="r1"))))

    found = await audited(store, query)

    assert {rows.index(row) for row in found} == expected


async def test_a_tenant_sees_its_own_rows_and_the_operator_all(store: Store, entries: Journaling) -> None:
    mine, theirs = entries.row(), entries.later(tenant=OTHER)
    await store.journal.note(Entries(audit=(mine, theirs)))

    assert await audited(store) == [mine]
    assert await audited(store, tenant=OTHER) == [theirs]
    assert await audited(store, tenant=None) == [theirs, mine]
    assert await audited(store, tenant="no/body") == []


@pytest.mark.parametrize(
    "cursor", ["", "nonsense", "W10=", "WyJhIiwgImIiXQ==", "eyJhIjogMX0=", "WzEsIDIsIC0xXQ==", "世"]
)
async def test_a_cursor_that_is_not_ours_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidQuery):
        await store.journal.audit(T, EVERYTHING, 10, cursor)


@pytest.mark.parametrize("tampering", ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"])
async def test_the_audit_is_append_only(
    store: Store, entries: Journaling, kind: str, tampering: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    row = entries.row()
    await store.journal.note(Entries(audit=(row,)))

    if kind == "sqlite":
        db = apsw.Connection(str(tmp_path / "store1.db"))
        with pytest.raises(apsw.ConstraintError):
            db.execute(tampering)
        db.close()
    else:
        uri, schema = request.getfixturevalue("server").get_uri(), request.getfixturevalue("schema")
        with psycopg.connect(uri, options=f"-c search_path={schema}") as connection, pytest.raises(psycopg.Error):
            connection.execute(tampering.encode())

    assert await audited(store) == [row]


# ---- rows kept as one


def group(entries: Journaling, ids: Sequence[str], **fields: Any) -> AuditGroup:
    return AuditGroup(entries.row(version=1, scope=WEB, details={"change": "created"}, **fields), tuple(ids))


def some_ids(many: int) -> list[str]:
    """As records have them, in no order."""
    return [str(uuid.UUID(int=(n * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)) for n in range(1, many + 1)]


async def test_a_group_is_told_row_by_row_and_each_row_has_an_id_of_its_own(store: Store, entries: Journaling) -> None:
    ids = some_ids(5)
    before, kept_as_one, after = entries.later("before"), group(entries, ids), entries.later("after")

    await store.journal.note(Entries(audit=(before, kept_as_one, after)))

    newest, *members, oldest = await audited(store)
    assert (newest, oldest) == (after, before)
    assert sorted(row.record or "" for row in members) == sorted(ids)
    assert [replace(row, id="", record=None) for row in members] == [replace(kept_as_one.row, id="")] * 5
    assert len({uuid.UUID(row.id) for row in members}) == 5


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 11, 12])
async def test_pages_end_within_a_group_and_go_on_there(store: Store, entries: Journaling, limit: int) -> None:
    first, second = group(entries, some_ids(4)), group(entries, some_ids(6), actor="ben")
    await store.journal.note(Entries(audit=(entries.row("alone"), first, second)))
    told: list[AuditRow] = []
    cursor = None

    for _ in range(-(-11 // limit)):
        page = await store.journal.audit(T, EVERYTHING, limit, cursor)
        told += page.rows
        cursor = page.cursor
        await store.journal.note(Entries(audit=(replace(group(entries, some_ids(3)), row=entries.later("later")),)))

    assert told == (await audited(store))[-11:]
    assert cursor is None
    assert [row.actor for row in told] == ["ben"] * 6 + ["ann"] * 5


async def test_a_record_is_found_in_every_group_that_holds_it_and_in_no_other(
    store: Store, entries: Journaling
) -> None:
    ids = some_ids(40)
    groups = [group(entries, ids[:20]), group(entries, ids[20:]), group(entries, ids[::2], actor="ben")]
    for kept_as_one in groups:
        entries.clock.advance(MINUTE)
        moved = replace(kept_as_one, row=replace(kept_as_one.row, at=entries.clock.now()))
        await store.journal.note(Entries(audit=(moved, entries.row("alone", record=ids[3]))))
    await store.journal.note(Entries(audit=(group(entries, ids, tenant=OTHER),)))

    for n, id in enumerate(ids):
        rows = await audited(store, AuditQuery(record=id))
        assert {row.record for row in rows} == {id}
        assert sum(row.action == "record.put" for row in rows) == (2 if n % 2 == 0 else 1)
        assert sum(row.action == "alone" for row in rows) == (3 if n == 3 else 0)
    assert [row.actor for row in await audited(store, AuditQuery(record=ids[0]))] == ["ben", "ann"]
    assert [row.actor for row in await audited(store, AuditQuery(record=ids[0], actor="ben"))] == ["ben"]
    assert await audited(store, AuditQuery(record=some_ids(41)[-1])) == []
    assert await audited(store, AuditQuery(record=ids[0].upper())) == []


async def test_a_cursor_from_before_there_were_groups_is_still_right(store: Store, entries: Journaling) -> None:
    rows = [entries.later(f"step.{n}") for n in range(3)]
    await store.journal.note(Entries(audit=tuple(rows)))
    cursor = (await store.journal.audit(T, EVERYTHING, 1, None)).cursor
    assert cursor is not None
    at, number, _ = json.loads(base64.urlsafe_b64decode(cursor))
    old = base64.urlsafe_b64encode(json.dumps([at, number]).encode()).decode()

    assert list((await store.journal.audit(T, EVERYTHING, 10, old)).rows) == rows[1::-1]


# ---- all or nothing


async def test_what_belongs_together_is_kept_together(store: Store, entries: Journaling) -> None:
    await store.journal.note(entries.all_kinds("a", entries.reply()))

    assert await kept(store) == (["a"], ["a"], ["a"])
    assert await store.journal.reply(T, "ann", "k") is not None


async def test_to_note_nothing_is_no_harm(store: Store) -> None:
    await store.journal.note(Entries())

    assert await kept(store) == ([], [], [])


async def test_an_answer_that_is_there_refuses_everything_beside_it(store: Store, entries: Journaling) -> None:
    await store.journal.note(entries.all_kinds("first", entries.reply()))

    with pytest.raises(AlreadyAnswered):
        await store.journal.note(entries.all_kinds("second", entries.reply()))

    assert await kept(store) == (["first"], ["first"], ["first"])


async def test_an_event_that_was_not_kept_is_never_told(store: Store, draft: Drafting, entries: Journaling) -> None:
    def half(written: Sequence[Written]) -> Entries:
        return entries.all_kinds("half", entries.reply())

    await store.journal.note(Entries(reply=entries.reply()))
    with pytest.raises(AlreadyAnswered):
        await store.records.put([draft("a")], beside=half)
    await store.journal.note(entries.all_kinds("whole"))

    [event] = await store.events.read_events(0, 10)
    assert event.news.type == "whole"
    assert (await store.events.event_range())[1] == event.id


# ---- replies


async def test_a_reply_comes_back_until_it_expires(store: Store, entries: Journaling, clock: FakeClock) -> None:
    written = (("018f0000-0000-7000-8000-000000000000", 3, "updated"), ("018f0000-0000-7000-8000-000000000001", 1, "x"))
    reply = replace(entries.reply(), fingerprint=bytes(range(32)), results=written)
    await store.journal.note(Entries(reply=reply))

    assert await store.journal.reply(T, "ann", "k") == reply
    assert await store.journal.reply(T, "ben", "k") is None
    assert await store.journal.reply(OTHER, "ann", "k") is None
    clock.advance(MINUTE)
    assert await store.journal.reply(T, "ann", "k") is None


async def test_the_same_key_of_another_owner_or_tenant_is_another_request(store: Store, entries: Journaling) -> None:
    await store.journal.note(Entries(reply=entries.reply()))

    await store.journal.note(Entries(reply=entries.reply(owner="ben")))
    await store.journal.note(Entries(reply=entries.reply(tenant=OTHER)))

    assert await store.journal.reply(T, "ben", "k") is not None


async def test_an_expired_reply_is_replaced(store: Store, entries: Journaling, clock: FakeClock) -> None:
    await store.journal.note(Entries(reply=entries.reply(results=(("old", 1, "created"),))))
    clock.advance(MINUTE)

    await store.journal.note(Entries(reply=entries.reply(results=(("new", 1, "created"),))))

    reply = await store.journal.reply(T, "ann", "k")
    assert reply is not None
    assert reply.results == (("new", 1, "created"),)


async def test_trimming_forgets_what_has_expired(store: Store, entries: Journaling, clock: FakeClock) -> None:
    await store.journal.note(Entries(reply=entries.reply("a")))
    await store.journal.note(Entries(reply=entries.reply("b")))
    clock.advance(MINUTE)
    await store.journal.note(Entries(reply=entries.reply("c")))

    assert await store.journal.trim_replies() == 2
    assert await store.journal.trim_replies() == 0
    assert await store.journal.reply(T, "ann", "c") is not None


async def test_of_many_requests_with_one_key_one_is_done(
    store: Store, open_store: Any, draft: Drafting, entries: Journaling
) -> None:
    other: Store = await open_store()
    refused: list[str] = []

    async def ask(asked: Store, n: int) -> None:
        reply = entries.reply()
        try:
            await asked.records.put([draft(f"attempt {n}")], beside=lambda _: Entries(reply=reply))
        except AlreadyAnswered as error:
            refused.append(error.code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(16):
                tasks.start_soon(ask, (store, other)[n % 2], n)

    assert refused == ["already_answered"] * 15
    assert len(await everything(store)) == 1


# ---- beside a write of records


async def test_beside_a_put_is_told_what_is_answered_unchanged_records_too(
    store: Store, draft: Drafting, entries: Journaling, clock: FakeClock
) -> None:
    await store.records.put([draft("same", key="same"), draft("old", key="other")])
    clock.advance(MINUTE)
    told: list[Written] = []

    written = await store.records.put(
        [draft("same", key="same"), draft("new", key="other"), draft("more")],
        beside=noting(entries.all_kinds("put", entries.reply()), told),
    )

    assert told == written
    assert [one.outcome for one in told] == ["unchanged", "updated", "created"]
    assert await kept(store) == (["put"], ["put"], ["put"])
    assert await store.journal.reply(T, "ann", "k") is not None


async def test_a_put_that_changes_nothing_still_keeps_what_is_beside_it(
    store: Store, draft: Drafting, entries: Journaling
) -> None:
    await store.records.put([draft("same", key="k")])

    await store.records.put([draft("same", key="k")], beside=lambda written: entries.all_kinds(written[0].outcome))

    assert await kept(store) == (["unchanged"], ["unchanged"], ["unchanged"])


async def test_beside_a_revision_is_told_the_new_versions(store: Store, draft: Drafting, entries: Journaling) -> None:
    [first] = await store.records.put([draft("a")])
    told: list[Written] = []
    pinned = Draft(record=replace(first.record, pinned=True, change="pinned"), expected=1)

    revised = await store.records.revise([pinned], beside=noting(entries.all_kinds("pin"), told))

    assert told == [Written(revised[0], "updated")]
    assert await kept(store) == (["pin"], ["pin"], ["pin"])


async def test_beside_a_load_is_told_what_came_of_each_life(store: Store, draft: Drafting, entries: Journaling) -> None:
    here, elsewhere = draft("here"), draft("elsewhere")
    await store.records.put([here])
    told: list[Written] = []
    lives = [Lineage((one.record,), {one.record.text: one.passages or ()}) for one in (here, elsewhere)]

    loaded = await store.records.load(lives, beside=noting(entries.all_kinds("load"), told))

    assert told == loaded
    assert [one.outcome for one in told] == ["unchanged", "created"]
    assert await kept(store) == (["load"], ["load"], ["load"])


async def test_beside_a_purge_is_told_the_ids(store: Store, draft: Drafting, entries: Journaling) -> None:
    written = await store.records.put([draft("a"), draft("b"), draft("c", scope="user:ann")])
    told: list[str] = []

    purged = await store.records.purge(T, [Filter(scopes=(WEB,))], beside=noting(entries.all_kinds("purge"), told))

    assert purged.records == 2
    assert sorted(told) == sorted(one.record.id for one in written[:2])
    assert await kept(store) == (["purge"], ["purge"], ["purge"])


@pytest.mark.parametrize("fault", ["raises", "answered"])
async def test_a_put_whose_beside_fails_leaves_nothing(
    store: Store, draft: Drafting, entries: Journaling, fault: str
) -> None:
    await store.journal.note(Entries(reply=entries.reply()))
    answered: Beside = noting(entries.all_kinds("put", entries.reply()), [])

    with pytest.raises(Forbidden if fault == "raises" else AlreadyAnswered):
        await store.records.put([draft("a"), draft("b", key="k")], beside=refusing if fault == "raises" else answered)

    assert await everything(store) == []
    assert await kept(store) == ([], [], [])
    assert [finding.check for finding in await store.maintenance.check() if finding.severity == "error"] == []


async def test_a_revision_whose_beside_fails_leaves_the_record_as_it_was(store: Store, draft: Drafting) -> None:
    [first] = await store.records.put([draft("a")])

    with pytest.raises(Forbidden):
        await store.records.revise([Draft(record=replace(first.record, pinned=True), expected=1)], beside=refusing)

    assert await store.records.history(T, first.record.id) == [first.record]


async def test_a_load_whose_beside_fails_brings_in_nothing(store: Store, draft: Drafting) -> None:
    life = Lineage((draft.record("a"),), {})

    with pytest.raises(Forbidden):
        await store.records.load([life], beside=refusing)

    with pytest.raises(RecordNotFound):
        await store.records.get(T, [life.versions[0].id])


async def test_a_purge_whose_beside_fails_purges_nothing(store: Store, draft: Drafting) -> None:
    [first] = await store.records.put([draft("a")])

    with pytest.raises(Forbidden):
        await store.records.purge(T, [Filter(scopes=(WEB,))], beside=refusing)

    assert await store.records.get(T, [first.record.id]) == [first.record]


async def test_a_write_that_is_refused_keeps_nothing_beside_it(
    store: Store, draft: Drafting, entries: Journaling
) -> None:
    [first] = await store.records.put([draft("a", key="k")])

    with pytest.raises(RecordChanged):
        await store.records.put([draft("b", key="k", expected=5)], beside=lambda _: entries.all_kinds("put"))

    assert await kept(store) == ([], [], [])
    assert await everything(store) == [first.record]


async def test_a_backup_takes_the_journal_along(
    store: Store, second_store: Store, entries: Journaling, tmp_path: Path
) -> None:
    await store.journal.note(entries.all_kinds("a", entries.reply()))
    news = NewsGroup(News(type="record.created", tenant=T, at=entries.clock.now()), tuple(some_ids(3)))
    await store.journal.note(Entries(audit=(group(entries, some_ids(3)),), events=(news,)))

    await store.maintenance.backup(tmp_path / "copy")
    await second_store.maintenance.restore(tmp_path / "copy")

    assert await audited(second_store) == await audited(store)
    assert await second_store.events.read_events(0, 10) == await store.events.read_events(0, 10)
    assert await second_store.events.event_range() == await store.events.event_range()
    assert await second_store.jobs.list_jobs(T) == await store.jobs.list_jobs(T)
    assert await second_store.journal.reply(T, "ann", "k") == await store.journal.reply(T, "ann", "k")
    await second_store.journal.note(entries.all_kinds("b"))
    assert len(await second_store.events.read_events(0, 10)) == 5
