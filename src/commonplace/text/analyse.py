"""
Turns text into the terms that the words channel indexes and asks for.

Both stores index exactly what `terms` returns and ask for exactly what `query_terms` returns, so recall does not depend
on a database's tokenizer. One pattern cuts a text into tokens; what a token becomes is worked out once and kept in a
dict, which makes the analysis of a short text a handful of lookups. English words lose their ending (Snowball), irregular
forms and spelled numbers come down to one form ("bought" is "buy", "three" is "3"), function words go. An identifier, a
version, a path or an address is kept whole and in its parts, so that `parseConfig` is found by "parse config" and by
itself. Chinese, Japanese and Korean have no spaces to trust: a run of them becomes its characters and their bigrams.
Two content words that follow one another also form a pair (`anim_shelter`): a text that holds the query's words side
by side is nearer to it than one that holds them apart, and a pair costs one posting where a position list costs many.
Terms never hold white space, quotes or control characters.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Final, NamedTuple

import Stemmer

from commonplace.text.english import BASE_FORMS, MONTHS, STOP_WORDS
from commonplace.text.unicode import normal_form

PAIR_WEIGHT: Final = 0.5
"""What a pair of neighbouring words counts in a query beside the two words themselves."""

CHARACTER_WEIGHT: Final = 0.6
"""What one character of a longer Chinese, Japanese or Korean run counts beside its bigrams."""

LONGEST_TERM: Final = 64
"""Longer tokens (hashes, encoded blobs) are cut here, alike in the index and in the query."""

_CACHED_TOKENS: Final = 200_000

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Vowel signs of Indic and south-east Asian scripts are no word characters for `re`, yet stand inside words.
_SIGNS = "\u0300-\u036f\u0900-\u0eff\u1000-\u109f\u1780-\u17ff"
_TOKEN = re.compile(
    rf"\d{{1,4}}[年月日号년월일]"
    rf"|[{_CJK}]++"
    rf"|[^\W_{_CJK}](?:[^\W{_CJK}]++|[{_SIGNS}]++|[.@/:+#&'’\-](?=[^\W{_CJK}])|(?<=\d),(?=\d{{3}}))*+(?:\+\+|\#(?!\w))?"
)
# The same for a text of ASCII alone, as most are, and quicker.
_ASCII_TOKEN = re.compile(r"[^\W_](?:\w++|[.@/:+#&'\-](?=\w)|(?<=\d),(?=\d{3}))*+(?:\+\+|\#(?!\w))?", re.ASCII)
_JOINT = re.compile(r"[._@/:+#&\-]+")
_ALPHABETIC = re.compile(r"[^\W\d_]")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DATE_MARKS: Final = frozenset("年月日号년월일")

# Characters of Chinese grammar: on their own they say nothing, and a bigram with one of them says half.
_FUNCTION_CHARACTERS: Final = frozenset(
    "的了是我你他她它们吗呢吧啊么什哪谁怎这那个在有和与及就都也还很把被给对从到为于之其或不没会能要"
)

# Its own cache is off: ours holds what a whole token becomes.
_stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class _Token(NamedTuple):
    words: tuple[str, ...]
    """Content words in order; neighbours form pairs."""
    forms: tuple[str, ...] = ()
    """Further forms of the same token: the identifier whole, or the parts of a camel-case name."""
    stops: tuple[str, ...] = ()
    """Function words, used only where a text holds nothing else."""


_tokens: dict[str, _Token] = {}


def terms(text: str) -> list[str]:
    """The terms to index for `text`, in order and with repeats; a pair stands behind its second word."""
    content: list[str] = []
    stops: list[str] = []
    before = ""
    for run, token in _scan(text):
        if token is None:
            content.extend(run)
            content.extend(_bigrams(run))
            before = ""
            continue
        for word in token.words:
            content.append(word)
            if before and before != word:
                content.append(f"{before}_{word}")
            before = word
        content.extend(token.forms)
        stops.extend(token.stops)
    return content or stops


def query_terms(text: str) -> dict[str, float]:
    """The terms to ask for and what each counts. Empty only where `text` holds no word at all."""
    weights: dict[str, float] = {}
    stops: dict[str, float] = {}
    before = ""
    for run, token in _scan(text):
        if token is None:
            for term, weight in _weighed(run):
                weights[term] = max(weight, weights.get(term, 0.0))
            before = ""
            continue
        for word in token.words:
            weights[word] = 1.0
            if before and before != word:
                weights.setdefault(f"{before}_{word}", PAIR_WEIGHT)
            before = word
        weights.update(dict.fromkeys(token.forms, 1.0))
        stops.update(dict.fromkeys(token.stops, 1.0))
    return weights or stops


def date_terms(when: date) -> list[str]:
    """
    The terms by which a query names a day: month, year, day, and the pairs they form in running text.

    Indexed with what happened then, so that "in July 2023" finds it though its text says "yesterday".
    """
    month, day, year = _stem(MONTHS[when.month - 1]), str(when.day), str(when.year)
    pairs = [f"{month}_{year}", f"{month}_{day}", f"{day}_{month}"]
    return [month, year, day, *pairs, f"{year}年", f"{when.month}月", f"{day}日"]


def _scan(text: str) -> Iterator[tuple[str, _Token | None]]:
    """Each token of `text` with its meaning, or none for a run of Chinese, Japanese or Korean."""
    if text.isascii():
        tokens: list[str] = _ASCII_TOKEN.findall(text)
    else:
        tokens = _TOKEN.findall(normal_form(text))
    for raw in tokens:
        token = _tokens.get(raw)
        if token is None:
            if _is_cjk(raw):
                yield raw, None
                continue
            token = _read(raw)
            _remember(raw, token)
        yield raw, token


def _remember(raw: str, token: _Token) -> None:
    if len(raw) <= LONGEST_TERM:
        if len(_tokens) >= _CACHED_TOKENS:
            _tokens.clear()
        _tokens[raw] = token


def _is_cjk(raw: str) -> bool:
    return raw[0] >= "\u1100" and re.match(f"[{_CJK}]", raw) is not None


def _read(raw: str) -> _Token:
    """What a token that is no run of Chinese, Japanese or Korean stands for."""
    if raw[-1] in _DATE_MARKS:
        return _Token((raw,), (raw[:-1],))
    plain = raw.replace("’", "'").replace(",", "").rstrip("_")
    if plain[-2:] in ("'s", "'S"):
        plain = plain[:-2]
    plain = plain.replace("'", "")
    whole = plain.casefold()[:LONGEST_TERM]
    if whole.isalpha() or not plain.isascii():
        return _word(plain, whole)
    if not _ALPHABETIC.search(whole):
        return _Token((whole,))  # a number, an amount, a clock time: its digits apart mean nothing
    pieces = [piece for joined in _JOINT.split(plain) for piece in _camel(joined)]
    words = [_base(piece) for piece in pieces if _counts(piece)]
    if not words or words == [whole]:
        return _Token((whole,))
    return _Token(tuple(words), (whole,))


def _word(plain: str, whole: str) -> _Token:
    """A plain word, or a name in camel case: the whole is the word, its parts are further forms."""
    if whole in STOP_WORDS:
        return _Token((), (), (whole,))
    parts = _camel(plain) if plain.isascii() else [part.casefold() for part in _JOINT.split(plain)]
    if len(parts) < 2:
        return _Token((_base(whole),))
    return _Token((_base(whole),), tuple(_base(part[:LONGEST_TERM]) for part in parts if _counts(part)))


def _camel(name: str) -> list[str]:
    """The parts of a name, folded: at a change of case and between letters and digits."""
    if name.islower() and name.isalpha():
        return [name]
    return [part.casefold()[:LONGEST_TERM] for part in _CAMEL.findall(name)]


def _counts(part: str) -> bool:
    """Whether a part of an identifier says something on its own."""
    return len(part) > 1 and part not in STOP_WORDS


def _base(word: str) -> str:
    return _stem(BASE_FORMS.get(word, word)) if word.isalpha() else word


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _weighed(run: str) -> Iterator[tuple[str, float]]:
    """The terms of a run with what each counts: grammar little, single characters less than bigrams."""
    for bigram in _bigrams(run):
        grammar = sum(character in _FUNCTION_CHARACTERS for character in bigram)
        yield bigram, (1.0, 0.5, 0.1)[grammar]
    alone = 1.0 if len(run) == 1 else CHARACTER_WEIGHT
    for character in run:
        yield character, alone * (0.1 if character in _FUNCTION_CHARACTERS else 1.0)
