"""Which process leads which session, or which channel (`values/session_lease.channel_lease`), by lease."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from commonplace.values.session_lease import LeaseHolder, SessionLease


class SessionLeases(Protocol):
    """
    A session is led by one process at a time, until it releases it or its lease runs out by the store's clock. A lease that has run out
    is held still until somebody else claims the session. `HistoryStore.append_messages` takes the claim, so that a process which was
    overtaken adds nothing. A session that is deleted takes its lease with it. `tests/contracts/test_session_leases.py` holds
    each implementation to this.
    """

    async def claim_session(
        self, tenant: str, session: str, claim: str, holder: LeaseHolder, lease: timedelta
    ) -> SessionLease:
        """
        The lease that holds from now on: one under this `claim` if nobody's held, else that of the process which holds it. Of two who
        claim at once one gets it. The session need not be there.
        """
        ...

    async def renew_claims(self, claims: Sequence[str], lease: timedelta) -> list[str]:
        """Hold on to these; answers those that are held still. The others are another process's, or gone."""
        ...

    async def release_claims(self, claims: Sequence[str]) -> int:
        """Let these sessions go; answers how many were held."""
        ...

    async def session_lease(self, tenant: str, session: str) -> SessionLease | None:
        """The one that has not run out."""
        ...

    async def session_leases(self) -> list[SessionLease]:
        """All that have not run out, of every tenant, by tenant and session."""
        ...

    async def end_holders(self, processes: Sequence[str]) -> int:
        """The leases of these processes, which are known to be dead, end now; how many those were."""
        ...
