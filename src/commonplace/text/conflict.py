"""
Whether two sentences give different values for the same thing: by rules, in English and Chinese, without a model.

Each sentence is read as what it is about and which values it gives: clock times, days, dates, addresses and numbers with the word beside
them, names and places behind a small word, yes or no. Two sentences conflict if they are about the same thing and one kind of value
differs, or if one of them denies what the other says. What only says more ("Tuesday", "Tuesday and Thursday") does not conflict,
nor does a question. The rules prefer silence: what they do not see is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from commonplace.text.analyse import terms
from commonplace.text.english import MONTHS, STOP_WORDS
from commonplace.text.rarity import chance

_MOST_SENTENCES: Final = 8
_LONGEST: Final = 400
_RARE: Final = 0.002
"""A capitalised word that fewer passages hold than this is taken for a name, even at the start of a sentence."""

_END: Final = re.compile(r"(?<=[.!?;])\s+|[。！；\n]+|(?<=？)")
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH: Final = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
_DIGITS: Final = {character: n for n, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN: Final = "零〇一二两三四五六七八九十百千万"

# The kinds of value, the most particular first: what one has read, the next does not see.
_VALUES: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("address", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])"),
        ("date", rf"\d{{4}}-\d{{2}}-\d{{2}}|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b(?!:)"),
        ("date", rf"(?:\d{{1,2}}|[{_HAN}]{{1,3}})月(?:\d{{1,2}}|[{_HAN}]{{1,3}})[日号]?"),
        ("clock", r"\b\d{1,2}[:.]\d{2}(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]\.?m\b|\bnoon\b|\bmidnight\b"),
        ("clock", rf"(?:上午|下午|早上|晚上|中午|凌晨)?(?:\d{{1,2}}|[{_HAN}]{{1,3}})[点點](?:半|\d{{1,2}}分?|[{_HAN}]{{1,3}}分?)?"),
        ("weekday", rf"\b(?:{'|'.join(_DAYS)})s?\b|(?:周|星期|礼拜)[一二三四五六日天]"),
        ("day", rf"(?:\d{{1,2}}|[{_HAN}]{{1,3}})[号日](?!楼|线|门|院)"),
        ("month", rf"\b(?:in|until|by|from|since|before|after) (?:{_MONTH})\b"),
    )
)  # fmt: skip
_NUMBER: Final = re.compile(
    rf"(?P<n>(?<![\w.])[$€£¥]? ?v?\d[\d,]*+(?:\.\d++)*+|(?<![{_HAN}])[{_HAN}]++(?=[^\W\d_]))(?P<glued>%|[a-zA-Z]{{1,4}}\b)?"
)
_NOT_NUMBERS: Final = re.compile("[统第唯万][一二]|一[下些样起直般定共切旦边会]|千万|万一|十分")
_TOKEN: Final = re.compile(r"[A-Za-z][\w.'’-]*\w|[A-Za-z]|\d[\w.,:]*|[:,]|[^\W\d_a-zA-Z]")
_LETTERS: Final = re.compile(r"[A-Za-z]")

_NO: Final = re.compile(
    r"\b(?:not|no|never|none|cannot|without|neither|nor)\b|n['’]t\b"
    r"|(?<!差)(?<!对)不(?!过|仅|但|同|错|久|少|断|管|论)|没(?!关系)|无(?!论|线)|未(?!来)|别(?!人|的)|禁止|停止|勿",
    re.IGNORECASE,
)
# What one word of a pair says of a thing, the other denies.
_OPPOSITES: Final = (
    ("on", "off"), ("enable", "disable"), ("allow", "forbid"), ("accept", "reject"), ("before", "after"), ("always", "never"),
    ("true", "false"), ("public", "private"), ("require", "optional"), ("like", "dislike"), ("love", "hate"), ("include", "exclude"),
    ("open", "closed"), ("safe", "unsafe"), ("manual", "automatic"), ("允许", "禁止"), ("启用", "停用"), ("启用", "禁用"), ("打开", "关闭"),
    ("之前", "之后"), ("喜欢", "讨厌"), ("公开", "私有"), ("必须", "可选"), ("有效", "无效"),
)  # fmt: skip
# Two ends of a thing: each has a value of its own.
_ENDS: Final = (
    ("start", "end"), ("open", "close"), ("from", "until"), ("arrive", "leave"), ("min", "max"), ("minimum", "maximum"), ("first", "last"),
    ("import", "export"), ("read", "write"), ("left", "right"), ("上传", "下载"), ("开始", "结束"), ("最小", "最大"), ("最低", "最高"),
    ("到达", "出发"), ("开门", "关门"),
)  # fmt: skip
_SAME: Final = {
    "may": "allow", "can": "allow", "permit": "allow", "permitted": "allow", "allowed": "allow", "forbidden": "forbid", "banned": "forbid",
    "prohibited": "forbid", "until": "end", "till": "end", "ends": "end", "begins": "start", "begin": "start", "starts": "start",
}  # fmt: skip
_FILLERS: Final = frozenset("now currently already still just really also actually moved changed every each".split())
_AT: Final = frozenset("in at on under behind beside inside near below above".split())
_STANDS: Final = frozenset(
    "is are was were lies sits stays lives stands goes kept stored parked hidden located hosted deployed".split()
)
_IS: Final = frozenset({"is", "are", "was", "were", ":"})
_BESIDE: Final = frozenset({*_AT, "is", "are", "was", "with", "from", "by", "to", "for", "via", "called", "named", ":"})
_PLACED: Final = re.compile(
    "^(?P<about>[^，,。]{2,24}?)(?P<link>定在|放在|住在|存在|在|叫|由|归)(?P<object>[^，,。在]{2,16})"
)


@dataclass(frozen=True, slots=True)
class Assertion:
    """What one sentence is about, and what it says of it."""

    words: frozenset[str]
    following: Mapping[str, str]
    """Each word with the one behind it."""
    values: Mapping[str, frozenset[str]]
    numbers: Mapping[str, frozenset[str]]
    """By the word beside them; those without one under the empty text."""
    names: Mapping[str, str]
    """Behind which small word each stands."""
    entities: frozenset[str]
    """Names among the words."""
    negated: bool
    poles: frozenset[str]
    place: tuple[frozenset[str], frozenset[str]] | None
    """What is where."""


def conflict(text: str, other: str) -> bool:
    """Whether a sentence of `text` and a sentence of `other` cannot both be true."""
    return any(_conflict(a, b) for a in statements(text) for b in statements(other))


@lru_cache(maxsize=2048)
def statements(text: str) -> tuple[Assertion, ...]:
    """The sentences of a text, as far as they state something."""
    sentences = [part.strip() for part in _END.split(text[: _MOST_SENTENCES * _LONGEST]) if part and part.strip()]
    stating = [part for part in sentences if not part.endswith(("?", "？")) and len(part) <= _LONGEST]
    return tuple(_read(part) for part in stating[:_MOST_SENTENCES])


def _conflict(a: Assertion, b: Assertion) -> bool:
    opposed = _opposed(a, b, _OPPOSITES)
    mine, theirs = a.words - opposed, b.words - opposed
    shared, whole = len(mine & theirs), len(mine | theirs)
    are_ends = bool(_opposed(a, b, _ENDS) and (a.values or a.numbers) and (b.values or b.numbers))
    if not shared or are_ends or _are_others(a, b):
        return False
    least, alike = shared / min(len(mine), len(theirs)), shared / whole
    is_denied = (a.negated != b.negated) != bool(opposed)
    if is_denied and alike >= 0.65 and (shared >= 2 or alike == 1.0):
        return True
    if a.negated or b.negated:
        return False
    return (least >= 0.5 and (_values_differ(a, b) or _numbers_differ(a, b, alike))) or (
        _names_differ(a, b, shared, alike) or _places_differ(a, b)
    )


def _are_others(a: Assertion, b: Assertion) -> bool:
    """Whether each is about something of its own: Ana's brother and Ben's, the web team and the billing team."""
    mine, theirs = a.words - b.words, b.words - a.words
    heads = {a.following[word] for word in mine} & {b.following[word] for word in theirs} & a.words & b.words
    return bool(a.entities & mine and b.entities & theirs) or any(_LETTERS.match(head) for head in heads)


def _opposed(a: Assertion, b: Assertion, pairs: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """The words of pairs of which each statement has one."""
    mine, theirs = a.poles - b.poles, b.poles - a.poles
    opposed = [
        pair for pair in pairs if (pair[0] in mine and pair[1] in theirs) or (pair[1] in mine and pair[0] in theirs)
    ]
    return frozenset(_base(word) for pair in opposed for word in pair)


def _differ(a: frozenset[str], b: frozenset[str]) -> bool:
    """Neither only says more than the other."""
    return bool(a and b) and not (a <= b or b <= a)


def _values_differ(a: Assertion, b: Assertion) -> bool:
    return any(_differ(a.values[kind], b.values[kind]) for kind in a.values.keys() & b.values.keys())


def _numbers_differ(a: Assertion, b: Assertion, alike: float) -> bool:
    if any(_differ(a.numbers[beside], b.numbers[beside]) for beside in a.numbers.keys() & b.numbers.keys() if beside):
        return True
    bare = "" in a.numbers or "" in b.numbers
    return bare and alike >= 0.6 and _differ(_all(a.numbers), _all(b.numbers))


def _all(numbers: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*numbers.values())


def _names_differ(a: Assertion, b: Assertion, shared: int, alike: float) -> bool:
    mine, theirs = _own_names(a, b), _own_names(b, a)
    if not mine or not theirs or shared < 2:
        return False
    return alike >= (0.35 if set(mine.values()) & set(theirs.values()) else 0.6)


def _own_names(a: Assertion, b: Assertion) -> dict[str, str]:
    return {name: link for name, link in a.names.items() if name not in b.names and name not in b.words}


def _places_differ(a: Assertion, b: Assertion) -> bool:
    if a.place is None or b.place is None:
        return False
    (thing, here), (other, there) = a.place, b.place
    alike = len(thing & other) / max(len(thing | other), 1)
    return alike >= 0.75 and len(here & there) < 0.8 * min(len(here), len(there))


# ---- reading a sentence


def _read(sentence: str) -> Assertion:
    values: dict[str, set[str]] = {}
    rest = sentence
    for kind, pattern in _VALUES:
        for match in pattern.finditer(rest):
            values.setdefault(kind, set()).add(_normal(kind, match[0]))
        rest = pattern.sub(_blank, rest)
    numbers, rest = _numbers(rest)
    names, words, entities = _names_and_words(rest)
    frozen = {kind: frozenset(of) for kind, of in values.items()}
    poles = _poles(sentence)
    place = None if values or numbers else _place(sentence)
    return Assertion(
        frozenset(words), words, frozen, numbers, names, entities, len(_NO.findall(sentence)) % 2 == 1, poles, place
    )


def _blank(match: re.Match[str]) -> str:
    """A value is no neighbour of the words beside it."""
    del match
    return " , "


def _normal(kind: str, value: str) -> str:
    """One spelling of a value: "1st of March" is "March 1"."""
    plain = value.lower().replace(" of ", " ")
    if kind == "weekday":
        return plain[:3] if plain.isascii() else plain[-1].replace("天", "日")
    if kind == "clock" and plain.isascii():
        return plain.replace(".", ":").replace(" ", "").removeprefix("0")
    if kind == "date" and plain.isascii():
        return " ".join(sorted(re.findall(r"\d+|[a-z]{3}", re.sub(r"(?<=\d)(?:st|nd|rd|th)", "", plain))[:3]))
    return re.sub(f"[{_HAN}]+", lambda match: str(_han(match[0])), plain)


def _han(text: str) -> int:
    """A Chinese number."""
    total = section = digit = 0
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character == "万":
            total, section, digit = total + (section + digit) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * {"十": 10, "百": 100, "千": 1000}[character], 0
    return total + section + digit


def _numbers(sentence: str) -> tuple[dict[str, frozenset[str]], str]:
    """Numbers by the word behind them, and by the one before; and the sentence without them."""
    plain = _NOT_NUMBERS.sub("  ", re.sub(r"[A-Za-z]+", _spelled, sentence))
    numbers: dict[str, set[str]] = {}
    for match in _NUMBER.finditer(plain):
        value = match["n"].strip("$€£¥ v").replace(",", "")
        value = str(_han(value)) if value[:1] in _HAN else value
        unit = (match["glued"] or _word_after(plain[match.end() :])).lower()
        before = _word_before(plain[: match.start()])
        for beside in {unit and f"{unit}>", before and f"<{before}"} - {""} or {""}:
            numbers.setdefault(beside, set()).add(value)
        if not unit:
            numbers.setdefault("", set()).add(value)
    return {beside: frozenset(of) for beside, of in numbers.items()}, _NUMBER.sub(" , ", plain)


def _spelled(match: re.Match[str]) -> str:
    """ "four" as 4."""
    analysed = terms(match[0])
    return analysed[0] if analysed and analysed[0].isdigit() else match[0]


def _word_after(text: str) -> str:
    match = re.match(r"[ -]?([A-Za-z]{2,}|[^\W\d_a-zA-Z])", text)
    if match is None or match[1].lower() in STOP_WORDS:
        return ""
    return _base(match[1])


def _word_before(text: str) -> str:
    words = [word for word in re.findall(r"[A-Za-z]{2,}", text[-60:]) if word.lower() not in STOP_WORDS | _FILLERS]
    return _base(words[-1]) if words and text[-60:].isascii() else ""


def _names_and_words(sentence: str) -> tuple[dict[str, str], dict[str, str], frozenset[str]]:
    """
    Names behind the verb, each with the small word before it; the other words that count, each with the one that follows it; and those of
    them that are names: what the sentence is about.
    """
    tokens = _TOKEN.findall(sentence)
    verb = max((n for n, token in enumerate(tokens) if token.lower() in _IS), default=-1)
    names: dict[str, str] = {}
    words: dict[str, str] = {}
    entities: set[str] = set()
    before = last = ""
    for n, token in enumerate(tokens):
        plain = token[:-2] if token.endswith(("'s", "’s")) else token.rstrip(".'’-")
        low = plain.lower()
        is_name = plain[:1].isupper() and low != "i"
        if is_name and n > max(verb, 0) and (before in _BESIDE or before in names):
            names[low] = names.get(before, before)
        elif low not in STOP_WORDS | _FILLERS | {":", ","} or low in _SAME:
            word = _SAME.get(low) or _base(plain)
            if is_name and (n or (plain.isalpha() and chance(word) < _RARE)):
                entities.add(word)
            words |= {last: word} if last else {}
            words[word] = ""
            last = word
        else:
            last = ""
        before = low
    return names, words, frozenset(entities)


def _base(word: str) -> str:
    low = word.lower()
    return next(iter(terms(low)), low) if _LETTERS.match(word) else low


def _poles(sentence: str) -> frozenset[str]:
    low = sentence.lower()
    words = {*re.findall(r"[a-z]+", low)}
    stems = {_base(word): word for word in words}
    of_pairs = {word for pair in (*_OPPOSITES, *_ENDS) for word in pair}
    poles = {pole for pole in of_pairs if (pole in words or _base(pole) in stems if pole.isascii() else pole in low)}
    return frozenset(poles | {_SAME[word] for word in words & _SAME.keys()})


def _place(sentence: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """What is where: the last small word of place, or 在, and what stands on both sides of it."""
    if (match := _PLACED.match(sentence)) is not None:
        return frozenset(match["about"]) - frozenset("的"), frozenset(match["object"])
    tokens = re.findall(r"[A-Za-z'’-]+", sentence)
    ends = [n for n, token in enumerate(tokens) if token.lower() in _AT]
    if not ends or not ends[-1] >= 1 or len(tokens) - ends[-1] > 6:
        return None
    thing, where = _content(tokens[: ends[-1]]), _content(tokens[ends[-1] + 1 :])
    return (thing, where) if thing and where else None


def _content(tokens: Sequence[str]) -> frozenset[str]:
    plain = [re.sub(r"['’]s$", "", token) for token in tokens]
    return frozenset(_base(word) for word in plain if word.lower() not in STOP_WORDS | _FILLERS)
