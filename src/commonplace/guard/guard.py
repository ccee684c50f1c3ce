"""
The guard judges every write of every door before it reaches the store.

Nothing untrusted changes what a person wrote or approved: it is kept beside it, in quarantine. Nothing untrusted that looks like an
attack is live for an instant. Only a reviewer lets a record out of quarantine. And a source that says the same again and again, or
writes very much in an hour, is not recalled more for it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from typing import Final

from commonplace.errors import RecordChanged, ReviewRequired, TrustedRecord
from commonplace.guard.quarantine import (
    REVIEW,
    REVIEWED,
    Reason,
    Verdict,
    is_protected,
    judge_record,
    let_out,
    quarantined,
    still_quarantined,
)
from commonplace.ports.clock import Clock
from commonplace.ports.quotas import Quotas
from commonplace.ports.records import RecordStore
from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.ingestion import RETENTION
from commonplace.values.quarantine import is_quarantined
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import TRUSTED, Draft, Lineage, Record, Written
from commonplace.values.retry import Backoff, attempts

HOUR: Final = timedelta(hours=1)
_ATTEMPTS: Final = 20
_BACKOFF: Final = Backoff(first=0.01, longest=0.01, jitter=(0.0, 1.0))
_SMALL: Final = 600
_LARGE: Final = 4_000
"""Characters that are judged at once; with more, others are served meanwhile."""
_SAID: Final = frozenset({"turn", "episode"})
_FOLLOWS: Final = frozenset({"file", "managed"})
"""Sources whose records follow a file: the file's next text is the record's next text."""
_WORDS: Final = re.compile(r"[^\W\d_]+")

Put = Callable[[Sequence[Draft]], Awaitable[list[Written]]]
Revise = Callable[[Sequence[Draft]], Awaitable[list[Record]]]
Load = Callable[[Sequence[Lineage]], Awaitable[list[Written]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """
    `reviews`: whether the writer may let records out of quarantine. `by_model`: whether what it writes is a model's word. `limits`: how much one source may write. Without `quotas` nothing
    is counted.
    """

    store: RecordStore
    clock: Clock
    tenant: str
    actor: str | None = None
    reviews: bool = False
    by_model: bool = False
    quotas: Quotas | None = None
    limits: FloodLimits = STANDARD

    # ---- put

    async def put(self, drafts: Sequence[Draft], write: Put) -> list[Written]:
        verdicts = await self._verdicts([draft.record for draft in drafts])
        if not any(verdict.untrusted for verdict in verdicts):
            return await write(drafts)
        before: list[int | None] | None = None
        async for attempt in attempts(_ATTEMPTS, _BACKOFF):
            judged = await self._judged(drafts, verdicts)
            versions = [draft.expected for draft in judged]
            try:
                return await write(judged)
            except RecordChanged:
                # Somebody else was first: judge again by what is there now. Or the caller itself is late.
                if versions == before or attempt == _ATTEMPTS:
                    raise
            before = versions
        raise RecordChanged

    async def _verdicts(self, records: Sequence[Record]) -> list[Verdict]:
        if sum(map(_size, records)) > _LARGE:
            verdicts = await asyncio.to_thread(lambda: [self._judge(record) for record in records])
        else:
            verdicts = [self._judge(record) for record in records]
        floods = await self._floods(records, verdicts)
        return [
            replace(verdict, reasons=(*verdict.reasons, flood)) if flood else verdict
            for verdict, flood in zip(verdicts, floods, strict=True)
        ]

    def _judge(self, record: Record) -> Verdict:
        return judge_record(record, by_model=self.by_model)

    async def _judged(self, drafts: Sequence[Draft], verdicts: Sequence[Verdict]) -> list[Draft]:
        judged: list[Draft] = []
        keys: set[object] = set()
        for draft, verdict in zip(drafts, verdicts, strict=True):
            place = (draft.record.scope, draft.record.key)
            if verdict.untrusted:
                alone = place not in keys
                judged.append(await self._safe(draft, verdict, alone=alone))
            else:
                judged.append(draft)
            keys.add(place)
        return judged

    async def _safe(self, draft: Draft, verdict: Verdict, *, alone: bool) -> Draft:
        """
        The draft as it may be stored. `alone`: no other draft of the same write has its key, so the write can require the
        version that was judged.
        """
        record = replace(draft.record, trust=verdict.trust)
        current = await self._current(record)
        if current is not None and draft.expected is None and alone:
            draft = replace(draft, expected=current.version)
        elif current is None and record.key is not None and draft.expected is None and alone:
            draft = replace(draft, expected=0)
        elif current is not None and draft.expected not in (None, current.version):
            raise RecordChanged(id=current.id, expected=draft.expected, held=current.version)
        reasons = verdict.reasons
        if current is not None and current.text == record.text and (is_protected(current) or self._is_live(current)):
            # It says nothing new: what is protected keeps its label, what was let out stays out.
            return replace(draft, record=current if is_protected(current) else record)
        follows = current is not None and current.source == record.source and record.source in _FOLLOWS
        if current is not None and is_protected(current) and not (follows and record.source == "managed"):
            return self._beside(draft, replace(verdict, reasons=(*reasons, "trusted_record")), record, current)
        if not reasons:
            return replace(draft, record=record)
        if current is not None and self._is_live(current) and not follows:
            return self._beside(draft, verdict, record, current)
        return replace(draft, record=quarantined(record, reasons, self.clock.now(), sentence=verdict.sentence))

    def _beside(self, draft: Draft, verdict: Verdict, record: Record, current: Record) -> Draft:
        apart = quarantined(record, verdict.reasons, self.clock.now(), beside=current, sentence=verdict.sentence)
        mark = _digest("beside", current.id, record.source, record.text)
        return replace(draft, record=apart, expected=None, once=draft.once or mark)

    async def _current(self, record: Record) -> Record | None:
        if record.key is None:
            return None
        selection = Filter(scopes=(record.scope,), key=record.key, states=ALL_STATES)
        page = await self.store.find(self.tenant, selection, "newest", 1, None)
        return page.records[0] if page.records else None

    def _is_live(self, record: Record) -> bool:
        return record.state(self.clock.now()) == "live"

    # ---- many small writes

    async def _floods(self, records: Sequence[Record], verdicts: Sequence[Verdict]) -> list[Reason | None]:
        """For each note the limit that it exceeds; None for all others."""
        floods: list[Reason | None] = [None] * len(records)
        counted = [n for n, verdict in enumerate(verdicts) if verdict.untrusted and _is_counted(records[n])]
        if self.quotas is None:
            return floods
        for source in dict.fromkeys(records[n].source for n in counted):
            group = [n for n in counted if records[n].source == source]
            files = source in _FOLLOWS
            marks = {n: _likeness(records[n]) if files else await self._likeness(records[n]) for n in group}
            alike, most = (
                (self.limits.files_alike, self.limits.files) if files else (self.limits.alike, self.limits.notes)
            )
            amounts = Counter(mark for mark in marks.values() if mark)
            amounts["notes"] = len(group)
            # A source may be long; a digest of it is enough for a name.
            name = f"untrusted:{_digest(source, self.actor).hex()}"
            usage = Counter(await self.quotas.spent(self.tenant, name, HOUR))
            await self.quotas.spend(self.tenant, name, HOUR, amounts, {})
            for n in group:
                usage.update(["notes"])
                mark = marks[n]
                usage.update([mark] if mark else [])
                flood: Reason | None = "rate" if most and usage["notes"] > most else None
                flood = "repeated" if mark and alike and usage[mark] > alike else flood
                # There are many files: look up whether one has a record already only if it would exceed a limit.
                if flood and not (files and await self._current(records[n]) is not None):
                    floods[n] = flood
        return floods

    async def _likeness(self, record: Record) -> str | None:
        """As below. The next version of a record is not counted: it may say nearly the same every minute."""
        return None if await self._current(record) is not None else _likeness(record)

    # ---- revise

    async def revise(self, drafts: Sequence[Draft], write: Revise) -> list[Record]:
        if all(draft.record.deleted_at is not None for draft in drafts):
            return await write(drafts)
        ids = [draft.record.id for draft in drafts if draft.expected]
        records = {record.id: record for record in await self.store.get(self.tenant, ids)} if ids else {}
        work = partial(self._all_revised, drafts, records)
        large = sum(_size(draft.record) for draft in drafts) > _LARGE
        return await write(await asyncio.to_thread(work) if large else work())

    def _all_revised(self, drafts: Sequence[Draft], records: dict[str, Record]) -> list[Draft]:
        return [self._revised(draft, records, drafts) for draft in drafts]

    def _revised(self, draft: Draft, records: dict[str, Record], drafts: Sequence[Draft]) -> Draft:
        record = draft.record
        if record.deleted_at is not None:
            return draft
        before = records.get(record.id) if draft.expected else None
        verdict = self._judge(record) if before is None or before.text != record.text or before.demoted else None
        self._require_reach(before, record, verdict)
        if before is None or before.text != record.text:
            for replaced in _replaced(record, records, drafts) if before is None else [before]:
                self._require_standing(verdict, replaced)
        if verdict is not None:
            record = replace(record, trust=verdict.trust)
        return replace(draft, record=self._marked(before, record, verdict))

    def _marked(self, before: Record | None, record: Record, verdict: Verdict | None) -> Record:
        now = self.clock.now()
        if before is not None and is_quarantined(before):
            return still_quarantined(before, record) if record.demoted else let_out(record, self.actor, now)
        is_live = not record.demoted and record.superseded_by is None
        if verdict is None or not verdict.reasons or not is_live or (before is not None and before.demoted):
            return record
        return quarantined(record, verdict.reasons, now, sentence=verdict.sentence)

    def _require_reach(self, before: Record | None, record: Record, verdict: Verdict | None) -> None:
        """
        Raises ReviewRequired: only a reviewer releases what still looks like an attack, or trusts what was untrusted. A model trusts
        nothing, whatever its key may do.
        """
        if before is None or (self.reviews and not self.by_model):
            return
        leaves = is_quarantined(before) and not record.demoted and record.superseded_by is None
        if leaves and not self.reviews and (record.text == before.text or (verdict is not None and verdict.reasons)):
            raise ReviewRequired(
                f"Record {before.id} is in quarantine. A reviewer looks at it first: `commonplace review`.",
                id=before.id,
            )
        raised = before.trust not in TRUSTED and record.trust in TRUSTED and record.text == before.text
        if raised:
            raise ReviewRequired(
                f"Record {before.id} comes from outside or from a model. A person who reviews says that it can be trusted.",
                id=before.id,
            )

    def _require_standing(self, verdict: Verdict | None, before: Record) -> None:
        """Raises TrustedRecord: something from outside would replace what a person wrote or approved."""
        if verdict is not None and verdict.untrusted and is_protected(before):
            raise TrustedRecord(id=before.id)

    # ---- load

    async def load(self, lineages: Sequence[Lineage], write: Load) -> list[Written]:
        """An export is loaded as it was, except that what nobody reviewed and looks like an attack goes into quarantine."""
        return await write(await asyncio.to_thread(lambda: [self._loaded(lineage) for lineage in lineages]))

    def _loaded(self, lineage: Lineage) -> Lineage:
        last = lineage.versions[-1]
        if last.trust in REVIEWED or REVIEW in last.metadata or last.state(self.clock.now()) != "live":
            return lineage
        verdict = judge_record(last)
        if not verdict.reasons:
            return lineage
        following = replace(
            quarantined(last, verdict.reasons, self.clock.now(), sentence=verdict.sentence),
            version=last.version + 1,
            trust=verdict.trust,
            updated_at=max(last.updated_at, self.clock.now()),
            change="demoted",
            actor=self.actor,
            reason="quarantined when it was loaded",
            restores=None,
        )
        return replace(lineage, versions=(*lineage.versions, following))


def _replaced(born: Record, records: dict[str, Record], drafts: Sequence[Draft]) -> list[Record]:
    """The records whose place a new one takes in the same write."""
    old = [draft.record.id for draft in drafts if draft.record.superseded_by == born.id]
    return [records[id] for id in old if id in records]


def _size(record: Record) -> int:
    return len(record.text) + (len(repr(record.metadata)) if record.metadata else 0)


def _is_counted(record: Record) -> bool:
    """What was said is not, nor what an agent's session keeps of a turn: one that reads a file ten times does not flood anybody."""
    return record.kind not in _SAID and not (record.scope.kind == "session" and record.kind in RETENTION)


def _likeness(record: Record) -> str | None:
    """The same for all short texts of a scope with the same words, whatever their order, figures and punctuation."""
    if len(record.text) > _SMALL:
        return None
    words = sorted({word.casefold() for word in _WORDS.findall(record.text)})
    if sum(map(len, words)) < 8:
        return None
    return _digest(record.scope, *words).hex()[:16]


def _digest(*parts: object) -> bytes:
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
