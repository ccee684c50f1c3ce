"""Audit rows of reads, written in groups, so that a program with an embedded memory waits for no commit a search."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from commonplace.errors import StoreError
from commonplace.ports.journal import Entries, Journal

if TYPE_CHECKING:
    from commonplace.values.audit import AuditGroup, AuditRow

DELAY: Final = 1.0
"""Seconds that a row waits at most."""
_MOST: Final = 500
log = logging.getLogger(__name__)


class ReadJournal:
    """
    Rows wait in memory for at most `delay` seconds; `flush` writes them now. A store that cannot be written (read-only, full,
    gone) costs the rows, never the read: that is logged.
    """

    def __init__(self, journal: Journal, *, delay: float = DELAY) -> None:
        self._journal = journal
        self._delay = delay
        self._rows: list[AuditRow | AuditGroup] = []
        self._later: asyncio.Task[None] | None = None
        self._one_flush = asyncio.Lock()

    async def note(self, entries: Entries) -> None:
        """Take in rows; entries of another kind are not for here."""
        self._rows += entries.audit
        if len(self._rows) >= _MOST:
            await self.flush()
        elif self._later is None or self._later.done():
            self._later = asyncio.create_task(self._flush_later())

    async def flush(self) -> None:
        async with self._one_flush:
            rows, self._rows = tuple(self._rows), []
            if not rows:
                return
            try:
                await self._journal.note(Entries(audit=rows))
            except StoreError as error:
                log.warning("%s audit rows of reads are lost: %s", len(rows), error.code)

    async def aclose(self) -> None:
        if self._later is not None:
            self._later.cancel()
            with suppress(asyncio.CancelledError):
                await self._later
        await self.flush()

    async def _flush_later(self) -> None:
        await asyncio.sleep(self._delay)
        await self.flush()
