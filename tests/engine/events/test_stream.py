"""What one listener reads: what it missed, and then what happens, without a gap and without a double."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from commonplace.events.frames import HEARTBEAT, RETRY
from commonplace.events.hub import Hub
from commonplace.events.live import Welcome
from commonplace.events.stream import Stream
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import Frame, TellEvents, frames, until
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT


async def always() -> bool:
    return True


@asynccontextmanager
async def listening(
    store: SqliteStore, hub: Hub, resume: int | None, *, welcome: Welcome = always, heartbeat: float = 60.0
) -> AsyncGenerator["Reader"]:
    with hub.seat(T, lambda news: news.type != "record.hidden") as seat:
        stream = Stream(store.events, hub, seat, welcome, heartbeat=heartbeat)
        await stream.begin(resume)
        told = stream.frames()
        yield Reader(told)
        await told.aclose()


class Reader:
    def __init__(self, told: AsyncGenerator[bytes]) -> None:
        self._told = told
        self.read = b""

    async def some(self, count: int) -> list[Frame]:
        """At least so many frames from the beginning on."""
        async with asyncio.timeout(5):
            while len(found := frames(self.read)) < count:
                self.read += await anext(self._told)
        return found

    async def rest(self) -> list[Frame]:
        async with asyncio.timeout(5):
            async for part in self._told:
                self.read += part
        return frames(self.read)


async def test_it_begins_by_saying_how_soon_to_come_back(hub: Hub, store: SqliteStore, tell: TellEvents) -> None:
    async with listening(store, hub, None) as reader:
        await tell()
        await reader.some(1)

    assert reader.read.startswith(RETRY)


async def test_without_a_last_event_it_tells_only_what_happens_from_now_on(
    hub: Hub, store: SqliteStore, tell: TellEvents
) -> None:
    await tell.many(3)

    async with listening(store, hub, None) as reader:
        await tell()
        told = await reader.some(1)

    assert [frame.id for frame in told] == [4]


async def test_what_was_missed_comes_first_and_then_what_happens(
    hub: Hub, store: SqliteStore, tell: TellEvents
) -> None:
    await tell.many(5)
    await tell("record.hidden")

    async with listening(store, hub, 2) as reader:
        await reader.some(4)
        await tell()
        told = await reader.some(5)

    assert [(frame.id, frame.type) for frame in told] == [
        (3, "record.created"),
        (4, "record.created"),
        (5, "record.created"),
        (None, "replay_complete"),
        (7, "record.created"),
    ]
    assert told[3].data == {"replayedCount": 3, "lastReplayedEventId": 5, "lastEventId": 6}


async def test_nothing_missed_is_said_too(hub: Hub, store: SqliteStore, tell: TellEvents) -> None:
    await tell.many(2)

    async with listening(store, hub, 2) as reader:
        [complete] = await reader.some(1)

    assert complete.data == {"replayedCount": 0, "lastReplayedEventId": None, "lastEventId": 2}


async def test_a_log_that_does_not_reach_back_as_far_says_so_and_tells_what_there_is(
    hub: Hub, store: SqliteStore, tell: TellEvents, clock: FakeClock
) -> None:
    await tell.many(10)
    await store.events.trim_events(before=clock.now() - timedelta(days=1), keep=4)

    async with listening(store, hub, 3) as reader:
        [resync, *told, complete] = await reader.some(6)

    assert (resync.id, resync.type) == (None, "state_resync_required")
    assert resync.data == {"reason": "ring_evicted", "lastDeliveredId": 3, "earliestAvailableId": 7}
    assert [frame.id for frame in told] == [7, 8, 9, 10]
    assert complete.data["replayedCount"] == 4


async def test_the_event_right_before_the_earliest_is_early_enough(
    hub: Hub, store: SqliteStore, tell: TellEvents, clock: FakeClock
) -> None:
    await tell.many(10)
    await store.events.trim_events(before=clock.now() - timedelta(days=1), keep=4)

    async with listening(store, hub, 6) as reader:
        told = await reader.some(5)

    assert [frame.id for frame in told] == [7, 8, 9, 10, None]


async def test_an_event_that_is_still_to_come_means_another_log(hub: Hub, store: SqliteStore, tell: TellEvents) -> None:
    await tell.many(2)

    async with listening(store, hub, 99) as reader:
        [resync, *told, _] = await reader.some(4)

    assert resync.data == {"reason": "epoch_reset", "lastDeliveredId": 99, "earliestAvailableId": 1}
    assert [frame.id for frame in told] == [1, 2]


async def test_readers_that_come_and_go_while_others_write_miss_nothing_and_hear_nothing_twice(
    hub: Hub, store: SqliteStore, tell: TellEvents
) -> None:
    total = 1_200
    had: list[int] = [0]

    async def write() -> None:
        for _ in range(total // 20):
            await tell.many(20)

    writing = asyncio.create_task(write())
    while had[-1] < total:
        async with listening(store, hub, had[-1]) as reader:
            with suppress(TimeoutError):
                told = await asyncio.wait_for(reader.some(100), 0.05)
            told = frames(reader.read)
        had += [frame.id for frame in told if frame.id is not None]
    await writing

    assert had == list(range(total + 1))


async def test_a_long_past_is_told_page_by_page(hub: Hub, store: SqliteStore, tell: TellEvents) -> None:
    await tell.many(1_500)
    await tell.many(700, tenant="other/one")

    async with listening(store, hub, 0) as reader:
        told = await reader.some(1_501)

    assert [frame.id for frame in told] == [*range(1, 1_501), None]
    assert told[-1].data["lastEventId"] == 2_200


async def test_a_comment_shows_that_the_line_is_open(hub: Hub, store: SqliteStore) -> None:
    answers = iter([True, True, False])

    async def for_a_while() -> bool:
        return next(answers)

    async with listening(store, hub, None, welcome=for_a_while, heartbeat=0.02) as reader:
        await reader.rest()

    assert reader.read.count(HEARTBEAT) == 2


async def test_whoever_is_not_welcome_any_more_is_let_go_at_the_next_heartbeat(hub: Hub, store: SqliteStore) -> None:
    async def never() -> bool:
        return False

    async with listening(store, hub, None, welcome=never, heartbeat=0.02) as reader:
        told = await reader.rest()

    assert [(frame.type, frame.data["reason"]) for frame in told] == [("client_evicted", "key_revoked")]


async def test_it_ends_with_the_hub(hub: Hub, store: SqliteStore) -> None:
    async with listening(store, hub, None) as reader:
        ending = asyncio.create_task(reader.rest())
        await until(lambda: bool(reader.read))

        hub.close()

        assert await ending == []


async def test_a_store_that_goes_away_in_the_past_ends_it(hub: Hub, store: SqliteStore, tell: TellEvents) -> None:
    await tell.many(1_200)

    async with listening(store, hub, 0) as reader:
        await reader.some(500)
        await store.aclose()
        told = await reader.rest()

    assert told[-1].type == "record.created"
