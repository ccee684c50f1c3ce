"""Who hears what: the events of a tenant, as far as the caller may read what they tell of."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from commonplace.errors import InvalidInput
from commonplace.events.hub import Hears, Hub
from commonplace.events.live import HEARTBEAT_SECONDS
from commonplace.events.seat import LONGEST_QUEUE, QUEUE, SHORTEST_QUEUE, Seat
from commonplace.events.stream import Stream
from commonplace.governance.access import reaches_all, require_role
from commonplace.service.desk import Desk
from commonplace.values.event import Event, Heard, News
from commonplace.values.principal import Key, Principal, SignedIn
from commonplace.values.scope import Scope

MOST_FILTERS: Final = 100
_TYPE: Final = re.compile(r"\*|[a-z][a-z_]*(\.[a-z_]+)*(\.\*)?")
_KEYS_KEPT: Final = 5.0
_NOT_OF_A_WORKSPACE: Final = ("session.", "job.")
"""What sessions do is told by themselves and by the list of those in use; what a task changes is told as that."""


FrameOfNews: TypeAlias = Callable[[Event], bytes | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """
    What a listener asks for. `types` are whole (`record.created`) or end in a star (`record.*`); none: all. `scopes`
    leaves out what is told of others, and of none. `resume` is the last event it had. `queue`: how far it may fall behind.
    """

    types: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ()
    resume: int | None = None
    queue: int = QUEUE


class Listening:
    def __init__(self, desk: Desk, hub: Hub, *, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._desk = desk
        self._hub = hub
        self._heartbeat = heartbeat
        self._keys: dict[str, tuple[float, dict[str, Key]]] = {}
        self._looking = asyncio.Lock()
        hub.watch(self._forget_keys)

    @property
    def hub(self) -> Hub:
        return self._hub

    @asynccontextmanager
    async def listen(self, who: Principal, subscription: Wanted) -> AsyncGenerator[Stream]:
        """
        The stream of what the caller may hear, begun.

        Raises:
            Forbidden: a scope that was named is out of reach.
            InvalidInput: a type or the length of the queue is none that can be.
            TooManyListeners: every place is taken.
        """
        desk = self._desk
        async with desk.account(who, "event.listen"):
            require_role(who, "reader")
            _check(subscription)
            await self._desk.require(who, *subscription.scopes)
            who = await self._desk.with_every_scope(who)

        async def welcome() -> bool:
            return await self.is_welcome(who)

        with self._hub.seat(who.tenant, _hears(who, subscription), subscription.queue) as seat:
            stream = Stream(desk.store.events, self._hub, seat, welcome, heartbeat=self._heartbeat)
            await stream.begin(subscription.resume)
            yield stream

    async def follow(
        self,
        who: Principal,
        *,
        types: Sequence[str] = (),
        scopes: Sequence[Scope] | None = None,
        after: int | None = None,
    ) -> AsyncIterator[Heard]:
        """What the caller may hear, straight from the log: after the event `after`, else from now on. It has no end."""
        subscription = Wanted(types=tuple(types), scopes=tuple(scopes or ()))
        async with self._desk.account(who, "event.listen"):
            require_role(who, "reader")
            _check(subscription)
            await self._desk.require(who, *subscription.scopes)
            who = await self._desk.with_every_scope(who)
        hears, events = _hears(who, subscription), self._desk.store.events
        start = (await events.event_range())[1] if after is None else after
        async for portion in events.follow_events(start):
            for event in portion:
                news = event.news
                if news.tenant == who.tenant and hears(news):
                    yield Heard(
                        type=news.type,
                        id=event.id,
                        at=news.at,
                        scope=news.scope,
                        actor=news.actor,
                        client=news.client,
                        data=news.data,
                    )

    @asynccontextmanager
    async def beside(self, who: Principal, seat: Seat[Any], frame: FrameOfNews) -> AsyncGenerator[None]:
        """
        Have somebody who listens to a session hear what happens in the workspace, too, as far as they may. `frame` writes it; None: it is
        told there already. What is missed meanwhile is in the log.
        """
        hears = _hears(await self._desk.with_every_scope(who), Wanted())

        def tell(event: Event) -> None:
            news = event.news
            # Asked in any case: whoever listens keeps up with what is shared with them.
            if hears(news) and news.scope is not None and not news.type.startswith(_NOT_OF_A_WORKSPACE):
                text = frame(event)
                if text is not None:
                    seat.mention(text)

        with self._hub.watched(tell):
            yield

    async def is_welcome(self, who: Principal) -> bool:
        """Whether the key still opens something, and the session goes on. A thousand listeners look at one list of keys."""
        if who.session is not None and await self._is_over(who.session):
            return False
        if who.key is None:
            return True
        now = asyncio.get_running_loop().time
        async with self._looking:
            looked, keys = self._keys.get(who.tenant, (-_KEYS_KEPT, {}))
            if now() - looked >= _KEYS_KEPT:
                keys = {key.id: key for key in await self._desk.store.keys.list_keys(who.tenant)}
                self._keys[who.tenant] = (now(), keys)
        return _opens(keys, who.key, self._desk.clock.now())

    async def _is_over(self, session: SignedIn) -> bool:
        return self._desk.clock.now() >= session.ends_at or await self._desk.store.keys.is_over(session)

    def _forget_keys(self, event: Event) -> None:
        """A key was made or revoked, here or at another daemon: whoever listens with one of the tenant's is looked at again."""
        if event.news.type.startswith("key."):
            self._keys.pop(event.news.tenant, None)
            self._hub.doubt(event.news.tenant)


def _opens(keys: Mapping[str, Key], id: str, now: datetime) -> bool:
    """Whether a key opens something: it is good, and neither the key that made it nor one before that was revoked."""
    key = keys.get(id)
    if key is None or not key.is_good(now):
        return False
    ancestors: set[str] = set()
    while (parent := keys.get(key.parent or "")) is not None and parent.id not in ancestors:
        if parent.revoked_at is not None:
            return False
        ancestors.add(parent.id)
        key = parent
    return True


def _check(subscription: Wanted) -> None:
    if not SHORTEST_QUEUE <= subscription.queue <= LONGEST_QUEUE:
        raise InvalidInput(f"max_queued is {SHORTEST_QUEUE} to {LONGEST_QUEUE:,}.")
    if max(len(subscription.types), len(subscription.scopes)) > MOST_FILTERS:
        raise InvalidInput(f"Name at most {MOST_FILTERS} types and {MOST_FILTERS} scopes.")
    for pattern in subscription.types:
        if len(pattern) > 100 or not _TYPE.fullmatch(pattern):
            raise InvalidInput(f"{pattern!r:.60} is no type of event. Write it as record.created or record.*.")


def _hears(who: Principal, subscription: Wanted) -> Hears:
    whole = frozenset(pattern for pattern in subscription.types if not pattern.endswith("*"))
    beginnings = tuple(pattern[:-1] for pattern in subscription.types if pattern.endswith("*"))
    scopes = frozenset(subscription.scopes)
    everything = reaches_all(who)
    caller = who

    def hears(news: News) -> bool:
        nonlocal caller
        caller = _kept_up(caller, news)
        if subscription.types and news.type not in whole and not news.type.startswith(beginnings):
            return False
        if scopes and news.scope not in scopes:
            return False
        return may_hear(caller, news, everything=everything)

    return hears


def _kept_up(who: Principal, news: News) -> Principal:
    """The listener after these news: scopes become theirs, and are taken from them, while they listen."""
    scope = news.scope
    if scope is None or news.tenant != who.tenant or news.data.get("subject") != who.subject:
        return who
    if news.type in ("scope.claimed", "scope.shared"):
        return replace(who, member_of=who.member_of | {scope})
    return replace(who, member_of=who.member_of - {scope}) if news.type == "scope.unshared" else who


def may_hear(who: Principal, news: News, *, everything: bool) -> bool:
    """
    What is told of a scope is for those who reach it. What is for admins and tells of no scope may tell of any: it is for
    those who reach `everything`.
    """
    if news.tenant != who.tenant:
        return False
    if news.admins and not who.is_at_least("admin"):
        return False
    if news.scope is not None:
        return who.reaches(news.scope)
    return everything or not news.admins
