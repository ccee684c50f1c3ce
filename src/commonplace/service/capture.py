"""
What a program learned by itself, on its way into memory.

It is kept under a key, so that learning the same again changes one record and makes no second one. It never overrules a
person: what somebody wrote by hand stays as it is, and what somebody deleted, demoted or replaced does not come back. Only
something else that is told under the key of a deleted record (where somebody lives now) is news.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from commonplace.learning.news import CAPTURED
from commonplace.ports.records import RecordStore
from commonplace.text.similarity import NEAR, jaccard
from commonplace.values.note import Note
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record
from commonplace.values.scope import Scope


async def held_under(store: RecordStore, tenant: str, scope: Scope, key: str) -> Record | None:
    """What a scope holds under a key, whatever became of it."""
    page = await store.find(tenant, Filter(scopes=(scope,), key=key, states=ALL_STATES), "newest", 1, None)
    return page.records[0] if page.records else None


async def worth_writing(store: RecordStore, tenant: str, notes: Sequence[Note], now: datetime) -> list[Note]:
    """
    Those of the notes that tell something new, each with the version that its key is at: whoever writes them and is told
    RecordChanged has to look again.
    """
    news: list[Note] = []
    for note in notes:
        assert note.key is not None
        current = await held_under(store, tenant, Scope.parse(note.scope), note.key)
        if current is None:
            news.append(replace(note, expected=0))
        elif _gives_way(current, note, now) or await _is_news(store, tenant, current, note):
            news.append(replace(note, expected=current.version))
    return news


def _gives_way(current: Record, note: Note, now: datetime) -> bool:
    return current.state(now) == "live" and current.source in CAPTURED and current.text != note.text


async def _is_news(store: RecordStore, tenant: str, current: Record, note: Note) -> bool:
    """Whether the record was deleted, and never said what the note says."""
    if current.deleted_at is None or current.source not in CAPTURED:
        return False
    versions = await store.history(tenant, current.id)
    return not any(jaccard(version.text, note.text) > NEAR for version in versions)
