"""Which sentence of a text is the reason that it is held back, so that a reviewer need not look for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

MOST: Final = 400
"""Characters of a sentence that are shown."""
_BLOCK: Final = 4_000
_TOGETHER: Final = 3
"""A sign may need so many sentences: an order, and what it is about."""
_END: Final = re.compile(r"(?<![.!?])[.!?]++[\"'”’)]*+(?=\s|$)|[。！？]++[”’」』）]*+|\n")

Signs: TypeAlias = Callable[[str], Sequence[str]]
Span: TypeAlias = tuple[int, int]


def cause_of(text: str, signs: Signs) -> str | None:
    """The first sentence in which `signs` sees something, or the shortest run of sentences; None if only the whole text has it."""
    for block in _blocks(_sentences(text)):
        if not signs(text[block[0][0] : block[-1][1]]):
            continue
        for size in range(1, _TOGETHER + 1):
            for place in range(len(block) - size + 1):
                stretch = text[block[place][0] : block[place + size - 1][1]].strip()
                if signs(stretch):
                    return _cut(stretch, signs)
    return None


def _sentences(text: str) -> Iterator[Span]:
    """Where each sentence stands; one of more than a block is cut. The dot of an address or a figure ends none."""
    begin = 0
    for stop in [*(match.end() for match in _END.finditer(text)), len(text)]:
        if text[begin:stop].strip():
            for start in range(begin, stop, _BLOCK):
                yield start, min(start + _BLOCK, stop)
        begin = stop


def _blocks(sentences: Iterator[Span]) -> Iterator[list[Span]]:
    """Some sentences at a time, the last of one block again in the next: what spans the joint is seen whole."""
    block: list[Span] = []
    fresh = False
    for sentence in sentences:
        block.append(sentence)
        fresh = True
        if sentence[1] - block[0][0] >= _BLOCK:
            yield block
            block, fresh = block[-_TOGETHER:], False
    if fresh:
        yield block


def _cut(stretch: str, signs: Signs) -> str:
    """At most `MOST` characters of it, those with the sign if a part is enough."""
    if len(stretch) <= MOST:
        return stretch
    parts = (stretch[start : start + MOST] for start in range(0, len(stretch) - MOST // 2, MOST // 2))
    return next((part.strip() for part in parts if signs(part)), stretch[:MOST].strip())
