"""
Any sequence of writes, against a model of a dictionary and lists.

A reader follows along by `changes`, as the engine's memory does, and must end up with what a fresh load gives.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from commonplace.errors import Conflict, RecordChanged
from commonplace.ports.recall import Entry, Mark
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import EMBEDDER, Drafting, Store, passages_of
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Record
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio

SCOPES = (Scope("workspace", "web"), Scope("user", "ann"))
TEXTS = ("apple", "apple pie", "one\n\ntwo words", "long " * 60)
TENANTS = itertools.count()

puts = st.tuples(
    st.sampled_from(SCOPES),
    st.sampled_from(TEXTS),
    st.sampled_from([None, None, "k", "l"]),
    st.sampled_from([None, None, b"m"]),
    st.sampled_from([None, None, None, 0, 1]),
)
revisions = st.tuples(
    st.integers(0, 20), st.sampled_from(["text", "pin", "delete", "restore", "demote", "move", "stale"])
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(puts, min_size=1, max_size=3)),
        st.tuples(st.just("revise"), revisions),
        st.tuples(st.just("purge"), st.integers(0, 20)),
        st.tuples(st.just("read"), st.just(None)),
    ),
    max_size=14,
)


@dataclass
class Model:
    """What a store should hold: each record's versions, and its mark."""

    lives: dict[str, list[Record]] = field(default_factory=dict[str, list[Record]])
    marks: dict[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])

    def by_key(self, scope: Scope, key: str | None) -> Record | None:
        held = [life[-1] for life in self.lives.values() if key is not None and life[-1].key == key]
        return next((record for record in held if record.scope == scope), None)

    def by_mark(self, scope: Scope, mark: bytes | None) -> Record | None:
        held = [self.lives[id][-1] for id, known in self.marks.items() if mark is not None and known == mark]
        return next((record for record in held if record.scope == scope), None)

    def put(self, draft: Draft) -> str:
        record = draft.record
        if self.by_mark(record.scope, draft.once):
            return "unchanged"
        held = self.by_key(record.scope, record.key)
        if draft.expected is not None and draft.expected != (held.version if held else 0):
            raise RecordChanged
        if held is None:
            self.lives[record.id] = [record]
            self.marks[record.id] = draft.once
            return "created"
        same = (held.text, held.pinned, held.demoted, held.deleted_at) == (record.text, False, False, None)
        if same:
            return "unchanged"
        change = "restored" if held.deleted_at else "edited"
        following = replace(record, id=held.id, version=held.version + 1, created_at=held.created_at, change=change)
        self.lives[held.id].append(following)
        self.marks[held.id] = draft.once or self.marks[held.id]
        return "updated"

    def put_all(self, drafts: list[Draft]) -> list[str]:
        """All or nothing, as a store does it."""
        trial = Model({id: list(life) for id, life in self.lives.items()}, dict(self.marks))
        outcomes = [trial.put(draft) for draft in drafts]
        self.lives, self.marks = trial.lives, trial.marks
        return outcomes


@dataclass
class Reader:
    """What a reader that follows by `changes` knows of one scope."""

    mark: Mark | None = None
    entries: dict[int, list[Entry]] = field(default_factory=dict[int, list[Entry]])

    async def follow(self, store: Store, mark: Mark) -> None:
        anew = self.mark is None or self.mark.epoch != mark.epoch
        changes = await store.recall.changes(mark, 0 if self.mark is None or anew else self.mark.seq, [EMBEDDER])
        if anew:
            self.entries.clear()
        for number in changes.gone:
            self.entries.pop(number, None)
        for entry in changes.entries:
            self.entries.setdefault(entry.record, []).append(entry)
        self.mark = changes.mark

    def all(self) -> list[Entry]:
        return sorted(entry for entries in self.entries.values() for entry in entries)


def revised(record: Record, kind: str, clock: FakeClock) -> Draft:
    changes: dict[str, Any] = {
        "text": {"text": record.text + " more"},
        "pin": {"pinned": not record.pinned},
        "delete": {"deleted_at": clock.now()},
        "restore": {"deleted_at": None, "demoted": False},
        "demote": {"demoted": True},
        "move": {"scope": SCOPES[1 - SCOPES.index(record.scope)]},
        "stale": {},
    }[kind]
    following = replace(record, updated_at=clock.now(), change="edited", **changes)
    passages = passages_of(following.text) if kind == "text" else None
    return Draft(record=following, passages=passages, expected=record.version - (kind == "stale"))


class Trial:
    """One store and its model, side by side."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.drafting = Drafting(clock)
        self.tenant = f"tenant/{next(TENANTS)}"
        self.model = Model()
        self.readers = {scope: Reader() for scope in SCOPES}

    async def put(self, given: list[Any]) -> None:
        drafts = [
            self.drafting(text, scope=scope, key=key, once=once, expected=expected, tenant=self.tenant)
            for scope, text, key, once, expected in given
        ]
        try:
            expected = self.model.put_all(drafts)
        except RecordChanged:
            with pytest.raises(RecordChanged):
                await self.store.records.put(drafts)
            return
        assert [written.outcome for written in await self.store.records.put(drafts)] == expected

    async def revise(self, given: tuple[int, str]) -> None:
        index, kind = given
        if not self.model.lives:
            return
        life = list(self.model.lives.values())[index % len(self.model.lives)]
        draft = revised(life[-1], kind, self.clock)
        moving = kind == "move"
        if kind == "stale":
            with pytest.raises(RecordChanged if life[-1].version > 1 else Conflict):
                await self.store.records.revise([draft])
        elif moving and self.model.by_key(draft.record.scope, draft.record.key):
            with pytest.raises(Conflict):
                await self.store.records.revise([draft])
        elif not (moving and self.model.marks[life[-1].id]):
            [record] = await self.store.records.revise([draft])
            life.append(record)
            assert record == replace(draft.record, version=life[-2].version + 1)

    async def purge(self, index: int) -> None:
        if self.model.lives:
            id = list(self.model.lives)[index % len(self.model.lives)]
            purged = await self.store.records.purge(self.tenant, [Filter(ids=(id,), states=ALL_STATES)])
            assert (purged.records, purged.versions) == (1, len(self.model.lives[id]))
            del self.model.lives[id], self.model.marks[id]

    async def read(self, _: object) -> None:
        for mark in await self.store.recall.marks(self.tenant, SCOPES):
            await self.readers[mark.scope].follow(self.store, mark)

    async def compare(self) -> None:
        for id, life in self.model.lives.items():
            assert await self.store.records.history(self.tenant, id) == life
        found = await self.store.records.find(self.tenant, Filter(states=ALL_STATES), "oldest", 1_000, None)
        assert {record.id: record for record in found.records} == {id: v[-1] for id, v in self.model.lives.items()}
        await self.read(None)
        for mark in await self.store.recall.marks(self.tenant, SCOPES):
            await self.compare_scope(mark)

    async def compare_scope(self, mark: Mark) -> None:
        fresh = sorted((await self.store.recall.changes(mark, 0, [EMBEDDER])).entries)
        assert self.readers[mark.scope].all() == fresh
        assert mark.passages == len(fresh)
        assert mark.terms == sum(entry.length for entry in fresh)
        held = [life[-1] for life in self.model.lives.values() if life[-1].scope == mark.scope]
        live = [record for record in held if not (record.deleted_at or record.demoted)]
        wanted = sorted((r.text, p.start, p.stop, p.terms) for r in live for p in passages_of(r.text))
        records = await self.store.recall.fetch([(entry.record, entry.version) for entry in fresh])
        got = zip(records, fresh, strict=True)
        assert sorted((r.text if r else "?", e.start, e.stop, e.terms) for r, e in got) == wanted
        then = await self.store.recall.as_of(mark, self.clock.now(), [EMBEDDER])
        assert sorted(then) == fresh


@pytest.mark.timeout(180)
@settings(
    max_examples=500 if settings.get_current_profile_name() == "soak" else 20,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(given_steps=steps)
async def test_any_sequence_of_writes_leaves_what_a_simple_model_says(
    store: Store, clock: FakeClock, given_steps: list[tuple[str, Any]]
) -> None:
    trial = Trial(store, clock)

    for name, what in given_steps:
        clock.advance(timedelta(seconds=1))
        await getattr(trial, name)(what)

    await trial.compare()
    assert [finding for finding in await store.maintenance.check() if finding.severity != "ok"] == []
