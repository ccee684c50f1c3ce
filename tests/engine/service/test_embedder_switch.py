"""A store changes its embedders while it is searched and written to."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from hashlib import sha256

import numpy as np
import pytest

from commonplace.errors import Conflict, EmbedderUnavailable, Forbidden, InvalidInput
from commonplace.jobs.payloads import EMBED_PAYLOAD, EmbedPayload
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.ports.embedder import Embedder, Floats
from commonplace.service.desk import Desk
from commonplace.service.embedders import EMBED, EmbedderSwitch
from commonplace.service.engines import EngineRoom
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import caller, operator
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.embedder import EmbedderStatus
from commonplace.values.note import Note
from commonplace.values.query import Query
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

WHO = operator(DEFAULT_TENANT)
NOW = timedelta()


class Hashed:
    """Vectors that mean nothing. It remembers what it was asked, and answers while its gate is open."""

    def __init__(self, name: str, dimension: int = 8) -> None:
        self.name = name
        self.dimension = dimension
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.closes_after: int | None = None
        self.is_closed = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Floats:
        await self.gate.wait()
        self.asked += texts
        if self.closes_after is not None and len(self.asked) >= self.closes_after:
            self.gate.clear()
            self.is_closed.set()
        rows = [np.frombuffer(sha256(text.encode()).digest()[: self.dimension], dtype=np.uint8) for text in texts]
        floats = np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)
        return floats / np.float32(1000)

    async def aclose(self) -> None:
        pass


class Switching:
    """A process that has the store open: what it writes and searches with, and its worker."""

    def __init__(
        self, store: SqliteStore, clock: FakeClock, embedders: Sequence[Hashed], active: Sequence[Hashed]
    ) -> None:
        self.store = store
        self.known = {embedder.name: embedder for embedder in embedders}
        room = EngineRoom(store=store, clock=clock, embedders=tuple(active), count=estimate)
        self.desk = Desk(store=store, clock=clock, room=room)
        self.switch = EmbedderSwitch(self.desk, self.make, patience=NOW)
        self._records = Records(self.desk)
        self._worker: asyncio.Task[None] | None = None

    def make(self, names: Sequence[str]) -> Sequence[Embedder]:
        if not set(names) <= self.known.keys():
            raise EmbedderUnavailable
        return [self.known[name] for name in names]

    async def put(self, *texts: str) -> None:
        await self._records.put(WHO, [Note(text=text) for text in texts])

    async def parts(self, text: str) -> set[str]:
        hits = await Recalling(self.desk).search(WHO, Query(text=text))
        return {name for hit in hits for name in hit.why.parts if name.startswith("meaning:")}

    def work(self) -> None:
        queue = Queue(handler=self.switch.run, payload=EMBED_PAYLOAD, wakes=(EMBED,))
        worker = Worker(self.store, self.desk.clock, {EMBED: queue}, look_every=0.01)
        self._worker = asyncio.create_task(worker.run())

    async def settled(self) -> EmbedderStatus:
        for _ in range(500):
            status = await self.switch.status(WHO)
            if status.state not in ("queued", "running"):
                return status
            await asyncio.sleep(0.01)
        raise TimeoutError

    async def stop(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})


@pytest.fixture
async def old(store: SqliteStore) -> Hashed:
    await store.maintenance.set_embedders({"old": 8})
    return Hashed("old")


@pytest.fixture
def new() -> Hashed:
    return Hashed("new", 4)


@pytest.fixture
async def here(store: SqliteStore, clock: FakeClock, old: Hashed, new: Hashed) -> AsyncGenerator[Switching]:
    switching = Switching(store, clock, [old, new, Hashed("newer", 2)], [old])
    yield switching
    await switching.stop()


async def test_when_every_text_has_a_vector_the_new_one_answers_and_the_old_one_is_gone(here: Switching) -> None:
    await here.put("a cat", "a dog")
    here.work()

    await here.switch.use(WHO, "new")
    status = await here.settled()

    assert (status.active, status.coming, status.leaving, status.state) == (("new",), (), (), "settled")
    assert (status.count, status.total) == (2, 2)
    assert await here.parts("cat") == {"meaning:new"}
    assert await here.store.maintenance.embedders() == {"new": 4}


async def test_meanwhile_the_old_one_answers_and_what_is_written_gets_both(
    here: Switching, old: Hashed, new: Hashed
) -> None:
    await here.put("a cat")
    new.gate.clear()
    here.work()

    status = await here.switch.use(WHO, "new")
    during = await here.parts("cat")
    new.gate.set()
    await here.put("a dog")
    await here.settled()

    assert (status.active, status.coming) == (("old",), ("new",))
    assert during == {"meaning:old"}
    assert {"a dog"} <= set(old.asked) & set(new.asked)


async def test_a_process_that_knows_of_nothing_writes_on_and_is_caught_up_with(
    here: Switching, store: SqliteStore, clock: FakeClock, old: Hashed, new: Hashed
) -> None:
    other = Switching(store, clock, [old, new], [old])
    await here.put("a cat")
    new.gate.clear()
    here.work()
    await here.switch.use(WHO, "new")

    await other.put("a dog")
    new.gate.set()
    await here.settled()

    assert "a dog" in new.asked
    assert await store.embedder_stages.count_unembedded() == 0
    await other.switch.refresh()
    assert await other.parts("dog") == {"meaning:new"}


async def test_what_was_done_before_a_crash_is_not_done_again(
    here: Switching, store: SqliteStore, clock: FakeClock, old: Hashed, new: Hashed
) -> None:
    await here.put(*(f"text {number}" for number in range(300)))
    here.work()
    new.closes_after = 256
    await here.switch.use(WHO, "new")
    async with asyncio.timeout(5):
        await new.is_closed.wait()
    await asyncio.sleep(0.2)  # for the vectors of the first portion to be in the store
    await here.stop()

    new.closes_after = None
    new.gate.set()
    again = Switching(store, clock, [old, new], [old])
    again.work()
    await again.settled()
    await again.stop()

    assert len(new.asked) == 300
    assert await store.maintenance.embedders() == {"new": 4}


async def test_another_change_takes_the_place_of_the_one_under_way(here: Switching, new: Hashed) -> None:
    await here.put("a cat")
    new.gate.clear()
    here.work()
    await here.switch.use(WHO, "new")

    status = await here.switch.use(WHO, "newer")
    new.gate.set()
    await here.settled()

    assert status.coming == ("newer",)
    assert await here.store.maintenance.embedders() == {"newer": 2}


async def test_going_back_to_the_old_one_drops_what_was_coming(here: Switching, new: Hashed) -> None:
    await here.put("a cat")
    new.gate.clear()
    await here.switch.use(WHO, "new")
    new.gate.set()
    here.work()

    await here.switch.use(WHO, "old")
    await here.settled()

    assert await here.store.embedder_stages.stages() == {"old": (8, "active")}


async def test_an_embedder_that_is_not_here_changes_nothing(here: Switching) -> None:
    with pytest.raises(EmbedderUnavailable):
        await here.switch.use(WHO, "missing")

    assert set(await here.store.embedder_stages.stages()) == {"old"}
    assert await here.store.jobs.list_jobs(DEFAULT_TENANT) == []


async def test_an_address_is_refused(here: Switching) -> None:
    with pytest.raises(InvalidInput):
        await here.switch.use(WHO, "openai:model@https://elsewhere.example/v1")


async def test_settings_that_name_another_embedder_have_to_be_changed_first(here: Switching) -> None:
    fixed = EmbedderSwitch(here.desk, here.make, fixed="old", patience=NOW)

    with pytest.raises(Conflict):
        await fixed.use(WHO, "new")


async def test_only_the_operator_changes_the_embedder(here: Switching) -> None:
    with pytest.raises(Forbidden):
        await here.switch.use(caller("admin"), "new")
    with pytest.raises(Forbidden):
        await here.switch.status(caller("reviewer"))


async def test_a_job_whose_embedder_was_withdrawn_ends_quietly(here: Switching) -> None:
    await here.switch.use(WHO, "new")
    await here.store.embedder_stages.announce({})
    [job] = await here.store.jobs.list_jobs(DEFAULT_TENANT)

    result = await here.switch.run(job, EmbedPayload(embedders=("new",)), lambda _done, _total: None)

    assert result == {"texts": 0, "replaced": True}
    assert await here.store.maintenance.embedders() == {"old": 8}
