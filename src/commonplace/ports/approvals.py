"""Who approved which version of what, and who wrote the findings."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.values.approval import Approval, ApprovalKind, ApprovalState


class ApprovalRegistry(Protocol):
    """
    Each write keeps its `entries` in the same transaction. `tests/contracts/test_approvals.py` holds each implementation to
    this.
    """

    async def add_approval(self, tenant: str, approval: Approval, entries: Entries) -> Approval:
        """
        Keep it. If the same subject has one of this state for this version already that is not withdrawn, that one is answered,
        and nothing is kept.
        """
        ...

    async def approval(self, tenant: str, id: str) -> Approval:
        """Raises NotFound."""
        ...

    async def approvals_of(self, tenant: str, kind: ApprovalKind, target: str) -> list[Approval]:
        """Those of one record or finding, of every version and state, newest first, without those withdrawn."""
        ...

    async def approvals(
        self, tenant: str, *, state: ApprovalState | None, limit: int, cursor: str | None = None
    ) -> list[Approval]:
        """Those that are not withdrawn, newest first, after the one whose id is `cursor`."""
        ...

    async def withdraw_approval(self, tenant: str, id: str, at: datetime, entries: Entries) -> Approval:
        """Raises NotFound: there is none, or it is withdrawn already."""
        ...

    async def add_author(self, tenant: str, finding: str, subject: str) -> None:
        """Keep who wrote a finding. Of two, the first stays."""
        ...

    async def author(self, tenant: str, finding: str) -> str | None:
        """Who wrote a finding; None if nobody knows."""
        ...
