"""How much of the processor something takes, however busy the machine is, and an end to what takes too much."""

import signal
import time
from collections.abc import Callable
from types import FrameType

PER_CHARACTER = 20e-6
"""Seconds of the processor that may go into one character of a text."""
LEAST = 0.02
"""And that may go into any text at all."""
SMALL, LARGE = 1_500, 100_000
_QUICK = 0.00005
_LINEAR, _STILL_LINEAR = 7.0, 9.0


class TooSlow(Exception):
    """It used up its time."""


def seconds(work: Callable[[str], object], text: str, limit: float) -> float:
    """Of the processor, in this thread; `limit` if it was not done by then. `re` looks for signals while it searches."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, interrupt)
    begin = time.thread_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        work(text)
    except TooSlow:
        return limit
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - begin


def slowness(work: Callable[[str], object], text: Callable[[int], str], largest: int = LARGE) -> str | None:
    """
    What is wrong with the time that `work` takes, as texts of a shape grow; None if it is in proportion.

    Most are so quick with a small text that nothing worse can come of it. Of the others, those that take much more than
    four times as long for a text four times as large are tried with the largest.
    """
    small = min(SMALL, largest)
    first = seconds(work, text(small), _allowed(largest))
    if first < _QUICK * small / SMALL:
        return None
    if (
        small < largest
        and first < _allowed(small)
        and seconds(work, text(4 * small), _allowed(largest)) < _LINEAR * first
    ):
        return None
    most = _allowed(largest)
    last = min(seconds(work, text(largest), most) for _ in range(2))
    if last >= most:
        return f"more than {most:.2f} s for {largest} characters"
    if largest < LARGE:
        # What only ever gets short texts may take its time with them, within the limit.
        return None
    quarter = seconds(work, text(largest // 4), most)
    if last > _STILL_LINEAR * quarter and last > most / 10:
        return f"{last:.2f} s for {largest} characters, {quarter:.3f} s for a quarter of them"
    return None


def _allowed(size: int) -> float:
    return max(PER_CHARACTER * size, LEAST)
