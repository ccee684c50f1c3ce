"""
Talk read for facts: by the model where there is one, else by rules.

Whatever a model does, the reading goes on: one that cannot be reached, refuses, takes too long, costs too much or answers
nonsense is left, the rules read instead, and the result says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from commonplace.errors import ModelError, SpendingCapReached
from commonplace.learning.by_model import MICRO_USD, ByModel
from commonplace.learning.extract import LEAST, Fact, extract_facts
from commonplace.service.desk import Desk
from commonplace.values.principal import Principal
from commonplace.values.record import Record, Turn
from commonplace.values.usage import work_session

CHAIN: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """What a reading found. `fallback` is the code of the error for which the model was left; `dropped` counts facts beyond the limit."""

    facts: tuple[Fact, ...] = ()
    method: Literal["rules", "model"] = "rules"
    fallback: str | None = None
    short: bool = False
    cost: int = 0
    dropped: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Purpose:
    """Whose money it is: the session, or the end of the id of a chain of several agents."""

    session: str
    agents: tuple[str, ...] = ()
    workspace: str | None = None

    @property
    def work(self) -> str:
        if len(self.agents) > 1:
            return work_session("extract", "chain", self.session[-CHAIN:])
        return work_session("extract", self.session)


class Reading:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def read(
        self,
        who: Principal,
        turns: Sequence[Turn],
        purpose: Purpose,
        *,
        known_records: Sequence[Record] = (),
        least: int = LEAST,
        micro_usd: int = MICRO_USD,
    ) -> Read:
        """The facts of `turns`. `known_records` are the newest records, for a model to see what it need not repeat."""
        if _length(turns) < least:
            return Read(short=True)
        fallback: str | None = None
        if self._desk.model is not None:
            by = ByModel(
                self._desk.model,
                tenant=who.tenant,
                session=purpose.work,
                agent=purpose.agents[0] if purpose.agents else None,
                workspace=purpose.workspace,
            )
            try:
                if micro_usd <= 0:
                    raise SpendingCapReached
                facts, spent, over = await by.facts(turns, known_records, micro_usd=micro_usd)
                return Read(facts=tuple(facts), method="model", cost=spent.cost_micro_usd, dropped=over)
            except (ModelError, SpendingCapReached) as error:
                fallback = error.code
        extraction = await asyncio.to_thread(extract_facts, turns, least=0)
        return Read(facts=extraction.facts, fallback=fallback, dropped=extraction.dropped)


def _length(turns: Sequence[Turn]) -> int:
    """As lines of `speaker: text`."""
    return sum(len(turn.speaker) + len(turn.text) + 3 for turn in turns) - 1
