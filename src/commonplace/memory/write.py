"""Writing: check, scrub, prepare, store, in one batch."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, get_args

from commonplace.errors import SecretRefused
from commonplace.memory.prepare import Preparer, Told
from commonplace.memory.validate import (
    check_choice,
    check_importance,
    check_key,
    check_label,
    check_metadata,
    check_position,
    check_tags,
    check_text,
)
from commonplace.ports.clock import Clock
from commonplace.ports.recall import RecallStore
from commonplace.ports.records import RecordStore
from commonplace.text.postings import hashes
from commonplace.text.scrub import scrub
from commonplace.text.similarity import jaccard
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, to_ms, utc
from commonplace.values.note import Note
from commonplace.values.query import Filter
from commonplace.values.record import Draft, Json, Passage, Provenance, Record, Trust, Turn, Visibility, Written
from commonplace.values.scope import Scope
from commonplace.values.turn_options import TurnOptions

Dedupe = Literal["near"]
NEAR = 0.8
_COMPARED = 100


class Writer:
    """The way into the memory for one tenant."""

    def __init__(self, store: RecordStore, recall: RecallStore, preparer: Preparer, clock: Clock, tenant: str) -> None:
        self._store = store
        self._recall = recall
        self._preparer = preparer
        self._clock = clock
        self._tenant = tenant

    async def put(
        self, notes: Sequence[Note], *, dedupe: Dedupe | None = None, actor: str | None = None
    ) -> list[Written]:
        """
        Remember each note, in order; all of them or none. With `dedupe="near"` a note without a key whose words are
        nearly those of a record of its scope is dropped, and that record returned as `unchanged`.
        """
        records = [self._record(note, actor) for note in notes]
        passages = await self._prepare(records)
        drafts = [
            Draft(record=record, passages=made, expected=note.expected, keeps=_keeps(note))
            for note, record, made in zip(notes, records, passages, strict=True)
        ]
        if dedupe is None:
            return await self._store.put(drafts)
        return await self._put_new(drafts)

    async def add_turns(
        self, telling: TurnOptions, turns: Sequence[Turn], *, actor: str | None = None
    ) -> list[Written]:
        """
        One record a turn, in order, never merged. A turn told before (same session, time, speaker and text) is
        returned as it is, so that a retry doubles nothing.
        """
        records = [self._turn(telling, turn, actor) for turn in turns]
        drafts: list[Draft] = []
        said: Counter[bytes] = Counter()
        for record, made in zip(records, await self._prepare(records), strict=True):
            mark = turn_mark(record)
            said[mark] += 1
            # The same words said twice in one telling are two turns.
            once = mark if said[mark] == 1 else _digest(mark + said[mark].to_bytes(4, "big"))
            drafts.append(Draft(record=record, passages=made, once=once, appends=True))
        return await self._store.put(drafts) if drafts else []

    async def _prepare(self, records: Sequence[Record]) -> list[tuple[Passage, ...]]:
        return await self._preparer.passages([Told.by(record) for record in records])

    def _record(self, note: Note, actor: str | None) -> Record:
        text, metadata = clean(note.text, note.metadata)
        _check_origin(note)
        now = utc(self._clock.now())
        return Record(
            id=new_id(now),
            tenant=self._tenant,
            scope=Scope.parse(note.scope),
            text=text,
            created_at=now,
            updated_at=now,
            kind=check_label("kind", "note" if note.kind is None else note.kind),
            key=check_key(note.key),
            source=check_label("source", note.source),
            tags=check_tags(note.tags),
            metadata=metadata,
            pinned=bool(note.pinned),
            importance=check_importance(0 if note.importance is None else note.importance),
            trust=note.trust,
            visibility=note.visibility,
            at=_utc(note.at),
            expires_at=_utc(note.expires_at),
            session=None if note.session is None else check_label("session", note.session),
            position=check_position(note.position),
            speaker=None if note.speaker is None else check_label("speaker", note.speaker),
            provenance=note.provenance,
            actor=actor,
            reason=check_line("reason", note.reason),
        )

    def _turn(self, telling: TurnOptions, turn: Turn, actor: str | None) -> Record:
        told = Note(
            text=turn.text,
            scope=telling.scope,
            kind="turn",
            source=telling.source,
            tags=telling.tags,
            metadata=turn.metadata,
            trust=telling.trust,
            at=turn.at,
            session=telling.session,
            speaker=turn.speaker,
            provenance=Provenance(message=turn.message),
        )
        return self._record(told, actor)

    async def _put_new(self, drafts: Sequence[Draft]) -> list[Written]:
        """Store what is not nearly there already."""
        written: list[Written | None] = [None] * len(drafts)
        fresh: list[int] = []
        again: dict[int, int] = {}
        for n, draft in enumerate(drafts):
            record = draft.record
            known = [] if record.key else await self._similar(draft)
            twin = next((old for old in known if jaccard(old.text, record.text) > NEAR), None)
            if twin is not None:
                written[n] = Written(twin, "unchanged")
            elif (first := None if record.key else _twin(drafts, fresh, record)) is not None:
                again[n] = first
            else:
                fresh.append(n)
        for n, done in zip(fresh, await self._store.put([drafts[n] for n in fresh]), strict=True):
            written[n] = done
        for n, first in again.items():
            # What the first became is known only now: under a key it may be the next version of an older record.
            done = written[first]
            written[n] = done and Written(done.record, "unchanged")
        return [done for done in written if done is not None]

    async def _similar(self, draft: Draft) -> list[Record]:
        """The nearest hundred by words, and the newest hundred."""
        scope, findable = draft.record.scope, Filter(scopes=(draft.record.scope,))
        page = await self._store.find(self._tenant, findable, "newest", _COMPARED, None)
        marks = await self._recall.marks(self._tenant, [scope])
        terms = [term for made in (draft.passages or ())[:1] for term in hashes(made.terms)]
        _, near = await self._recall.words(marks, terms, _COMPARED)
        entries = await self._recall.entries(near, ())
        counted = sorted(entries, key=lambda entry: -len(set(hashes(entry.terms)).intersection(terms)))
        found = await self._recall.fetch([(entry.record, entry.version) for entry in counted[:_COMPARED]])
        now = self._clock.now()
        # What has expired, or has just moved elsewhere, cannot stand for a new note: nobody would find it here.
        return [*page.records, *(record for record in found if record is not None and findable.fits(record, now))]


def clean(text: str, metadata: Mapping[str, Json], *, strict: bool = False) -> tuple[str, dict[str, Json]]:
    """Text and metadata without their secrets; the metadata says how many were taken out. Raises SecretRefused."""
    told, found = _scrubbed(check_text(text), strict)
    kept = check_metadata(metadata)
    redactions = [found]
    kept = _scrubbed_object(kept, strict, redactions)
    if sum(redactions):
        kept["redactions"] = sum(redactions)
    return told, kept


def _scrubbed(text: str, strict: bool) -> tuple[str, int]:
    scrubbed = scrub(text, strict=strict)
    if scrubbed.report.status == "blocked":
        raise SecretRefused(
            f"The text holds {scrubbed.report.block_reason}. Store where it lives, not the secret itself."
        )
    return scrubbed.text, scrubbed.report.redactions


def _scrubbed_value(value: Json, strict: bool, redactions: list[int]) -> Json:
    if isinstance(value, str):
        told, found = _scrubbed(value, strict)
        redactions.append(found)
        return told
    if isinstance(value, dict):
        return _scrubbed_object(value, strict, redactions)
    if isinstance(value, list | tuple):
        return [_scrubbed_value(item, strict, redactions) for item in value]
    return value


def _scrubbed_object(fields: Mapping[str, Json], strict: bool, redactions: list[int]) -> dict[str, Json]:
    """Names are scrubbed, too. Of two that become the same, the second has a number behind it."""
    result: dict[str, Json] = {}
    for name, value in fields.items():
        safe, count = _scrubbed(name, strict)
        redactions.append(count)
        number = 1
        while count and (safe in result or safe in fields):
            number += 1
            safe = f"{_scrubbed(name, strict)[0]} {number}"
        result[safe] = _scrubbed_value(value, strict, redactions)
    return result


def _twin(drafts: Sequence[Draft], among: Sequence[int], record: Record) -> int | None:
    """The first of these drafts that is nearly `record`."""
    beside = (n for n in among if drafts[n].record.scope == record.scope)
    return next((n for n in beside if jaccard(drafts[n].record.text, record.text) > NEAR), None)


def _check_origin(note: Note) -> None:
    check_choice("trust label", note.trust, get_args(Trust))
    check_choice("visibility", note.visibility, get_args(Visibility))
    for what in ("run", "message", "file"):
        check_line(what, getattr(note.provenance, what))


def turn_mark(record: Record) -> bytes:
    """What makes a turn the same turn: session, time, speaker and text. Without a time, its message tells it apart."""
    when = record.provenance.message if record.at is None else to_ms(record.at)
    told = (record.session, when, record.speaker, record.text)
    return _digest(repr(told).encode("utf-8"))


def _digest(told: bytes) -> bytes:
    return hashlib.blake2b(told, digest_size=16).digest()


def _keeps(note: Note) -> frozenset[str]:
    return frozenset(name for name in ("kind", "pinned", "importance") if getattr(note, name) is None)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else utc(moment)
