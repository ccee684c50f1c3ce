"""
The sessions and channels that this process leads, by leases in the store, and the history as it may be written under them.

A claim is new whenever a session is taken up. The store takes a message only under the claim that holds, so that a process which was
stopped for longer than its lease adds nothing when it goes on, whatever it believes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final, Protocol

from commonplace.errors import CommonplaceError
from commonplace.jobs.leases import is_gone
from commonplace.ports.clock import Clock
from commonplace.ports.session_leases import SessionLeases
from commonplace.values.principal import Principal
from commonplace.values.session import MessageDraft, MessagePage, Session, SessionChanges, SessionMessage
from commonplace.values.session_lease import LeaseHolder, SessionElsewhere, SessionInUse, SessionLease, SessionLost
from commonplace.values.session_state import ActivityState

LOGGER: Final = logging.getLogger("commonplace")
LEASE: Final = timedelta(seconds=15)
_RENEWALS: Final = 3
"""A lease is renewed so often before it would run out."""
_RELEASED_IN: Final = 5.0


@dataclass(slots=True)
class _Claim:
    id: str
    expires_at: datetime


class SessionClaims:
    """`dead` tells which processes are known to have ended: nobody waits for their leases."""

    def __init__(
        self,
        leases: SessionLeases,
        clock: Clock,
        holder: LeaseHolder,
        *,
        lease: timedelta = LEASE,
        dead: Callable[[str], bool] = is_gone,
    ) -> None:
        self._leases = leases
        self._clock = clock
        self.holder = holder
        self._lease = lease
        self._dead = dead
        self._held: dict[tuple[str, str], _Claim] = {}

    async def take(self, tenant: str, session: str) -> None:
        """Lead this session from now on. Raises SessionElsewhere, SessionInUse: another process does."""
        claim = token_hex(16)
        lease = await self._leases.claim_session(tenant, session, claim, self.holder, self._lease)
        if lease.claim != claim and (lease.holder == self.holder or self._dead(lease.holder.process)):
            # Nobody is asked to wait for a process that is dead, nor for a claim of ours that could not be released.
            await self._leases.release_claims([lease.claim])
            lease = await self._leases.claim_session(tenant, session, claim, self.holder, self._lease)
        if lease.claim != claim:
            raise self._refusal(lease)
        self._held[tenant, session] = _Claim(claim, lease.expires_at)

    def claim_of(self, tenant: str, session: str) -> str:
        """What a write to its history is to name. Raises SessionLost: this process does not lead it."""
        claim = self._held.get((tenant, session))
        if claim is None:
            raise SessionLost
        return claim.id

    def holds(self, tenant: str, session: str) -> bool:
        return (tenant, session) in self._held

    def is_doubtful(self, tenant: str, session: str) -> bool:
        """Whether the lease has run out, so that somebody else may have taken it."""
        claim = self._held.get((tenant, session))
        return claim is None or self._clock.now() >= claim.expires_at

    async def require_free(self, tenant: str, session: str) -> None:
        """Raises SessionElsewhere, SessionInUse: another process leads it."""
        if (tenant, session) in self._held:
            return
        lease = await self._leases.session_lease(tenant, session)
        if lease is not None and not self._dead(lease.holder.process):
            raise self._refusal(lease)

    async def beside(self) -> int:
        """How many sessions the other workers of this daemon lead."""
        if self.holder.socket is None:
            return 0
        leases = await self._leases.session_leases()
        return sum(lease.channel is None and lease.holder.is_beside(self.holder) for lease in leases)

    async def renew(self) -> list[tuple[str, str]]:
        """Hold on to all; answers those that are another process's by now, or gone."""
        before = dict(self._held)
        if not before:
            return []
        now = self._clock.now()
        still = set(await self._leases.renew_claims([claim.id for claim in before.values()], self._lease))
        losses = [key for key, claim in before.items() if claim.id not in still]
        for key, claim in before.items():
            if claim.id in still:
                claim.expires_at = now + self._lease
            elif self._held.get(key) is claim:
                del self._held[key]
        return losses

    async def release(self, *keys: tuple[str, str]) -> None:
        """Let these go, so that nobody waits for them. If the store is out of reach, their leases run out."""
        claims = [claim.id for key in keys if (claim := self._held.pop(key, None)) is not None]
        if claims:
            try:
                async with asyncio.timeout(_RELEASED_IN):
                    await self._leases.release_claims(claims)
            except (CommonplaceError, TimeoutError) as error:
                LOGGER.warning("a lease is not released: %s", type(error).__name__)

    async def aclose(self) -> None:
        """Let all go."""
        await self.release(*self._held)

    @property
    def pause(self) -> float:
        """Seconds between two renewals."""
        return self._lease.total_seconds() / _RENEWALS

    async def keep_up(self, on_loss: Callable[[tuple[str, str]], Awaitable[None]]) -> None:
        """Renew the leases in time, without an end, and call `on_loss` for each session that is lost."""
        while True:
            await asyncio.sleep(self.pause)
            try:
                keys = await self.renew()
            except CommonplaceError as error:
                LOGGER.warning("leases are not renewed: %s", error.code)
                continue
            await asyncio.gather(*(on_loss(key) for key in keys))

    def _refusal(self, lease: SessionLease) -> SessionElsewhere | SessionInUse:
        if lease.holder.url is None and lease.holder.socket is None:
            return SessionInUse()
        wait = (lease.expires_at - self._clock.now()).total_seconds()
        error = SessionElsewhere.of(lease, wait)
        error.is_beside = lease.holder.is_beside(self.holder)
        return error


class WrittenHistory(Protocol):
    """The history in the reach of a person: `service/history.History`."""

    async def session(self, who: Principal, id: str) -> Session: ...

    async def among(self, who: Principal, ids: Sequence[str], *, everyone: bool = False) -> list[Session]: ...

    async def tell_activity(self, tenant: str, id: str, state: ActivityState, backlog: int) -> None: ...

    async def change(self, who: Principal, id: str, changes: SessionChanges) -> Session: ...

    async def append(
        self, who: Principal, session: str, drafts: Sequence[MessageDraft], *, claim: str | None = None
    ) -> list[SessionMessage]: ...

    async def messages(
        self,
        who: Principal,
        session: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        hidden: bool = False,
    ) -> MessagePage: ...


class ClaimedHistory:
    """The history as this process may write it: only to sessions that it leads."""

    def __init__(self, history: WrittenHistory, claims: SessionClaims) -> None:
        self._history = history
        self._claims = claims
        self.session = history.session
        self.change = history.change
        self.messages = history.messages
        self.among = history.among
        self.tell_activity = history.tell_activity

    async def append(self, who: Principal, session: str, drafts: Sequence[MessageDraft]) -> list[SessionMessage]:
        """Raises SessionLost: another process leads the session."""
        claim = self._claims.claim_of(who.tenant, session)
        return await self._history.append(who, session, drafts, claim=claim)
