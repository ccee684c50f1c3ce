"""
The one way into a store, past which every write of every door goes.

Nothing untrusted changes what a person wrote or approved: it is kept beside it, in quarantine. Nothing untrusted that looks like an
attack is live for an instant. Nothing in quarantine comes out but by a reviewer. And who says the same thing again and again, or
very much in an hour, is not recalled more for it.
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
    is_quarantined,
    judge_record,
    kept_in,
    let_out,
    quarantined,
)
from commonplace.ports.clock import Clock
from commonplace.ports.journal import Beside, BesidePurge
from commonplace.ports.quotas import Quotas
from commonplace.ports.records import RecordStore
from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.query import ALL_STATES, Filter, Order, Page
from commonplace.values.record import TRUSTED, Draft, Lineage, Record, Written
from commonplace.values.retry import Backoff, attempts
from commonplace.values.upkeep import Purged

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
    `reviews`: whether the writer may let records out of quarantine. `limits`: how much one source may bring. Without `quotas` nothing
    is counted.
    """

    store: RecordStore
    clock: Clock
    tenant: str
    actor: str | None = None
    reviews: bool = False
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
            seen = [draft.expected for draft in judged]
            try:
                return await write(judged)
            except RecordChanged:
                # Somebody else was first, and what they left decides anew; or the caller itself is late.
                if seen == before or attempt == _ATTEMPTS:
                    raise
            before = seen
        raise RecordChanged

    async def _verdicts(self, records: Sequence[Record]) -> list[Verdict]:
        if sum(map(_size, records)) > _LARGE:
            verdicts = await asyncio.to_thread(lambda: [judge_record(record) for record in records])
        else:
            verdicts = [judge_record(record) for record in records]
        floods = await self._floods(records, verdicts)
        return [
            replace(verdict, reasons=(*verdict.reasons, flood)) if flood else verdict
            for verdict, flood in zip(verdicts, floods, strict=True)
        ]

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
        The draft as it may be stored. `alone`: no other of the same write has its key, so that the version held when it was
        looked at can be asked for.
        """
        record = replace(draft.record, trust=verdict.trust)
        held = await self._held(record)
        if held is not None and draft.expected is None and alone:
            draft = replace(draft, expected=held.version)
        elif held is None and record.key is not None and draft.expected is None and alone:
            draft = replace(draft, expected=0)
        elif held is not None and draft.expected not in (None, held.version):
            raise RecordChanged(id=held.id, expected=draft.expected, held=held.version)
        reasons = verdict.reasons
        if held is not None and held.text == record.text and (is_protected(held) or self._is_live(held)):
            # It says nothing new: what is protected keeps its label, what was let out stays out.
            return replace(draft, record=held if is_protected(held) else record)
        follows = held is not None and held.source == record.source and record.source in _FOLLOWS
        if held is not None and is_protected(held) and not (follows and record.source == "managed"):
            return self._beside(draft, record, held, (*reasons, "trusted_record"))
        if not reasons:
            return replace(draft, record=record)
        if held is not None and self._is_live(held) and not follows:
            return self._beside(draft, record, held, reasons)
        return replace(draft, record=quarantined(record, reasons, self.clock.now()))

    def _beside(self, draft: Draft, record: Record, held: Record, reasons: tuple[Reason, ...]) -> Draft:
        kept = quarantined(record, reasons, self.clock.now(), beside=held)
        mark = _digest("beside", held.id, record.source, record.text)
        return replace(draft, record=kept, expected=None, once=draft.once or mark)

    async def _held(self, record: Record) -> Record | None:
        if record.key is None:
            return None
        wanted = Filter(scopes=(record.scope,), key=record.key, states=ALL_STATES)
        page = await self.store.find(self.tenant, wanted, "newest", 1, None)
        return page.records[0] if page.records else None

    def _is_live(self, record: Record) -> bool:
        return record.state(self.clock.now()) == "live"

    # ---- many small writes

    async def _floods(self, records: Sequence[Record], verdicts: Sequence[Verdict]) -> list[Reason | None]:
        """Why a note is one too many; None for all others."""
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
            # A name may be as long as a source; what tells it apart is enough.
            name = f"untrusted:{_digest(source, self.actor).hex()}"
            left = Counter(await self.quotas.spent(self.tenant, name, HOUR))
            await self.quotas.spend(self.tenant, name, HOUR, amounts, {})
            for n in group:
                left.update(["notes"])
                mark = marks[n]
                left.update([mark] if mark else [])
                flood: Reason | None = "rate" if most and left["notes"] > most else None
                flood = "repeated" if mark and alike and left[mark] > alike else flood
                # There are many files: whether one is only followed on is asked where it would be one too many.
                if flood and not (files and await self._held(records[n]) is not None):
                    floods[n] = flood
        return floods

    async def _likeness(self, record: Record) -> str | None:
        """As below. The next version of a record is not one more: it may say nearly the same every minute."""
        return None if await self._held(record) is not None else _likeness(record)

    # ---- revise

    async def revise(self, drafts: Sequence[Draft], write: Revise) -> list[Record]:
        if all(draft.record.deleted_at is not None for draft in drafts):
            return await write(drafts)
        ids = [draft.record.id for draft in drafts if draft.expected]
        held = {record.id: record for record in await self.store.get(self.tenant, ids)} if ids else {}
        work = partial(self._all_revised, drafts, held)
        large = sum(_size(draft.record) for draft in drafts) > _LARGE
        return await write(await asyncio.to_thread(work) if large else work())

    def _all_revised(self, drafts: Sequence[Draft], held: dict[str, Record]) -> list[Draft]:
        return [self._revised(draft, held, drafts) for draft in drafts]

    def _revised(self, draft: Draft, held: dict[str, Record], drafts: Sequence[Draft]) -> Draft:
        record = draft.record
        if record.deleted_at is not None:
            return draft
        before = held.get(record.id) if draft.expected else None
        verdict = judge_record(record) if before is None or before.text != record.text or before.demoted else None
        self._require_reach(before, record, verdict)
        if before is None or before.text != record.text:
            for replaced in _replaced(record, held, drafts) if before is None else [before]:
                self._require_standing(verdict, replaced)
        if verdict is not None:
            record = replace(record, trust=verdict.trust)
        return replace(draft, record=self._marked(before, record, verdict))

    def _marked(self, before: Record | None, record: Record, verdict: Verdict | None) -> Record:
        now = self.clock.now()
        if before is not None and is_quarantined(before):
            return kept_in(before, record) if record.demoted else let_out(record, self.actor, now)
        is_live = not record.demoted and record.superseded_by is None
        if verdict is None or not verdict.reasons or not is_live or (before is not None and before.demoted):
            return record
        return quarantined(record, verdict.reasons, now)

    def _require_reach(self, before: Record | None, record: Record, verdict: Verdict | None) -> None:
        """Raises ReviewRequired: only a reviewer lets out what still looks like an attack, or calls trusted what was not."""
        if self.reviews or before is None:
            return
        leaves = is_quarantined(before) and not record.demoted and record.superseded_by is None
        if leaves and (record.text == before.text or (verdict is not None and verdict.reasons)):
            raise ReviewRequired(
                f"Record {before.id} is in quarantine. A reviewer looks at it first: `commonplace review`.",
                id=before.id,
            )
        raised = before.trust not in TRUSTED and record.trust in TRUSTED and record.text == before.text
        if raised:
            raise ReviewRequired(
                f"Record {before.id} comes from outside. A reviewer says that it can be trusted.", id=before.id
            )

    def _require_standing(self, verdict: Verdict | None, before: Record) -> None:
        """Raises TrustedRecord: something from outside would take the place of what a person wrote or approved."""
        if verdict is not None and verdict.untrusted and is_protected(before):
            raise TrustedRecord(id=before.id)

    # ---- load

    async def load(self, lineages: Sequence[Lineage], write: Load) -> list[Written]:
        """What an export brings is as it was elsewhere, but that what nobody let out there waits here, too."""
        return await write(await asyncio.to_thread(lambda: [self._loaded(one) for one in lineages]))

    def _loaded(self, lineage: Lineage) -> Lineage:
        last = lineage.versions[-1]
        if last.trust in REVIEWED or REVIEW in last.metadata or last.state(self.clock.now()) != "live":
            return lineage
        verdict = judge_record(last)
        if not verdict.reasons:
            return lineage
        following = replace(
            quarantined(last, verdict.reasons, self.clock.now()),
            version=last.version + 1,
            trust=verdict.trust,
            updated_at=max(last.updated_at, self.clock.now()),
            change="demoted",
            actor=self.actor,
            reason="quarantined when it was loaded",
            restores=None,
        )
        return replace(lineage, versions=(*lineage.versions, following))


class GuardedStore:
    """Satisfies `RecordStore`: a store that takes in nothing past its guard, for a memory inside a program."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._store = guard.store

    async def put(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Written]:
        return await self._guard.put(drafts, partial(self._store.put, beside=beside))

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        return await self._guard.revise(drafts, partial(self._store.revise, beside=beside))

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        return await self._guard.load(lineages, partial(self._store.load, beside=beside))

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        return await self._store.purge(tenant, filters, beside=beside)

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        return await self._store.get(tenant, ids)

    async def history(self, tenant: str, id: str) -> list[Record]:
        return await self._store.history(tenant, id)

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        return await self._store.find(tenant, filter, order, limit, cursor)

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        return await self._store.lineages(tenant, filter, after, limit)


def _replaced(born: Record, held: dict[str, Record], drafts: Sequence[Draft]) -> list[Record]:
    """The records whose place a new one takes in the same write."""
    old = [draft.record.id for draft in drafts if draft.record.superseded_by == born.id]
    return [held[id] for id in old if id in held]


def _size(record: Record) -> int:
    return len(record.text) + (len(repr(record.metadata)) if record.metadata else 0)


def _is_counted(record: Record) -> bool:
    return record.kind not in _SAID


def _likeness(record: Record) -> str | None:
    """One for all short texts of a scope that are nearly the same: the same words, whatever their order, figures and marks."""
    if len(record.text) > _SMALL:
        return None
    words = sorted({word.casefold() for word in _WORDS.findall(record.text)})
    if sum(map(len, words)) < 8:
        return None
    return _digest(record.scope, *words).hex()[:16]


def _digest(*told: object) -> bytes:
    return blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=16).digest()
