"""
Which of the facts found are news to a memory, and what they mean for what it holds.

What is there already in nearly the same words, what was taken away by a person and what was only recalled is no news. A fact that
contradicts an older one takes its place, unless somebody vouched for the older one, or wrote it: then both stand, and the new one
is for a person to look at. What was said before the older fact was told changes nothing, so that an old conversation read again
does not turn the time back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final, Literal

from commonplace.learning.contradiction import contradicts
from commonplace.learning.extract import Fact, Words, is_near, word_sets
from commonplace.learning.quarantine import is_protected
from commonplace.learning.recalled import Recalled
from commonplace.values.record import Record

Kind = Literal["new", "known", "recalled", "outdated"]

CAPTURED: Final = frozenset({"auto", "director"})
"""The sources of what was learned. All others are somebody's own words."""
LONGEST: Final = 2_000
"""A record with a longer text is a document, and no fact to compare with."""
TOLD: Final = "told"
"""Where a record's metadata says when the turn was that told it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """A fact with where it comes from: the session, the message, and when it was said."""

    fact: Fact
    session: str | None = None
    message: str | None = None
    told: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`over`: the record that gives way. `beside`: one that it contradicts and may not change."""

    kind: Kind
    over: Record | None = None
    beside: Record | None = None


@dataclass(frozen=True, slots=True)
class _Held:
    record: Record
    live: bool
    words: Words
    digest: bytes


class Shelf:
    """What one scope holds, with what became of it, as far as a fact is compared with it."""

    def __init__(self, records: Sequence[Record], now: datetime, recalled: Recalled | None = None) -> None:
        self._held = [
            _Held(record, record.state(now) == "live", word_sets(record.text), digest(record.text))
            for record in records
            if len(record.text) <= LONGEST
        ]
        self._recalled = recalled or Recalled(())
        self._batch: list[tuple[Words, bytes]] = []

    def judge(self, lesson: Lesson) -> Verdict:
        """What `lesson` is to this scope. One that is new counts for those after it."""
        fact = lesson.fact
        made = (word_sets(fact.text), digest(fact.text))
        if self._recalled.has(fact.text, fact.voice):
            return Verdict(kind="recalled")
        if any(_same(made, held) for held in self._batch) or any(
            self._is_known(made, lesson, one) for one in self._held
        ):
            return Verdict(kind="known")
        old = self._contradicted(fact)
        if (
            old is not None
            and lesson.told is not None
            and (before := told_of(old)) is not None
            and before > lesson.told
        ):
            return Verdict(kind="outdated")
        self._batch.append(made)
        if old is not None and is_protected(old):
            return Verdict(kind="new", beside=old)
        # What came by another way, from a file for instance, is not ours to replace: both stand.
        return Verdict(kind="new", over=old if old is not None and old.source in CAPTURED else None)

    @staticmethod
    def _is_known(made: tuple[Words, bytes], lesson: Lesson, held: _Held) -> bool:
        if not _same(made, (held.words, held.digest)):
            return False
        record = held.record
        if held.live and made[1] != held.digest and contradicts(lesson.fact.text, record.text):
            # One word of many differs, and it is the one that counts.
            return False
        # What was so once may be so again, but not because the same turn is read again.
        again = (record.session, record.provenance.message) == (lesson.session, lesson.message)
        return record.superseded_by is None or record.deleted_at is not None or again or _is_older(lesson, record)

    def _contradicted(self, fact: Fact) -> Record | None:
        """The record that a fact says is no longer so: the one that was named, of the same key, or the newest."""
        live = [held.record for held in self._held if held.live]
        named = [record for record in live if record.id == fact.replaces]
        found = named or [record for record in live if contradicts(fact.text, record.text)]
        # One that nobody may overrule is never overlooked because of another one.
        found.sort(key=lambda one: (is_protected(one), one.source in CAPTURED, one.key == fact.key, one.updated_at))
        return found[-1] if found else None


def told_of(record: Record) -> datetime | None:
    written = record.metadata.get(TOLD)
    if not isinstance(written, str):
        return None
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def digest(text: str) -> bytes:
    """The same for texts that differ in case, in white space or in the mark at the end only."""
    plain = " ".join(text.lower().split()).rstrip(".!。！ ")
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _same(a: tuple[Words, bytes], b: tuple[Words, bytes]) -> bool:
    return a[1] == b[1] or is_near(a[0], b[0])


def _is_older(lesson: Lesson, record: Record) -> bool:
    before = told_of(record)
    return lesson.told is not None and before is not None and lesson.told <= before
