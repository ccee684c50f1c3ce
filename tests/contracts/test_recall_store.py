"""What the port `RecallStore` says, of every store."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.ports.recall import Entry, Mark
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import EMBEDDER, Drafting, Store, passages_of, vector_of
from commonplace.text.postings import term_hash
from commonplace.values.moment import to_ms
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
WEB, ANN = Scope("workspace", "web"), Scope("user", "ann")
MINUTE = timedelta(minutes=1)


async def mark_of(store: Store, scope: Scope = WEB) -> Mark:
    [mark] = await store.recall.marks(T, [scope])
    return mark


async def put_one(store: Store, draft: Draft) -> Record:
    [written] = await store.records.put([draft])
    return written.record


async def texts_of(store: Store, entries: list[Entry]) -> list[str]:
    """The stretches of text that entries stand for, sorted."""
    records = await store.recall.fetch([(entry.record, entry.version) for entry in entries])
    pairs = zip(records, entries, strict=True)
    return sorted(record.text[entry.start : entry.stop] if record else "?" for record, entry in pairs)


def edit(record: Record, clock: FakeClock, **changes: Any) -> Draft:
    edited = replace(record, updated_at=clock.now(), **changes)
    passages = passages_of(edited.text) if "text" in changes else None
    return Draft(record=edited, passages=passages, expected=record.version)


async def test_a_scope_never_written_to_has_no_mark(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a", scope=ANN)])

    assert await store.recall.marks(T, [WEB]) == []
    assert [mark.scope for mark in await store.recall.marks(T, [WEB, ANN])] == [ANN]
    assert await store.recall.marks(T, []) == []
    assert await store.recall.marks("acme/web", None) == []


async def test_marks_of_all_scopes_are_those_of_the_tenant(store: Store, draft: Drafting) -> None:
    await store.records.put(
        [draft("a"), draft("b", scope=ANN), draft("c", scope="global"), draft("d", tenant="acme/web")]
    )

    marks = await store.recall.marks(T, None)

    assert {mark.scope for mark in marks} == {WEB, ANN, Scope("global")}
    assert len({mark.number for mark in marks}) == 3


async def test_each_write_to_a_scope_raises_its_seq_and_no_other(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("a"), draft("b", scope=ANN)])
    before, other = await mark_of(store), await mark_of(store, ANN)

    await store.records.put([draft("c", key="k")])
    between = await mark_of(store)
    await store.records.put([draft("d", key="k")])

    assert before.seq < between.seq < (await mark_of(store)).seq
    assert await mark_of(store, ANN) == other


async def test_a_mark_counts_live_passages_and_their_terms(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [one, two] = [w.record for w in await store.records.put([draft("a b c\n\nd e"), draft("f")])]
    assert (await mark_of(store)).passages == 3
    assert (await mark_of(store)).terms == 6

    await store.records.revise([edit(one, clock, deleted_at=clock.now()), edit(two, clock, text="f g")])

    assert ((await mark_of(store)).passages, (await mark_of(store)).terms) == (1, 2)


async def test_from_the_beginning_all_entries_come_and_none_is_gone(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    told = clock.now() - MINUTE
    expiry = clock.now() + MINUTE
    fields: dict[str, Any] = {"at": told, "expires_at": expiry, "session": "s", "position": 4, "pinned": True}
    await store.records.put([draft("first one\n\nsecond", importance=7, **fields)])
    clock.advance(2 * MINUTE)

    changes = await store.recall.changes(await mark_of(store), 0, [EMBEDDER, "unknown"])

    assert changes.gone == []
    assert changes.mark == await mark_of(store)
    one, two = sorted(changes.entries, key=lambda entry: entry.n)
    made = passages_of("first one\n\nsecond")
    assert one.record == two.record
    assert one.passage != two.passage
    assert one[3:] == (
        0, 2, made[0].terms, 0, 9, "s", 4, to_ms(told), True, 7, to_ms(expiry), (vector_of("first one"), None)
    )  # fmt: skip
    assert two[3:8] == (1, 1, made[1].terms, 11, 17)
    assert two.vectors == (vector_of("second"), None)


async def test_a_record_that_tells_no_time_is_as_old_as_its_birth(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    born = to_ms(clock.now())
    first = await put_one(store, draft("a"))
    clock.advance(MINUTE)
    await store.records.revise([edit(first, clock, pinned=True)])

    [entry] = (await store.recall.changes(await mark_of(store), 0, [])).entries

    assert (entry.at, entry.version, entry.vectors) == (born, 2, ())


async def test_a_passage_without_a_vector_says_so(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("bare", embedder=None)])

    [entry] = (await store.recall.changes(await mark_of(store), 0, [EMBEDDER])).entries

    assert entry.vectors == (None,)


async def test_what_changed_since_is_gone_and_there_as_it_is_now(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [a, b, _] = [w.record for w in await store.records.put([draft("a"), draft("b"), draft("c")])]
    mark = await mark_of(store)
    numbers = {entry.version * 0 + entry.record: entry for entry in (await store.recall.changes(mark, 0, [])).entries}
    await store.records.revise([edit(a, clock, text="a new")])
    await store.records.revise([edit(b, clock, deleted_at=clock.now())])
    await store.records.put([draft("d")])

    changes = await store.recall.changes(mark, mark.seq, [EMBEDDER])

    assert changes.mark == await mark_of(store)
    assert await texts_of(store, changes.entries) == ["a new", "d"]
    assert len(set(changes.gone) & numbers.keys()) == 2
    assert {entry.record for entry in changes.entries} <= set(changes.gone)
    later = await store.recall.changes(mark, changes.mark.seq, [])
    assert (later.gone, later.entries) == ([], [])


async def test_a_record_that_moved_away_no_longer_counts_where_it_was(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [moving, _] = [w.record for w in await store.records.put([draft("moving"), draft("staying")])]
    mark = await mark_of(store)
    old = {entry.record for entry in (await store.recall.changes(mark, 0, [])).entries}

    await store.records.revise([edit(moving, clock, scope=ANN)])

    changes = await store.recall.changes(mark, mark.seq, [])
    assert changes.entries == []
    # A store may name the record that left, or have all of the scope read anew.
    assert set(changes.gone) & old or changes.mark.epoch > mark.epoch
    assert await texts_of(store, (await store.recall.changes(mark, 0, [])).entries) == ["staying"]
    assert await texts_of(store, (await store.recall.changes(await mark_of(store, ANN), 0, [])).entries) == ["moving"]


async def test_readers_of_the_scope_it_left_hear_of_a_record_that_was_purged_since(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    moving = await put_one(store, draft("on the move"))
    await put_one(store, draft("stays"))
    before = await mark_of(store)
    [number] = await store.recall.matching(T, Filter(ids=(moving.id,)))

    await store.records.revise([edit(moving, clock, scope=ANN)])
    await store.records.purge(T, [Filter(ids=(moving.id,), states=ALL_STATES)])

    now = await mark_of(store)
    assert now.epoch != before.epoch or number in (await store.recall.changes(now, before.seq, [])).gone


async def test_only_live_records_have_entries_and_an_expired_one_is_live(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    await store.records.put(
        [
            draft("deleted", deleted_at=clock.now()),
            draft("demoted", demoted=True),
            draft("superseded", superseded_by="01890000-0000-7000-8000-000000000000"),
            draft("expired", expires_at=clock.now() - MINUTE),
        ]
    )
    mark = await mark_of(store)

    entries = (await store.recall.changes(mark, 0, [])).entries

    assert await texts_of(store, entries) == ["expired"]
    assert (mark.passages, mark.terms) == (1, 1)
    assert await store.recall.words([mark], [term_hash("deleted"), term_hash("expired")], 10) == (
        [0, 1],
        [entries[0].passage],
    )
    assert await store.recall.near([mark], EMBEDDER, vector_of("deleted"), 10) == [entries[0].passage]
    numbers = await store.recall.matching(T, Filter(states=ALL_STATES))
    assert len(numbers) == 4
    assert await texts_of(store, await store.recall.entries_of(numbers, [])) == ["expired"]


async def test_an_undone_delete_is_found_again_by_word_and_by_meaning(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    first = await put_one(store, draft("lost and found"))
    [deleted] = await store.records.revise([edit(first, clock, deleted_at=clock.now())])

    await store.records.revise([edit(deleted, clock, deleted_at=None)])

    mark = await mark_of(store)
    [entry] = (await store.recall.changes(mark, 0, [EMBEDDER])).entries
    assert entry.vectors == (vector_of("lost and found"),)
    assert await store.recall.words([mark], [term_hash("lost")], 10) == ([1], [entry.passage])
    assert await store.recall.near([mark], EMBEDDER, vector_of("x"), 1) == [entry.passage]


async def test_the_past_is_told_as_it_was(store: Store, draft: Drafting, clock: FakeClock) -> None:
    start = clock.now()
    [a, b] = [w.record for w in await store.records.put([draft("a old"), draft("b stays")])]
    later = clock.advance(MINUTE)
    [revised] = await store.records.revise([edit(a, clock, text="a new")])
    await store.records.put([draft("c born later")])
    clock.advance(MINUTE)
    await store.records.revise([edit(revised, clock, deleted_at=clock.now()), edit(b, clock, scope=ANN)])
    mark = await mark_of(store)

    async def then(moment: Any, mark: Mark = mark) -> list[str]:
        return await texts_of(store, await store.recall.as_of(mark, moment, [EMBEDDER]))

    assert await then(start - MINUTE) == []
    assert await then(start) == ["a old", "b stays"]
    assert await then(later) == ["a new", "b stays", "c born later"]
    assert await then(clock.now()) == ["c born later"]
    assert await then(later, await mark_of(store, ANN)) == []
    assert await then(clock.now(), await mark_of(store, ANN)) == ["b stays"]
    past = {entry.version: entry.vectors for entry in await store.recall.as_of(mark, start, [EMBEDDER])}
    assert past[1] in ((vector_of("a old"),), (vector_of("b stays"),))


async def test_of_two_versions_of_one_moment_the_later_counts(store: Store, draft: Drafting, clock: FakeClock) -> None:
    first = await put_one(store, draft("one"))
    await store.records.revise([edit(first, clock, text="two")])

    assert await texts_of(store, await store.recall.as_of(await mark_of(store), clock.now(), [])) == ["two"]


async def test_words_are_counted_within_the_scopes_asked(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("apple pie\n\napple"), draft("apple", scope=ANN), draft("apple", tenant="acme/web")])
    web, ann = await mark_of(store), await mark_of(store, ANN)
    terms = [term_hash("apple"), term_hash("pie"), term_hash("unknown")]

    assert (await store.recall.words([web], terms, 10))[0] == [2, 1, 0]
    assert (await store.recall.words([web, ann], terms, 10))[0] == [3, 1, 0]
    assert await store.recall.words([], terms, 10) == ([0, 0, 0], [])
    assert await store.recall.words([web], [], 10) == ([], [])


async def test_without_a_cap_words_are_only_counted(store: Store, draft: Drafting) -> None:
    await store.records.put([draft("apple pie"), draft("apple")])

    assert await store.recall.words([await mark_of(store)], [term_hash("apple"), term_hash("pie")], 0) == ([2, 1], [])


async def test_several_scopes_are_read_whole_at_once(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [web, *_] = await store.records.put(
        [
            draft("one\n\ntwo"),
            draft("ann's", scope=ANN),
            draft("else", tenant="acme/web"),
            draft("other", scope="global"),
        ]
    )
    gone = await put_one(store, draft("gone"))
    await store.records.revise([edit(gone, clock, deleted_at=clock.now())])
    marks = await store.recall.marks(T, [WEB, ANN])

    changes = await store.recall.whole(marks, [EMBEDDER])

    assert {change.mark: await texts_of(store, change.entries) for change in changes} == {
        await mark_of(store): ["one", "two"],
        await mark_of(store, ANN): ["ann's"],
    }
    alone = [await store.recall.changes(change.mark, 0, [EMBEDDER]) for change in changes]
    assert [sorted(change.entries) for change in changes] == [sorted(change.entries) for change in alone]
    assert all(change.gone == [] for change in changes)
    assert await store.recall.whole([], [EMBEDDER]) == []
    await store.records.purge(T, [Filter(ids=(web.record.id, gone.id), states=ALL_STATES)])
    assert [change.entries for change in await store.recall.whole(marks, []) if change.mark.scope == WEB] in ([], [[]])


async def test_passages_come_by_their_rarer_words(store: Store, draft: Drafting) -> None:
    await store.records.put([draft(f"common {'rare' if n == 3 else ''}") for n in range(6)])
    mark = await mark_of(store)
    entries = {entry.passage: entry for entry in (await store.recall.changes(mark, 0, [])).entries}
    common, rare = term_hash("common"), term_hash("rare")

    counts, passages = await store.recall.words([mark], [common, rare], 5)

    assert counts == [6, 1]
    assert len(passages) == 1
    assert entries[passages[0]].length == 2
    assert sorted((await store.recall.words([mark], [common, rare], 6))[1]) == sorted(entries)


async def test_where_every_word_is_frequent_the_newest_of_the_rarest_come(store: Store, draft: Drafting) -> None:
    for n in range(6):
        await store.records.put([draft("common frequent" if n < 4 else "common")])
    mark = await mark_of(store)
    entries = (await store.recall.changes(mark, 0, [])).entries
    newest = sorted(entry.passage for entry in entries if entry.length == 2)[-2:]

    counts, passages = await store.recall.words(
        [mark], [term_hash("common"), term_hash("frequent"), term_hash("no")], 2
    )

    assert counts == [6, 4, 0]
    assert sorted(passages) == newest


def cosine(one: bytes, other: bytes) -> float:
    a = [byte - 256 if byte > 127 else byte for byte in one]
    b = [byte - 256 if byte > 127 else byte for byte in other]
    norm = (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm


async def test_passages_of_some_records_come_by_the_rarest_word_that_these_hold(store: Store, draft: Drafting) -> None:
    texts = ["common frequent", "common frequent", "common", "common rare", "common frequent", "common frequent"]
    for text in texts:
        await store.records.put([draft(text)])
    mark = await mark_of(store)
    entries = sorted((await store.recall.changes(mark, 0, [])).entries, key=lambda entry: entry.passage)
    terms = [term_hash(word) for word in ("common", "frequent", "rare")]

    async def among(*places: int) -> tuple[list[int], list[int]]:
        counts, passages = await store.recall.words([mark], terms, 2, [entries[place].record for place in places])
        return counts, [place for place, entry in enumerate(entries) if entry.passage in passages]

    assert await among(0, 1, 2, 3) == ([6, 4, 1], [3])
    assert await among(0, 1, 2, 4) == ([6, 4, 1], [1, 4])
    assert await among(2) == ([6, 4, 1], [2])
    assert await among() == ([6, 4, 1], [])


async def test_the_nearest_by_cosine_come_first(store: Store, draft: Drafting) -> None:
    texts = [f"text number {n}" for n in range(60)]
    await store.records.put([draft(text) for text in texts] + [draft("elsewhere", scope=ANN)])
    mark = await mark_of(store)
    asked = vector_of("question")
    entries = (await store.recall.changes(mark, 0, [EMBEDDER])).entries
    by_cosine = sorted(entries, key=lambda entry: -cosine(asked, entry.vectors[0] or b""))

    near = await store.recall.near([mark], EMBEDDER, asked, 10)

    assert near == [entry.passage for entry in by_cosine[:10]]
    assert len(await store.recall.near([mark], EMBEDDER, asked, 1_000)) == 60
    assert len(await store.recall.near([mark, await mark_of(store, ANN)], EMBEDDER, asked, 1_000)) == 61
    assert await store.recall.near([mark], "unknown", asked, 10) == []
    assert await store.recall.near([], EMBEDDER, asked, 10) == []


async def test_the_nearest_among_some_records_are_of_these(store: Store, draft: Drafting) -> None:
    await store.records.put([draft(f"text number {n}") for n in range(60)] + [draft("elsewhere", scope=ANN)])
    mark = await mark_of(store)
    asked = vector_of("question")
    entries = (await store.recall.changes(mark, 0, [EMBEDDER])).entries
    some = await store.recall.matching(T, Filter(scopes=(ANN,))) + [entry.record for entry in entries[::3]]
    by_cosine = sorted(entries[::3], key=lambda entry: -cosine(asked, entry.vectors[0] or b""))

    near = await store.recall.near([mark], EMBEDDER, asked, 10, some)

    assert near == [entry.passage for entry in by_cosine[:10]]
    assert len(await store.recall.near([mark], EMBEDDER, asked, 1_000, some)) == 20
    assert await store.recall.near([mark], EMBEDDER, asked, 10, []) == []


async def test_passages_come_with_the_turns_just_before_and_after(store: Store, draft: Drafting) -> None:
    turns = [draft(f"turn {n}\n\nmore {n}", session="s", position=n) for n in range(6)]
    strangers = [
        draft("other session", session="t", position=3),
        draft("other scope", session="s", position=3, scope=ANN),
        draft("no session"),
    ]
    await store.records.put([*turns, *strangers])
    mark = await mark_of(store)
    entries = (await store.recall.changes(mark, 0, [])).entries
    [second] = [entry for entry in entries if (entry.session, entry.position, entry.n) == ("s", 2, 1)]
    [alone] = [entry for entry in entries if entry.session is None]

    found = await store.recall.entries([second.passage, alone.passage], [EMBEDDER])

    expected = ["more 1", "more 2", "more 3", "no session", "turn 1", "turn 3"]
    assert await texts_of(store, found) == expected
    assert all(entry.vectors[0] for entry in found)


async def test_turns_that_are_not_live_are_no_neighbours(store: Store, draft: Drafting, clock: FakeClock) -> None:
    written = await store.records.put([draft(f"turn {n}", session="s", position=n) for n in range(3)])
    mark = await mark_of(store)
    [middle] = [entry for entry in (await store.recall.changes(mark, 0, [])).entries if entry.position == 1]
    [first] = [entry for entry in (await store.recall.changes(mark, 0, [])).entries if entry.position == 0]

    await store.records.revise([edit(written[0].record, clock, deleted_at=clock.now())])

    assert await texts_of(store, await store.recall.entries([middle.passage, first.passage], [])) == [
        "turn 1",
        "turn 2",
    ]
    assert await store.recall.entries([], []) == []


async def test_all_passages_of_records_are_those_of_their_versions_held(
    store: Store, draft: Drafting, clock: FakeClock
) -> None:
    [one, *_] = [w.record for w in await store.records.put([draft("old"), draft("two\n\nparts"), draft("other")])]
    await store.records.revise([edit(one, clock, text="new\n\ntext")])
    mark = await mark_of(store)
    entries = (await store.recall.changes(mark, 0, [])).entries
    [other] = {entry.record for entry in entries if entry.length == 1 and entry.stop == 5}
    wanted = {entry.record for entry in entries} - {other}

    found = await store.recall.entries_of(sorted(wanted), [EMBEDDER])

    assert await texts_of(store, found) == ["new", "parts", "text", "two"]


async def test_versions_are_fetched_in_the_order_asked(store: Store, draft: Drafting, clock: FakeClock) -> None:
    first = await put_one(store, draft("one"))
    [second] = await store.records.revise([edit(first, clock, text="two")])
    [number] = await store.recall.matching(T, Filter())

    fetched = await store.recall.fetch([(number, 2), (number, 1), (number, 3), (number + 1_000, 1), (number, 2)])

    assert fetched == [second, first, None, None, second]
    assert await store.recall.fetch([]) == []
