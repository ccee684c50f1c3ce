"""
The channels of a daemon: each that is enabled is at work.

The channels `web` and `terminal` are there without being made, so that whoever starts a daemon has rooms.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

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

LOGGER: Final = logging.getLogger("commonplace")

_ENTRIES: Final = 200

LOCAL_SETTINGS: Final = ChannelSettings(group_policy="open", senders="open", route="chat_thread", dispatch="followup")
"""Whoever is a member of a room is heard there; nobody else gets as far."""
BUILT_IN: Final[dict[str, ChannelKind]] = {WEB: "web", TERMINAL: "terminal"}
"""Channels that are there without being made."""


@dataclass(kw_only=True, slots=True)
class _Running:
    residence: Residence
    stack: AsyncExitStack


class ChannelHost:
    """`tenant` is the daemon's own. A channel that is there without being made begins when it is first used, or if it has left something to do."""

    def __init__(self, tenant: str, parts: RoomParts, *, alone: bool = True) -> None:
        """`alone`: this process is the daemon's only one. Rooms of several are refused: each would answer."""
        self._tenant = tenant
        self._alone = alone
        self.parts = parts
        self._running: dict[tuple[str, str], _Running] = {}
        self._failures: dict[tuple[str, str], ConnectionState] = {}
        self._logs: dict[tuple[str, str], tuple[ConnectionEntry, ...]] = {}
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[ChannelHost]:
        try:
            for tenant, profile in await self._enabled() if self._alone else ():
                await self._try_start(tenant, profile)
            yield self
        finally:
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
        state = self._failures.get(key) if running is None else running.residence.platform.connection
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
            RoomsUnavailable: the daemon has several workers.
        """
        if not self._alone:
            raise RoomsUnavailable
        running = self._running.get((tenant, name))
        if running is None:
            profile = await self.profile(tenant, name)
            if not profile.enabled:
                raise ChannelStopped
            running = await self._start(tenant, profile)
        return running.residence

    async def restart(self, tenant: str, name: str) -> None:
        """After its settings were changed, or it was started, stopped or removed."""
        await self._stop((tenant, name))
        try:
            profile = await self.profile(tenant, name)
        except ChannelNotFound:
            return
        if profile.enabled and self._alone:
            # Why it cannot begin is its state: the settings are kept.
            await self._try_start(tenant, profile)

    async def remove(self, tenant: str, name: str) -> None:
        """Stop it, and forget how it was connected."""
        await self._stop((tenant, name))
        self._logs.pop((tenant, name), None)

    async def _try_start(self, tenant: str, profile: ChannelProfile) -> None:
        try:
            await self._start(tenant, profile)
        except CommonplaceError as error:
            # One channel that cannot begin keeps no other from it.
            LOGGER.error(
                "channel", extra={"told": {"channel": profile.name, "code": error.code, "message": error.message}}
            )

    async def _start(self, tenant: str, profile: ChannelProfile) -> _Running:
        key = tenant, profile.name
        async with self._lock:
            if key not in self._running:
                platform = self._platform(tenant, profile)
                residence = Residence(tenant, profile, platform, self.parts)
                stack = AsyncExitStack()
                await stack.enter_async_context(residence.open())
                self._running[key] = _Running(residence=residence, stack=stack)
            return self._running[key]

    def _platform(self, tenant: str, profile: ChannelProfile) -> Channel:
        try:
            return PLATFORMS[offered_kind(profile.kind)].make(tenant, profile, self.parts)
        except CommonplaceError as error:
            now, key = utc(self.parts.clock.now()), (tenant, profile.name)
            self._failures[key] = ConnectionState(status="stopped", since=now, error=error.message)
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
