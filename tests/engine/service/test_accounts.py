# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What is kept beside a write, a denial and a search: audit rows, events, replies."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from commonplace.errors import Forbidden, IdempotencyKeyReused, RecordChanged, RecordNotFound, SecretRefused
from commonplace.service.account import Idempotency
from commonplace.service.desk import Desk
from commonplace.service.maintenance import Keeping
from commonplace.service.recall import Recalling
from commonplace.service.records import Change, Records
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.note import Note
from commonplace.values.query import Filter, Query
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio

WEB = Scope("workspace", "web")
WRITER = caller("writer")
ADMIN = caller("admin")


async def rows(desk: Desk) -> list[AuditRow]:
    """Oldest first."""
    page = await desk.store.journal.audit(None, AuditQuery(), 100, None)
    return list(reversed(page.rows))


def rows_of_store(path: Path) -> dict[str, int]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    counts = {table: db.execute(f"SELECT count(*) FROM {table}").get for table in ("audit", "events")}
    db.close()
    return counts


async def types(desk: Desk) -> list[str]:
    return [event.news.type for event in await desk.store.events.read_events(0, 100)]


async def test_a_write_leaves_an_audit_row_and_an_event(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    [row] = await rows(desk)
    assert (row.actor, row.action, row.outcome, row.record) == ("writer", "record.put", "ok", written.record.id)
    assert (row.scope, row.version, row.address) == (WEB, 1, "127.0.0.1")
    [event] = await desk.store.events.read_events(0, 10)
    assert (event.news.type, event.news.scope, event.news.data["id"]) == ("record.created", WEB, written.record.id)


async def test_a_bulk_write_is_one_row_of_the_store_and_a_row_of_the_audit_for_each_record(
    desk: Desk, records: Records, tmp_path: Path
) -> None:
    notes = [Note(text=f"We ship version {n}", scope=("workspace:web", "workspace:api")[n % 2]) for n in range(40)]

    written = await records.put(WRITER, notes)

    told = await rows(desk)
    assert {row.record: (row.scope, row.version, row.outcome) for row in told} == {
        result.record.id: (result.record.scope, 1, "ok") for result in written
    }
    assert len({row.id for row in told}) == 40
    events = await desk.store.events.read_events(0, 100)
    assert sorted((event.news.data["id"], str(event.news.scope)) for event in events) == sorted(
        (result.record.id, str(result.record.scope)) for result in written
    )
    assert {(event.news.type, event.news.data["version"], event.news.data["kind"]) for event in events} == {
        ("record.created", 1, "note")
    }
    for result in written[::7]:
        page = await desk.store.journal.audit(WRITER.tenant, AuditQuery(record=result.record.id), 10, None)
        assert [row.record for row in page.rows] == [result.record.id]
    assert rows_of_store(tmp_path / "memory.db") == {"audit": 2, "events": 2}


async def test_a_row_that_says_more_about_its_record_stands_alone(desk: Desk, records: Records) -> None:
    secret = "the key is AKIAIOSFODNN7EXAMPLE"
    notes = [Note(text=text, scope=WEB) for text in ("We ship on Fridays", secret, "Ana likes tea")]

    written = await records.put(WRITER, notes)

    by_record = {row.record: row.details for row in await rows(desk)}
    assert ["redactions" in by_record[result.record.id] for result in written] == [False, True, False]


async def test_records_purged_together_are_each_told_of(desk: Desk, records: Records) -> None:
    notes = [Note(text=f"We ship version {n}", scope=("workspace:web", "workspace:api")[n % 2]) for n in range(6)]
    ids = [result.record.id for result in await records.put(WRITER, notes)]

    await records.purge(ADMIN, ids=ids)

    purged = [row.record for row in await rows(desk) if row.action == "record.purge" and row.record]
    assert sorted(purged) == sorted(ids)
    events = await desk.store.events.read_events(6, 100)
    assert sorted((event.news.type, event.news.data["id"]) for event in events) == sorted(
        ("record.purged", id) for id in ids
    )
    assert {(event.news.data["id"], str(event.news.scope)) for event in events} == {
        (id, ("workspace:web", "workspace:api")[n % 2]) for n, id in enumerate(ids)
    }


async def test_no_row_and_no_event_tells_what_a_record_says(desk: Desk, records: Records) -> None:
    note = Note(text="Penelope weaves by day", scope=WEB, key="penelope", metadata={"who": "Penelope"})

    await records.put(WRITER, [note])

    assert "enelope" not in repr(await rows(desk))
    assert "enelope" not in repr(await desk.store.events.read_events(0, 10))


async def test_a_search_leaves_the_hash_of_its_question_and_what_it_found(
    desk: Desk, records: Records, recalling: Recalling
) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    hits = await recalling.search(caller("reader"), Query(text="ship Fridays"))

    assert [hit.record.id for hit in hits] == [written.record.id]
    row = (await rows(desk))[-1]
    assert (row.action, row.details["ids"]) == ("record.search", [written.record.id])
    assert "ridays" not in repr(row)


async def test_a_denial_leaves_a_row_and_changes_nothing(desk: Desk, records: Records) -> None:
    with pytest.raises(Forbidden):
        await records.put(caller("reader"), [Note(text="We ship on Fridays", scope=WEB)])

    [row] = await rows(desk)
    assert (row.action, row.outcome) == ("record.put", "denied")
    assert (await desk.store.records.find(WRITER.tenant, Filter(), "newest", 10, None)).records == ()


async def test_a_refused_secret_leaves_a_row_without_it(desk: Desk, records: Records) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Q\n"

    with pytest.raises(SecretRefused):
        await records.put(WRITER, [Note(text=key, scope=WEB)])

    [row] = await rows(desk)
    assert row.outcome == "refused"
    assert "MIIB" not in repr(row)


async def test_a_change_that_changes_nothing_is_a_row_without_an_event(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB, pinned=True)])

    await records.pin(WRITER, written.record.id, True)

    assert [row.outcome for row in await rows(desk)] == ["ok", "unchanged"]
    assert await types(desk) == ["record.created"]


async def test_the_loser_of_a_race_leaves_a_row_that_says_so(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    with pytest.raises(RecordChanged):
        await records.edit(WRITER, written.record.id, {"text": "Never"}, change=Change(expected=7))

    assert [(row.action, row.outcome) for row in await rows(desk)][-1] == ("record.edit", "failed")


async def test_a_record_that_moves_is_told_of_where_it_was_and_where_it_is(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope="session:7")])

    await records.promote(ADMIN, written.record.id, scope=WEB)

    told = [(event.news.type, str(event.news.scope)) for event in await desk.store.events.read_events(2, 10)]
    assert told == [("record.promoted", "workspace:web"), ("record.left", "session:7")]


async def test_the_undo_of_a_promotion_is_told_of_where_the_record_was_shared(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope="session:7")])
    await records.promote(ADMIN, written.record.id, scope=WEB)

    await records.undo(ADMIN, written.record.id)

    told = [(event.news.type, str(event.news.scope)) for event in await desk.store.events.read_events(4, 10)]
    assert told == [("record.restored", "session:7"), ("record.left", "workspace:web")]


async def test_a_purged_record_is_told_of_where_it_was(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    await records.purge(ADMIN, ids=[written.record.id])

    [event] = await desk.store.events.read_events(1, 10)
    assert (event.news.type, event.news.scope, event.news.admins) == ("record.purged", WEB, False)


async def test_a_purge_leaves_its_ids_in_the_audit_and_nothing_else(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    purged = await records.purge(ADMIN, ids=[written.record.id])

    assert purged.records == 1
    told = [(row.action, row.record) for row in await rows(desk)]
    assert ("record.purge", written.record.id) in told
    assert "record.purged" in await types(desk)


async def test_the_same_request_again_is_answered_and_not_done(desk: Desk, records: Records) -> None:
    once = Idempotency(key="a", fingerprint=b"1" * 32)
    [first] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)], once=once)
    await records.edit(WRITER, first.record.id, {"text": "We ship on Mondays"})

    [again] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)], once=once)

    assert again == first
    assert len((await desk.store.records.find(WRITER.tenant, Filter(), "newest", 10, None)).records) == 1


async def test_an_idempotency_key_is_for_one_request_of_one_caller(desk: Desk, records: Records) -> None:
    once = Idempotency(key="a", fingerprint=b"1" * 32)
    await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)], once=once)

    with pytest.raises(IdempotencyKeyReused):
        await records.put(WRITER, [Note(text="We never ship", scope=WEB)], once=replace(once, fingerprint=b"2" * 32))
    await records.put(caller("writer", name="other"), [Note(text="Another", scope=WEB)], once=once)

    assert len((await desk.store.records.find(WRITER.tenant, Filter(), "newest", 10, None)).records) == 2


async def test_an_idempotency_key_is_forgotten_after_a_day(desk: Desk, records: Records, clock: FakeClock) -> None:
    once = Idempotency(key="a", fingerprint=b"1" * 32)
    await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)], once=once)
    clock.advance(timedelta(days=2))

    await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)], once=once)

    assert len((await desk.store.records.find(WRITER.tenant, Filter(), "newest", 10, None)).records) == 2


async def test_a_change_is_repeated_with_its_answer(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])
    once = Idempotency(key="b", fingerprint=b"1" * 32)
    first = await records.supersede(WRITER, written.record.id, "We ship on Mondays", {}, change=Change(once=once))

    again = await records.supersede(WRITER, written.record.id, "We ship on Mondays", {}, change=Change(once=once))

    assert again == first


async def test_only_a_reviewer_reads_the_audit_and_only_of_what_they_reach(
    desk: Desk, records: Records, keeping: Keeping
) -> None:
    ana = caller("writer", name="ana")
    await records.put(ana, [Note(text="One", scope=WEB), Note(text="Two", scope="user:ana")])

    with pytest.raises(Forbidden):
        await keeping.audit(WRITER, AuditQuery())
    seen = await keeping.audit(caller("reviewer", "user:ana"), AuditQuery(actions=("record.put",)))

    assert [str(row.scope) for row in seen.rows] == ["user:ana"]


async def test_what_is_out_of_reach_is_not_found_and_the_audit_knows_why(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    with pytest.raises(RecordNotFound):
        await records.get(caller("reader", "user:*"), written.record.id)

    assert [row.outcome for row in await rows(desk) if row.action == "record.get"] == ["denied"]


async def test_the_audit_of_a_scoped_reviewer_tells_no_record_out_of_reach_from_one_that_is_not_there(
    desk: Desk, records: Records, keeping: Keeping
) -> None:
    [hidden] = await records.put(ADMIN, [Note(text="Salaries", scope="workspace:web-payroll")])
    absent = "01890000-0000-7000-8000-000000000000"
    scoped = replace(caller("reviewer", "workspace:web"), key="01890000-0000-7000-8000-0000000000aa")
    for id in (hidden.record.id, absent):
        for attempt in (records.get(scoped, id), records.history(scoped, id), records.delete(scoped, id)):
            with pytest.raises(RecordNotFound):
                await attempt

    def shown(row: AuditRow, id: str) -> AuditRow:
        assert row.record == id
        return replace(row, id="", at=clock_zero, record=None)

    clock_zero = desk.clock.now()
    every = (await keeping.audit(scoped, AuditQuery())).rows
    not_found = (await keeping.audit(scoped, AuditQuery(outcomes=("not_found",)))).rows
    denied = (await keeping.audit(scoped, AuditQuery(outcomes=("denied",)))).rows
    of_hidden = [shown(row, hidden.record.id) for row in every if row.record == hidden.record.id]
    of_absent = [shown(row, absent) for row in every if row.record == absent]

    assert len(of_hidden) == 3
    assert of_hidden == of_absent
    assert len(not_found) == 6
    assert denied == ()


async def test_who_reaches_the_record_reads_in_the_audit_that_somebody_was_denied(
    records: Records, keeping: Keeping
) -> None:
    [hidden] = await records.put(ADMIN, [Note(text="Salaries", scope="workspace:web-payroll")])
    with pytest.raises(RecordNotFound):
        await records.get(caller("reviewer", "workspace:web"), hidden.record.id)

    for reviewer in (ADMIN, caller("reviewer", "workspace:web-payroll")):
        [row] = (await keeping.audit(reviewer, AuditQuery(outcomes=("denied",)))).rows
        assert (row.record, row.outcome, str(row.scope)) == (hidden.record.id, "denied", "workspace:web-payroll")
