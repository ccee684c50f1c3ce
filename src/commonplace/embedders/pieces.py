"""
The vocabulary of the sentence model: text to the numbers of its pieces, by the likeliest cut.

It is read from a SentencePiece file of the unigram kind. Two things are true of that file (the tests hold it to them)
and keep this short: pieces come first in it, each a message of fewer than 128 bytes, and no piece has a space after its
first letter, so words can be cut one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

BEGIN, END = 1, 2
_UNKNOWN = 0
_RESERVED = 6
_SPACE = "▁"
_LEAST = -1e30
# How much less likely than the rarest piece a letter is that no piece knows.
_RARER = 10.0


class Pieces:
    def __init__(self, pieces: list[str], scores: list[float]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(pieces) if number >= _RESERVED}
        self._scores = scores
        self._unknown = min(scores) - _RARER
        self._longest: dict[str, int] = {}
        for piece in self._numbers:
            if len(piece) > self._longest.get(piece[0], 0):
                self._longest[piece[0]] = len(piece)

    def __len__(self) -> int:
        return len(self._scores)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def scores(self) -> Iterator[tuple[str, float]]:
        """Each piece with the logarithm of how often it occurs."""
        return ((piece, self._scores[number]) for piece, number in self._numbers.items())

    @classmethod
    def read(cls, path: Path) -> Pieces:
        """A piece is a tag, a length, and in them again a tag, a length and the letters, then a tag and the score."""
        data = path.read_bytes()
        score = struct.Struct("<f").unpack_from
        pieces: list[str] = []
        scores: list[float] = []
        at = 0
        while data[at] == 0x0A:
            stop = at + 4 + data[at + 3]
            pieces.append(data[at + 4 : stop].decode())
            scores.append(score(data, stop + 1)[0])
            at += 2 + data[at + 1]
        return cls(pieces, scores)

    def numbers(self, text: str) -> list[int]:
        """The pieces of a text that is folded already, between the marks of its beginning and its end."""
        numbers = [BEGIN]
        for word in text.split():
            numbers.extend(self._cut(_SPACE + word))
        numbers.append(END)
        return numbers

    def _cut(self, word: str) -> list[int]:
        """The cut whose scores add up highest; of equals, the one whose last piece is longest."""
        size = len(word)
        best = [0.0] + [_LEAST] * size
        came = [(0, _UNKNOWN)] * (size + 1)
        number_of = self._numbers.get
        for start in range(size):
            so_far = best[start]
            for stop in range(start + 1, min(start + self._longest.get(word[start], 0), size) + 1):
                number = number_of(word[start:stop])
                if number is not None and so_far + self._scores[number] > best[stop]:
                    best[stop] = so_far + self._scores[number]
                    came[stop] = start, number
            if word[start] not in self._numbers and so_far + self._unknown > best[start + 1]:
                best[start + 1] = so_far + self._unknown
                came[start + 1] = start, _UNKNOWN
        return _back(came, size)


def _back(came: list[tuple[int, int]], at: int) -> list[int]:
    numbers: list[int] = []
    while at:
        at, number = came[at]
        numbers.append(number)
    return numbers[::-1]
