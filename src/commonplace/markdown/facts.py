"""
A text taken apart into the facts it tells, and what to call one of them.

A sentence is a fact of its own unless it leans on the one before it: it begins with "It", "Because", "Why:", it is an item of a list
that a line announced, it answers a question, a bracket is still open. A document (headings, code, a table, front matter, or more
than twenty facts) is kept whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from commonplace.markdown.names import fault
from commonplace.text.chunk import Span
from commonplace.text.chunk import sentences as pieces_of
from commonplace.text.slug import readable_name, slug
from commonplace.text.unicode import normal_form

MOST_FACTS: Final = 20
MOST_TITLE: Final = 60
_SHORTEST_CLAUSE: Final = 20
_MOST_READ: Final = 20_000
_WIDE: Final = 0x2E80

_TITLES: Final = frozenset("dr mr mrs ms mx prof st mt no nr vs e.g i.e cf approx ca fig vol art".split())
_MAY_END: Final = frozenset("etc inc ltd co corp jr sr dept u.s u.k a.m p.m bros".split())
_INITIAL: Final = re.compile(r"(?:^|\s)[A-HJ-Z]\.$")
_LAST_WORD: Final = re.compile(r"(?<![A-Za-z.])([A-Za-z][A-Za-z.]{0,7})\.$")
_ITEM: Final = re.compile(r"\s*+(?:[-*+•·–]|\d{1,3}[.)、]|[（(]\d{1,2}[）)])\s+\S")
_MARKS: Final = re.compile(
    r"\s*+(?:#{1,6}\s+|[-*+•·–]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|\d{1,3}、|>\s*+|\*\*|__|`(?!`))+"
)
_DOCUMENT: Final = re.compile(r"^(?:```|~~~|#{1,6}\s+\S|\|.+\||---\s*$)", re.MULTILINE)
_LEANS: Final = re.compile(
    r"(?:(?:why|how to apply|how|reason|because|since|so|therefore|thus|hence|but|however|although|though|except|unless|otherwise|instead|then"
    r"|and|or|also|too|only|even|for example|for instance|e\.g|i\.e|in particular|that is|it|its|it's|this|that|that's|these|those|they|they're"
    r"|their|them|he|he's|his|him|she|she's|her|hers|both|neither|the former|the latter|there|here|same|none of)\b"
    r"|(?:因为|因為|所以|但|不过|不過|否则|否則|然后|然後|而且|并且|並且|另外|例如|比如|原因|为什么|為什麼|怎么做|如何|也就是|即|其中|其他|它|他|她|这|這|那|都|也))",
    re.IGNORECASE,
)
_PLURAL: Final = re.compile(r"(?:we|we're|we've|our|us|both of us)\b|我们|我們|咱们|咱們", re.IGNORECASE)
_REACTIONS: Final = frozenset(
    """ok okay k yes no yep yeah nope sure thanks thx ty cheers hi hello hey bye cool great nice wow lol haha hmm hm test ping please remember note
    thank\x1fyou good\x1fmorning good\x1fnight see\x1fyou got\x1fit well\x1fdone never\x1fmind remember\x1fthis remember\x1fthat
    好 好的 是 是的 不 不是 嗯 嗯嗯 哦 谢谢 多谢 你好 您好 再见 哈哈 收到 可以 行 对 测试 记住 知道了 没事 辛苦了""".split()
)


def sentences(text: str) -> Iterator[Span]:
    """As `text.chunk.sentences`, but "Dr." ends none, and neither does a line that the next one goes on with."""
    start = stop = -1
    for begin, end in pieces_of(text):
        if start >= 0 and not _goes_on(text[start:stop], text[stop:begin], text[begin:end]):
            yield start, stop
            start = -1
        start, stop = (begin if start < 0 else start), end
    if start >= 0:
        yield start, stop


def first_sentence(text: str) -> str:
    start, stop = next(sentences(text), (0, len(text)))
    return text[start:stop].strip()


def _goes_on(before: str, between: str, after: str) -> bool:
    if "\n" in between or before.endswith("\n"):
        is_wrapped = before[-1:].isalnum() or before[-1:] in ",，、"
        return is_wrapped and between.count("\n") < 2 and after[:1].islower() and not _ITEM.match(after)
    if _INITIAL.search(before):
        return True
    word = _LAST_WORD.search(before[-12:])
    last = word[1].lower() if word else ""
    return last in _TITLES or (last in _MAY_END and after[:1].islower()) or _ends_in_number(before)


def _ends_in_number(before: str) -> bool:
    """`1.` at the beginning of a line is a mark of a list."""
    return re.fullmatch(r"\s*\d{1,3}\.", before.rpartition("\n")[2]) is not None


def facts_of(text: str) -> tuple[str, ...]:
    """The facts in a text, in order; a document is one. Nothing of the text is left out."""
    text = text.strip()
    if len(text) > _MOST_READ or _DOCUMENT.search(text):
        return (text,)
    groups: list[Span] = []
    for start, stop in _units(text):
        if groups and _belongs(text[slice(*groups[-1])], text[start:stop]):
            groups[-1] = (groups[-1][0], stop)
        else:
            groups.append((start, stop))
    facts = tuple(text[start:stop].strip() for start, stop in groups)
    return facts if 0 < len(facts) <= MOST_FACTS else (text,)


def _units(text: str) -> Iterator[Span]:
    """Each item of a list, with all its sentences, and each sentence outside of one."""
    place = 0
    for line in text.splitlines(keepends=True):
        begin, place = place, place + len(line)
        if _ITEM.match(line):
            yield begin, begin + len(line.rstrip())
        elif line.strip():
            yield from ((begin + start, begin + stop) for start, stop in sentences(line))


def _belongs(before: str, piece: str) -> bool:
    """Whether a piece leans on the fact before it."""
    last_line = before.rstrip().rpartition("\n")[2].rstrip()
    if _ITEM.match(piece):
        return piece[:1].isspace() or before.partition("\n")[0].rstrip().endswith((":", "："))
    if last_line.endswith((":", "：", "?", "？", ",", "，", "、")) or _is_open(before):
        return True
    if _ITEM.match(last_line):
        return bool(_LEANS.match(piece))
    return bool(_LEANS.match(piece)) or _is_short(piece) or _is_short(before) or _is_wrapped(before, piece)


def _is_wrapped(before: str, piece: str) -> bool:
    """Whether the sentence goes on: it begins small in a text that begins with a capital, or nothing ended it."""
    is_unended = before[-1:].isalnum() or before[-1:] in ",，、"
    return piece[:1].islower() and (is_unended or before[:1].isupper())


def _is_short(piece: str) -> bool:
    """Too little to be a fact: "OK.", "Note:"."""
    letters = [c for c in piece if c.isalnum()]
    is_wide = any(ord(c) > _WIDE for c in letters)
    return len(letters) < (4 if is_wide else 1) or (not is_wide and len(piece.split()) < 2)


def _is_open(text: str) -> bool:
    pairs = (("(", ")"), ("（", "）"), ("“", "”"), ("「", "」"), ("《", "》"))
    return text.count('"') % 2 == 1 or any(text.count(a) > text.count(b) for a, b in pairs)


def without_people(piece: str) -> str | None:
    """What it says of a "we" that it begins with; None if it does not, and so says itself whom it is about."""
    match = _PLURAL.match(piece)
    return None if match is None else piece[match.end() :].lstrip("的 ")


def is_fact(text: str) -> bool:
    """Whether a text states anything. A sign, a reaction and a question do not."""
    if not any(unicodedata.category(c).startswith("L") for c in text[:_MOST_READ]):
        return False
    folded = normal_form(text[:_MOST_READ]).casefold()
    plain = "\x1f".join("".join(c if c.isalnum() else " " for c in folded).split())
    if plain in _REACTIONS:
        return False
    parts = [text[start:stop] for start, stop in sentences(text[:_MOST_READ])]
    return not all(part.rstrip("\"'”’)） \n").endswith(("?", "？")) for part in parts)


def title_of(text: str) -> str:
    """What a person would call it: its first sentence or clause, without marks of Markdown, at most 60 letters wide."""
    line = next((bare for raw in text.split("\n") if (bare := _bare(raw))), text.strip())
    sentence = " ".join(first_sentence(line).split()).rstrip(".。!！;；:：,， ")
    room = _fitting(sentence, MOST_TITLE)
    if len(sentence) <= room:
        return sentence
    cuts = [
        match.start() for match in re.finditer(r"[,;:，；：、]|\s[–—-]\s|\s(?:because|so that|since|which)\s", sentence)
    ]
    least = _fitting(sentence, _SHORTEST_CLAUSE)
    clause = max((cut for cut in cuts if least <= cut <= room), default=None)
    if clause is not None:
        return sentence[:clause].rstrip()
    cut = sentence[: room - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _fitting(text: str, columns: int) -> int:
    """How many characters of it fit: a Chinese one is as wide as two letters."""
    width = 0
    for count, character in enumerate(text):
        width += 2 if ord(character) > _WIDE else 1
        if width > columns:
            return count
    return len(text)


def _bare(line: str) -> str:
    mark = _MARKS.match(line)
    return line[mark.end() if mark else 0 :].replace("**", "").replace("`", "").strip()


def file_name(title: str, kind: str, now: datetime) -> str:
    """A name that a person can read, in the letters of the title; else one that tells the type and the day."""
    bare = title.rstrip("…")
    letters = [c for c in bare if c.isalpha()]
    if all(normal_form(c, "NFKD")[:1].isascii() for c in letters):
        return slug(bare, empty=f"{kind}-{now:%Y-%m-%d}")
    name = normal_form(readable_name(bare).lower(), "NFC")
    while len(name.encode("utf-8")) > 3 * MOST_TITLE:
        name = name[:-1].rstrip("-._")
    return name if name and fault(f"{name}.md") is None else f"{kind}-{now:%Y-%m-%d}"
