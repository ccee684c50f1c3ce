"""Frames of the long connection: what is written is read again, and bytes of any kind harm nobody."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.channels.feishu.frames import BinaryFrame, decode_frame, encode_frame
from commonplace.channels.feishu.partial_events import MOST_BYTES, MOST_EVENTS, MOST_PARTS, PartialEvents
from commonplace.testing.clock import FakeClock

INT32 = st.integers(-(2**31), 2**31 - 1)
UINT64 = st.integers(0, 2**64 - 1)
FRAMES = st.builds(
    BinaryFrame,
    method=INT32,
    service=INT32,
    sequence=UINT64,
    log=UINT64,
    headers=st.lists(st.tuples(st.text(), st.text()), max_size=5).map(tuple),
    payload=st.binary(),
    payload_encoding=st.text(max_size=5),
    payload_type=st.text(max_size=5),
    log_name=st.text(max_size=5),
)


@given(FRAMES)
def test_a_frame_that_is_written_is_read_again(frame: BinaryFrame) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@given(st.binary())
def test_bytes_of_any_kind_are_a_frame_or_an_error_of_value(content: bytes) -> None:
    with suppress(ValueError):
        decode_frame(content)


@given(FRAMES, st.data())
def test_half_a_frame_is_never_more_than_its_half(frame: BinaryFrame, data: st.DataObject) -> None:
    content = encode_frame(frame)
    half = content[: data.draw(st.integers(0, len(content) - 1))]

    with suppress(ValueError):
        assert decode_frame(half).payload in (b"", frame.payload)


def test_fields_that_we_do_not_know_are_left_out() -> None:
    more = b"\x7a\x03abc" + b"\x79" + bytes(8) + b"\x7d" + bytes(4) + b"\x78\x05"

    assert decode_frame(encode_frame(BinaryFrame(method=1, payload=b"x")) + more) == BinaryFrame(method=1, payload=b"x")


@given(st.binary(min_size=1), st.data())
def test_parts_in_any_order_make_the_event(content: bytes, data: st.DataObject) -> None:
    parts = data.draw(st.integers(2, 8))
    size = -(-len(content) // parts)
    partial = PartialEvents(FakeClock())

    whole = [
        partial.put("e", parts, place, content[place * size : (place + 1) * size])
        for place in data.draw(st.permutations(range(parts)))
    ]

    assert whole == [*[None] * (parts - 1), content]


@pytest.mark.parametrize(("parts", "place"), [(2, 2), (2, -1), (0, 0), (MOST_PARTS + 1, 0)])
def test_a_part_that_cannot_be_is_refused(parts: int, place: int) -> None:
    with pytest.raises(ValueError, match="part"):
        PartialEvents(FakeClock()).put("e", parts, place, b"x")


def test_an_event_whose_parts_differ_in_number_is_refused() -> None:
    partial = PartialEvents(FakeClock())
    partial.put("e", 3, 0, b"x")

    with pytest.raises(ValueError, match="number"):
        partial.put("e", 2, 1, b"y")


def test_what_never_becomes_whole_is_dropped() -> None:
    clock = FakeClock()
    partial = PartialEvents(clock)
    partial.put("old", 2, 0, b"a")
    clock.advance(timedelta(seconds=61))
    late = partial.put("old", 2, 1, b"b")
    for number in range(MOST_EVENTS + 1):
        partial.put(f"e{number}", 2, 0, b"a")

    assert late is None
    assert partial.put("e0", 2, 1, b"b") is None
    assert partial.put(f"e{MOST_EVENTS}", 2, 1, b"b") == b"ab"


def test_parts_that_wait_have_a_size() -> None:
    partial = PartialEvents(FakeClock())
    partial.put("first", 2, 0, bytes(MOST_BYTES // 2))
    partial.put("second", 2, 0, bytes(MOST_BYTES // 2 + 1))

    assert partial.put("first", 2, 1, b"x") is None
