"""In a scope larger than the pool: what is beside an answer is weighed with it, as in a small one."""

from collections.abc import AsyncGenerator, Sequence
from hashlib import sha256

import numpy as np
import pytest

from commonplace.memory import gather
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.ports.embedder import Floats
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.query import Filter, Query
from commonplace.values.record import Turn
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.turn_options import TurnOptions
from commonplace.values.vector import to_unit

pytestmark = pytest.mark.anyio

ROOM = Scope("channel", "web/room")
QUESTION = "which ferry does Ada take to the island"


class Directions:
    """Every text points in a direction of its own; the one that is asked for in that of the question."""

    name = "directions-64"
    dimension = 64

    async def embed(self, texts: Sequence[str]) -> Floats:
        return to_unit(np.array([self._row(text) for text in texts], dtype=np.float32).reshape(len(texts), 64))

    @staticmethod
    def _row(text: str) -> Floats:
        subject = "ferry" if "ferry" in text else text
        digest = sha256(subject.encode()).digest() + sha256(f"{subject}, again".encode()).digest()
        return np.frombuffer(digest, dtype=np.int8).astype(np.float32)

    async def aclose(self) -> None: ...


@pytest.fixture
async def recall(store: SqliteStore, clock: FakeClock) -> AsyncGenerator[Recall]:
    embedder = Directions()
    await store.maintenance.set_embedders({embedder.name: embedder.dimension})
    writer = Writer(store.records, store.recall, Preparer([embedder], estimate), clock, DEFAULT_TENANT)
    said = [
        f"Nothing of note on morning {n}, only gulls and {sha256(str(n).encode()).hexdigest()[:8]}" for n in range(60)
    ]
    said[30] = "Ada asked which ferry to take to the island"
    said[31] = "The nine o'clock one, from quay four"
    said[29] = "Somebody looked at the timetable"
    await writer.add_turns(TurnOptions(session="day", scope=ROOM), [Turn(speaker="Ann", text=text) for text in said])
    recall = Recall(store.recall, [embedder], clock, DEFAULT_TENANT)
    yield recall
    await recall.aclose()


async def best(recall: Recall) -> list[str]:
    hits = await recall.search(Query(text=QUESTION, filter=Filter(scopes=(ROOM,)), limit=3))
    return [hit.record.text for hit in hits]


async def test_the_turns_beside_the_best_are_candidates_in_a_scope_that_is_larger_than_the_pool(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await best(recall)
    monkeypatch.setattr(gather, "WHOLE", 10)
    monkeypatch.setattr(gather, "BEST", 3)

    pooled = await best(recall)

    assert whole[0] == "Ada asked which ferry to take to the island"
    assert {*whole[1:]} == {"The nine o'clock one, from quay four", "Somebody looked at the timetable"}
    assert pooled == whole
