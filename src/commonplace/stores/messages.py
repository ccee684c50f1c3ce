"""
Sessions and messages as both stores keep them: their rows as values, the words of a message, and which of several messages
answers a question best.

A word is kept as a hash of its tenant and itself, so that no search can cross tenants and no word can be read off the index. The
ranking is BM25 over the messages that have one of the words, the same for both stores.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import log
from typing import Any, Final

from commonplace.errors import InvalidQuery
from commonplace.stores.rows import moment, object_of
from commonplace.text.analyse import terms
from commonplace.values.moment import from_ms
from commonplace.values.session import MessageDraft, Session, SessionMessage

CHANGEABLE: Final = ("title", "model", "folder", "shared", "archived")
CANDIDATES: Final = 2_000
LEAST_A_WORD: Final = 100
"""About so many messages are compared: for each word the newest that have it, so that a frequent word does not hide a rare one."""
MOST_TERMS: Final = 64
INDEXED: Final = 200_000
"""So many characters of a message can be found by their words."""
_K1: Final = 1.2
_B: Final = 0.75


# ---- rows


def session_of(row: Sequence[Any]) -> Session:
    id, owner, agent, created, updated, workspace, folder, title, model, source, shared, archived, messages = row
    return Session(
        id=id,
        owner=owner,
        agent=agent,
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        workspace=workspace,
        folder=folder,
        title=title,
        model=model,
        source=source,
        shared=bool(shared),
        archived_at=moment(archived),
        messages=messages,
    )


def message_of(session: str, row: Sequence[Any]) -> SessionMessage:
    position, id, at, role, kind, hidden, run, call, speaker, text, data = row
    return SessionMessage(
        session=session,
        position=position,
        id=id,
        at=from_ms(at),
        role=role,
        kind=kind,
        text=text,
        data=object_of(data),
        run=run,
        call=call,
        speaker=speaker,
        context_visible=not hidden,
    )


def write_cursor(session: Session, used: int) -> str:
    return f"{used}:{session.id}"


def read_cursor(cursor: str) -> tuple[int, str]:
    """When the last session of the page before was used, and its id. Raises InvalidQuery."""
    used, colon, id = cursor.partition(":")
    if not colon or not id or not used.isascii() or not used.isdigit() or len(used) > 15:
        raise InvalidQuery("The cursor is not one that a listing of sessions returned.")
    return int(used), id


# ---- words


def is_found(message: MessageDraft | SessionMessage) -> bool:
    """Whether a search may find it: what somebody said, no thinking, no traffic of tools, nothing hidden."""
    return message.context_visible and message.kind == "text" and message.role in ("user", "assistant")


def words_of(tenant: str, message: MessageDraft | SessionMessage) -> list[int] | None:
    """With repeats, as BM25 counts them. None: no search finds the message."""
    if not is_found(message):
        return None
    return text_words(tenant, message.text)


def text_words(tenant: str, text: str) -> list[int] | None:
    return hash_terms(tenant, terms(text[:INDEXED])) or None


def hash_terms(tenant: str, words: Iterable[str]) -> list[int]:
    """As numbers of 64 bits."""
    before = f"{tenant}\0".encode()
    return [
        int.from_bytes(blake2b(before + term.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)
        for term in words
    ]


def question_words(tenant: str, words: Sequence[str]) -> list[int]:
    return hash_terms(tenant, list(dict.fromkeys(words))[:MOST_TERMS])


def candidates_a_word(query: Sequence[int]) -> int:
    return max(CANDIDATES // max(len(query), 1), LEAST_A_WORD)


# ---- which is best


@dataclass(frozen=True, slots=True)
class MessageCandidate:
    """A message by its place: the session it is in, and what the store knows it by. `order` is larger for what was said later."""

    session: Any
    place: Any
    order: int
    words: array[int]


def ranked(
    candidates: Sequence[MessageCandidate], query: Sequence[int], limit: int
) -> list[tuple[MessageCandidate, float]]:
    """The best of each session, the best session first, then the second of each, and so on."""
    if not candidates:
        return []
    counts = [[candidate.words.count(word) for word in query] for candidate in candidates]
    total = len(candidates)
    frequencies = [sum(1 for row in counts if row[n]) for n in range(len(query))]
    rarity = [log(1 + (total - count + 0.5) / (count + 0.5)) for count in frequencies]
    average = sum(len(candidate.words) for candidate in candidates) / total or 1.0
    scores = [
        sum(_weight(count, len(candidate.words) / average) * weight for count, weight in zip(row, rarity, strict=True))
        for candidate, row in zip(candidates, counts, strict=True)
    ]
    best_first = sorted(zip(candidates, scores, strict=True), key=lambda pair: (-pair[1], -pair[0].order))
    places: dict[Any, int] = {}
    rounds: list[tuple[int, int]] = []
    for n, (candidate, _) in enumerate(best_first):
        places[candidate.session] = round_ = places.get(candidate.session, 0) + 1
        rounds.append((round_, n))
    return [best_first[n] for _, n in sorted(rounds)[:limit]]


def _weight(count: int, length: float) -> float:
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length)) if count else 0.0
