"""One follower, many seats: each hears what it is to hear, once, in order; the slow ones go."""

import asyncio
from pathlib import Path

import pytest

from commonplace.errors import TooManyListeners
from commonplace.events.hub import Hub, LogSeat
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import Frame, TellEvents, frames, until
from commonplace.values.event import News
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT


def everything(news: News) -> bool:
    return True


async def heard(seat: LogSeat, count: int) -> list[Frame]:
    """The next frames, at least so many."""
    told: list[Frame] = []
    async with asyncio.timeout(5):
        while len(told) < count:
            told += frames(b"".join(await seat.frames(1)))
    return told


async def test_a_seat_hears_every_event_after_it_joined_once_and_in_order(hub: Hub, tell: TellEvents) -> None:
    await tell("record.created")
    await until(lambda: hub.position == 1)

    with hub.seat(T, everything) as seat:
        seat.join(1)
        await tell.many(100)
        told = await heard(seat, 100)

    assert [frame.id for frame in told] == list(range(2, 102))


async def test_a_seat_hears_neither_of_other_tenants_nor_what_is_not_for_it(hub: Hub, tell: TellEvents) -> None:
    with hub.seat(T, lambda news: news.type == "record.deleted") as seat:
        seat.join(0)
        await tell("record.deleted", tenant="other/one")
        await tell("record.created")
        await tell("record.deleted")
        told = await heard(seat, 1)

    assert [(frame.id, frame.type) for frame in told] == [(3, "record.deleted")]


async def test_a_seat_cannot_join_behind_the_follower(hub: Hub, tell: TellEvents) -> None:
    await tell.many(3)
    await until(lambda: hub.position == 3)

    with hub.seat(T, everything) as seat:
        assert not seat.join(2)
        assert seat.join(3)


async def test_what_was_told_from_the_log_already_is_not_told_again(hub: Hub, tell: TellEvents) -> None:
    with hub.seat(T, everything) as seat:
        seat.join(2)
        await tell.many(3)
        told = await heard(seat, 1)

    assert [frame.id for frame in told] == [3]


async def test_a_slow_reader_is_warned_once_until_it_has_caught_up(hub: Hub, tell: TellEvents) -> None:
    with hub.seat(T, everything, 100) as seat:
        seat.join(0)
        await tell.many(80)
        await until(lambda: hub.position == 80)
        [warning, *_] = frames(b"".join(await seat.frames(1)))
        await heard(seat, 16)
        await tell.many(74)
        await until(lambda: hub.position == 154)
        calm = await heard(seat, 74)
        await tell.many(75)
        await until(lambda: hub.position == 229)
        again = await heard(seat, 76)

    assert (warning.id, warning.type) == (None, "slow_client_warning")
    assert warning.data == {"queued": 75, "queueSize": 75, "maxQueued": 100, "lastEventId": 75}
    assert {frame.type for frame in calm} == {"record.created"}
    assert [frame.type for frame in again].count("slow_client_warning") == 1


async def test_a_reader_that_falls_behind_is_told_where_and_let_go_and_the_others_hear_on(
    hub: Hub, tell: TellEvents
) -> None:
    with hub.seat(T, everything, 16) as slow, hub.seat(T, everything, 64) as quick:
        slow.join(0)
        quick.join(0)
        await tell.many(40)
        told, others = await heard(slow, 18), await heard(quick, 40)

    assert [frame.id for frame in told] == [None, *range(1, 17), None]
    assert (told[-1].type, told[-1].data) == ("client_evicted", {"reason": "queue_overflow", "droppedAfter": 16})
    assert slow.ended
    assert [frame.id for frame in others] == list(range(1, 41))
    assert not quick.ended


async def test_there_are_only_so_many_seats_and_one_that_is_left_is_free_again(hub: Hub) -> None:
    with hub.seat(T, everything), hub.seat(T, everything):
        with hub.seat(T, everything):
            assert hub.listeners == 3
            with pytest.raises(TooManyListeners) as refused:
                hub.seat(T, everything)
        with hub.seat(T, everything):
            assert hub.listeners == 3

    assert (refused.value.code, refused.value.status) == ("subscriber_limit_exceeded", 429)
    assert refused.value.details["retry_after"] == 5
    assert hub.listeners == 0


async def test_closing_lets_everybody_go_also_those_who_come_later(hub: Hub) -> None:
    with hub.seat(T, everything) as seat, hub.seat(T, everything) as later:
        seat.join(0)
        waiting = asyncio.create_task(seat.frames(60))
        await asyncio.sleep(0)

        hub.close()

        async with asyncio.timeout(5):
            assert await waiting == []
        assert (seat.ended, later.ended) == (True, True)
    with hub.seat(T, everything) as late:
        assert late.ended


async def test_closing_does_not_wait_for_a_reader_that_takes_nothing(hub: Hub) -> None:
    async def write(seat: LogSeat) -> None:
        async with seat.writing():
            await asyncio.Event().wait()

    with hub.seat(T, everything) as seat:
        stuck = asyncio.create_task(write(seat))
        await asyncio.sleep(0)

        hub.close()

        async with asyncio.timeout(5):
            with pytest.raises(TimeoutError):
                await stuck


async def test_events_written_by_another_process_are_heard_too(hub: Hub, clock: FakeClock, tmp_path: Path) -> None:
    other = await SqliteStore.open(tmp_path / "memory.db", clock)
    try:
        with hub.seat(T, everything) as seat:
            seat.join(0)
            await TellEvents(other.journal, clock)()
            told = await heard(seat, 1)
    finally:
        await other.aclose()

    assert [frame.id for frame in told] == [1]
