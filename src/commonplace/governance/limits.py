"""
How often: requests a key may send, and keys an address may guess.

Both are in the memory of one process and bounded: many callers cost no more than `most` of them. Time is a number of seconds
that the caller passes, of any clock.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from commonplace.values.principal import Principal

RequestTier = Literal["read", "mutation", "prompt", "query"]
"""`query` counts what is searched, not requests: the words of a question times the scopes it is asked of."""

WINDOW: Final = 60.0
MOST_BUCKETS: Final = 10_000
MOST_FAILURES: Final = 20

# A clock of seconds since 1970 is more exact than this, so that waiting as long as the answer said is long enough.
_HAIR: Final = 1e-5


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimits:
    """
    A token bucket per caller and tier: full, it holds the tokens of one window, and it refills continuously. A tier without a
    limit is free. If there are too many buckets, the one that was idle the longest goes: it is the fullest.
    """

    def __init__(self, limits: Mapping[RequestTier, int], *, window: float = WINDOW, most: int = MOST_BUCKETS) -> None:
        self._limits = {tier: limit for tier, limit in limits.items() if limit > 0}
        self._window = window
        self._most = most
        self._buckets: OrderedDict[tuple[str, RequestTier], _Bucket] = OrderedDict()

    def check(self, name: str, tier: RequestTier, now: float, cost: int = 1) -> float | None:
        """
        Count one request, or what it costs. None: go on. Else nothing was counted, and the answer is how many seconds to wait. What
        costs more than a full bucket holds costs a full bucket: it is let through once there is one.
        """
        limit = self._limits.get(tier)
        if limit is None:
            return None
        rate = limit / self._window
        bucket = self._bucket((name, tier), limit, now)
        if now > bucket.at:
            bucket.tokens = min(limit, bucket.tokens + (now - bucket.at) * rate)
            bucket.at = now
        cost = min(cost, limit)
        if bucket.tokens < cost - _HAIR:
            return (cost - bucket.tokens) / rate
        bucket.tokens = max(bucket.tokens - cost, 0.0)
        return None

    def _bucket(self, name: tuple[str, RequestTier], limit: int, now: float) -> _Bucket:
        if (bucket := self._buckets.get(name)) is not None:
            self._buckets.move_to_end(name)
            return bucket
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
    Addresses that send invalid keys. After 20 of them within a minute an address is refused for the rest of that minute,
    valid keys too: otherwise the answer would show whether a guess was right.
    """

    def __init__(self, *, failures: int = MOST_FAILURES, window: float = WINDOW, most: int = MOST_BUCKETS) -> None:
        self._allowed = failures
        self._window = window
        self._most = most
        # In the order in which their minutes began.
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def check(self, address: str, now: float) -> float | None:
        """None: go on. Else how many seconds the address is refused for."""
        failures = self._failures.get(neighbourhood(address))
        if failures is None or failures.count < self._allowed:
            return None
        seconds = failures.since + self._window - now
        return seconds if seconds > 0 else None

    def failed(self, address: str, now: float) -> None:
        """Count an invalid key."""
        place = neighbourhood(address)
        failures = self._failures.get(place)
        if failures is None or now >= failures.since + self._window:
            self._failures.pop(place, None)
            while len(self._failures) >= self._most:
                self._failures.popitem(last=False)
            failures = self._failures[place] = _Failures(now)
        failures.count += 1

    def __len__(self) -> int:
        return len(self._failures)


def caller_name(who: Principal) -> str:
    """What counts as one caller: a key, the operator, or a person at an address."""
    return who.identity if who.key or who.operator else f"{who.tenant} {who.identity} {who.address}"


def neighbourhood(address: str) -> str:
    """An address as one caller: who has one IPv6 address has its whole /64 network."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(ip) >> 64 << 64, 64)))
