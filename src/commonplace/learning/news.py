"""
Which facts are news to a memory, and what they mean for its records.

A fact is no news if the memory has it in nearly the same words, if a person removed it, or if it was only recalled. A new fact
replaces all older ones that it contradicts, unless somebody approved or wrote one of them: then all stay, and a person looks at the
new one. A fact that was said before the one it contradicts changes nothing, so that an old conversation read again does not undo
newer facts.
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
from commonplace.learning.shown_memories import ShownMemories
from commonplace.values.moment import from_iso
from commonplace.values.record import Record

Kind = Literal["new", "known", "recalled", "outdated"]

CAPTURED: Final = frozenset({"auto", "director"})
"""The sources of learned records. All others are somebody's own words."""
LONGEST: Final = 2_000
"""A record with a longer text is a document, and no fact to compare with."""
TOLD: Final = "told"
"""The name in a record's metadata under which it says when its turn was said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """A fact with where it comes from: the session, the message, and when it was said."""

    fact: Fact
    session: str | None = None
    message: str | None = None
    said_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Novelty:
    """`over`: the records that give way, the nearest first. `beside`: one that it contradicts and may not change."""

    kind: Kind
    over: tuple[Record, ...] = ()
    beside: Record | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    record: Record
    live: bool
    words: Words
    digest: bytes


class KnownFacts:
    """The records of one scope, whatever their state, as facts are compared with them."""

    def __init__(self, records: Sequence[Record], now: datetime, recalled: ShownMemories | None = None) -> None:
        self._entries = [
            _Entry(record, record.state(now) == "live", word_sets(record.text), digest(record.text))
            for record in records
            if len(record.text) <= LONGEST
        ]
        self._recalled = recalled or ShownMemories(())
        self._batch: list[tuple[Words, bytes]] = []
        self._replaced: set[str] = set()

    def judge(self, lesson: Lesson, others: Sequence[KnownFacts] = ()) -> Novelty:
        """
        What `lesson` is to this scope. A new one counts as known for the lessons after it, and they cannot replace again what it
        replaces. What one of the `others` knows is no news here either, unless something here says the contrary.
        """
        fact = lesson.fact
        fingerprint = (word_sets(fact.text), digest(fact.text))
        if self._recalled.has(fact.text, fact.voice):
            return Novelty(kind="recalled")
        if self.knows(lesson):
            return Novelty(kind="known")
        records = self._contradicted(fact)
        if not records and any(facts.knows(lesson) for facts in others):
            return Novelty(kind="known")
        if any(_is_earlier(lesson, record) for record in records):
            return Novelty(kind="outdated")
        self._batch.append(fingerprint)
        if records and is_protected(records[0]):
            return Novelty(kind="new", beside=records[0])
        # What came by another way, from a file for instance, is not ours to replace: both stand.
        over = tuple(record for record in records if record.source in CAPTURED)
        self._replaced.update(record.id for record in over)
        return Novelty(kind="new", over=over)

    def knows(self, lesson: Lesson) -> bool:
        """Whether `lesson` is there in nearly the same words, or was there and must not come back."""
        fingerprint = (word_sets(lesson.fact.text), digest(lesson.fact.text))
        return any(_same(fingerprint, earlier) for earlier in self._batch) or any(
            self._is_known(fingerprint, lesson, entry) for entry in self._entries
        )

    @staticmethod
    def _is_known(fingerprint: tuple[Words, bytes], lesson: Lesson, entry: _Entry) -> bool:
        if not _same(fingerprint, (entry.words, entry.digest)):
            return False
        record = entry.record
        if entry.live and fingerprint[1] != entry.digest and contradicts(lesson.fact.text, record.text):
            # One word of many differs, and it is the one that counts.
            return False
        # What was so once may be so again, but not because the same turn is read again.
        again = (record.session, record.provenance.message) == (lesson.session, lesson.message)
        return record.superseded_by is None or record.deleted_at is not None or again or _is_older(lesson, record)

    def _contradicted(self, fact: Fact) -> list[Record]:
        """The records that a fact makes false. First those nobody may overrule, then the one it names, of the same key, the newest."""
        live = [entry.record for entry in self._entries if entry.live and entry.record.id not in self._replaced]
        records = [record for record in live if record.id == fact.replaces or contradicts(fact.text, record.text)]

        def rank(record: Record) -> tuple[bool, bool, bool, datetime]:
            return is_protected(record), record.id == fact.replaces, record.key == fact.key, record.updated_at

        return sorted(records, key=rank, reverse=True)


def rounds(lessons: Sequence[tuple[object, Lesson]]) -> list[list[int]]:
    """
    Which of these lessons, each with the place it is for, can be judged together: a lesson that contradicts another of its place
    comes in a later round, after that one was stored, so that it can replace it.
    """
    groups: list[list[int]] = [[]]
    for n, (place, lesson) in enumerate(lessons):
        texts = [lessons[m][1].fact.text for m in groups[-1] if lessons[m][0] == place]
        if any(contradicts(lesson.fact.text, text) for text in texts):
            groups.append([])
        groups[-1].append(n)
    return groups


def said_at(record: Record) -> datetime | None:
    text = record.metadata.get(TOLD)
    if not isinstance(text, str):
        return None
    try:
        return from_iso(text)
    except ValueError:
        return None


def digest(text: str) -> bytes:
    """The same for texts that differ only in case, white space or the punctuation at the end."""
    plain = " ".join(text.lower().split()).rstrip(".!。！ ")
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _same(a: tuple[Words, bytes], b: tuple[Words, bytes]) -> bool:
    return a[1] == b[1] or is_near(a[0], b[0])


def _is_older(lesson: Lesson, record: Record) -> bool:
    before = said_at(record)
    return lesson.said_at is not None and before is not None and lesson.said_at <= before


def _is_earlier(lesson: Lesson, record: Record) -> bool:
    before = said_at(record)
    return lesson.said_at is not None and before is not None and lesson.said_at < before
