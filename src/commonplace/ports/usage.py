"""What models cost, and what a tenant may spend on them in a day."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.ports.quotas import Quotas
from commonplace.values.usage import Usage, UsageTotal


class UsageLedger(Protocol):
    """`tests/contracts/test_usage.py` holds each implementation to this."""

    async def add_usage(self, usage: Usage) -> None: ...

    async def list_usage(self, tenant: str, limit: int) -> list[Usage]:
        """The latest lines, newest first."""
        ...

    async def usage_totals(self, tenant: str, since: datetime, until: datetime) -> list[UsageTotal]:
        """From `since` to before `until`, by purpose and model, the dearest first."""
        ...

    async def budget(self, tenant: str) -> int | None:
        """What the tenant may spend a day, in millionths of a dollar; None where nobody set it."""
        ...

    async def set_budget(self, tenant: str, micro_usd: int | None, entries: Entries) -> None:
        """Set it, or (None) forget it, and keep `entries` beside it."""
        ...


class SpendingStore(Protocol):
    """The ports of a `Store` that it takes to spend a budget."""

    @property
    def usage(self) -> UsageLedger: ...

    @property
    def quotas(self) -> Quotas: ...
