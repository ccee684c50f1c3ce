"""Whatever is done to a record, undo gives back what was there before it, and no version is ever lost or changed."""

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from commonplace.errors import Conflict, NothingToUndo
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

T = TypeVar("T")
BIRTH = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = st.sampled_from(["make ship", "make release", "部署流程", "ask Ana", "naïve café"])
SCOPES = st.sampled_from([None, Scope("workspace", "web"), Scope("global")])


def content(record: Record) -> Record:
    """A version without what tells it from the others."""
    return replace(
        record, version=1, updated_at=BIRTH, change="created", actor=None, reason=None, restores=None
    )  # fmt: skip


class Lives(RuleBasedStateMachine):
    """One record, its versions as they were written, and a stack of what undo should lead back to."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="commonplace-lives-")
        self.clock = FakeClock(BIRTH)
        self.store = self.run(SqliteStore.open(Path(self.folder.name) / "memory.db", self.clock))
        preparer = Preparer([], estimate)
        self.writer = Writer(self.store.records, self.store.recall, preparer, self.clock, DEFAULT_TENANT)
        self.lifecycle = Lifecycle(self.store.records, preparer, self.clock, DEFAULT_TENANT)
        self.versions: list[Record] = []
        self.before: list[Record] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.aclose())
        self.runner.close()
        self.folder.cleanup()

    @property
    def id(self) -> str:
        return self.versions[0].id

    @initialize(text=TEXTS)
    def write(self, text: str) -> None:
        self.note(self.run(self.writer.put([Note(text=text, scope="agent:scout", key="it")]))[0].record)

    def note(self, record: Record) -> None:
        if not self.versions or record.version > self.versions[-1].version:
            self.versions.append(record)
            self.before.append(content(record))

    def change(self, work: Coroutine[Any, Any, Record]) -> None:
        self.clock.advance(timedelta(seconds=1))
        deleted = self.versions[-1].deleted_at is not None
        # What is deleted stays as it is until that is undone.
        with pytest.raises(Conflict) if deleted else nullcontext():
            self.note(self.run(work))

    @rule(text=TEXTS, importance=st.integers(0, 100), tags=st.lists(st.sampled_from("ab"), max_size=2))
    def edit(self, text: str, importance: int, tags: list[str]) -> None:
        self.change(self.lifecycle.edit(self.id, {"text": text, "importance": importance, "tags": tags}))

    @rule(text=TEXTS)
    def put_under_its_key(self, text: str) -> None:
        held = self.versions[-1]
        self.clock.advance(timedelta(seconds=1))
        self.note(self.run(self.writer.put([Note(text=text, scope=held.scope, key=held.key)]))[0].record)

    @rule(pinned=st.booleans())
    def pin(self, pinned: bool) -> None:
        self.change(self.lifecycle.pin(self.id, pinned))

    @rule()
    def delete(self) -> None:
        self.clock.advance(timedelta(seconds=1))
        self.note(self.run(self.lifecycle.delete(self.id)))

    @rule(scope=SCOPES)
    def promote(self, scope: Scope | None) -> None:
        self.change(self.lifecycle.promote(self.id, scope=scope))

    @rule()
    def demote(self) -> None:
        self.change(self.lifecycle.demote(self.id))

    @rule(days=st.integers(-3, 3))
    def expire(self, days: int) -> None:
        self.change(self.lifecycle.expire(self.id, BIRTH + timedelta(days=days)))

    @rule()
    def undo(self) -> None:
        self.clock.advance(timedelta(seconds=1))
        if len(self.before) == 1:
            with pytest.raises(NothingToUndo):
                self.run(self.lifecycle.undo(self.id))
            return
        restored = self.run(self.lifecycle.undo(self.id))
        self.versions.append(restored)
        self.before.pop()
        assert content(restored) == self.before[-1]
        assert restored.restores is not None
        assert content(self.versions[restored.restores - 1]) == content(restored)

    @invariant()
    def every_version_is_as_it_was_written(self) -> None:
        if self.versions:
            assert self.run(self.store.records.history(DEFAULT_TENANT, self.id)) == self.versions


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
