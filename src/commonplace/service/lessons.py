"""
What was learned from talk, on its way into memory.

Each fact is held against what its scope holds, what became of that, and what was recalled into the run (`learning.news`). A fact
takes the place of all older ones that it contradicts, in one write: the old records are kept, marked with their successor, and the
successor names the turn that changed them. A record that a person wrote or vouched for is never touched; the new fact is then kept beside it, in quarantine,
until a reviewer has looked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from commonplace.guard.quarantine import quarantined
from commonplace.learning.news import CAPTURED, TOLD, KnownFacts, Lesson, rounds
from commonplace.learning.shown_memories import ShownMemories
from commonplace.ports.records import RecordStore
from commonplace.service.account import Account, Journaled
from commonplace.service.capture import held_under, worth_writing
from commonplace.service.desk import Desk
from commonplace.service.marks import mark_of
from commonplace.values.changes import SuccessorFields
from commonplace.values.moment import to_iso
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.query import ALL_STATES, Filter, Query
from commonplace.values.record import Draft, Json, Provenance, Record, Trust, Written
from commonplace.values.scope import Scope

TALK: Final[Trust] = "external_user_supplied"
"""What somebody said is what somebody said."""
LONGEST: Final = 2_000
COMPARED: Final = 100
CONTRADICTED: Final = "a later statement contradicts it"

_KINDS: Final = ("fact", "note")
_NEAREST: Final = 10
_SHARED: Final = frozenset({"agent", "workspace"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A lesson, and the scope it is for."""

    lesson: Lesson
    scope: Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class LessonResult:
    """`beside` are the records of the notes that were to be written with the facts."""

    facts: tuple[Record, ...] = ()
    superseded: tuple[str, ...] = ()
    dropped: Counter[str]
    beside: tuple[Record, ...] = ()


class LessonWriter:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def known(self, who: Principal, scopes: Iterable[Scope]) -> list[Record]:
        """The newest live records of these scopes, the newest first: what a model is shown."""
        filter = Filter(scopes=tuple(scopes), kinds=_KINDS)
        page = await self._desk.store.records.find(who.tenant, filter, "newest", COMPARED, None)
        return list(page.records)

    async def keep(
        self,
        account: Account,
        placed: Sequence[Placed],
        *,
        run: str | None = None,
        recalled: ShownMemories | None = None,
        beside: Sequence[Note] = (),
        around: Collection[Scope] = (),
    ) -> LessonResult:
        """
        Write what is news, with the notes `beside` in the same moment. What one of the scopes `around` holds is none. What takes
        other records' place is written first, one by one: done again after a failure in between, it is no news any more. So is
        what a later fact of the same talk contradicts.

        Raises:
            RecordChanged: somebody else wrote meanwhile. Read again what is to be learned, and ask again.
        """
        *earlier, last = rounds([(item.scope, item.lesson) for item in placed])
        context = (run, recalled, around)
        parts = [await self._keep(account, [placed[n] for n in part], *context) for part in earlier]
        parts.append(await self._keep(account, [placed[n] for n in last], *context, beside))
        superseded = tuple(id for part_result in parts for id in part_result.superseded)
        return LessonResult(
            facts=tuple(fact for part_result in parts for fact in part_result.facts if fact.id not in superseded),
            superseded=superseded,
            dropped=sum((part_result.dropped for part_result in parts), Counter[str]()),
            beside=parts[-1].beside,
        )

    async def _keep(
        self,
        account: Account,
        placed: Sequence[Placed],
        run: str | None,
        recalled: ShownMemories | None,
        around: Collection[Scope],
        beside: Sequence[Note] = (),
    ) -> LessonResult:
        who, desk = account.who, self._desk
        shelves = {scope: await self.shelf(who, scope, placed, recalled) for scope in {item.scope for item in placed}}
        others = (
            await self._others(who, frozenset(around) - shelves.keys()) if placed else KnownFacts((), desk.clock.now())
        )
        dropped: Counter[str] = Counter()
        notes: list[Note] = []
        followed: list[tuple[tuple[Record, ...], Note]] = []
        doubted: list[tuple[Record, Note]] = []
        for item in placed:
            elsewhere = [others, *(shelf for scope, shelf in shelves.items() if scope != item.scope)]
            verdict = shelves[item.scope].judge(item.lesson, elsewhere)
            if verdict.kind != "new":
                dropped[verdict.kind] += 1
                continue
            note = _note(item, run)
            if verdict.over:
                followed.append((verdict.over, note))
            elif verdict.beside is not None:
                doubted.append((verdict.beside, note))
            else:
                notes.append(await self._under_a_free_key(who, note))
        superseded = [await self._followed(account, old, note) for old, note in followed]
        last = {(str(note.scope), note.key): note for note in notes}
        fresh = await worth_writing(desk.store.records, who.tenant, list(last.values()), desk.clock.now())
        if len(fresh) < len(notes):
            dropped["known"] += len(notes) - len(fresh)
        waiting = {note.text: old for old, note in doubted}
        new_notes = [*fresh, *(replace(note, key=None) for _, note in doubted), *beside]
        writer = desk.engines(who).writer(_Doubting(desk.store.records, account, waiting))
        records = [result.record for result in await writer.put(new_notes, actor=who.actor)] if new_notes else []
        last_fact = len(records) - len(beside)
        return LessonResult(
            facts=(*(new for new, _ in superseded), *records[:last_fact]),
            superseded=tuple(id for _, old in superseded for id in old),
            dropped=dropped,
            beside=tuple(records[last_fact:]),
        )

    # ---- what is there

    async def shelf(
        self, who: Principal, scope: Scope, placed: Sequence[Placed], recalled: ShownMemories | None
    ) -> KnownFacts:
        """The newest hundred that live, the newest hundred that do not, and of what lies deeper what is nearest by its words."""
        records, now = self._desk.store.records, self._desk.clock.now()
        live = Filter(scopes=(scope,), kinds=_KINDS)
        page = await records.find(who.tenant, live, "newest", COMPARED, None)
        gone = await records.find(who.tenant, replace(live, states=ALL_STATES - {"live"}), "newest", COMPARED, None)
        by_id = {record.id: record for record in (*page.records, *gone.records)}
        if page.cursor is not None:
            recall = self._desk.engines(who).recall
            for item in placed:
                if item.scope == scope:
                    query = Query(text=item.lesson.fact.text, filter=live, limit=_NEAREST, mode="words")
                    by_id |= {hit.record.id: hit.record for hit in await recall.search(query)}
        return KnownFacts(list(by_id.values()), now, recalled)

    async def _others(self, who: Principal, scopes: frozenset[Scope]) -> KnownFacts:
        """The newest hundred of several scopes together that live, and those that do not."""
        records, now = self._desk.store.records, self._desk.clock.now()
        if not scopes:
            return KnownFacts((), now)
        live = Filter(scopes=tuple(scopes), kinds=_KINDS)
        filters = (live, replace(live, states=ALL_STATES - {"live"}))
        pages = [await records.find(who.tenant, filter, "newest", COMPARED, None) for filter in filters]
        return KnownFacts([record for page in pages for record in page.records], now)

    async def _under_a_free_key(self, who: Principal, note: Note) -> Note:
        """
        The note under its key, or under one of its own where that belongs to what was so before. What was deleted or taken
        out of sight keeps its key, so that it does not come back.
        """
        key = str(note.key)
        current = await held_under(self._desk.store.records, who.tenant, Scope.parse(note.scope), key)
        if current is None:
            return note
        if current.superseded_by is None or current.deleted_at is not None or current.source not in CAPTURED:
            return note
        digest = sha256(repr((note.text, note.session, note.provenance.message)).encode("utf-8", "surrogatepass"))
        return replace(note, key=f"{key[:240]}-{digest.hexdigest()[:8]}")

    # ---- what takes another one's place

    async def _followed(self, account: Account, over: tuple[Record, ...], note: Note) -> tuple[Record, tuple[str, ...]]:
        who, [old, *others] = account.who, over
        store = _Replacing(self._desk.store.records, account, others)
        lifecycle = self._desk.engines(who).lifecycle(store, who.actor)
        current = await held_under(self._desk.store.records, who.tenant, old.scope, str(note.key))
        fields: SuccessorFields = {
            "key": note.key if current is None else None,
            "kind": note.kind,
            "source": note.source,
            "metadata": {**note.metadata},
            "trust": note.trust,
            "visibility": note.visibility,
            "at": note.at,
            "session": note.session,
        }
        new = await lifecycle.supersede(
            old.id,
            note.text,
            fields,
            expected=old.version,
            reason=CONTRADICTED,
            provenance=note.provenance,
        )
        return new, tuple(record.id for record in over)


class _Replacing(Journaled):
    """A journaled store where a successor takes the place of `others` as well, in the same write."""

    def __init__(self, store: RecordStore, account: Account, others: Sequence[Record]) -> None:
        super().__init__(store, account)
        self._others = others

    async def revise(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Record]:
        heir = drafts[-1].record
        over = [Draft(record=_followed_by(record, heir), expected=record.version) for record in self._others]
        return (await super().revise([*over, *drafts], beside=beside))[len(over) :]


class _Doubting(Journaled):
    """A journaled store that puts into quarantine what contradicts a person's own record; `doubted` has that, by the text."""

    def __init__(self, store: RecordStore, account: Account, doubted: Mapping[str, Record]) -> None:
        super().__init__(store, account)
        self._doubted = doubted
        self._now = account.clock.now()

    async def put(self, drafts: Sequence[Draft], *, beside: object = None) -> list[Written]:
        return await super().put([self._judged(draft) for draft in drafts], beside=beside)

    def _judged(self, draft: Draft) -> Draft:
        old = self._doubted.get(draft.record.text) if draft.record.key is None else None
        if old is None:
            return draft
        suspect = quarantined(draft.record, ("trusted_record",), self._now, beside=old)
        return replace(draft, record=suspect, once=mark_of("beside", old.id, draft.record.text))


def _followed_by(record: Record, heir: Record) -> Record:
    taken = (record.scope, record.key) == (heir.scope, heir.key)
    return replace(
        record,
        version=record.version + 1,
        updated_at=max(heir.updated_at, record.updated_at),
        superseded_by=heir.id,
        key=None if taken else record.key,
        change="superseded",
        actor=heir.actor,
        reason=heir.reason,
        restores=None,
    )


def _note(placed: Placed, run: str | None) -> Note:
    lesson, fact = placed.lesson, placed.lesson.fact
    metadata: dict[str, Json] = {"category": fact.category, "confidence": fact.confidence, "method": fact.method}
    if lesson.said_at is not None:
        metadata[TOLD] = to_iso(lesson.said_at)
    return Note(
        text=fact.text[:LONGEST],
        scope=placed.scope,
        key=fact.key,
        kind="fact",
        source="auto",
        metadata=metadata,
        trust=TALK,
        visibility="shared" if placed.scope.kind in _SHARED else "private",
        at=fact.at or lesson.said_at,
        session=lesson.session,
        provenance=Provenance(run=run, message=lesson.message),
    )
