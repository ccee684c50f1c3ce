"""
What a director learned in the middle of a run, and what it is told of that at the next one.

A learning is a memory of the first agent of the chain, under the time it was had, so that none takes another one's place. It
is read back over all agents of the chain, the newest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from commonplace.errors import InvalidInput, RecordChanged
from commonplace.governance.access import require_role
from commonplace.service.account import Journaled
from commonplace.service.desk import Desk
from commonplace.values.moment import to_ms
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.query import Filter
from commonplace.values.record import Provenance, Record
from commonplace.values.scope import Scope

PREFIX: Final = "director:learning:"
MOST: Final = 20
LONGEST: Final = 2_000
_ATTEMPTS: Final = 1_000
_MILLISECOND: Final = timedelta(milliseconds=1)


class Directing:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def learn(self, who: Principal, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        """Keep a learning of a chain of agents, cut to 2,000 characters. Two at one moment are a millisecond apart."""
        desk, scope = self._desk, _chain(agents)[0]
        async with desk.account(who, "record.put", scope=scope, run=run) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
            writer = desk.engines(who).writer(Journaled(desk.store.records, account))
            now = desk.clock.now()
            for n in range(_ATTEMPTS):
                note = Note(
                    text=learning[:LONGEST],
                    scope=scope,
                    key=f"{PREFIX}{to_ms(now + n * _MILLISECOND)}",
                    kind="fact",
                    source="director",
                    visibility="shared",
                    provenance=Provenance(run=run),
                    expected=0,
                )
                try:
                    [result] = await writer.put([note], actor=who.actor)
                except RecordChanged:
                    continue
                return result.record
            raise RecordChanged

    async def learnings(self, who: Principal, agents: Sequence[str], *, limit: int = MOST) -> list[Record]:
        """What was learned in runs of these agents, newest first."""
        desk, scopes = self._desk, _chain(agents)
        async with desk.account(who, "record.list"):
            await desk.require(who, *scopes)
            filter = Filter(scopes=tuple(dict.fromkeys(scopes)), key_prefix=PREFIX)
            page = await desk.store.records.find(who.tenant, filter, "newest", min(max(limit, 1), MOST), None)
            return list(page.records)


def _chain(agents: Sequence[str]) -> list[Scope]:
    if not agents:
        raise InvalidInput("Name the agents of the chain, the first one first.")
    return [Scope("agent", agent) for agent in agents]
