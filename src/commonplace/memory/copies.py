"""
One sentence, one place: of records that say the same, a search shows one, with the others as its evidence.

Two things count as the same. Near-copies: texts whose terms are all but the same. And the same words kept twice: a turn, the facts learned from
it and the episode of its conversation. What is compared is the passage that was found, always with the hit that is shown. Texts that
contradict one another are never folded, however alike they are. Nor are copies in two scopes (what Ana and Ben both
eat), turns of two conversations or by two speakers, or turns of a word or two: "Yes, on Friday" says something else behind every question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from commonplace.text.analyse import terms
from commonplace.text.conflict import conflict
from commonplace.values.record import TRUSTED, Record

ALIKE: Final = 0.8
"""Near-copies share more than this of all their terms."""
LEARNED: Final = 0.6
"""A fact and the turn that told it share at least this of the words of the shorter one."""
SUMMED: Final = 0.8
"""The same for an episode and what was said in it."""
_TELLING: Final = 4
"""A turn of fewer words is understood only where it stands."""


@dataclass(slots=True)
class Group:
    """A record that is shown, the best place that it or its evidence has among the ranked, its own, and what was folded into it."""

    best: int
    place: int
    record: Record
    text: str
    words: frozenset[str]
    terms: frozenset[str]
    evidence: list[str] = field(default_factory=list[str])


class Groups:
    """Ranked records, best first, become hits."""

    def __init__(self, *, apart: bool = False) -> None:
        """`apart`: fold nothing."""
        self._apart = apart
        self._groups: list[Group] = []
        self._index: defaultdict[Hashable, list[Group]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, at: slice) -> Sequence[Group]:
        return self._groups[at]

    def add(self, place: int, record: Record, text: str) -> None:
        """The next best record, and the passage of it that was found."""
        analysed = frozenset(() if self._apart else terms(text))
        words = frozenset(term for term in analysed if "_" not in term)
        item = Group(place, place, record, text, words, analysed)
        group = None if self._apart else self._same(item)
        if group is None:
            self._groups.append(item)
            self._enter(item)
        elif record.trust in TRUSTED and group.record.trust not in TRUSTED and _is_copy(group, item):
            # Of copies the one that counts more is shown.
            group.evidence.append(group.record.id)
            group.place, group.record, group.text, group.words, group.terms = place, record, text, words, analysed
            self._enter(group)
        else:
            group.evidence.append(record.id)

    def _same(self, item: Group) -> Group | None:
        """The first of the groups that says the same."""
        near = {id(group): group for key in _keys(item) for group in self._index[key]}
        likely = sorted(near.values(), key=lambda group: group.best)
        return next((group for group in likely if _is_copy(group, item) or _is_same_words(group, item)), None)

    def _enter(self, group: Group) -> None:
        for key in _keys(group):
            self._index[key].append(group)


def _keys(item: Group) -> set[Hashable]:
    """
    Where to look for its like, so that not every hit is compared with every other. Of texts that share more than a share of their terms, the
    first few in any one order have a term in common.
    """
    first = sorted(item.terms, key=lambda term: (-len(term), term))
    few = first[: len(first) - ceil(ALIKE * len(first)) + 1] or [item.text.strip()]
    session = item.record.session
    return {*few, *([("session", session)] if session is not None else [])}


def _is_copy(a: Group, b: Group) -> bool:
    if a.record.scope != b.record.scope:
        return False
    if a.record.kind == b.record.kind == "turn":
        here, there = ((item.record.session, item.record.speaker) for item in (a, b))
        if here != there or min(len(a.words), len(b.words)) < _TELLING:
            return False
    if not a.terms and not b.terms:
        return a.text.strip() == b.text.strip()
    alike = len(a.terms & b.terms) > ALIKE * len(a.terms | b.terms)
    return alike and not conflict(a.text, b.text)


def _is_same_words(a: Group, b: Group) -> bool:
    """Whether one of them was learned from the other."""
    share = _least_share(a.record, b.record)
    if share is None:
        return False
    shorter, longer = sorted((a, b), key=lambda item: len(item.words))
    # A fact names its speaker, who says "I".
    speakers = {term for item in (a, b) for term in terms(item.record.speaker or "")} | {"user"}
    words = shorter.words - speakers
    contained = bool(words) and len(words & longer.words) >= share * len(words)
    return contained and not conflict(a.text, b.text)


def _least_share(a: Record, b: Record) -> float | None:
    """How much of the shorter text the longer must hold, None if they do not come from the same words."""
    if a.session is None or a.session != b.session or a.kind == b.kind:
        return None
    if "episode" in (a.kind, b.kind):
        # A fact may have been filed with the person whom it is about.
        return SUMMED if a.scope == b.scope or "fact" in (a.kind, b.kind) else None
    return LEARNED if _names(a) & _names(b) else None


def _names(record: Record) -> set[str]:
    """The message that a fact was learned from is a turn's id, or the name that its program gave it."""
    message = {record.provenance.message} if record.provenance.message else set[str]()
    return message | ({record.id} if record.kind == "turn" else set[str]())
