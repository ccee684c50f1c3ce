"""What is kept beside a write, a denial and a search: audit rows, events, replies."""

from dataclasses import replace
from datetime import timedelta

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


async def types(desk: Desk) -> list[str]:
    return [event.news.type for event in await desk.store.events.read_events(0, 100)]


async def test_a_write_leaves_an_audit_row_and_an_event(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    [row] = await rows(desk)
    assert (row.actor, row.action, row.outcome, row.record) == ("writer", "record.put", "ok", written.record.id)
    assert (row.scope, row.version, row.address) == (WEB, 1, "127.0.0.1")
    [event] = await desk.store.events.read_events(0, 10)
    assert (event.news.type, event.news.scope, event.news.data["id"]) == ("record.created", WEB, written.record.id)


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

    told = [(event.news.type, str(event.news.scope)) for event in await desk.store.events.read_events(1, 10)]
    assert told == [("record.promoted", "workspace:web"), ("record.left", "session:7")]


async def test_the_undo_of_a_promotion_is_told_of_where_the_record_was_shared(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope="session:7")])
    await records.promote(ADMIN, written.record.id, scope=WEB)

    await records.undo(ADMIN, written.record.id)

    told = [(event.news.type, str(event.news.scope)) for event in await desk.store.events.read_events(3, 10)]
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
    await records.put(WRITER, [Note(text="One", scope=WEB), Note(text="Two", scope="user:ana")])

    with pytest.raises(Forbidden):
        await keeping.audit(WRITER, AuditQuery())
    seen = await keeping.audit(caller("reviewer", "user:ana"), AuditQuery(actions=("record.put",)))

    assert [str(row.scope) for row in seen.rows] == ["user:ana"]


async def test_what_is_out_of_reach_is_not_found_and_the_audit_knows_why(desk: Desk, records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="We ship on Fridays", scope=WEB)])

    with pytest.raises(RecordNotFound):
        await records.get(caller("reader", "user:*"), written.record.id)

    assert [row.outcome for row in await rows(desk) if row.action == "record.get"] == ["denied"]
