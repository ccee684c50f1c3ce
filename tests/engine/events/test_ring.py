"""The ring of a session: every listener hears every event once, in order, or is told what it missed."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace.errors import TooManyListeners
from commonplace.events.frames import HEARTBEAT, RETRY, note_frame
from commonplace.events.ring import Missed, Ring, RingEvent, RingSeat, RingStream
from commonplace.events.seat import SHORTEST_QUEUE
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import Frame, frames
from commonplace.values.json import Json

pytestmark = pytest.mark.anyio


def shape(entry: RingEvent[str]) -> tuple[str, Mapping[str, Json]]:
    return "said", {"id": entry.id, "data": {"text": entry.event}}


async def always() -> bool:
    return True


def ring_of(size: int = 100, *, events: int = 0) -> Ring[str]:
    ring = Ring[str](FakeClock(), size=size)
    for number in range(1, events + 1):
        ring.publish(f"event {number}")
    return ring


def streamed(
    ring: Ring[str], seat: RingSeat[str], resume: int | None, epoch: str | None = None
) -> AsyncGenerator[bytes]:
    return RingStream(ring, seat, always, resume=resume, epoch=epoch, heartbeat=60.0).frames()


async def portion(told: AsyncGenerator[bytes]) -> bytes:
    async with asyncio.timeout(5):
        return await anext(told, b"")


async def rest(told: AsyncGenerator[bytes]) -> list[Frame]:
    async with asyncio.timeout(5):
        return frames(b"".join([part async for part in told]))


async def test_ids_begin_with_one_and_each_event_is_told_in_its_shape() -> None:
    ring = ring_of()

    with ring.seat(shape) as seat:
        told = streamed(ring, seat, None)
        assert await portion(told) == RETRY
        assert (ring.publish("a"), ring.publish("b")) == (1, 2)
        found = frames(await portion(told))
        await told.aclose()

    assert [(frame.id, frame.type, frame.data) for frame in found] == [
        (1, "said", {"text": "a"}),
        (2, "said", {"text": "b"}),
    ]


async def test_what_was_missed_comes_first_then_how_much_it_was_and_then_what_happens() -> None:
    ring = ring_of(events=5)

    with ring.seat(shape) as seat:
        told = streamed(ring, seat, 2)
        await portion(told)
        past = frames(await portion(told)) + frames(await portion(told))
        ring.publish("new")
        [new] = frames(await portion(told))
        await told.aclose()

    assert [frame.id for frame in past] == [3, 4, 5, None]
    assert past[-1].type == "replay_complete"
    assert past[-1].data == {"replayedCount": 3, "lastReplayedEventId": 5, "lastEventId": 5}
    assert new.id == 6


async def test_an_id_that_is_still_to_come_means_another_ring_and_all_there_is_is_told() -> None:
    ring = ring_of(events=2)
    ring.close()

    with ring.seat(shape) as seat:
        [resync, *told, complete] = await rest(streamed(ring, seat, 99_999))

    assert (resync.id, resync.type) == (None, "state_resync_required")
    assert resync.data == {"reason": "epoch_reset", "lastDeliveredId": 99_999, "earliestAvailableId": 1}
    assert [frame.id for frame in told] == [1, 2]
    assert complete.data == {"replayedCount": 2, "lastReplayedEventId": 2, "lastEventId": 2}


async def test_an_id_of_another_epoch_is_no_id_of_this_ring_though_it_would_fit() -> None:
    ring = ring_of(events=3)
    ring.close()

    with ring.seat(shape) as seat:
        [resync, *told, _] = await rest(streamed(ring, seat, 2, epoch="before the restart"))
    with ring.seat(shape) as seat:
        [same, _] = await rest(streamed(ring, seat, 2, epoch=ring.epoch))

    assert resync.data["reason"] == "epoch_reset"
    assert [frame.id for frame in told] == [1, 2, 3]
    assert same.id == 3


async def test_what_has_left_the_ring_is_said_to_be_missing() -> None:
    ring = ring_of(4, events=10)
    ring.close()

    with ring.seat(shape) as seat:
        [resync, *told, complete] = await rest(streamed(ring, seat, 3))
    with ring.seat(shape) as seat:
        [*enough, _] = await rest(streamed(ring, seat, 6))

    assert resync.data == {"reason": "ring_evicted", "lastDeliveredId": 3, "earliestAvailableId": 7}
    assert [frame.id for frame in told] == [7, 8, 9, 10]
    assert complete.data["replayedCount"] == 4
    assert [frame.id for frame in enough] == [7, 8, 9, 10]


async def test_long_events_leave_the_ring_sooner_and_are_said_to_be_missing() -> None:
    ring: Ring[str] = Ring(FakeClock(), size=100, heaviest=1_000)
    for number in range(20):
        ring.publish(f"{number:300}")

    held = ring.after(0, 100)
    assert [entry.id for entry in held] == [18, 19, 20]
    assert (ring.position, ring.earliest) == (20, 18)
    gap = ring.missed(5)
    assert gap is not None
    assert (gap.reason, gap.earliest) == ("ring_evicted", 18)
    # However long it is, the last one is there.
    ring.publish("x" * 5_000)
    assert [entry.id for entry in ring.after(0, 100)] == [21]
    for _ in range(5):
        ring.publish("short")
    assert len(ring.after(0, 100)) == 5


async def test_an_empty_ring_has_an_empty_past() -> None:
    ring = ring_of()
    ring.close()

    with ring.seat(shape) as seat:
        [complete] = await rest(streamed(ring, seat, 0))

    assert complete.data == {"replayedCount": 0, "lastReplayedEventId": None, "lastEventId": 0}


async def test_a_slow_listener_is_warned_and_then_let_go_while_others_hear_on() -> None:
    ring = ring_of()

    with ring.seat(shape, 16) as slow, ring.seat(shape, 64) as quick:
        told, other = streamed(ring, slow, None), streamed(ring, quick, None)
        await portion(told)
        await portion(other)
        for number in range(20):
            ring.publish(str(number))
        ring.close()
        [warning, *queued, evicted] = await rest(told)
        heard = await rest(other)

    assert warning.type == "slow_client_warning"
    assert warning.data == {"queued": 12, "queueSize": 12, "maxQueued": 16, "lastEventId": 12}
    assert [frame.id for frame in queued] == list(range(1, 17))
    assert (evicted.type, evicted.data) == ("client_evicted", {"reason": "queue_overflow", "droppedAfter": 16})
    assert [frame.id for frame in heard] == list(range(1, 21))


async def test_closing_the_ring_lets_everybody_have_what_was_told() -> None:
    ring = ring_of(events=1)
    follower = ring.follow()

    with ring.seat(shape) as seat:
        told = streamed(ring, seat, None)
        await portion(told)
        ring.publish("last")
        ring.close()
        heard = await rest(told)
    async with asyncio.timeout(5):
        followed = [entry async for entry in follower]

    assert [frame.id for frame in heard] == [2]
    assert [entry.event for entry in followed if isinstance(entry, RingEvent)] == ["last"]


async def test_every_seat_that_is_taken_is_counted_and_one_too_many_is_refused() -> None:
    ring = Ring[str](FakeClock(), most=1)

    with ring.seat(shape), pytest.raises(TooManyListeners) as refused:
        ring.seat(shape)

    assert refused.value.code == "subscriber_limit_exceeded"
    assert ring.listeners == 0


async def test_a_listener_that_is_no_longer_welcome_goes_at_the_heartbeat_and_others_have_theirs() -> None:
    ring = ring_of()

    async def never() -> bool:
        return False

    with ring.seat(shape) as seat, ring.seat(shape) as other:
        told = RingStream(ring, seat, never, heartbeat=0.0).frames()
        beating = RingStream(ring, other, always, heartbeat=0.0).frames()
        await portion(beating)
        beat = await portion(beating)
        await beating.aclose()
        found = await rest(told)

    assert [frame.type for frame in found] == ["client_evicted"]
    assert beat == HEARTBEAT


async def test_who_follows_in_this_process_waits_for_what_comes_and_is_told_what_it_missed() -> None:
    ring = ring_of(3, events=5)
    follower = ring.follow(0)
    [gap, *past] = [await anext(follower) for _ in range(4)]

    waiting = asyncio.ensure_future(anext(follower))
    await asyncio.sleep(0)
    ring.publish("six")
    async with asyncio.timeout(5):
        came = await waiting
    await follower.aclose()

    assert gap == Missed(reason="ring_evicted", last=0, earliest=3)
    assert [entry.id for entry in past if isinstance(entry, RingEvent)] == [3, 4, 5]
    assert isinstance(came, RingEvent)
    assert (came.id, came.event) == (6, "six")


class Echo:
    """Follows a ring, and has two listeners of its own."""

    listeners = 2

    def __init__(self) -> None:
        self.events: list[str] = []

    def hear(self, entry: RingEvent[str]) -> None:
        self.events.append(f"{entry.id} {entry.event}")

    def doubt(self) -> None:
        self.events.append("doubted")

    def end(self) -> None:
        self.events.append("ended")


async def test_a_follower_hears_each_event_at_once_and_its_listeners_are_the_rings() -> None:
    ring, echo = ring_of(events=1), Echo()
    ring.lead(echo)

    with ring.seat(shape):
        ring.publish("two")
        count = ring.listeners
    ring.doubt()
    ring.close()
    ring.close()
    ring.dismiss(echo)

    assert echo.events == ["2 two", "doubted", "ended"]
    assert (count, ring.listeners) == (3, 0)


async def test_what_a_shape_leaves_out_is_told_neither_now_nor_later() -> None:
    def some(entry: RingEvent[str]) -> tuple[str, Mapping[str, Json]] | None:
        return shape(entry) if entry.id % 2 else None

    ring = ring_of(events=3)
    with ring.seat(some) as seat:
        told = streamed(ring, seat, 0)
        past = frames(await portion(told) + await portion(told) + await portion(told))
        for text in ("four", "five"):
            ring.publish(text)
        now = frames(await portion(told))
        await told.aclose()

    assert [(frame.id, frame.type) for frame in past] == [(1, "said"), (3, "said"), (None, "replay_complete")]
    assert past[-1].data == {"replayedCount": 2, "lastReplayedEventId": 3, "lastEventId": 3}
    assert [frame.id for frame in now] == [5]


class Heard:
    """One listener and what it was told, held to be whole: each id follows the one before, or a note says what is missing."""

    def __init__(self, told: AsyncGenerator[bytes] | AsyncGenerator[RingEvent[str] | Missed], last: int) -> None:
        self._told = told
        self._next: asyncio.Future[bytes | RingEvent[str] | Missed] | None = None
        self.last = last
        self.count = 0
        self.gone = False

    async def read(self) -> None:
        """Take what comes next, or begin to wait for it."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._told))
        for _ in range(5):
            await asyncio.sleep(0)
        if self._next.done():
            told, self._next = self._next.result(), None
            self._hear(told)

    async def rest(self) -> None:
        async with asyncio.timeout(5):
            if self._next is not None:
                with suppress(StopAsyncIteration):
                    self._hear(await self._next)
            async for told in self._told:
                self._hear(told)

    def _hear(self, told: bytes | RingEvent[str] | Missed) -> None:
        if isinstance(told, RingEvent):
            self._event(told.id, told.event)
        elif isinstance(told, Missed):
            self._gap(told.last, told.earliest)
        else:
            for frame in frames(told):
                self._frame(frame)

    def _event(self, id: int, text: object) -> None:
        assert not self.gone
        assert (id, text) == (self.last + 1, f"event {id}")
        self.last = id
        self.count += 1

    def _gap(self, last: int, earliest: int) -> None:
        assert last == self.last
        # Events are missing, or the listener had one that never was.
        assert earliest != last + 1
        self.last = earliest - 1

    def _frame(self, frame: Frame) -> None:
        if frame.id is not None:
            self._event(frame.id, frame.data["text"])
        elif frame.type == "state_resync_required":
            self._gap(frame.data["lastDeliveredId"], frame.data["earliestAvailableId"])
        elif frame.type == "replay_complete":
            assert (frame.data["lastEventId"], frame.data["replayedCount"]) == (self.last, self.count)
        elif frame.type == "client_evicted":
            assert frame.data["droppedAfter"] == self.last
            self.gone = True
        else:
            assert frame.type == "slow_client_warning"


RESUMES = st.none() | st.integers(0, 12) | st.integers(0, 60)
STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 12)),
    st.tuples(st.just("listen"), RESUMES),
    st.tuples(st.just("follow"), RESUMES),
    st.tuples(st.just("read"), st.integers(0, 5)),
)


async def play(ring: Ring[str], queue: int, steps: list[tuple[str, int | None]]) -> list[Heard]:
    listeners: list[Heard] = []
    with ExitStack() as seats:
        for step, number in steps:
            start = ring.position if number is None else number
            if step == "publish":
                for _ in range(number or 0):
                    ring.publish(f"event {ring.position + 1}")
            elif step == "listen":
                seat = seats.enter_context(ring.seat(shape, queue))
                listeners.append(Heard(streamed(ring, seat, number), start))
            elif step == "follow":
                listeners.append(Heard(ring.follow(number), start))
            else:
                for listener in listeners[number : (number or 0) + 1]:
                    await listener.read()
        ring.close()
        for listener in listeners:
            await listener.rest()
    return listeners


@settings(max_examples=400)
@example(ring_size=2, queue=4, steps=[("publish", 4), ("listen", 1), ("follow", 1)])
@given(ring_size=st.integers(1, 12), queue=st.integers(2, 12), steps=st.lists(STEPS, max_size=40))
def test_whatever_is_published_every_listener_hears_it_once_in_order_or_is_told_what_it_missed(
    ring_size: int, queue: int, steps: list[tuple[str, int | None]]
) -> None:
    ring = ring_of(ring_size)

    listeners = asyncio.run(play(ring, queue, steps))

    for listener in listeners:
        assert listener.gone or listener.last == ring.position
    assert ring.listeners == 0


async def test_what_happens_beside_the_events_of_a_session_is_told_without_an_id() -> None:
    ring = ring_of()

    with ring.seat(shape) as seat:
        told = streamed(ring, seat, None)
        assert await portion(told) == RETRY
        ring.publish("a")
        seat.mention(note_frame("record.created"))
        ring.publish("b")
        found = frames(await portion(told))
        await told.aclose()

    assert [(frame.id, frame.type) for frame in found] == [(1, "said"), (None, "record.created"), (2, "said")]
    assert seat.after == 2


async def test_a_flood_beside_the_events_costs_a_slow_listener_none_of_them_and_is_counted() -> None:
    ring, flood = ring_of(), 1_000

    with ring.seat(shape, SHORTEST_QUEUE) as seat:
        told = streamed(ring, seat, None)
        assert await portion(told) == RETRY
        for _ in range(flood):
            seat.mention(note_frame("record.created"))
        ring.publish("a")
        found = frames(await portion(told))
        seat.mention(note_frame("record.created"))
        after = frames(await portion(told))
        ring.close()
        await rest(told)

    mentioned = sum(frame.type == "record.created" for frame in found)
    [missed] = [frame for frame in found if frame.type == "workspace_events_missed"]
    assert mentioned + missed.data["count"] == flood
    assert [frame.id for frame in found if frame.type == "said"] == [1]
    assert [frame.type for frame in after] == ["record.created"]
