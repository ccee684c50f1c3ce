"""What reviewers do, as the clients have it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from commonplace.sdk.calls import review
from commonplace.sdk.surveying import AsyncSurveyor, Surveyor
from commonplace.values.record import Record, Trust
from commonplace.values.review import Origin, RolledBack, WaitingPage
from commonplace.values.scope import Scopes
from commonplace.values.upkeep import Purged


class AsyncReviewer(AsyncSurveyor):
    async def review(
        self,
        *,
        scopes: Scopes = None,
        source: str | None = None,
        session: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> WaitingPage:
        """What is in quarantine, newest first, a page at a time. For reviewers."""
        return await self._run(review.waiting(scopes, source, session, limit, cursor))

    async def release(
        self,
        ids: Sequence[str] = (),
        *,
        source: str | None = None,
        session: str | None = None,
        reason: str,
        trust: Trust | None = None,
        expected: Mapping[str, int] | None = None,
    ) -> builtins.list[Record]:
        """
        Let records out of quarantine: these, or all of a source or a session. `expected` are the versions that were looked at,
        by id; where one is another by now, none is let out. For reviewers. Raises RecordChanged.
        """
        return await self._run(review.release(ids, source, session, reason, trust, expected))

    async def purge_reviewed(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> Purged:
        """Remove records in quarantine for good: these, or all of a source or a session. For reviewers."""
        return await self._run(review.purge(ids, source, session, reason))

    async def release_finding(self, id: str, *, reason: str) -> None:
        """Let a finding of the knowledge registry out of quarantine. For reviewers."""
        await self._run(review.decide_finding(id, "release", reason))

    async def purge_finding(self, id: str, *, reason: str) -> None:
        """Remove a finding in quarantine for good. For reviewers."""
        await self._run(review.decide_finding(id, "purge", reason))

    async def promote_finding(
        self,
        id: str,
        *,
        to: Literal["promoted", "approved_default"] = "promoted",
        reviewer: str | None = None,
        approval: str | None = None,
        freshness_expires_at: datetime | None = None,
        reason: str | None = None,
    ) -> None:
        """
        Take a finding from working to promoted, or from there to the approved default, which names its reviewer and approval. The
        reason is kept in the audit. For reviewers. Raises InvalidTransition.
        """
        fields = {"status": to, "reviewer_id": reviewer, "approval_id": approval, "reason": reason}
        told = {**fields, "freshness_expires_at": freshness_expires_at}
        await self._run(review.change_finding(id, "promote", told))

    async def deprecate_finding(
        self, id: str, *, reviewer: str | None = None, approval: str | None = None, reason: str | None = None
    ) -> None:
        """Give a finding up, for good. The reason is kept in the audit. For reviewers. Raises InvalidTransition."""
        told = {"reviewer_id": reviewer, "approval_id": approval, "reason": reason}
        await self._run(review.change_finding(id, "deprecate", told))

    async def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        """
        Take back all that one source, session, actor or import wrote: each record is set back to the version before, or
        deleted. `Origin(rollback=…)` takes a rollback back. For reviewers.
        """
        return await self._run(review.rollback(origin, reason, dry_run))


class Reviewer(Surveyor):
    def review(
        self,
        *,
        scopes: Scopes = None,
        source: str | None = None,
        session: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> WaitingPage:
        """What is in quarantine, newest first, a page at a time. For reviewers."""
        return self._run(review.waiting(scopes, source, session, limit, cursor))

    def release(
        self,
        ids: Sequence[str] = (),
        *,
        source: str | None = None,
        session: str | None = None,
        reason: str,
        trust: Trust | None = None,
        expected: Mapping[str, int] | None = None,
    ) -> builtins.list[Record]:
        """
        Let records out of quarantine: these, or all of a source or a session. `expected` are the versions that were looked at,
        by id; where one is another by now, none is let out. For reviewers. Raises RecordChanged.
        """
        return self._run(review.release(ids, source, session, reason, trust, expected))

    def purge_reviewed(
        self, ids: Sequence[str] = (), *, source: str | None = None, session: str | None = None, reason: str
    ) -> Purged:
        """Remove records in quarantine for good: these, or all of a source or a session. For reviewers."""
        return self._run(review.purge(ids, source, session, reason))

    def release_finding(self, id: str, *, reason: str) -> None:
        """Let a finding of the knowledge registry out of quarantine. For reviewers."""
        self._run(review.decide_finding(id, "release", reason))

    def purge_finding(self, id: str, *, reason: str) -> None:
        """Remove a finding in quarantine for good. For reviewers."""
        self._run(review.decide_finding(id, "purge", reason))

    def promote_finding(
        self,
        id: str,
        *,
        to: Literal["promoted", "approved_default"] = "promoted",
        reviewer: str | None = None,
        approval: str | None = None,
        freshness_expires_at: datetime | None = None,
        reason: str | None = None,
    ) -> None:
        """
        Take a finding from working to promoted, or from there to the approved default, which names its reviewer and approval. The
        reason is kept in the audit. For reviewers. Raises InvalidTransition.
        """
        fields = {"status": to, "reviewer_id": reviewer, "approval_id": approval, "reason": reason}
        told = {**fields, "freshness_expires_at": freshness_expires_at}
        self._run(review.change_finding(id, "promote", told))

    def deprecate_finding(
        self, id: str, *, reviewer: str | None = None, approval: str | None = None, reason: str | None = None
    ) -> None:
        """Give a finding up, for good. The reason is kept in the audit. For reviewers. Raises InvalidTransition."""
        told = {"reviewer_id": reviewer, "approval_id": approval, "reason": reason}
        self._run(review.change_finding(id, "deprecate", told))

    def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        """
        Take back all that one source, session, actor or import wrote: each record is set back to the version before, or
        deleted. `Origin(rollback=…)` takes a rollback back. For reviewers.
        """
        return self._run(review.rollback(origin, reason, dry_run))
