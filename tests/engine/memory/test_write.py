"""Writing twice is writing once, a batch is all or nothing, and turns keep their order."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.errors import CommonplaceError, InvalidText, RecordChanged, SecretRefused
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter, Query
from commonplace.values.record import Draft, Json, Record, Turn
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.turn_options import TurnOptions

pytestmark = pytest.mark.anyio

ANY = Filter(states=ALL_STATES)
STANDUP = TurnOptions(session="standup", scope="workspace:web")
# Put together here, so that no scanner takes this file for a leak.
PRIVATE_KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA " + "PRIVATE KEY-----"


async def held(store: SqliteStore, filter: Filter = ANY) -> list[Record]:
    return list((await store.records.find(DEFAULT_TENANT, filter, "position", 1_000, None)).records)


def turn(text: str, speaker: str = "ana") -> Turn:
    return Turn(speaker=speaker, text=text)


async def delete(store: SqliteStore, record: Record, clock: FakeClock) -> None:
    gone = replace(record, deleted_at=clock.now(), change="deleted")
    await store.records.revise([Draft(record=gone, expected=record.version)])


# ---- by key


async def test_the_same_note_under_a_key_is_written_once(writer: Writer, store: SqliteStore, clock: FakeClock) -> None:
    note = Note(text="Ship on Fridays", key="ship", tags=("ops",), metadata={"a": 1})
    (first,) = await writer.put([note])
    clock.advance(timedelta(days=1))

    (again,) = await writer.put([note])

    assert (first.outcome, again.outcome) == ("created", "unchanged")
    assert again.record == first.record
    assert len(await held(store)) == 1


async def test_a_changed_fact_under_a_key_is_the_next_version(
    writer: Writer, store: SqliteStore, recall: Recall, clock: FakeClock
) -> None:
    (first,) = await writer.put([Note(text="Ship on Fridays", key="ship")])
    clock.advance(timedelta(days=1))

    (second,) = await writer.put([Note(text="Ship on Mondays", key="ship")])

    assert (second.outcome, second.record.version, second.record.id) == ("updated", 2, first.record.id)
    assert (second.record.created_at, second.record.updated_at) == (first.record.created_at, clock.now())
    assert [one.text for one in await store.records.history(DEFAULT_TENANT, first.record.id)] == [
        "Ship on Fridays",
        "Ship on Mondays",
    ]
    assert await recall.search(Query(text="Fridays", mode="words")) == []


async def test_two_notes_of_one_batch_under_one_key_are_two_versions(writer: Writer, store: SqliteStore) -> None:
    written = await writer.put([Note(text="One", key="k"), Note(text="Two", key="k"), Note(text="Two", key="k")])

    assert [(one.outcome, one.record.version) for one in written] == [("created", 1), ("updated", 2), ("unchanged", 2)]
    assert [record.text for record in await held(store)] == ["Two"]


async def test_a_key_belongs_to_its_scope(writer: Writer) -> None:
    written = await writer.put([Note(text="One", key="k"), Note(text="One", key="k", scope="user:ana")])

    assert [one.outcome for one in written] == ["created", "created"]


async def test_a_note_that_says_nothing_of_pin_and_importance_keeps_them(writer: Writer) -> None:
    await writer.put([Note(text="One", key="k", pinned=True, importance=70)])

    (silent,) = await writer.put([Note(text="Two", key="k")])
    (spoken,) = await writer.put([Note(text="Three", key="k", pinned=False, importance=0)])

    assert (silent.record.pinned, silent.record.importance) == (True, 70)
    assert (spoken.record.pinned, spoken.record.importance) == (False, 0)


async def test_a_note_that_names_no_kind_leaves_the_kind_under_its_key(writer: Writer) -> None:
    (first,) = await writer.put([Note(text="One", key="k", kind="solution_capsule")])
    (silent,) = await writer.put([Note(text="Two", key="k")])
    (spoken,) = await writer.put([Note(text="Three", key="k", kind="note")])
    (new,) = await writer.put([Note(text="Four", key="l")])

    kinds = [written.record.kind for written in (first, silent, spoken, new)]
    assert kinds == ["solution_capsule", "solution_capsule", "note", "note"]


async def test_a_new_note_is_neither_pinned_nor_important(writer: Writer) -> None:
    (written,) = await writer.put([Note(text="One", key="k")])

    assert (written.record.pinned, written.record.importance) == (False, 0)


async def test_a_deleted_record_comes_back_under_its_key(writer: Writer, store: SqliteStore, clock: FakeClock) -> None:
    (written,) = await writer.put([Note(text="One", key="k")])
    await delete(store, written.record, clock)

    (again,) = await writer.put([Note(text="One", key="k")])

    assert (again.outcome, again.record.version, again.record.change) == ("updated", 3, "restored")
    assert again.record.deleted_at is None


# ---- turns


async def test_a_telling_that_is_repeated_doubles_nothing(writer: Writer, store: SqliteStore, clock: FakeClock) -> None:
    said = [turn("Hello"), turn("Hi", "ben"), turn("Hello"), turn("Hello")]
    first = await writer.add_turns(STANDUP, said)
    clock.advance(timedelta(minutes=1))

    again = await writer.add_turns(STANDUP, said)

    assert [one.outcome for one in first] == ["created"] * 4
    assert [one.outcome for one in again] == ["unchanged"] * 4
    assert [one.record for one in again] == [one.record for one in first]
    assert [(one.text, one.position) for one in await held(store)] == [
        ("Hello", 0),
        ("Hi", 1),
        ("Hello", 2),
        ("Hello", 3),
    ]


async def test_a_telling_that_goes_on_adds_only_what_is_new(writer: Writer, store: SqliteStore) -> None:
    await writer.add_turns(STANDUP, [turn("One"), turn("Two")])

    written = await writer.add_turns(STANDUP, [turn("One"), turn("Two"), turn("Three")])

    assert [(one.outcome, one.record.position) for one in written] == [
        ("unchanged", 0),
        ("unchanged", 1),
        ("created", 2),
    ]


async def test_another_time_speaker_session_or_scope_is_another_turn(
    writer: Writer, store: SqliteStore, clock: FakeClock
) -> None:
    at = clock.now()
    await writer.add_turns(STANDUP, [Turn(speaker="ana", text="Yes", at=at)])
    others = [
        (STANDUP, Turn(speaker="ana", text="Yes", at=at + timedelta(seconds=1))),
        (STANDUP, Turn(speaker="ben", text="Yes", at=at)),
        (replace(STANDUP, session="retro"), Turn(speaker="ana", text="Yes", at=at)),
        (replace(STANDUP, scope="user:ana"), Turn(speaker="ana", text="Yes", at=at)),
    ]

    outcomes = [(await writer.add_turns(telling, [said]))[0].outcome for telling, said in others]

    assert outcomes == ["created"] * 4


async def test_secrets_in_metadata_are_taken_out_too(writer: Writer) -> None:
    told: dict[str, Json] = {"seen": ["ok", "Authorization: Bearer abcdefghijklmnop123456"]}

    [written] = await writer.put([Note(text="how we call it", metadata=told)])

    assert "abcdefghijklmnop123456" not in str(written.record.metadata)
    assert written.record.metadata["redactions"] == 1


async def test_secrets_in_the_names_of_metadata_are_taken_out_and_no_field_is_lost(writer: Writer) -> None:
    first, second = "ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9
    told: dict[str, Any] = {first: 1, "deep": [{second: "x", first: "y"}], "[redacted:github_token]": 3, second: 2}

    [written] = await writer.put([Note(text="which key is for what", metadata=told)])

    metadata = written.record.metadata
    assert first not in str(metadata)
    assert second not in str(metadata)
    assert metadata["redactions"] == 4
    assert sorted(str(value) for value in metadata.values() if isinstance(value, int)) == ["1", "2", "3", "4"]
    assert metadata["deep"] == [{"[redacted:github_token]": "x", "[redacted:github_token] 2": "y"}]


async def test_without_a_time_the_message_tells_two_turns_apart(writer: Writer, store: SqliteStore) -> None:
    first = Turn(speaker="ana", text="Yes", message="m1")
    await writer.add_turns(STANDUP, [first])

    [retried] = await writer.add_turns(STANDUP, [first])
    [again] = await writer.add_turns(STANDUP, [Turn(speaker="ana", text="Yes", message="m2")])

    assert (retried.outcome, again.outcome) == ("unchanged", "created")


async def test_a_turn_that_was_deleted_is_not_told_back_into_life(
    writer: Writer, store: SqliteStore, clock: FakeClock
) -> None:
    (written,) = await writer.add_turns(STANDUP, [turn("Forget this")])
    await delete(store, written.record, clock)

    (again,) = await writer.add_turns(STANDUP, [turn("Forget this")])

    assert (again.outcome, again.record.deleted_at) == ("unchanged", clock.now())


async def test_turns_keep_their_order_across_calls_and_sessions(writer: Writer, store: SqliteStore) -> None:
    other = replace(STANDUP, session="retro")

    for n in range(4):
        await writer.add_turns(STANDUP, [turn(f"first of {n}"), turn(f"second of {n}", "ben")])
        await writer.add_turns(other, [turn(f"only of {n}")])

    standup = await held(store, Filter(sessions=("standup",)))
    assert [one.position for one in standup] == list(range(8))
    assert [one.text for one in standup] == [f"{place} of {n}" for n in range(4) for place in ("first", "second")]
    assert [one.position for one in await held(store, Filter(sessions=("retro",)))] == list(range(4))


async def test_tellings_at_the_same_time_never_share_a_place(writer: Writer, store: SqliteStore) -> None:
    tellings = [[turn(f"{n} says {word}") for word in ("one", "two", "three")] for n in range(8)]

    await asyncio.gather(*(writer.add_turns(STANDUP, said) for said in tellings))

    told = await held(store)
    assert [one.position for one in told] == list(range(24))
    for n in range(8):
        mine = [one.position for one in told if one.text.startswith(f"{n} ")]
        assert mine == list(range(mine[0] or 0, (mine[0] or 0) + 3))


async def test_a_turn_is_a_record_of_its_own_with_all_it_was_told_with(writer: Writer, clock: FakeClock) -> None:
    telling = replace(STANDUP, source="slack", tags=("daily",), trust="external_user_supplied")
    said = Turn(speaker="ana", text="Done", at=clock.now(), message="m-7", metadata={"mood": "good"})

    (written,) = await writer.add_turns(telling, [said], actor="bot")

    record = written.record
    assert (record.kind, record.session, record.speaker, record.at) == ("turn", "standup", "ana", clock.now())
    assert (record.source, record.tags, record.trust, record.actor) == (
        "slack",
        ("daily",),
        "external_user_supplied",
        "bot",
    )
    assert (record.provenance.message, record.metadata) == ("m-7", {"mood": "good"})


async def test_no_turns_are_no_work(writer: Writer, store: SqliteStore) -> None:
    assert await writer.add_turns(STANDUP, []) == []
    assert await writer.put([]) == []
    assert await held(store) == []


# ---- near-duplicates

BIRD = "The kingfisher nests in the steep bank behind the old mill every spring"


async def test_a_near_duplicate_is_dropped_only_when_asked(writer: Writer, store: SqliteStore) -> None:
    (first,) = await writer.put([Note(text=BIRD)])

    (dropped,) = await writer.put([Note(text=f"{BIRD}!")], dedupe="near")
    (kept,) = await writer.put([Note(text=f"{BIRD}!")])

    assert (dropped.outcome, dropped.record) == ("unchanged", first.record)
    assert kept.outcome == "created"
    assert len(await held(store)) == 2


async def test_what_is_only_similar_is_kept(writer: Writer) -> None:
    await writer.put([Note(text=BIRD)])

    (written,) = await writer.put([Note(text="The kingfisher nests behind the church in autumn")], dedupe="near")

    assert written.outcome == "created"


async def test_near_duplicates_are_looked_for_in_their_scope_and_among_the_living(
    writer: Writer, store: SqliteStore, clock: FakeClock
) -> None:
    (elsewhere,) = await writer.put([Note(text=BIRD, scope="user:ana")])
    (deleted,) = await writer.put([Note(text=BIRD)])
    await delete(store, deleted.record, clock)

    (written,) = await writer.put([Note(text=BIRD)], dedupe="near")

    assert written.outcome == "created"
    assert written.record.id not in {elsewhere.record.id, deleted.record.id}


async def test_what_has_expired_does_not_stand_for_a_new_note(writer: Writer, clock: FakeClock) -> None:
    (expired,) = await writer.put([Note(text=BIRD, expires_at=clock.now() + timedelta(days=1))])
    clock.advance(timedelta(days=2))

    (written,) = await writer.put([Note(text=BIRD)], dedupe="near")

    assert (written.outcome, written.record.id != expired.record.id) == ("created", True)


async def test_a_note_with_a_key_is_never_dropped(writer: Writer) -> None:
    await writer.put([Note(text=BIRD)])

    (written,) = await writer.put([Note(text=BIRD, key="bird")], dedupe="near")

    assert (written.outcome, written.record.key) == ("created", "bird")


async def test_near_duplicates_of_one_batch_are_one_record(writer: Writer, store: SqliteStore) -> None:
    notes = [Note(text=BIRD), Note(text=f"{BIRD}."), Note(text="Something else"), Note(text=f"{BIRD}!")]

    written = await writer.put(notes, dedupe="near")

    assert [one.outcome for one in written] == ["created", "unchanged", "created", "unchanged"]
    assert [one.record.id for one in written] == [written[n].record.id for n in (0, 0, 2, 0)]
    assert len(await held(store)) == 2


async def test_the_twin_of_a_note_under_a_held_key_is_the_record_that_note_became(
    writer: Writer, store: SqliteStore
) -> None:
    (before,) = await writer.put([Note(text="Nothing is known of birds", key="bird")])

    keyed, twin = await writer.put([Note(text=BIRD, key="bird"), Note(text=f"{BIRD}.")], dedupe="near")

    assert keyed.record.id == before.record.id
    assert (twin.outcome, twin.record) == ("unchanged", keyed.record)
    assert len(await held(store)) == 1


async def test_a_near_duplicate_is_found_beyond_the_newest_hundred(writer: Writer) -> None:
    (old,) = await writer.put([Note(text=BIRD)])
    await writer.put([Note(text=f"Entry {n} of the parish register, volume {n % 7}") for n in range(150)])

    (written,) = await writer.put([Note(text=f"{BIRD} .")], dedupe="near")

    assert (written.outcome, written.record.id) == ("unchanged", old.record.id)


# ---- secrets


async def test_a_secret_is_taken_out_and_the_record_says_so(writer: Writer, recall: Recall) -> None:
    secret = "hunter2-is-not-a-good-one"

    (written,) = await writer.put([Note(text=f"The database password={secret} is in the vault", metadata={"a": 1})])

    assert secret not in written.record.text
    assert written.record.metadata == {"a": 1, "redactions": 1}
    assert await recall.search(Query(text="hunter2", mode="words")) == []


async def test_a_private_key_is_refused_and_takes_its_batch_with_it(writer: Writer, store: SqliteStore) -> None:
    await writer.put([Note(text="Before", key="k")])
    before = await held(store)

    with pytest.raises(SecretRefused):
        await writer.put([Note(text="After", key="k"), Note(text=PRIVATE_KEY)])
    with pytest.raises(SecretRefused):
        await writer.add_turns(STANDUP, [turn("Here it comes"), turn(PRIVATE_KEY)])

    assert await held(store) == before


# ---- all or nothing


@pytest.mark.parametrize("bad", [Note(text=""), Note(text="x", key=""), Note(text="x", importance=101)])
async def test_one_bad_note_and_nothing_of_its_batch_is_kept(writer: Writer, store: SqliteStore, bad: Note) -> None:
    with pytest.raises(CommonplaceError):
        await writer.put([Note(text="Good"), bad, Note(text="Good too")])

    assert await held(store) == []


async def test_one_note_that_comes_too_late_and_nothing_of_its_batch_is_kept(
    writer: Writer, store: SqliteStore, recall: Recall
) -> None:
    await writer.put([Note(text="Held", key="k"), Note(text="Other", key="other")])
    before = await held(store)
    batch = [
        Note(text="A new record"),
        Note(text="Changed", key="other"),
        Note(text="Too late", key="k", expected=0),
        Note(text="Never reached"),
    ]

    for dedupe in (None, "near"):
        with pytest.raises(RecordChanged):
            await writer.put(batch, dedupe=dedupe)

    assert await held(store) == before
    assert await recall.search(Query(text="changed record", mode="words")) == []
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []


async def test_a_bad_turn_and_nothing_of_its_telling_is_kept(writer: Writer, store: SqliteStore) -> None:
    with pytest.raises(InvalidText):
        await writer.add_turns(STANDUP, [turn("One"), turn("  "), turn("Three")])

    (written,) = await writer.add_turns(STANDUP, [turn("One")])
    assert written.record.position == 0
    assert len(await held(store)) == 1
