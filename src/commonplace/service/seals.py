"""Sealing the audit, verifying it, and removing what is older than it is kept."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from commonplace.values.audit import AuditRow
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.upkeep import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    # Payloads are read with pydantic, which loads slowly; a memory that is closed seals, too.
    from commonplace.jobs.payloads import Nothing
    from commonplace.ports.maintenance import Progress
    from commonplace.service.desk import Desk
    from commonplace.values.job import Job
    from commonplace.values.record import Json
    from commonplace.values.seal import SealState

SEAL: Final = "seal"
EVERY: Final = timedelta(minutes=10)
_ADVICE: Final = (
    "Somebody wrote to the store past Commonplace. Keep the file as it is, compare its audit with that of a backup (`GET "
    "/v1/audit/export`), and compare the hashes of the seals with the daemon's log (`sealed`)."
)
log = logging.getLogger("commonplace")


async def seal_audit(desk: Desk) -> int:
    """Seal all rows that wait. How many they were. Whoever reads the log has hashes that nobody can change in the store."""
    await desk.flush_reads()
    count = 0
    while (seal := await desk.store.seals.seal(desk.clock.now())) is not None:
        fields = {"seal": seal.number, "rows": seal.count, "last": seal.last, "hash": seal.hash}
        log.info("sealed", extra={"told": fields})
        count += seal.count
    return count


@dataclass(frozen=True, kw_only=True, slots=True)
class Sealing:
    """`retention`: rows that are older go, and their seals stay; None: none goes."""

    desk: Desk
    retention: timedelta | None = None

    async def run(self, job: Job, payload: Nothing, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with a job of kind `seal`."""
        del job, payload
        rows = await seal_audit(self.desk)
        progress(1, 2)
        trimmed = await self.trim()
        progress(2, 2)
        return {"rows": rows, "trimmed": trimmed}

    async def trim(self) -> int:
        if self.retention is None:
            return 0
        now, total = self.desk.clock.now(), 0
        while count := await self.desk.store.seals.trim(now - self.retention, self._row):
            total += count
        return total

    def _row(self, seal: int, rows: int) -> AuditRow:
        now = self.desk.clock.now()
        return AuditRow(
            id=new_id(now),
            at=now,
            tenant=DEFAULT_TENANT,
            actor="daemon",
            action="audit.trim",
            door="daemon",
            details={"seal": seal, "rows": rows},
        )


def finding_of(state: SealState, *, counts: bool) -> Finding:
    """What `check` says of the seals; `counts`: also how many rows there are, of every tenant."""
    if state.broken is not None:
        return Finding("audit", "error", f"seal {state.broken} of the audit does not fit: {state.reason}", _ADVICE)
    if not state.seals:
        message = "the audit is not sealed yet"
        return Finding("audit", "ok", f"{message}: {state.waiting:,} rows wait" if counts else message)
    last = state.seals[0]
    message = f"the audit fits its {last.number:,} seals"
    if counts:
        message += f" over {state.sealed:,} rows, {state.waiting:,} wait for the next; the last is {last.hash[:16]}"
    return Finding("audit", "ok", message)
