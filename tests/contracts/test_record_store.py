"""What the port `RecordStore` says of writing, of every store. Listings and purges: `test_record_listing.py`."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from commonplace.errors import Conflict, RecordChanged, RecordNotFound
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store, passages_of
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Lineage, Provenance, Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
WEB = Scope("workspace", "web")
MINUTE = timedelta(minutes=1)
NOWHERE = "01890000-0000-7000-8000-000000000000"


async def everything(store: Store, tenant: str = T) -> list[Record]:
    return list((await store.records.find(tenant, Filter(states=ALL_STATES), "oldest", 10_000, None)).records)


async def put_one(store: Store, draft: Draft) -> Record:
    [written] = await store.records.put([draft])
    return written.record


def revision(record: Record, clock: FakeClock, **changes: Any) -> Draft:
    revised = replace(record, updated_at=clock.now(), change="edited", **changes)
    passages = passages_of(revised.text) if "text" in changes else None
    return Draft(record=revised, passages=passages, expected=record.version)


async def test_a_record_comes_back_as_it_was_put(store: Store, draft: Drafting) -> None:
    when = datetime(2024, 2, 29, 23, 59, 59, 999_000, tzinfo=UTC)
    whole = draft(
        "Grüße, 世界 🦊\n\nsecond passage",
        scope="channel:dingtalk/room: 7",
        tenant="acme/web",
        kind="solution_capsule",
        key="a key: with 'quotes' and %s",
        source="import",
        tags=("b", "a", 'c"d', "e,f", "{}"),
        metadata={"z": 1, "a": [1.5, None, True, {"deep": "ü\u0000"}], "big": 2**60, "float": 0.1, "e": 1e300},
        pinned=True,
        importance=100,
        trust="external_user_supplied",
        visibility="shared",
        at=when,
        expires_at=when + MINUTE,
        session="s-1",
        position=3,
        speaker="Ann",
        provenance=Provenance(run="r", message="m", file="/a b/c.md"),
        actor="me",
        reason="because",
    )

    [written] = await store.records.put([whole])
    [read] = await store.records.get("acme/web", [whole.record.id])

    assert written.outcome == "created"
    assert read == written.record == whole.record
    assert list(read.metadata) == ["z", "a", "big", "float", "e"]
    assert await store.records.history("acme/web", whole.record.id) == [read]


async def test_a_put_of_nothing_writes_nothing(store: Store) -> None:
    assert await store.records.put([]) == []
    assert await store.recall.marks(T, None) == []


async def test_a_key_held_already_makes_the_next_version_with_the_same_id_and_birth(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    first = await put_one(store, draft("deploy with make", key="deploy"))
    clock.advance(MINUTE)

    [written] = await store.records.put([draft("deploy with just", key="deploy", actor="ann")])

    assert written.outcome == "updated"
    assert (written.record.id, written.record.created_at, written.record.version) == (first.id, first.created_at, 2)
    assert (written.record.text, written.record.change) == ("deploy with just", "edited")
    assert written.record.updated_at == clock.now()
    assert await store.records.history(T, first.id) == [first, written.record]


async def test_nothing_is_written_where_nothing_but_the_moment_differs(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    first = await put_one(store, draft("same", key="k", tags=("a",), metadata={"x": 1, "y": 2}))
    [before] = await store.recall.marks(T, [WEB])
    clock.advance(MINUTE)

    again = draft("same", key="k", tags=("a",), metadata={"y": 2, "x": 1}, actor="ann", reason="again")
    [written] = await store.records.put([again])

    assert (written.outcome, written.record) == ("unchanged", first)
    assert await store.records.history(T, first.id) == [first]
    [after] = await store.recall.marks(T, [WEB])
    assert (after.passages, after.terms) == (before.passages, before.terms)


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"deleted_at": datetime(2026, 1, 1, tzinfo=UTC)}, "restored"),
        ({"demoted": True}, "edited"),
        ({"superseded_by": NOWHERE}, "edited"),
    ],
)
async def test_a_record_that_is_not_live_comes_to_life_again_under_its_key(
    store: Store, draft: Drafting, clock: FakeClock, fields: dict[str, Any], change: str
) -> None:
    first = await put_one(store, draft("same text", key="k"))
    [gone] = await store.records.revise([revision(first, clock, **fields)])
    assert gone.state(clock.now()) != "live"

    [written] = await store.records.put([draft("same text", key="k")])

    assert written.outcome == "updated"
    assert (written.record.version, written.record.change) == (3, change)
    assert written.record.state(clock.now()) == "live"
    [mark] = await store.recall.marks(T, [WEB])
    assert (mark.passages, mark.terms) == (1, 2)


async def test_the_same_key_in_another_scope_or_tenant_is_another_record(store: Store, draft: Drafting) -> None:
    written = await store.records.put(
        [draft("a", key="k"), draft("b", key="k", scope="user:ann"), draft("c", key="k", tenant="acme/web")]
    )

    assert [one.outcome for one in written] == ["created"] * 3
    assert len({one.record.id for one in written}) == 3


async def test_two_drafts_of_one_call_with_the_same_key_are_two_versions(store: Store, draft: Drafting) -> None:
    written = await store.records.put([draft("one", key="k"), draft("two", key="k"), draft("two", key="k")])

    assert [(one.outcome, one.record.version) for one in written] == [("created", 1), ("updated", 2), ("unchanged", 2)]
    assert [record.text for record in await store.records.history(T, written[0].record.id)] == ["one", "two"]
    [mark] = await store.recall.marks(T, [WEB])
    assert mark.passages == 1


async def test_a_field_that_the_draft_keeps_stays_as_it_is_held(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("one", key="k", pinned=True, importance=70)])

    kept = replace(draft("two", key="k"), keeps=frozenset({"pinned", "importance"}))
    [written] = await store.records.put([kept])

    assert (written.record.pinned, written.record.importance, written.record.text) == (True, 70, "two")


async def test_a_mark_held_already_writes_nothing_and_returns_the_record_held(store: Store, draft: Drafting) -> None:
    first = await put_one(store, draft("said once", once=b"mark"))

    [again, elsewhere, new] = await store.records.put(
        [draft("said twice", once=b"mark"), draft("there", once=b"mark", scope="user:ann"), draft("x", once=b"other")]
    )

    assert (again.outcome, again.record) == ("unchanged", first)
    assert (elsewhere.outcome, new.outcome) == ("created", "created")
    assert len(await everything(store)) == 3


async def test_a_mark_counts_within_one_call_and_after_its_record_was_deleted(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [first, second] = await store.records.put([draft("said", once=b"mark"), draft("said", once=b"mark")])
    [deleted] = await store.records.revise([revision(first.record, clock, deleted_at=clock.now())])

    [third] = await store.records.put([draft("said", once=b"mark")])

    assert (second.outcome, second.record.id) == ("unchanged", first.record.id)
    assert (third.outcome, third.record) == ("unchanged", deleted)


async def test_a_draft_that_appends_takes_the_place_after_the_last_of_its_session(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    def turn(text: str, session: str = "s", scope: str = "user:ann") -> Draft:
        return replace(draft(text, session=session, scope=scope), appends=True)

    first = await store.records.put([turn("a"), turn("b"), turn("c", session="other"), turn("d", scope="user:bob")])
    await store.records.revise([revision(first[1].record, clock, deleted_at=clock.now())])

    second = await store.records.put([turn("e"), turn("f")])

    assert [one.record.position for one in first] == [0, 1, 0, 0]
    assert [one.record.position for one in second] == [2, 3]
    read = await store.records.get(T, [one.record.id for one in second])
    assert [record.position for record in read] == [2, 3]


@pytest.mark.parametrize("expected", [0, 2])
async def test_a_put_that_expects_another_version_is_refused_and_nothing_of_it_is_written(
    store: Store, draft: Drafting, expected: int
) -> None:
    first = await put_one(store, draft("held", key="k"))

    with pytest.raises(RecordChanged):
        await store.records.put([draft("new", key="fresh"), draft("lost", key="k", expected=expected)])

    assert await everything(store) == [first]
    [mark] = await store.recall.marks(T, [WEB])
    assert mark.passages == 1


async def test_a_put_may_expect_the_version_held_or_that_there_is_none(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("one", key="k", expected=0)])

    [written] = await store.records.put([draft("two", key="k", expected=1)])

    assert written.record.version == 2
    with pytest.raises(RecordChanged):
        await store.records.put([draft("none", key="unknown", expected=1)])


async def test_an_id_taken_by_another_record_is_refused(store: Store, draft: Drafting) -> None:
    first = await put_one(store, draft("one"))

    with pytest.raises(Conflict):
        await store.records.put([draft("fresh"), draft("two", id=first.id)])

    assert await everything(store) == [first]


async def test_thousands_of_drafts_are_one_call_in_order(store: Store, draft: Drafting) -> None:
    drafts = [draft(f"number {n}\n\nand {n % 7}", key=f"k{n % 1_500}", session="s", position=n) for n in range(2_000)]

    written = await store.records.put(drafts)

    assert [one.outcome for one in written] == ["created"] * 1_500 + ["updated"] * 500
    read = await store.records.get(T, [one.record.id for one in written[:1_500]])
    assert [record.text for record in read[:500]] == [one.record.text for one in drafts[1_500:]]
    [mark] = await store.recall.marks(T, [WEB])
    assert (mark.passages, mark.terms) == (3_000, 6_000)


async def test_a_revision_is_the_version_after_the_one_held(store: Store, draft: Drafting, clock: FakeClock) -> None:
    first = await put_one(store, draft("old words", key="k"))
    clock.advance(MINUTE)

    [second] = await store.records.revise([revision(first, clock, text="new words here", pinned=True)])

    assert (second.version, second.created_at, second.updated_at) == (2, first.created_at, clock.now())
    assert await store.records.get(T, [first.id]) == [second]
    assert await store.records.history(T, first.id) == [first, second]
    [mark] = await store.recall.marks(T, [WEB])
    assert (mark.passages, mark.terms) == (1, 3)


async def test_a_revision_without_passages_is_found_as_before(store: Store, draft: Drafting, clock: FakeClock) -> None:
    first = await put_one(store, draft("three little words"))
    [mark] = await store.recall.marks(T, [WEB])
    [before] = (await store.recall.changes(mark, 0, ["test-8"])).entries

    await store.records.revise([revision(first, clock, pinned=True)])

    [after] = (await store.recall.changes(mark, 0, ["test-8"])).entries
    assert after == before._replace(version=2, pinned=True)


async def test_of_two_revisions_of_one_version_the_second_is_refused_and_nothing_of_it_is_written(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [one, other] = [written.record for written in await store.records.put([draft("one"), draft("other")])]
    [second] = await store.records.revise([revision(one, clock, text="first come")])

    with pytest.raises(RecordChanged):
        await store.records.revise([revision(other, clock, text="lost"), revision(one, clock, text="lost too")])

    assert await store.records.get(T, [one.id, other.id]) == [second, other]


async def test_a_revision_of_what_is_not_there_is_refused(store: Store, draft: Drafting, clock: FakeClock) -> None:
    first = await put_one(store, draft("one"))

    for missing in (replace(first, id=NOWHERE), replace(first, tenant="acme/web")):
        with pytest.raises(RecordNotFound):
            await store.records.revise([revision(first, clock, text="lost"), revision(missing, clock)])

    assert await everything(store) == [first]


async def test_a_record_and_the_one_that_supersedes_it_are_written_together(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    old = await put_one(store, draft("we ship on Friday"))
    new = replace(draft("we ship on Monday"), expected=0)

    revised = await store.records.revise([revision(old, clock, superseded_by=new.record.id), new])

    assert [record.version for record in revised] == [2, 1]
    assert await store.records.get(T, [old.id, new.record.id]) == revised
    assert [record.state(clock.now()) for record in revised] == ["superseded", "live"]
    with pytest.raises(RecordChanged):
        await store.records.revise([new])


async def test_a_successor_whose_key_is_taken_is_refused_and_nothing_is_written(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [old, _] = await store.records.put([draft("we ship on Friday", key="ship"), draft("call Ann", key="ann")])
    new = replace(draft("we ship on Monday", key="ann"), expected=0)
    before = await everything(store)

    with pytest.raises(Conflict) as refused:
        await store.records.revise([revision(old.record, clock, superseded_by=new.record.id), new])

    # Nobody changed the record meanwhile: to read it again and to try again would not help.
    assert not isinstance(refused.value, RecordChanged)
    assert await everything(store) == before


async def test_a_record_moves_to_another_scope(store: Store, draft: Drafting, clock: FakeClock) -> None:
    first = await put_one(store, draft("to be shared", key="k", scope="session:s"))

    [moved] = await store.records.revise([revision(first, clock, scope=WEB)])

    assert (moved.id, moved.scope, moved.version) == (first.id, WEB, 2)
    marks = {mark.scope: mark.passages for mark in await store.recall.marks(T, None)}
    assert marks == {first.scope: 0, WEB: 1}
    assert [record.scope for record in await store.records.history(T, first.id)] == [first.scope, WEB]
    [again] = await store.records.put([draft("new", key="k", scope="session:s")])
    assert again.outcome == "created"


async def test_a_record_cannot_move_where_its_key_is_taken(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [mine, _] = await store.records.put([draft("mine", key="k", scope="session:s"), draft("theirs", key="k")])
    before = await everything(store)

    with pytest.raises(Conflict):
        await store.records.revise([revision(mine.record, clock, scope=WEB)])

    assert await everything(store) == before


async def test_a_record_keeps_no_version_older_than_the_one_before(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    first = await put_one(store, draft("one", key="k"))

    early = replace(draft("two", key="k").record, updated_at=first.updated_at - MINUTE)
    [written] = await store.records.put([Draft(record=early, passages=passages_of("two"))])

    assert written.record.updated_at == first.updated_at


def lineage(*versions: Record, once: bytes | None = None) -> Lineage:
    return Lineage(versions, {record.text: passages_of(record.text) for record in versions}, once)


def life(draft: Drafting, versions: int, **fields: Any) -> list[Record]:
    first = draft.record("text 1", **fields)
    later = [
        replace(first, version=n, text=f"text {n}", change="edited", updated_at=first.updated_at + n * MINUTE)
        for n in range(2, versions + 1)
    ]
    return [first, *later]


async def test_whole_lives_are_brought_in_as_they_were(store: Store, draft: Drafting) -> None:
    versions = life(draft, 3, key="k")

    [written] = await store.records.load([lineage(*versions, once=b"mark")])

    assert (written.outcome, written.record) == ("created", versions[-1])
    assert await store.records.history(T, versions[0].id) == versions
    [same] = await store.records.lineages(T, Filter(), None, 10)
    assert (same.versions, same.once) == (tuple(versions), b"mark")
    [marked] = await store.records.put([draft("said again", once=b"mark")])
    assert marked.outcome == "unchanged"
    [mark] = await store.recall.marks(T, [WEB])
    assert (mark.passages, mark.terms) == (1, 2)


async def test_a_life_that_is_here_already_is_left_alone_unless_it_is_longer(store: Store, draft: Drafting) -> None:
    versions = life(draft, 3)
    await store.records.load([lineage(*versions[:2])])

    same = await store.records.load([lineage(*versions[:2]), lineage(versions[0])])
    longer = await store.records.load([lineage(*versions)])

    assert [one.outcome for one in same] == ["unchanged", "unchanged"]
    assert [one.record for one in same] == [versions[1], versions[1]]
    assert [one.outcome for one in longer] == ["updated"]
    assert await store.records.history(T, versions[0].id) == versions
    [mark] = await store.recall.marks(T, [WEB])
    assert mark.passages == 1


async def test_a_longer_life_does_not_replace_versions_that_only_this_store_has(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    elsewhere = life(draft, 3)
    await store.records.load([lineage(elsewhere[0])])
    await store.records.revise([revision(elsewhere[0], clock, text="changed here")])
    before = await everything(store)

    with pytest.raises(Conflict):
        await store.records.load([lineage(*elsewhere)])

    assert await everything(store) == before


@pytest.mark.parametrize("taken", ["key", "mark"])
async def test_a_life_whose_key_or_mark_another_record_holds_is_refused(
    store: Store, draft: Drafting, taken: str
) -> None:
    first = await put_one(store, draft("here", key="k", once=b"mark"))
    stranger = draft.record("stranger", key="k" if taken == "key" else None)

    with pytest.raises(Conflict):
        await store.records.load(
            [lineage(draft.record("fresh")), lineage(stranger, once=b"mark" if taken == "mark" else None)]
        )

    assert await everything(store) == [first]


async def test_a_deleted_life_is_brought_in_deleted(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [first, second] = life(draft, 2)
    gone = replace(second, deleted_at=clock.now(), change="deleted")

    await store.records.load([lineage(first, gone)])

    assert await store.records.get(T, [first.id]) == [gone]
    [mark] = await store.recall.marks(T, [WEB])
    assert (mark.passages, mark.terms) == (0, 0)


async def test_records_are_got_in_the_order_asked_deleted_ones_too(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [a, b] = [written.record for written in await store.records.put([draft("a"), draft("b")])]
    [deleted] = await store.records.revise([revision(a, clock, deleted_at=clock.now())])

    assert await store.records.get(T, [b.id, a.id, b.id]) == [b, deleted, b]
    assert await store.records.get(T, []) == []


@pytest.mark.parametrize("id", [NOWHERE, "no id at all"])
async def test_getting_what_is_not_here_says_so(store: Store, draft: Drafting, id: str) -> None:
    first = await put_one(store, draft("a"))

    with pytest.raises(RecordNotFound):
        await store.records.get(T, [first.id, id])
    with pytest.raises(RecordNotFound):
        await store.records.history(T, id)


async def test_a_tenant_cannot_read_another_tenants_records(store: Store, draft: Drafting) -> None:
    first = await put_one(store, draft("secret", tenant="acme/web"))

    with pytest.raises(RecordNotFound):
        await store.records.get(T, [first.id])
    with pytest.raises(RecordNotFound):
        await store.records.history(T, first.id)
    assert await everything(store) == []
    assert await store.recall.marks(T, None) == []


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
async def test_one_record_in_two_tenants_has_two_histories(store: Store, draft: Drafting, clock: FakeClock) -> None:
    """As after an export of one was loaded into the other. One SQLite file refuses that."""
    lives: dict[str, list[Record]] = {}
    for tenant in (T, "acme/web"):
        first = draft.record(f"first in {tenant}", id=NOWHERE, tenant=tenant)
        second = replace(first, text=f"second in {tenant}", version=2, change="edited")
        await store.records.load([Lineage(versions=(first, second), passages={second.text: passages_of(second.text)})])
        lives[tenant] = [first, second]
        clock.advance(MINUTE)

    for tenant, life in lives.items():
        assert await store.records.history(tenant, NOWHERE) == life
        assert await store.records.get(tenant, [NOWHERE]) == life[-1:]
        [lineage] = await store.records.lineages(tenant, Filter(states=ALL_STATES), None, 10)
        assert list(lineage.versions) == life


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
async def test_a_purge_in_one_tenant_leaves_the_same_id_in_another(store: Store, draft: Drafting) -> None:
    for tenant in (T, "acme/web"):
        await store.records.load(
            [
                Lineage(
                    versions=(draft.record("both", id=NOWHERE, tenant=tenant),), passages={"both": passages_of("both")}
                )
            ]
        )

    await store.records.purge(T, [Filter(ids=(NOWHERE,), states=ALL_STATES)])

    assert await everything(store) == []
    assert [record.id for record in await everything(store, "acme/web")] == [NOWHERE]
