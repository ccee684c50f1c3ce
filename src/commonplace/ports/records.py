"""Where records live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.ports.journal import Beside, BesidePurge
from commonplace.values.query import Filter, Order, Page
from commonplace.values.record import Draft, Lineage, Record, Salvage, Written
from commonplace.values.upkeep import Purged


class RecordStore(Protocol):
    """
    Keeps records and every version of them. Each call is one transaction: all of it is kept, durably, before it
    returns, or none of it is. What `beside` makes of the records written (as they are answered, `unchanged` ones too) is
    kept in the same transaction; AlreadyAnswered from there leaves nothing written. `tests/contracts/test_record_store.py`
    holds each implementation to this.

    Every call may raise a StoreError: StoreUnavailable, StoreBusy, StoreReadOnly, StoreFull, StoreClosed.
    """

    async def put(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Written]:
        """
        Store each draft, in order.

        With a key that the scope holds already, the draft becomes the next version of that record, keeping its id, its
        birth and the fields that the draft `keeps`; where nothing but the moment differs, nothing is written
        (`unchanged`). A deleted, demoted or superseded record under that key comes to life again as the next version.
        With a mark (`once`) that the scope holds already, nothing is written and the record held is returned. Else it is
        a new record (version 1). A new record whose draft `appends` takes the position after the greatest of its session
        in the scope (0 for the first), deleted records counted.

        Raises:
            RecordChanged: `expected` is given and is not the version held (0: the key is held). Nothing is written.
        """
        ...

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        """
        Store each draft, in order, as the version after the one held under its id; `expected` is required. The scope
        may be another than before. Passages of None stay as they are. With `expected` 0 the draft is a new record,
        whose id must not be held yet: so a record and the one that supersedes it are written together.

        Raises:
            RecordNotFound, RecordChanged: nothing of the call is written.
            Conflict: the key is taken in the scope it is in then.
        """
        ...

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        """
        Bring in whole lives as they were elsewhere, ids, versions and times unchanged. A record that is here already
        with the same version or a later one is left alone (`unchanged`); with an earlier one it is replaced
        (`updated`), unless it has a version here that the life brought in has not: Conflict. A key or mark held by
        another record: Conflict.
        """
        ...

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        """
        The versions held now, in the order asked, deleted ones too.

        Raises:
            RecordNotFound: one of them is not here, or belongs to another tenant.
        """
        ...

    async def history(self, tenant: str, id: str) -> list[Record]:
        """Every version, oldest first. Raises RecordNotFound."""
        ...

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        """
        Records that fit, a page at a time. `newest` and `oldest` go by the last write; `pinned` is pinned first, then
        important, then newest; `key` is pinned, important, then key; `position` is session and place in it. A cursor
        stays right while others write: nothing is told twice, nothing that stayed in place is left out.

        Raises:
            InvalidQuery: the cursor is not one of ours, or of another order.
        """
        ...

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        """Whole lives in the order of their ids, those after id `after`, without passages. For export."""
        ...

    async def salvage(self, tenant: str, filter: Filter, after: str | None, limit: int) -> Salvage:
        """
        As `lineages`, and of a damaged store whatever can be read: a record with those of its versions that can be, counted anew; the rest
        is named. A record whose last version cannot be read and that was deleted does not come back. `after` is what the page before says.
        """
        ...

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        """
        Remove every record that fits one of `filters`, all its versions, words and vectors, so that no byte of its
        text is left in the store. Cannot be undone. `beside` is told the ids.
        """
        ...
