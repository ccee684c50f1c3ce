"""
What is kept together with a write: audit rows, events, jobs, claims of sessions and the answer to a repeated request.

This is the unit of work. The stores' writing methods take a `Beside`: a function of what was written that says what else
belongs to it. Its entries are kept in the same transaction, or nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from commonplace.values.audit import AuditGroup, AuditPage, AuditQuery, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.job import NewJob
from commonplace.values.member import SessionClaim
from commonplace.values.record import Written


@dataclass(frozen=True, kw_only=True, slots=True)
class IdempotentReply:
    """
    Which records a request with an idempotency key answered with, so that the same request again can be answered the
    same without being done again. `owner` is who asked, `fingerprint` a hash of what was asked. Kept until `expires_at`.
    """

    tenant: str
    owner: str
    key: str
    fingerprint: bytes
    expires_at: datetime
    results: tuple[tuple[str, int, str], ...] = ()
    """Id, version and outcome of each record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    audit: tuple[AuditRow | AuditGroup, ...] = ()
    events: tuple[News | NewsGroup, ...] = ()
    jobs: tuple[NewJob, ...] = ()
    claims: tuple[SessionClaim, ...] = ()
    reply: IdempotentReply | None = None


Beside: TypeAlias = Callable[[Sequence[Written]], Entries]
"""Called inside the transaction, perhaps on another thread and perhaps twice: pure, and quick."""

BesidePurge: TypeAlias = Callable[[Sequence[str]], Entries]
"""The same for a purge, which leaves nothing but ids."""


class Journal(Protocol):
    """`tests/contracts/test_journal.py` holds each implementation to this."""

    async def note(self, entries: Entries) -> None:
        """
        Keep these entries, all or none, without a record's write.

        Raises:
            AlreadyAnswered: a reply with that tenant, owner and key is there and has not expired.
            QueueFull: the line of a job has no room for it.
            ScopeTaken: a session that is claimed has other members.
        """
        ...

    async def audit(self, tenant: str | None, query: AuditQuery, limit: int, cursor: str | None) -> AuditPage:
        """
        Rows that fit, newest first, of a tenant or (None) of all; those of a group one by one, by the ids of their records. A
        cursor stays right while others write.

        Raises:
            InvalidQuery: the cursor is not one of ours.
        """
        ...

    async def reply(self, tenant: str, owner: str, key: str) -> IdempotentReply | None:
        """The reply kept under a key, unless it has expired."""
        ...

    async def trim_replies(self) -> int:
        """Forget what has expired. How many that were."""
        ...
