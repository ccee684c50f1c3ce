"""What reviewers do, as the clients have it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence

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

    def rollback(self, origin: Origin, *, reason: str, dry_run: bool = False) -> RolledBack:
        """
        Take back all that one source, session, actor or import wrote: each record is set back to the version before, or
        deleted. `Origin(rollback=…)` takes a rollback back. For reviewers.
        """
        return self._run(review.rollback(origin, reason, dry_run))
