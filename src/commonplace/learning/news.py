"""
Which of the facts found are news to a memory, and what they mean for what it holds.

What is there already in nearly the same words, what was taken away by a person and what was only recalled is no news. A fact takes
the place of all the older ones that it contradicts, unless somebody vouched for one of them, or wrote it: then all stand, and the
new one is for a person to look at. What was said before an older fact was told changes nothing, so that an old conversation read
again does not turn the time back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final, Literal

from commonplace.guard.quarantine import is_protected
from commonplace.learning.contradiction import contradicts
from commonplace.learning.extract import Fact, Words, is_near, word_sets
from commonplace.learning.recalled import Recalled
from commonplace.values.moment import from_iso
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
    """`over`: the records that give way, the nearest first. `beside`: one that it contradicts and may not change."""

    kind: Kind
    over: tuple[Record, ...] = ()
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
        self._replaced: set[str] = set()

    def judge(self, lesson: Lesson, others: Sequence[Shelf] = ()) -> Verdict:
        """
        What `lesson` is to this scope. One that is new counts for those after it, and what it replaces is theirs no more. What
        one of the `others` knows is no news here either, unless something here says the contrary.
        """
        fact = lesson.fact
        made = (word_sets(fact.text), digest(fact.text))
        if self._recalled.has(fact.text, fact.voice):
            return Verdict(kind="recalled")
        if self.knows(lesson):
            return Verdict(kind="known")
        found = self._contradicted(fact)
        if not found and any(shelf.knows(lesson) for shelf in others):
            return Verdict(kind="known")
        if any(_is_earlier(lesson, record) for record in found):
            return Verdict(kind="outdated")
        self._batch.append(made)
        if found and is_protected(found[0]):
            return Verdict(kind="new", beside=found[0])
        # What came by another way, from a file for instance, is not ours to replace: both stand.
        over = tuple(record for record in found if record.source in CAPTURED)
        self._replaced.update(record.id for record in over)
        return Verdict(kind="new", over=over)

    def knows(self, lesson: Lesson) -> bool:
        """Whether `lesson` is there in nearly the same words, or was and is not to come back."""
        made = (word_sets(lesson.fact.text), digest(lesson.fact.text))
        return any(_same(made, one) for one in self._batch) or any(
            self._is_known(made, lesson, one) for one in self._held
        )

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

    def _contradicted(self, fact: Fact) -> list[Record]:
        """The records that a fact says are no longer so: one that nobody may overrule, the one that was named, of the same key, the newest."""
        live = [held.record for held in self._held if held.live and held.record.id not in self._replaced]
        found = [record for record in live if record.id == fact.replaces or contradicts(fact.text, record.text)]

        def rank(one: Record) -> tuple[bool, bool, bool, datetime]:
            return is_protected(one), one.id == fact.replaces, one.key == fact.key, one.updated_at

        return sorted(found, key=rank, reverse=True)


def rounds(lessons: Sequence[tuple[object, Lesson]]) -> list[list[int]]:
    """
    Which of these lessons, each with the place it is for, can be judged together: one that contradicts another of its place comes
    after that one was kept, so that it takes its place like that of any other.
    """
    made: list[list[int]] = [[]]
    for n, (place, lesson) in enumerate(lessons):
        texts = [lessons[m][1].fact.text for m in made[-1] if lessons[m][0] == place]
        if any(contradicts(lesson.fact.text, text) for text in texts):
            made.append([])
        made[-1].append(n)
    return made


def told_of(record: Record) -> datetime | None:
    written = record.metadata.get(TOLD)
    if not isinstance(written, str):
        return None
    try:
        return from_iso(written)
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


def _is_earlier(lesson: Lesson, record: Record) -> bool:
    before = told_of(record)
    return lesson.told is not None and before is not None and lesson.told < before
