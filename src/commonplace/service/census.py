"""How much there is and of what: scopes, counts, and where a record was recalled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.governance.access import require_role
from commonplace.memory.weighing import WEIGHTS
from commonplace.service.desk import Desk
from commonplace.values.census import BYS, MOST_COUNTS, MOST_SEARCHES, By, Recalls, ScopeCounts, Tally, Weight
from commonplace.values.principal import Principal
from commonplace.values.query import Filter
from commonplace.values.scope import ScopeKind

MOST_SCOPES: Final = 1_000
MOST_RECALLS: Final = 1_000


class Counting:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def scopes(
        self,
        who: Principal,
        *,
        text: str = "",
        kinds: Sequence[ScopeKind] = (),
        limit: int = 100,
        everyone: bool = False,
    ) -> ScopeCounts:
        """Those at home with the caller that have `text` in their names, last written first; `everyone`: all in an admin's reach."""
        desk = self._desk
        async with desk.account(who, "scope.list") as account:
            if everyone:
                account.details["everyone"] = True
            require_role(who, "reader")
            if not 1 <= limit <= MOST_SCOPES:
                raise InvalidInput(f"Ask for 1 to {MOST_SCOPES:,} scopes.")
            own_scopes = await desk.readable(who, None, everyone=everyone)
            scopes = await desk.store.statistics.scopes(who.tenant, own_scopes, text, kinds, limit)
            if everyone:
                await account.note_read()
            return scopes

    def weights(self) -> list[Weight]:
        """What a search may be told to weigh, and how much it does by itself."""
        return [*WEIGHTS]

    async def counts(self, who: Principal, filter: Filter, by: Sequence[By]) -> Tally:
        """How many records fit, of those the caller may read, by one or two of their fields."""
        desk = self._desk
        async with desk.account(who, "record.count") as account:
            if filter.everyone:
                account.details["everyone"] = True
            require_role(who, "reader")
            if not 1 <= len(by) <= 2 or len(set(by)) != len(by) or not set(by) <= set(BYS):
                raise InvalidInput(f"Count by one or two of {', '.join(BYS)}.")
            tally = await desk.store.statistics.tally(who.tenant, await desk.narrowed(who, filter), by, MOST_COUNTS)
            if filter.everyone:
                await account.note_read()
            return tally

    async def recalls(self, who: Principal, id: str, *, limit: int = 50) -> Recalls:
        """
        Which of the tenant's latest searches showed a record, newest first. Never what was asked.

        Raises:
            RecordNotFound: there is none, or it is out of reach.
        """
        desk = self._desk
        async with desk.account(who, "record.recalls") as account:
            require_role(who, "reader")
            if not 1 <= limit <= MOST_RECALLS:
                raise InvalidInput(f"Ask for 1 to {MOST_RECALLS:,} recalls.")
            record = await desk.found(who, account, id)
            await desk.flush_reads()
            return await desk.store.statistics.recalls(who.tenant, record.id, MOST_SEARCHES, limit)
