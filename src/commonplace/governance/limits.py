"""
How often: requests a key may send, and keys an address may guess.

Both are held in the memory of one process and are bounded: many callers cost no more than `most` of them. Time is a number of
seconds that the caller hands in, of whichever clock it likes.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

RequestTier = Literal["read", "mutation", "prompt"]

WINDOW: Final = 60.0
MOST_BUCKETS: Final = 10_000
MOST_FAILURES: Final = 20

# A clock of seconds since 1970 is exact to less than this, so that waiting as long as one was told is long enough.
_HAIR: Final = 1e-5


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimits:
    """
    A bucket of tokens a caller and tier: full, it holds a window's worth, and it fills up again without a pause. A tier
    without a limit is free. Where there are too many buckets the one that was idle the longest goes: it is the fullest.
    """

    def __init__(self, limits: Mapping[RequestTier, int], *, window: float = WINDOW, most: int = MOST_BUCKETS) -> None:
        self._limits = {tier: limit for tier, limit in limits.items() if limit > 0}
        self._window = window
        self._most = most
        self._buckets: OrderedDict[tuple[str, RequestTier], _Bucket] = OrderedDict()

    def check(self, name: str, tier: RequestTier, now: float) -> float | None:
        """Count one request. None: go on. Else nothing was counted, and the answer is how many seconds to wait."""
        limit = self._limits.get(tier)
        if limit is None:
            return None
        rate = limit / self._window
        bucket = self._bucket((name, tier), limit, now)
        if now > bucket.at:
            bucket.tokens = min(limit, bucket.tokens + (now - bucket.at) * rate)
            bucket.at = now
        if bucket.tokens < 1 - _HAIR:
            return (1 - bucket.tokens) / rate
        bucket.tokens = max(bucket.tokens - 1, 0.0)
        return None

    def _bucket(self, name: tuple[str, RequestTier], limit: int, now: float) -> _Bucket:
        if (held := self._buckets.get(name)) is not None:
            self._buckets.move_to_end(name)
            return held
        while len(self._buckets) >= self._most:
            self._buckets.popitem(last=False)
        return self._buckets.setdefault(name, _Bucket(limit, now))

    def __len__(self) -> int:
        return len(self._buckets)


@dataclass(slots=True)
class _Failures:
    since: float
    count: int = 0


class Guessing:
    """
    Addresses that show keys which open nothing. After 20 of them within a minute an address is refused for the rest of
    that minute, right keys too: else an answer would tell a guess that hits from one that does not.
    """

    def __init__(self, *, failures: int = MOST_FAILURES, window: float = WINDOW, most: int = MOST_BUCKETS) -> None:
        self._allowed = failures
        self._window = window
        self._most = most
        # In the order in which their minutes began.
        self._held: OrderedDict[str, _Failures] = OrderedDict()

    def check(self, address: str, now: float) -> float | None:
        """None: go on. Else how many seconds the address is refused for."""
        held = self._held.get(neighbourhood(address))
        if held is None or held.count < self._allowed:
            return None
        left = held.since + self._window - now
        return left if left > 0 else None

    def failed(self, address: str, now: float) -> None:
        """Count a key that opened nothing."""
        place = neighbourhood(address)
        held = self._held.get(place)
        if held is None or now >= held.since + self._window:
            self._held.pop(place, None)
            while len(self._held) >= self._most:
                self._held.popitem(last=False)
            held = self._held[place] = _Failures(now)
        held.count += 1

    def __len__(self) -> int:
        return len(self._held)


def neighbourhood(address: str) -> str:
    """An address as one caller: whoever has one of IPv6 has the 64 bits after its network, too."""
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(read, ipaddress.IPv4Address):
        return str(read)
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(read) >> 64 << 64, 64)))
