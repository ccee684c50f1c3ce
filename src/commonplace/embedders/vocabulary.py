"""
The subword vocabulary of the static table: text to the numbers of its rows.

It is the byte-pair vocabulary of a 32,000-word model, read from the tokenizer file beside the table. Four things are
true of that vocabulary (the tests hold it to them) and make a few lines of Python both exact and faster than a general
tokenizer, since every word is cut once and then remembered:

- no entry has a space after its first letter, so words can be cut one by one;
- Han, kana, hangul, emoji and line breaks stand alone in it, so text without spaces falls apart, too;
- two neighbours can be merged exactly when what they make is an entry;
- merges go by the number of the entry made (then by that of its left half), runs of spaces last.
"""

from __future__ import annotations

import heapq
import json
import re
from itertools import chain
from pathlib import Path
from typing import cast

_SPACE = "▁"
_ALONE = r"\u2e80-\ud7ff\uf900-\ufaff\U00010000-\U0010ffff\n"
_WORD = re.compile(rf"{_SPACE}*+[^{_SPACE}{_ALONE}]++|{_SPACE}++|[{_ALONE}]")
_LATE = 1 << 20
_REMEMBERED = 100_000
_LONGEST_REMEMBERED = 32


class Vocabulary:
    def __init__(self, entries: dict[str, int]) -> None:
        self.entries = entries
        self._words = _Words(entries)

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        """From a tokenizer file, of which the vocabulary is decoded and the list of merges, twice its size, is not."""
        text = path.read_text(encoding="utf-8")
        start = text.index("{", text.index('"vocab"'))
        entries, _ = json.JSONDecoder().raw_decode(text, start)
        return cls(cast("dict[str, int]", entries))

    def numbers(self, text: str) -> list[int]:
        """The entries a text is made of, in order, without marks for its beginning or end."""
        if not text:
            return []
        words = _WORD.findall(_SPACE + text.replace(" ", _SPACE))
        return list(chain.from_iterable(map(self._words.__getitem__, words)))


class _Words(dict[str, tuple[int, ...]]):
    """Words cut so far. Emptied when full: the common ones are back at once."""

    def __init__(self, entries: dict[str, int]) -> None:
        super().__init__()
        self._entries = entries
        self._bytes = [entries[f"<0x{byte:02X}>"] for byte in range(256)]

    def __missing__(self, word: str) -> tuple[int, ...]:
        cut = _Merging(self._entries, *self._letters(word)).merged()
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = cut
        return cut

    def _letters(self, word: str) -> tuple[list[str], list[int]]:
        """The letters and their numbers. One without an entry is spelt in bytes, which never merge (empty text)."""
        texts: list[str] = []
        numbers: list[int] = []
        for letter in word:
            number = self._entries.get(letter)
            if number is not None:
                texts.append(letter)
                numbers.append(number)
            else:
                spelt = letter.encode("utf-8", "surrogatepass")
                texts.extend("" for _ in spelt)
                numbers.extend(self._bytes[byte] for byte in spelt)
        return texts, numbers


class _Merging:
    """One word on its way from letters to entries: the best pair is merged until no pair is an entry."""

    def __init__(self, entries: dict[str, int], texts: list[str], numbers: list[int]) -> None:
        self._entries = entries
        self._texts = texts
        self._numbers = numbers
        self._after = [*range(1, len(texts)), -1]
        self._before = [*range(-1, len(texts) - 1)]
        self._pairs: list[tuple[int, int, int, str]] = []

    def merged(self) -> tuple[int, ...]:
        for place in range(len(self._texts) - 1):
            self._offer(place, place + 1)
        while self._pairs:
            _, left_number, place, text = heapq.heappop(self._pairs)
            after = self._after[place]
            # What was merged meanwhile has another text or number than when it was offered.
            if self._numbers[place] == left_number and after >= 0 and self._texts[place] + self._texts[after] == text:
                self._merge(place, after, text)
        return tuple(number for number in self._numbers if number >= 0)

    def _offer(self, place: int, after: int) -> None:
        head, tail = self._texts[place], self._texts[after]
        if not head or not tail:
            return
        number = self._entries.get(head + tail)
        if number is not None:
            late = _LATE if head[0] == tail[-1] == _SPACE else 0
            heapq.heappush(self._pairs, (late + number, self._numbers[place], place, head + tail))

    def _merge(self, place: int, gone: int, text: str) -> None:
        self._texts[place], self._numbers[place] = text, self._entries[text]
        self._texts[gone], self._numbers[gone] = "", -1
        after = self._after[place] = self._after[gone]
        if after >= 0:
            self._before[after] = place
            self._offer(place, after)
        before = self._before[place]
        if before >= 0:
            self._offer(before, place)
