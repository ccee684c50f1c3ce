"""The services that learning has to do with, over a store, and what a conversation teaches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

from commonplace.ports.clock import Clock
from commonplace.ports.models import LanguageModel
from commonplace.ports.store import Store
from commonplace.service.desk import Desk
from commonplace.service.engines import EngineRoom
from commonplace.service.extraction import Extracting, Talk
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.testing.callers import caller
from commonplace.text.tokens import estimate
from commonplace.values.extraction import Extracted
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record, State, Turn
from commonplace.values.scope import Scope

WHO: Final = caller("writer", name="ana")
FILLER: Final = Turn(speaker="assistant", text="Could you tell me a little more about what you want to do next? " * 4)
"""Says nothing, and is long enough for a conversation to be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class House:
    """Searched by words only."""

    desk: Desk
    extracting: Extracting
    records: Records
    recall: Recalling

    @classmethod
    def over(cls, store: Store, clock: Clock, model: LanguageModel | None = None) -> Self:
        room = EngineRoom(store=store, clock=clock, embedders=(), count=estimate)
        desk = Desk(store=store, clock=clock, room=room, model=model)
        return cls(desk=desk, extracting=Extracting(desk), records=Records(desk), recall=Recalling(desk))

    async def extract(self, *said: str | Turn, **talk: Any) -> Extracted:
        """What is learned of what was said, each by `user` unless it is a turn, for `user:ana` unless `talk` says otherwise."""
        turns = tuple(one if isinstance(one, Turn) else Turn(speaker="user", text=one) for one in (*said, FILLER))
        told: dict[str, Any] = {"scope": Scope("user", "ana"), **talk}
        return await self.extracting.extract(WHO, Talk(turns=turns, **told))

    async def held(self, scope: str = "user:ana", states: frozenset[State] = frozenset({"live"})) -> list[Record]:
        wanted = Filter(scopes=(Scope.parse(scope),), states=states)
        return list((await self.desk.store.records.find(WHO.tenant, wanted, "oldest", 1_000, None)).records)

    async def texts(self, scope: str = "user:ana", states: frozenset[State] = frozenset({"live"})) -> list[str]:
        return [record.text for record in await self.held(scope, states)]

    async def all_versions(self) -> int:
        page = await self.desk.store.records.find(WHO.tenant, Filter(states=ALL_STATES), "oldest", 1_000, None)
        return sum(record.version for record in page.records)
