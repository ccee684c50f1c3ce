"""
The indexes in memory: those of the scopes that are searched, kept fresh, as long as there is room.

Before each search the store's marks are compared with those that an index has seen, and what others wrote since is brought
in, so an answer never lags behind a commit. Where that is little, the search waits for it. Where it is much (a large scope
that is asked for the second time, or one that a purge made anew), it is read in the background, some thousands at a time,
between searches rather than beside them, and nobody waits: until the index is up to date the store itself answers.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from commonplace.errors import StoreClosed
from commonplace.memory.index import Index, Segment
from commonplace.memory.word_lookup import portions
from commonplace.ports.recall import IndexChanges, Mark, RecallStore
from commonplace.values.query import Filter
from commonplace.values.record import State

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

CACHE_BYTES = 512 << 20
COLD = 5_000
"""More passages than a search waits for."""
STORE_ANSWERS = 2
"""How many searches at once the store itself answers."""
APART = 8
"""More scopes than are indexed one by one."""
_PORTION = 2_000
_JOINED = 100_000
_WAY = 0.02
_FINDABLE: frozenset[State] = frozenset({"live", "expired"})

Key = int | None
"""The number of a scope; None: the whole tenant."""


class _Running(Protocol):
    """How work is done in a thread: waited for to the end, or left alone by whoever is cancelled."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


@dataclass(slots=True)
class Held:
    """
    An index with the mark it has seen of each scope, by number. `lock` is for whoever changes or searches it, `reading` for
    whoever asks the store what to change: searches go on meanwhile.
    """

    index: Index
    seen: dict[int, Mark] = field(default_factory=dict[int, Mark])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: int = 0

    def has(self, mark: Mark) -> bool:
        """Whether it is as far as `mark`, or further: another search may have brought it there."""
        seen = self.seen.get(mark.number)
        return seen is not None and (seen.epoch, seen.seq) >= (mark.epoch, mark.seq)

    def lacks(self, mark: Mark) -> int:
        """About how many passages must be read to come as far as `mark`."""
        seen = self.seen.get(mark.number)
        if seen is None or seen.epoch < mark.epoch:
            return mark.passages
        return max(mark.passages - seen.passages, 0)

    def begin_with(self, changes: Sequence[IndexChanges]) -> None:
        """Bring in scopes that nothing has been seen of, all of each."""
        self.index.add([(change.mark.number, entry) for change in changes for entry in change.entries])
        self.seen.update({change.mark.number: change.mark for change in changes})

    def bring_in(self, changes: IndexChanges) -> None:
        number = changes.mark.number
        with ExitStack() as half:
            # Half brought in is not brought in. Until then others see how far it was, and that it lacks little.
            half.callback(self.seen.pop, number)
            self.index.drop_records(changes.gone)
            self.index.add([(number, entry) for entry in changes.entries])
            half.pop_all()
        self.seen[number] = changes.mark


class IndexBudget:
    """
    Memory for the indexes of every tenant of a process, `limit` bytes in all. The index that was searched longest ago gives way
    first, whichever tenant it belongs to.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.store_answers = asyncio.Semaphore(STORE_ANSWERS)
        """For whoever has the store answer: others, who need little of it, are not to wait behind many of them."""
        self._members: WeakSet[Holdings] = WeakSet()
        self._uses = count()

    def join(self, member: Holdings) -> None:
        self._members.add(member)

    def next_use(self) -> int:
        return next(self._uses)

    def make_room(self) -> None:
        """Drop indexes until all fit. The one used last stays, even alone above the limit."""
        total = sum(member.bytes for member in self._members)
        if total <= self.limit:
            return
        indexes = sorted((use, key, member) for member in self._members for key, use in member.uses())
        for _, key, member in indexes[:-1]:
            total -= member.drop(key)
            if total <= self.limit:
                return


class Holdings:
    """The indexes of one tenant's scopes, within a budget that all tenants share."""

    def __init__(self, store: RecallStore, dimensions: Mapping[str, int], tenant: str, budget: IndexBudget) -> None:
        self._store = store
        self._dimensions = dict(dimensions)
        self._tenant = tenant
        self._budget = budget
        budget.join(self)
        self._held: dict[Key, Held] = {}
        self._asked: set[Key] = set()
        self._loads: dict[Key, asyncio.Task[Held | None]] = {}
        self._one_load = asyncio.Lock()
        self._one_answer = asyncio.Lock()
        self._searches = 0
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def store_answers(self) -> asyncio.Semaphore:
        return self._budget.store_answers

    # ---- what the budget asks

    @property
    def bytes(self) -> int:
        return sum(held.index.bytes for held in self._held.values())

    def uses(self) -> list[tuple[Key, int]]:
        """Each index that is loaded, and when it was used last."""
        return [(key, held.used) for key, held in self._held.items()]

    def drop(self, key: Key) -> int:
        """Let go of an index. The bytes that it took."""
        held = self._held.pop(key, None)
        return 0 if held is None else held.index.bytes

    # ---- search

    def is_warm(self, marks: Sequence[Mark]) -> bool:
        keys: list[Key] = [mark.number for mark in marks] if len(marks) <= APART else [None]
        return all(key in self._held for key in keys)

    @asynccontextmanager
    async def fresh(self, marks: Sequence[Mark]) -> AsyncGenerator[list[Held] | None]:
        """
        The indexes of these scopes, up to date: one a scope, or one of the whole tenant where they are many. None where the
        store must answer: they are beyond the memory given, asked for the first time, or being loaded. While something is
        being loaded the store answers one at a time: many at once would only hold up the load, after which all are quick.
        """
        holders = await self._up_to_date(marks)
        if holders is None and self._loads:
            async with self._one_answer:
                holders = await self._up_to_date(marks)
                if holders is None:
                    yield None
                    return
        yield holders

    async def _up_to_date(self, marks: Sequence[Mark]) -> list[Held] | None:
        wanted = list(marks) if len(marks) <= APART else await self._store.marks(self._tenant, None)
        wanted.sort(key=lambda mark: mark.number)
        if self._too_large(wanted):
            return None
        groups: dict[Key, list[Mark]] = {None: wanted}
        if len(marks) <= APART:
            groups = {mark.number: [mark] for mark in wanted}
        if late := self._late(groups):
            asked = self._was_asked(marks)
            for key in late:
                if asked or key in self._held:
                    self._begin(key, groups[key])
            return None
        holders = [await self._refreshed(key, group) for key, group in groups.items()]
        ready = [held for held in holders if held is not None]
        return ready if len(ready) == len(holders) else None

    @contextmanager
    def searching(self) -> Generator[None]:
        """While a search runs, a load gives way to it."""
        self._searches += 1
        self._calm.clear()
        try:
            yield
        finally:
            self._searches -= 1
            if not self._searches:
                self._calm.set()

    def forget(self) -> list[asyncio.Task[Held | None]]:
        """Drop every index. The loads that are under way are told to end, and returned."""
        ending = list(self._loads.values())
        self._loads.clear()
        self._held.clear()
        self._asked.clear()
        for load in ending:
            load.cancel()
        return ending

    async def aclose(self) -> None:
        if ending := self.forget():
            await asyncio.wait(ending)

    # ---- what to load

    def _too_large(self, marks: Sequence[Mark]) -> bool:
        bytes_each = 200 + sum(self._dimensions.values()) * 9 // 8
        return sum(mark.passages for mark in marks) * bytes_each > self._budget.limit

    def _late(self, groups: Mapping[Key, Sequence[Mark]]) -> list[Key]:
        """Those that no search waits for."""
        lacking = {key: self._lacking(key, marks) for key, marks in groups.items()}
        new = sum(passages for key, passages in lacking.items() if key not in self._held)
        return [
            key
            for key, passages in lacking.items()
            if key in self._loads or passages > COLD or (new > COLD and key not in self._held)
        ]

    def _lacking(self, key: Key, marks: Sequence[Mark]) -> int:
        held = self._held.get(key)
        return sum(mark.passages if held is None else held.lacks(mark) for mark in marks)

    def _was_asked(self, marks: Sequence[Mark]) -> bool:
        """A command in a cold shell asks once; only who asks again has use for an index."""
        key = marks[0].number if len(marks) == 1 else None
        before = key in self._asked
        self._asked.add(key)
        return before

    # ---- in the background

    def _begin(self, key: Key, marks: Sequence[Mark]) -> None:
        """Load what is not being loaded yet. Until the end nobody searches it, and nobody else begins."""
        if key in self._loads:
            return
        before = self._held.pop(key, None) or Held(Index(self._dimensions))
        load = self._loads[key] = asyncio.create_task(self._loaded(before, marks))
        load.add_done_callback(partial(self._ended, key))

    async def _loaded(self, before: Held, marks: Sequence[Mark]) -> Held | None:
        """None where it was overtaken: whoever asks next begins anew."""
        async with self._one_load:
            async with before.lock:
                # A search that still has the one before does not wait for this.
                held = Held(before.index.twin(), dict(before.seen))
            del before
            if not await self._brought_up(held, marks, waited_for=False):
                return None
            # What the first search would otherwise wait for.
            await aside(held.index.prepare)
        return held

    def _ended(self, key: Key, load: asyncio.Task[Held | None]) -> None:
        error = None if load.cancelled() else load.exception()
        if self._loads.get(key) is not load:
            return
        del self._loads[key]
        if error is not None:
            # As if nobody had asked: a load that fails is not tried again by every search.
            self._asked -= {key, None}
            if not isinstance(error, StoreClosed):
                logger.warning("A scope could not be loaded; the store goes on answering: %s", error, exc_info=error)
        elif not load.cancelled() and (held := load.result()) is not None:
            held.used = self._budget.next_use()
            self._held[key] = held
            self._budget.make_room()

    async def _give_way(self) -> None:
        """Between searches, or after a moment where they never cease; but not where they queue up for its end."""
        if self._searches > 1:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAY):
                await self._calm.wait()

    # ---- up to date

    async def _refreshed(self, key: Key, marks: Sequence[Mark]) -> Held | None:
        """None where it became too much to wait for meanwhile."""
        if key in self._loads or self._lacking(key, marks) > COLD:
            return None
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = Held(Index(self._dimensions))
        held.used = self._budget.next_use()
        if held.seen.keys() <= {mark.number for mark in marks} and all(map(held.has, marks)):
            return held
        async with held.reading:
            up_to_date = await self._brought_up(held, marks, waited_for=True)
        self._budget.make_room()
        return held if up_to_date else None

    async def _brought_up(self, held: Held, marks: Sequence[Mark], *, waited_for: bool) -> bool:
        gone = held.seen.keys() - {mark.number for mark in marks}
        if gone:
            # Scopes are purged away, but also born while others wait for the lock: look again.
            gone -= {mark.number for mark in await self._store.marks(self._tenant, None)}
        for number in gone:
            async with held.lock:
                held.index.drop_scope(number)
                del held.seen[number]
        await self._begin_small(held, marks, waited_for=waited_for)
        for mark in marks:
            if not await self._catch_up(held, mark, waited_for=waited_for):
                return False
        return True

    async def _begin_small(self, target: Held, marks: Sequence[Mark], *, waited_for: bool) -> None:
        """Scopes that nothing is known of and that are small are read together: each alone would cost several reads."""
        for portion in portions(
            [mark for mark in marks if mark.number not in target.seen and mark.passages < _PORTION], _PORTION
        ):
            if not waited_for:
                await self._give_way()
            changes = await self._store.whole(portion, list(self._dimensions))
            async with target.lock:
                await to_the_end(target.begin_with, changes)

    async def _catch_up(self, held: Held, mark: Mark, *, waited_for: bool) -> bool:
        """
        Bring in what happened up to `mark`, and what more happens while it is read. False where that cannot be waited for,
        or where what was read in the background is of no use any more.
        """
        begun = False
        while not held.has(mark):
            seen = held.seen.get(mark.number)
            if seen is None or seen.epoch != mark.epoch:
                if begun if not waited_for else mark.passages > COLD:
                    return False
                begun = True
                async with held.lock:
                    held.seen.pop(mark.number, None)
                    held.index.drop_scope(mark.number)
                    await self._read_all(held.index, mark, waited_for=waited_for)
                    held.seen[mark.number] = mark
                again = await self._store.marks(self._tenant, [mark.scope])
                if not again:
                    # A purge took the scope away while it was read.
                    async with held.lock:
                        held.index.drop_scope(mark.number)
                    return True
                [mark] = again
                continue
            changes = await self._store.changes(mark, seen.seq, list(self._dimensions))
            if changes.mark.epoch == seen.epoch:
                async with held.lock:
                    await to_the_end(held.bring_in, changes)
            mark = changes.mark
        return True

    async def _read_all(self, index: Index, mark: Mark, *, waited_for: bool) -> None:
        """All that can be found in a scope, little by little, so that a large one takes neither the memory nor the time of others."""
        run: _Running = to_the_end if waited_for else aside
        wanted = Filter(scopes=(mark.scope,), states=_FINDABLE)
        numbers = sorted(await self._store.matching(self._tenant, wanted))
        segments: list[Segment] = []
        for start in range(0, len(numbers), _PORTION):
            if not waited_for:
                await self._give_way()
            entries = await self._store.entries_of(numbers[start : start + _PORTION], list(self._dimensions))
            if entries:
                segments.append(await run(partial(index.segment, mark.number, entries)))
            if sum(map(len, segments)) >= _JOINED:
                await run(partial(index.take_in, segments))
                segments = []
        await run(partial(index.take_in, segments))


async def to_the_end(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """
    Run `work` in a thread. A caller who is cancelled waits for it all the same: a thread cannot be stopped, and must not
    go on writing to an index whose lock was let go.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


async def aside(work: Callable[[], T]) -> T:
    """
    Run `work` in a thread that nobody waits for at the end, neither whoever is cancelled nor the program. Only for what
    nobody else can see.
    """
    loop, ended, results = asyncio.get_running_loop(), asyncio.Event(), list[T]()

    def run() -> None:
        try:
            results.append(work())
        finally:
            # Nobody may be left to be told.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=run, name="commonplace-load", daemon=True).start()
    await ended.wait()
    if not results:
        raise RuntimeError("A thread failed; it told why as it ended.")
    return results[0]
