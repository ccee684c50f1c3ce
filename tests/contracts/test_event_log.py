"""What the port `EventLog` says, of every store."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest

from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store
from commonplace.values.event import Event, News, NewsGroup
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
MINUTE = timedelta(minutes=1)

OpenStore = Callable[..., Awaitable[Store]]


def news(clock: FakeClock, what: str = "record.created", **fields: Any) -> News:
    told: dict[str, Any] = {"tenant": T, **fields}
    return News(type=what, at=clock.now(), **told)


async def tell(store: Store, *told: News | NewsGroup) -> None:
    await store.journal.note(Entries(events=told))


def following(store: Store, after: int = 0) -> "aclosing[Any]":
    """What is followed, closed when the block ends, as a reader that goes away does."""
    return aclosing(cast(Any, store.events.follow_events(after)))


async def gather(events: AsyncIterator[Sequence[Event]], many: int) -> list[Event]:
    """The next events until there are `many`."""
    told: list[Event] = []
    with anyio.fail_after(5):
        while len(told) < many:
            told += await anext(events)
    return told


async def test_a_new_log_is_empty(store: Store) -> None:
    assert await store.events.event_range() == (1, 0)
    assert await store.events.read_events(0, 10) == []


async def test_an_event_comes_back_as_it_was_told(store: Store, clock: FakeClock) -> None:
    bare = news(clock)
    whole = news(
        clock,
        "record.purged",
        tenant=OTHER,
        scope=Scope("channel", "dingtalk/room: 世"),
        actor="ann",
        client="cli:1",
        admins=True,
        data={"z": 1, "a": [1.5, None, True, {"deep": "ü"}]},
    )

    await tell(store, bare, whole)

    assert [event.news for event in await store.events.read_events(0, 10)] == [bare, whole]


async def test_ids_only_grow_in_the_order_of_the_writes(store: Store, clock: FakeClock) -> None:
    for n in range(3):
        await tell(store, news(clock, f"{n}.a"), news(clock, f"{n}.b"))

    events = await store.events.read_events(0, 100)

    assert [event.news.type for event in events] == ["0.a", "0.b", "1.a", "1.b", "2.a", "2.b"]
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert await store.events.event_range() == (events[0].id, events[-1].id)


async def test_events_are_read_from_a_place_on_some_at_a_time(store: Store, clock: FakeClock) -> None:
    await tell(store, *(news(clock, f"{n}") for n in range(10)))
    first = await store.events.read_events(0, 4)

    rest = await store.events.read_events(first[-1].id, 100)

    assert [event.news.type for event in [*first, *rest]] == [f"{n}" for n in range(10)]
    assert await store.events.read_events(rest[-1].id, 100) == []


async def test_a_tenant_reads_its_own_events(store: Store, clock: FakeClock) -> None:
    await tell(store, news(clock, "a"), news(clock, "b", tenant=OTHER), news(clock, "c"))

    assert [event.news.type for event in await store.events.read_events(0, 2, tenant=T)] == ["a", "c"]
    assert [event.news.type for event in await store.events.read_events(0, 10, tenant=OTHER)] == ["b"]
    assert await store.events.read_events(0, 10, tenant="no/body") == []


async def test_an_event_beside_a_record_is_told_with_it(store: Store, draft: Drafting, clock: FakeClock) -> None:
    [written] = await store.records.put(
        [draft("a")], beside=lambda written: Entries(events=(news(clock, data={"id": written[0].record.id}),))
    )

    [event] = await store.events.read_events(0, 10)
    assert event.news.data == {"id": written.record.id}


def group(clock: FakeClock, many: int, what: str = "record.created", **fields: Any) -> NewsGroup:
    ids = tuple(str(uuid.UUID(int=(n * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)) for n in range(1, many + 1))
    return NewsGroup(news(clock, what, data={"version": 1}, **fields), ids)


def members(*groups: NewsGroup) -> list[News]:
    return [each.nth(n) for each in groups for n in range(len(each.records))]


async def test_news_kept_as_one_are_told_one_by_one_in_their_order(store: Store, clock: FakeClock) -> None:
    before, kept_as_one, after = news(clock, "before"), group(clock, 5), news(clock, "after")
    await tell(store, before, kept_as_one, after)

    events = await store.events.read_events(0, 100)

    assert [event.news for event in events] == [before, *members(kept_as_one), after]
    assert [event.news.data["id"] for event in events[1:6]] == list(kept_as_one.records)
    assert [event.id for event in events] == list(range(1, 8))
    assert await store.events.event_range() == (1, 7)


@pytest.mark.parametrize("limit", [1, 2, 4, 6, 100])
async def test_a_group_is_read_some_at_a_time(store: Store, clock: FakeClock, limit: int) -> None:
    first, second, other = group(clock, 5), group(clock, 3, "record.deleted"), group(clock, 4, tenant=OTHER)
    await tell(store, first, other, news(clock, "alone"), second)
    events: list[Event] = []

    while page := await store.events.read_events(events[-1].id if events else 0, limit, tenant=T):
        assert len(page) == min(limit, 9 - len(events))
        events += page

    assert [event.news for event in events] == [*members(first), news(clock, "alone"), *members(second)]
    assert [event.id for event in events] == [1, 2, 3, 4, 5, 10, 11, 12, 13]


async def test_a_group_is_trimmed_as_a_whole_and_counted_one_by_one(store: Store, clock: FakeClock) -> None:
    await tell(store, group(clock, 5), group(clock, 4), news(clock, "last"))

    assert await store.events.trim_events(before=clock.now(), keep=7) == 0
    assert await store.events.trim_events(before=clock.now(), keep=5) == 5
    assert await store.events.event_range() == (6, 10)
    assert await store.events.trim_events(before=clock.now(), keep=2) == 0
    assert await store.events.trim_events(before=clock.advance(MINUTE), keep=2) == 5
    assert await store.events.event_range() == (11, 10)
    await tell(store, group(clock, 2))
    assert await store.events.event_range() == (11, 12)


async def test_a_follower_is_told_a_group_from_where_it_was(store: Store, clock: FakeClock) -> None:
    kept_as_one = group(clock, 1_200)
    await tell(store, kept_as_one, news(clock, "last"))

    async with following(store, 3) as events:
        told = await gather(events, 1_198)

    assert [event.id for event in told] == list(range(4, 1_202))
    assert [event.news for event in told] == [*members(kept_as_one)[3:], news(clock, "last")]


async def test_trimming_forgets_what_is_old(store: Store, clock: FakeClock) -> None:
    await tell(store, news(clock, "a"), news(clock, "b"))
    moment = clock.advance(MINUTE)
    await tell(store, news(clock, "c"))

    assert await store.events.trim_events(before=moment, keep=100) == 2
    assert await store.events.trim_events(before=moment, keep=100) == 0
    [event] = await store.events.read_events(0, 10)
    assert event.news.type == "c"
    assert await store.events.event_range() == (event.id, event.id)


async def test_trimming_forgets_the_oldest_beyond_what_is_to_be_kept(store: Store, clock: FakeClock) -> None:
    await tell(store, *(news(clock, f"{n}") for n in range(10)))

    assert await store.events.trim_events(before=clock.now(), keep=3) == 7
    assert [event.news.type for event in await store.events.read_events(0, 10)] == ["7", "8", "9"]


async def test_an_id_is_never_given_again_after_everything_was_trimmed(
    store: Store, open_store: OpenStore, clock: FakeClock
) -> None:
    await tell(store, news(clock), news(clock))
    _, latest = await store.events.event_range()

    assert await store.events.trim_events(before=clock.advance(MINUTE), keep=100) == 2
    assert await store.events.event_range() == (latest + 1, latest)
    another = await open_store()
    await tell(another, news(clock))
    [event] = await store.events.read_events(0, 10)
    assert event.id > latest


async def test_a_follower_is_told_what_was_there_and_what_comes(store: Store, clock: FakeClock) -> None:
    await tell(store, *(news(clock, f"{n}") for n in range(3)))
    first = (await store.events.read_events(0, 1))[0]

    async with following(store, first.id) as events:
        there = await gather(events, 2)
        await tell(store, news(clock, "3"))
        comes = await gather(events, 1)

    assert [event.news.type for event in [*there, *comes]] == ["1", "2", "3"]


async def test_a_follower_that_waits_is_told_at_once(store: Store, clock: FakeClock) -> None:
    told: list[Event] = []

    async def follow() -> None:
        async with following(store) as events:
            told.extend(await gather(events, 1))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            await tell(store, news(clock))

    assert told == await store.events.read_events(0, 10)


async def test_a_follower_hears_of_what_another_process_writes(
    store: Store, open_store: OpenStore, clock: FakeClock
) -> None:
    another = await open_store()

    async with following(store) as events:
        await tell(another, news(clock, "from afar"))
        [event] = await gather(events, 1)

    assert event.news.type == "from afar"


async def test_followers_miss_nothing_while_many_write(
    store: Store, open_store: OpenStore, draft: Drafting, clock: FakeClock
) -> None:
    stores = [store, await open_store(), await open_store()]
    heard: dict[int, list[Event]] = {}

    async def write(where: Store, n: int) -> None:
        for m in range(5):
            made = Entries(events=(news(clock, f"{n}.{m}.a"), news(clock, f"{n}.{m}.b")))
            await where.records.put([draft(f"record {n}.{m}", scope=f"user:{n}")], beside=lambda _, made=made: made)

    async def listen(n: int) -> None:
        async with following(stores[n]) as events:
            heard[n] = await gather(events, 120)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen, 0)
            tasks.start_soon(listen, 1)
            for n in range(12):
                tasks.start_soon(write, stores[n % 3], n)

    told = [event.news.type for event in heard[0]]
    assert heard[0] == heard[1] == await store.events.read_events(0, 1000)
    assert sorted(told) == sorted(f"{n}.{m}.{part}" for n in range(12) for m in range(5) for part in "ab")
    assert [event.id for event in heard[0]] == sorted({event.id for event in heard[0]})
    for n in range(12):
        mine = [what for what in told if what.startswith(f"{n}.")]
        assert mine == [f"{n}.{m}.{part}" for m in range(5) for part in "ab"]


async def test_a_follower_ends_when_the_store_is_closed(store: Store, clock: FakeClock) -> None:
    ended: list[str] = []

    async def follow(name: str) -> None:
        async with following(store) as events:
            assert [event async for event in events] == []
        ended.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, "one")
            tasks.start_soon(follow, "two")
            await anyio.wait_all_tasks_blocked()
            await store.aclose()

    assert sorted(ended) == ["one", "two"]


async def test_whoever_follows_a_closed_store_is_told_the_end_at_once(store: Store) -> None:
    await store.aclose()

    with anyio.fail_after(5):
        assert [event async for event in store.events.follow_events(0)] == []


async def test_a_follower_that_is_cancelled_disturbs_nobody(store: Store, clock: FakeClock) -> None:
    async def follow() -> None:
        async with following(store) as events:
            await anext(events)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        await tell(store, news(clock))
        async with following(store) as events:
            told = await gather(events, 1)

    assert len(told) == 1
