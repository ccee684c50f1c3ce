"""What happens to a record after it was written."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from commonplace.errors import (
    Conflict,
    InvalidImportance,
    InvalidInput,
    InvalidText,
    NothingToUndo,
    RecordChanged,
    RecordNotFound,
    SecretRefused,
)
from commonplace.memory.lifecycle import Lifecycle, bury
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.note import Note
from commonplace.values.query import Filter, Query
from commonplace.values.record import Draft, Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio
WEB = Scope("workspace", "web")


async def put(writer: Writer, text: str, **fields: Any) -> Record:
    told: dict[str, Any] = {"scope": WEB, **fields}
    return (await writer.put([Note(text=text, **told)]))[0].record


async def found(recall: Recall, text: str, scope: Scope = WEB) -> list[str]:
    return [hit.record.text for hit in await recall.search(Query(text=text, filter=Filter(scopes=(scope,))))]


async def test_an_edit_is_found_by_its_new_words_only(writer: Writer, lifecycle: Lifecycle, recall: Recall) -> None:
    record = await put(writer, "deploy with the old lorry")

    edited = await lifecycle.edit(record.id, {"text": "deploy with the new drone"}, reason="it flies now")

    assert (edited.version, edited.change, edited.actor, edited.reason) == (2, "edited", "ada", "it flies now")
    assert await found(recall, "drone") == ["deploy with the new drone"]
    assert await found(recall, "lorry") == []


async def test_an_edit_that_changes_nothing_writes_nothing(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(writer, "water boils at 100 degrees", tags=("physics",), importance=5)

    same = await lifecycle.edit(record.id, {"text": record.text, "tags": ["physics"], "importance": 5, "kind": None})

    assert same == record


async def test_an_edit_names_what_it_empties(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(
        writer, "a fact", key="fact", tags=("a",), metadata={"b": 1}, at=datetime(2026, 1, 1, tzinfo=UTC)
    )

    emptied = await lifecycle.edit(record.id, {}, clear=["key", "tags", "metadata", "at"])

    assert (emptied.key, emptied.tags, emptied.metadata, emptied.at) == (None, (), {}, None)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"text": ""}, InvalidText),
        ({"text": "a\0b"}, InvalidText),
        ({"importance": 101}, InvalidImportance),
        ({"importance": "high"}, InvalidImportance),
        ({"trust": "blind"}, InvalidInput),
        ({"at": "yesterday"}, InvalidInput),
        ({"tags": "one"}, InvalidInput),
        ({"version": 7}, InvalidInput),
        ({"text": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"}, SecretRefused),
    ],
)
async def test_an_edit_that_cannot_be_kept_changes_nothing(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore, changes: Any, error: type[Exception]
) -> None:
    record = await put(writer, "a fact")

    with pytest.raises(error):
        await lifecycle.edit(record.id, changes)

    assert await store.records.get(DEFAULT_TENANT, [record.id]) == [record]


async def test_an_edit_scrubs_secrets_and_says_so(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(writer, "how to reach the API")

    edited = await lifecycle.edit(record.id, {"text": "use api_key = 9f8e7d6c5b4a3210 there"})
    again = await lifecycle.edit(record.id, {"text": "use the vault"})

    assert "9f8e7d6c5b4a3210" not in edited.text
    assert edited.metadata == {"redactions": 1}
    assert again.metadata == {}


async def test_a_pin_is_a_version_and_pinning_twice_is_not(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(writer, "a fact")

    pinned = await lifecycle.pin(record.id)
    again = await lifecycle.pin(record.id)
    unpinned = await lifecycle.pin(record.id, pinned=False)

    assert [one.change for one in (pinned, again, unpinned)] == ["pinned", "pinned", "unpinned"]
    assert [one.version for one in (pinned, again, unpinned)] == [2, 2, 3]


async def test_what_is_deleted_is_not_found_until_it_is_undone(
    writer: Writer, lifecycle: Lifecycle, recall: Recall
) -> None:
    record = await put(writer, "the cellar key hangs behind the door")

    deleted = await lifecycle.delete(record.id, reason="moved")
    gone = await found(recall, "cellar key")
    restored = await lifecycle.undo(record.id)

    assert deleted.deleted_at is not None
    assert (gone, await found(recall, "cellar key")) == ([], [record.text])
    assert (restored.version, restored.change, restored.restores, restored.deleted_at) == (3, "restored", 1, None)


async def test_undo_walks_back_one_change_at_a_time(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(writer, "one")
    for text in ("two", "three"):
        await lifecycle.edit(record.id, {"text": text})

    walked = [(await lifecycle.undo(record.id)).text for _ in range(2)]

    assert walked == ["two", "one"]
    with pytest.raises(NothingToUndo):
        await lifecycle.undo(record.id)


async def test_an_edit_after_an_undo_is_undone_to_where_the_undo_led(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(writer, "one")
    await lifecycle.edit(record.id, {"text": "two"})
    await lifecycle.undo(record.id)
    await lifecycle.edit(record.id, {"text": "three"})

    restored = await lifecycle.undo(record.id)

    assert (restored.text, restored.restores) == ("one", 1)


async def test_a_promotion_shares_a_record_under_its_id(writer: Writer, lifecycle: Lifecycle, recall: Recall) -> None:
    record = await put(writer, "reviews within a day", scope="agent:scout", key="reviews")
    await lifecycle.demote(record.id)

    promoted = await lifecycle.promote(record.id, scope=WEB, reason="useful to all")

    assert (promoted.id, promoted.scope, promoted.visibility, promoted.demoted) == (record.id, WEB, "shared", False)
    assert await found(recall, "reviews") == [record.text]
    assert await found(recall, "reviews", Scope("agent", "scout")) == []


async def test_an_undone_promotion_goes_back_to_its_scope(writer: Writer, lifecycle: Lifecycle, recall: Recall) -> None:
    record = await put(writer, "reviews within a day", scope="agent:scout")
    await lifecycle.promote(record.id, scope=WEB)

    restored = await lifecycle.undo(record.id)

    assert (restored.scope, restored.visibility) == (record.scope, "private")
    assert await found(recall, "reviews") == []


async def test_a_promotion_scrubs_more_strictly_than_a_write(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore
) -> None:
    # Written by an older version, before this form was known: the scrub of a write would have redacted it.
    record = await put(writer, "a fact", scope="agent:scout")
    leaked = Draft(
        record=Record(
            id=record.id, scope=record.scope, text="token ghp_abcdefghijklmnopqrstuvwxyz0123456789", version=2,
            created_at=record.created_at, updated_at=record.updated_at,
        ),
        passages=(), expected=1,
    )  # fmt: skip
    await store.records.revise([leaked])

    with pytest.raises(SecretRefused):
        await lifecycle.promote(record.id, scope=WEB)

    assert (await store.records.get(DEFAULT_TENANT, [record.id]))[0].version == 2


async def test_a_promotion_to_a_scope_that_has_the_key_is_refused(writer: Writer, lifecycle: Lifecycle) -> None:
    await put(writer, "the team's way", key="deploy")
    record = await put(writer, "the agent's way", scope="agent:scout", key="deploy")

    with pytest.raises(Conflict) as refused:
        await lifecycle.promote(record.id, scope=WEB)

    assert refused.value.code == "conflict"
    assert refused.value.details["key"] == "deploy"


async def test_what_is_demoted_is_kept_and_not_searched(writer: Writer, lifecycle: Lifecycle, recall: Recall) -> None:
    record = await put(writer, "an old habit", visibility="shared")

    demoted = await lifecycle.demote(record.id)

    assert (demoted.visibility, demoted.demoted) == ("private", True)
    assert await found(recall, "habit") == []


async def test_a_successor_takes_the_key_and_the_place(writer: Writer, lifecycle: Lifecycle, recall: Recall) -> None:
    record = await put(writer, "we ship on Fridays", key="day", importance=70, tags=("release",))

    heir = await lifecycle.supersede(record.id, "we ship on Mondays", {"importance": 90})

    assert (heir.version, heir.key, heir.importance, heir.tags) == (1, "day", 90, ("release",))
    assert await found(recall, "ship") == ["we ship on Mondays"]


async def test_what_is_superseded_names_its_successor_and_cannot_be_superseded_again(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore
) -> None:
    record = await put(writer, "we ship on Fridays")

    heir = await lifecycle.supersede(record.id, "we ship on Mondays")

    (old,) = await store.records.get(DEFAULT_TENANT, [record.id])
    assert (old.superseded_by, old.change) == (heir.id, "superseded")
    with pytest.raises(Conflict):
        await lifecycle.supersede(record.id, "we ship on Tuesdays")


async def test_an_undone_supersession_takes_the_key_back_and_deletes_the_successor(
    writer: Writer, lifecycle: Lifecycle, recall: Recall, store: SqliteStore
) -> None:
    record = await put(writer, "we ship on Fridays", key="day")
    heir = await lifecycle.supersede(record.id, "we ship on Mondays")

    restored = await lifecycle.undo(record.id)

    [gone] = await store.records.get(DEFAULT_TENANT, [heir.id])
    assert (restored.key, restored.superseded_by) == ("day", None)
    assert (gone.change, gone.key) == ("deleted", None)
    assert await found(recall, "ship") == ["we ship on Fridays"]


async def test_an_undone_supersession_leaves_a_successor_that_was_superseded_itself(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore
) -> None:
    record = await put(writer, "we ship on Fridays")
    heir = await lifecycle.supersede(record.id, "we ship on Mondays")
    await lifecycle.supersede(heir.id, "we ship on Tuesdays")

    await lifecycle.undo(record.id)

    [between] = await store.records.get(DEFAULT_TENANT, [heir.id])
    assert between.deleted_at is None


async def test_a_record_is_found_until_it_expires(
    writer: Writer, lifecycle: Lifecycle, recall: Recall, clock: FakeClock
) -> None:
    record = await put(writer, "the office is closed this week")

    await lifecycle.expire(record.id, clock.now() + timedelta(days=7))
    before = await found(recall, "office")
    clock.advance(timedelta(days=8))

    assert (before, await found(recall, "office")) == ([record.text], [])


async def test_the_second_of_two_writers_who_saw_the_same_version_is_refused(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore
) -> None:
    record = await put(writer, "a fact")
    await lifecycle.edit(record.id, {"text": "theirs"}, expected=1)

    with pytest.raises(RecordChanged):
        await lifecycle.edit(record.id, {"text": "mine"}, expected=1)

    assert [one.text for one in await store.records.history(DEFAULT_TENANT, record.id)] == ["a fact", "theirs"]


async def test_writers_without_an_expectation_all_succeed_and_none_is_lost(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore
) -> None:
    record = await put(writer, "a fact")

    await asyncio.gather(*(lifecycle.edit(record.id, {"importance": n}) for n in range(1, 13)))

    history = await store.records.history(DEFAULT_TENANT, record.id)
    assert [one.version for one in history] == list(range(1, 14))
    assert sorted(one.importance for one in history) == list(range(13))


async def test_a_deleted_record_is_not_changed(writer: Writer, lifecycle: Lifecycle) -> None:
    record = await put(writer, "a fact")
    await lifecycle.delete(record.id)

    for refused in (
        lifecycle.edit(record.id, {"text": "another"}),
        lifecycle.pin(record.id),
        lifecycle.promote(record.id),
        lifecycle.demote(record.id),
        lifecycle.supersede(record.id, "another"),
        lifecycle.expire(record.id),
    ):
        with pytest.raises(Conflict):
            await refused
    assert (await lifecycle.delete(record.id)).version == 2


async def test_a_record_that_is_not_there_is_not_found(lifecycle: Lifecycle) -> None:
    with pytest.raises(RecordNotFound):
        await lifecycle.pin("01890000-0000-7000-8000-000000000000")


async def test_a_burial_spares_what_somebody_changed_meanwhile(
    writer: Writer, lifecycle: Lifecycle, store: SqliteStore, clock: FakeClock
) -> None:
    records: Sequence[Record] = [await put(writer, f"fact {n}") for n in range(5)]
    await lifecycle.edit(records[2].id, {"text": "still needed"})

    buried = await bury(store.records, records, change="deleted", now=clock.now(), actor=None, reason="spring cleaning")

    page = await store.records.find(DEFAULT_TENANT, Filter(scopes=(WEB,)), "newest", 10, None)
    assert buried == 4
    assert [one.text for one in page.records] == ["still needed"]


async def test_a_clock_that_went_back_does_not_make_a_version_older_than_the_one_before(
    writer: Writer, store: SqliteStore, preparer: Preparer, clock: FakeClock
) -> None:
    record = await put(writer, "a fact")
    behind = Lifecycle(store.records, preparer, FakeClock(clock.now() - timedelta(hours=1)), DEFAULT_TENANT)

    edited = await behind.edit(record.id, {"text": "another"})

    assert edited.updated_at == record.updated_at
