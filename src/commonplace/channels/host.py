"""
The channels of a daemon: each that is enabled is at work, in one process of all that share the store.

A channel is led by lease, as a session is (`agent/session_claims.py`). The other processes stand by: they look again and again, and take over what is free.
The channels `web` and `terminal` are there without being made, so that whoever starts a daemon has rooms.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from commonplace.agent.session_claims import SessionClaims
from commonplace.channels.parts import RoomParts
from commonplace.channels.platforms import GUIDES, PLATFORMS, offered_kind
from commonplace.channels.residence import Residence
from commonplace.channels.secrets import without_secrets
from commonplace.errors import CommonplaceError
from commonplace.ports.channel import Channel
from commonplace.values.channel import (
    TERMINAL,
    WEB,
    ChannelKind,
    ChannelNotFound,
    ChannelProfile,
    ChannelSettings,
    ChannelStatus,
    ChannelStopped,
    RoomsUnavailable,
)
from commonplace.values.moment import utc
from commonplace.values.platform import ConnectionEntry, ConnectionState
from commonplace.values.session_lease import SessionElsewhere, SessionInUse, channel_lease

LOGGER: Final = logging.getLogger("commonplace")

_ENTRIES: Final = 200
ANOTHER: Final = "another process"
"""What leads a channel, if its address is not known, or is for others to know."""

LOCAL_SETTINGS: Final = ChannelSettings(group_policy="open", senders="open", route="chat_thread", dispatch="followup")
"""Whoever is a member of a room is heard there; nobody else gets as far."""
BUILT_IN: Final[dict[str, ChannelKind]] = {WEB: "web", TERMINAL: "terminal"}
"""Channels that are there without being made."""


@dataclass(kw_only=True, slots=True)
class _Running:
    residence: Residence
    stack: AsyncExitStack


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    """A channel that could not begin, as it was set then."""

    profile: ChannelProfile
    state: ConnectionState


class ChannelHost:
    """
    `tenant` is the daemon's own. A channel that is there without being made begins when it is first used, or if it has left something to do.
    `claims` are the channels that this process leads.
    """

    def __init__(self, tenant: str, parts: RoomParts, claims: SessionClaims, *, alone: bool = True) -> None:
        """`alone`: this process is the daemon's only one. Rooms of several workers are refused."""
        self._tenant = tenant
        self._alone = alone
        self.parts = parts
        self._claims = claims
        self._running: dict[tuple[str, str], _Running] = {}
        self._failures: dict[tuple[str, str], _Failure] = {}
        self._leaders: dict[tuple[str, str], str | None] = {}
        """Of channels that another process leads, its address."""
        self._losses: deque[tuple[str, str]] = deque()
        self._awake = asyncio.Event()
        self._logs: dict[tuple[str, str], tuple[ConnectionEntry, ...]] = {}
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[ChannelHost]:
        """What it leads is let go by whoever made its claims."""
        tasks = list[asyncio.Task[None]]()
        try:
            if self._alone:
                for tenant, profile in await self._enabled():
                    await self._try_start(tenant, profile)
                tasks += [asyncio.create_task(self._claims.keep_up(self._lose)), asyncio.create_task(self._stand_by())]
            yield self
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            for key in list(self._running):
                await self._stop(key)

    async def _enabled(self) -> list[tuple[str, ChannelProfile]]:
        profiles = [(tenant, profile) for tenant, profile in await self.parts.store.channels() if profile.enabled]
        names = {(tenant, profile.name) for tenant, profile in profiles}
        for name in BUILT_IN:
            own = self._tenant, name
            if own not in names and await self.parts.store.unhandled(*own):
                profiles.append((self._tenant, await self.profile(*own)))
        return profiles

    async def profile(self, tenant: str, name: str) -> ChannelProfile:
        """Raises ChannelNotFound."""
        for _, profile in await self.parts.store.channels(tenant):
            if profile.name == name:
                return profile
        if name in BUILT_IN:
            now = utc(self.parts.clock.now())
            return ChannelProfile(name=name, kind=BUILT_IN[name], created_at=now, settings=LOCAL_SETTINGS)
        raise ChannelNotFound

    async def profiles(self, tenant: str) -> list[ChannelProfile]:
        profiles = [profile for _, profile in await self.parts.store.channels(tenant)]
        names = {profile.name for profile in profiles}
        return [*[await self.profile(tenant, name) for name in BUILT_IN if name not in names], *profiles]

    def status(self, profile: ChannelProfile, tenant: str) -> ChannelStatus:
        """Whether a channel is at work, how it is connected, and why not."""
        key = tenant, profile.name
        running = self._running.get(key)
        if running is None and key in self._leaders:
            return ChannelStatus(channel=profile, running=False, leader=self._leaders[key] or ANOTHER)
        failure = self._failures.get(key)
        state = (failure.state if failure else None) if running is None else running.residence.platform.connection
        if state is None or state.error is None:
            return ChannelStatus(channel=profile, running=running is not None, connection=state)
        error = without_secrets(profile.settings, state.error)
        meaning = GUIDES[profile.kind].meaning(error)
        state = replace(state, error=error)
        return ChannelStatus(channel=profile, running=running is not None, connection=state, meaning=meaning)

    def log(self, profile: ChannelProfile, tenant: str) -> tuple[ConnectionEntry, ...]:
        """What happened to a channel since the daemon began, the oldest first, at most the last 200; kept while it is stopped, too."""
        key = tenant, profile.name
        running = self._running.get(key)
        entries = (*self._logs.get(key, ()), *(() if running is None else running.residence.platform.log))
        guide = GUIDES[profile.kind]
        return tuple(
            replace(entry, detail=detail, meaning=guide.meaning(detail) if detail else None)
            for entry in entries[-_ENTRIES:]
            for detail in (without_secrets(profile.settings, entry.detail),)
        )

    async def residence(self, tenant: str, name: str) -> Residence:
        """
        The channel at work.

        Raises:
            ChannelNotFound: there is none of this name.
            ChannelStopped: it was stopped.
            SessionElsewhere, SessionInUse: another process leads it.
            RoomsUnavailable: the daemon has several workers.
        """
        if not self._alone:
            raise RoomsUnavailable
        key = tenant, name
        if key in self._running and self._claims.is_doubtful(tenant, channel_lease(name)):
            for lost in await self._claims.renew():
                await self._lose(lost)
            await self._drop_lost()
        running = self._running.get(key)
        if running is None:
            profile = await self.profile(tenant, name)
            if not profile.enabled:
                raise ChannelStopped
            running = await self._start(tenant, profile)
        return running.residence

    async def restart(self, tenant: str, name: str) -> None:
        """After its settings were changed, or it was started, stopped or removed."""
        key = tenant, name
        await self._stop(key)
        profile = None
        with suppress(ChannelNotFound):
            profile = await self.profile(*key)
        if profile is not None and profile.enabled and self._alone:
            # Why it cannot begin is its state: the settings are kept.
            await self._try_start(tenant, profile)
        else:
            await self._release(key)

    async def remove(self, tenant: str, name: str) -> None:
        """Stop it, and forget how it was connected."""
        key = tenant, name
        await self._stop(key)
        await self._release(key)
        self._logs.pop(key, None)

    # ---- with the other processes of the store

    async def _lose(self, key: tuple[str, str]) -> None:
        """Another process leads it by now. Renewals do not wait until it has stopped here."""
        tenant, lease = key
        self._losses.append((tenant, lease.removeprefix(channel_lease(""))))
        self._awake.set()

    async def _stand_by(self) -> None:
        """Look around, again and again."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._claims.pause):
                    await self._awake.wait()
            self._awake.clear()
            try:
                await self.look_around()
            except CommonplaceError as error:
                LOGGER.warning("the channels of other processes have to wait: %s", error.code)

    async def look_around(self) -> None:
        """
        Stop what another process leads, has stopped or removed; begin anew what it has set otherwise; begin what is free; and take up what a process
        that led a channel has left in its inbox.
        """
        await self._drop_lost()
        stored = {(tenant, profile.name): profile for tenant, profile in await self.parts.store.channels()}
        for key, running in list(self._running.items()):
            profile = stored.get(key)
            is_gone = profile is None and key[1] not in BUILT_IN
            if is_gone or profile not in (None, running.residence.profile):
                await self.restart(*key)
        for tenant, profile in await self._enabled():
            key = tenant, profile.name
            failure = self._failures.get(key)
            if key in self._running:
                await self._running[key].residence.look_again()
            elif failure is None or failure.profile != profile:
                await self._try_start(tenant, profile)

    async def _drop_lost(self) -> None:
        while self._losses:
            tenant, name = self._losses.popleft()
            if self._claims.holds(tenant, channel_lease(name)):
                continue
            LOGGER.warning("channel", extra={"told": {"channel": name, "outcome": "lost"}})
            await self._stop((tenant, name))
            for route in await self.parts.store.routes(tenant, name):
                # Whoever leads the channel plays the turns of its rooms.
                await self.parts.agent.let_go(tenant, route.session)

    async def _release(self, key: tuple[str, str]) -> None:
        """Whoever starts it next, here or elsewhere, finds it free, and its sessions once their turns are over."""
        tenant, name = key
        await self._claims.release((tenant, channel_lease(name)))
        for route in await self.parts.store.routes(tenant, name):
            await self.parts.agent.release(tenant, route.session)

    async def _try_start(self, tenant: str, profile: ChannelProfile) -> None:
        try:
            await self._start(tenant, profile)
        except (SessionElsewhere, SessionInUse) as error:
            key, owner = (tenant, profile.name), error.details.get("owner")
            if key not in self._leaders or self._leaders[key] != owner:
                self._leaders[key] = None if owner is None else str(owner)
                LOGGER.info(
                    "channel", extra={"told": {"channel": profile.name, "outcome": "elsewhere", "owner": owner}}
                )
        except CommonplaceError as error:
            # One channel that cannot begin keeps no other from it.
            LOGGER.error(
                "channel", extra={"told": {"channel": profile.name, "code": error.code, "message": error.message}}
            )

    async def _start(self, tenant: str, profile: ChannelProfile) -> _Running:
        key = tenant, profile.name
        async with self._lock:
            if key not in self._running:
                lease = channel_lease(profile.name)
                if not self._claims.holds(tenant, lease):
                    await self._claims.take(tenant, lease)
                self._leaders.pop(key, None)
                try:
                    self._running[key] = await self._opened(tenant, profile)
                except BaseException:
                    await self._claims.release((tenant, lease))
                    raise
            return self._running[key]

    async def _opened(self, tenant: str, profile: ChannelProfile) -> _Running:
        residence = Residence(tenant, profile, self._platform(tenant, profile), self.parts)
        stack = AsyncExitStack()
        await stack.enter_async_context(residence.open())
        return _Running(residence=residence, stack=stack)

    def _platform(self, tenant: str, profile: ChannelProfile) -> Channel:
        try:
            return PLATFORMS[offered_kind(profile.kind)].make(tenant, profile, self.parts)
        except CommonplaceError as error:
            now, key = utc(self.parts.clock.now()), (tenant, profile.name)
            state = ConnectionState(status="stopped", since=now, error=error.message)
            self._failures[key] = _Failure(profile=profile, state=state)
            self._note(key, ConnectionEntry(at=now, event="not_started", detail=error.message))
            raise

    async def _stop(self, key: tuple[str, str]) -> None:
        async with self._lock:
            self._failures.pop(key, None)
            running = self._running.pop(key, None)
            if running is not None:
                await running.stack.aclose()
                self._note(key, *running.residence.platform.log)

    def _note(self, key: tuple[str, str], *entries: ConnectionEntry) -> None:
        self._logs[key] = (*self._logs.get(key, ()), *entries)[-_ENTRIES:]
