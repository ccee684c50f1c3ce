"""
A long text as the passages it is searched by.

A text is cut at sentence ends and line breaks into pieces, each counted once; pieces are packed into spans of at most
`size` tokens. A paragraph that fits into one span is kept whole unless the span before it would stay less than half
full. A span begins with what ended the one before it, up to `overlap` tokens, so that a thought cut in two is found
from either side. Every step is one walk over the text or over its pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.text.tokens import TokenCounter, estimate

SIZE = 512
OVERLAP = 64
MAX_SPANS = 4095

Span = tuple[int, int]

# A run of marks is tried at its first mark only, and nothing is given back, so that no text makes this slow.
_SENTENCE_END = re.compile(
    r"(?<![.!?])[.!?]++[\"'’”)\]}»]*+(?=\s)|[。！？｡]++[\"'’”」』）】》]*+|[\n\r\v\f\x85\u2028\u2029]\s*+"
)


class _Piece(NamedTuple):
    start: int
    stop: int
    tokens: int
    opens: bool
    """Whether a paragraph begins here."""


def spans(text: str, count: TokenCounter = estimate, size: int = SIZE, overlap: int = OVERLAP) -> list[Span]:
    """
    Start and stop of each passage, in order. Together they hold every character that is not white space.

    No span has more than `size` tokens by the sum of its pieces, unless the text would need more than 4,095 of them:
    then all are longer. A text of fewer bytes than `size` is one span and is not counted.
    """
    whole = _trimmed(text, 0, len(text))
    if whole is None:
        return []
    if len(text) < size and len(text.encode("utf-8", "surrogatepass")) < size:
        return [whole]
    pieces = list(_pieces(text, count, size))
    passages = _Packing(text, count, size, min(overlap, size // 2)).pack(pieces)
    while len(passages) > MAX_SPANS:
        size *= 2
        passages = _Packing(text, count, size, min(overlap, size // 2)).pack(pieces)
    return passages


def _trimmed(text: str, start: int, stop: int) -> Span | None:
    part = text[start:stop]
    if not part or part.isspace():
        return None
    return start + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip())


def sentences(text: str) -> Iterator[Span]:
    """Start and stop of each sentence or line, in order, without the white space around it."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if span := _trimmed(text, start, end.end()):
            yield span
        start = end.end()
    if span := _trimmed(text, start, len(text)):
        yield span


def _joined(pieces: Iterator[Span], most: int) -> Iterator[Span]:
    """Neighbours that are tiny together become one: a list of a million one-letter lines need not be counted by line."""
    start = stop = -1
    for next_start, next_stop in pieces:
        if start >= 0 and next_stop - start > most:
            yield start, stop
            start = -1
        if start < 0:
            start = next_start
        stop = next_stop
    if start >= 0:
        yield start, stop


def _cut(text: str, start: int, stop: int, most: int) -> Iterator[Span]:
    """Parts of at most `most` characters, cut after a space where there is one in the last quarter of a part."""
    while stop - start > most:
        end = start + most
        for place in range(end, end - most // 4, -1):
            if text[place - 1].isspace():
                end = place
                break
        if span := _trimmed(text, start, end):
            yield span
        start = end
    if span := _trimmed(text, start, stop):
        yield span


def _pieces(text: str, count: TokenCounter, size: int) -> Iterator[_Piece]:
    longest = max(4 * size, 1)
    before = 0
    for sentence in _joined(sentences(text), size // 8):
        opens = text.count("\n", before, sentence[0]) > 1
        for start, stop in _cut(text, *sentence, longest):
            for part in _fitting(text, start, stop, count, size):
                yield part._replace(opens=opens)
                opens = False
        before = sentence[1]


def _fitting(text: str, start: int, stop: int, count: TokenCounter, size: int) -> Iterator[_Piece]:
    """The part itself, or, as long as it has more than `size` tokens, its halves."""
    waiting = [(start, stop)]
    while waiting:
        start, stop = waiting.pop()
        tokens = max(count(text[start:stop]), 1)
        if tokens <= size or stop - start < 2:
            yield _Piece(start, stop, tokens, False)
        else:
            waiting.extend(reversed(list(_cut(text, start, stop, (stop - start + 1) // 2))))


class _Packing:
    """One pass over the pieces of a text."""

    def __init__(self, text: str, count: TokenCounter, size: int, overlap: int) -> None:
        self._text = text
        self._count = count
        self._size = size
        self._overlap = overlap
        self._spans: list[Span] = []
        self._held: list[_Piece] = []
        self._tokens = 0

    def pack(self, pieces: list[_Piece]) -> list[Span]:
        for paragraph in _paragraphs(pieces):
            tokens = sum(piece.tokens for piece in paragraph)
            if self._tokens + tokens <= self._size:
                self._hold(paragraph, tokens)
            elif tokens <= self._size and 2 * self._tokens >= self._size:
                self._turn_over(tokens)
                self._hold(paragraph, tokens)
            else:
                for piece in paragraph:
                    if self._held and self._tokens + piece.tokens > self._size:
                        self._turn_over(piece.tokens)
                    self._hold([piece], piece.tokens)
        if self._held:
            self._spans.append((self._held[0].start, self._held[-1].stop))
        return self._spans

    def _hold(self, pieces: list[_Piece], tokens: int) -> None:
        self._held.extend(pieces)
        self._tokens += tokens

    def _turn_over(self, coming: int) -> None:
        """End the current span; begin the next with its tail, as long as that leaves room for `coming` tokens."""
        self._spans.append((self._held[0].start, self._held[-1].stop))
        room = min(self._overlap, self._size - coming)
        tail_pieces: list[_Piece] = []
        for piece in reversed(self._held):
            if piece.tokens > room:
                break
            tail_pieces.append(piece)
            room -= piece.tokens
        if not tail_pieces and (tail := self._tail(self._held[-1], room)):
            tail_pieces.append(tail)
        # All of it would say again what the span before said.
        if len(tail_pieces) == len(self._held):
            tail_pieces.pop()
        self._held = tail_pieces[::-1]
        self._tokens = sum(piece.tokens for piece in tail_pieces)

    def _tail(self, piece: _Piece, room: int) -> _Piece | None:
        """The last words of a piece that has more tokens than there is room for."""
        share = (piece.stop - piece.start) * room // max(piece.tokens, 1)
        while share > 0:
            start = piece.stop - share
            while start < piece.stop and not self._text[start - 1].isspace() and self._text[start].isascii():
                start += 1
            if (span := _trimmed(self._text, start, piece.stop)) and (
                tokens := self._count(self._text[slice(*span)])
            ) <= room:
                return _Piece(*span, tokens, False)
            share //= 2
        return None


def _paragraphs(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    paragraph: list[_Piece] = []
    for piece in pieces:
        if piece.opens and paragraph:
            yield paragraph
            paragraph = []
        paragraph.append(piece)
    if paragraph:
        yield paragraph
