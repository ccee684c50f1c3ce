"""How a memory reads once it is put right."""

from __future__ import annotations

import re
from typing import Final

from commonplace.llms.librarian.quotes import covered, spans_of
from commonplace.text.analyse import terms
from commonplace.text.conflict import conflict
from commonplace.text.english import MONTHS

_MONTH: Final = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
# What may stand for one another, the most particular first.
_VALUES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\d{{4}}-\d{{2}}-\d{{2}}|\b\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTH})\b|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b|\d{{1,2}}月\d{{1,2}}[日号]",
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|(?:周|星期|礼拜)[一二三四五六日天]",
        r"\b\d{1,2}[:.]\d{2}(?: ?[ap]m\b)?|\b\d{1,2} ?[ap]m\b|\bnoon\b|(?:上午|下午|早上|晚上)?(?:\d{1,2}|十[一二]?|[一二两三四五六七八九])点(?:半|一刻|三刻|\d{1,2}分?)?",
        r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
        r"(?<![\w.])\d++(?:[.,]\d++)*+",
        r"\b(?:mr|mrs|ms|dr|prof)\b\.? (?-i:[A-Z])[\w'-]*",
        r"(?:(?<=\bis )|(?<=['’]s ))(?-i:[A-Z][\w'-]*(?: [A-Z][\w'-]*)?)",
    )
)
_LEANS: Final = re.compile(
    r"^(?:it|that|this|he|she|they|those|these)\b|^(?:on|at|in|to|from|by)\b|^(?:是|在|其实|应该|现在)", re.IGNORECASE
)


_COPULA: Final = re.compile(r"\b(?:is|are|was|were|has|have|am|live[sd]?|works?|moved|belongs|costs?|opens?|starts?|ends?|goes|go|leaves?|ships?|prefers?|drinks?|eats?)\b|['’](?:s|m)\b(?= )|是|在|叫|姓|住|为|搬|换|改|升|调|发布", re.IGNORECASE)  # fmt: skip
_SELF: Final = re.compile(r"^\W*(?:i|the user|我|用户)\W*$", re.IGNORECASE)
"""The person who speaks; what was learned of their talk says "the user"."""
_MY: Final = re.compile(r"\b(?:my|the user's|our)\b|我的", re.IGNORECASE)
_NOW: Final = frozenset(terms("now these days any more instead 现在 了"))
_AND: Final = re.compile(r",? and (?=(?:their|his|her|my|the|our|its) [^,.]{1,60}\b(?:is|are|was|were|has|have|likes?|lives?)\b)", re.IGNORECASE)  # fmt: skip

_THEIR: Final = re.compile(r"^their ")


def same_subject(content: str, text: str) -> bool:
    """Whether both say something of the same thing: "the office is …". Of a person that is the same only if it is the same verb."""
    (subject, verb), (other, other_verb) = _subject(content), _subject(text)
    if subject is None or other is None or subject != other:
        return False
    return bool(subject) or verb == other_verb


def _subject(text: str) -> tuple[frozenset[str] | None, str]:
    """Its words, none for the person who speaks; and the verb. None if it is not seen."""
    match = _COPULA.search(text)
    if match is None:
        return None, ""
    subject = text[: match.start()]
    verb = match[0].casefold().rstrip("sd")
    words = frozenset(terms(_MY.sub(" ", subject)))
    return (
        (words, verb) if words and not _SELF.match(subject) else (frozenset() if _SELF.match(subject) else None, verb)
    )


def leans(content: str) -> bool:
    """Whether a correction is understood only beside what it corrects: "it's on Tuesday"."""
    return _LEANS.search(content) is not None


def with_value(text: str, content: str) -> str | None:
    """`text` with the one value that `content` gives in place of its own; None if it is not clear which."""
    for pattern in _VALUES:
        old, new = pattern.findall(text), pattern.findall(content)
        # "not Monday but Tuesday" names both.
        fresh = [value for value in new if value not in old]
        if len(old) == 1 and len(fresh) == 1:
            return pattern.sub(lambda _, value=fresh[0]: value, text)
        if new:
            return None
    return None


def revised(text: str, content: str) -> str:
    """The memory with what is no longer true replaced: a value, a sentence, or all of it if it says nothing else."""
    if (whole := with_value(text, content)) is not None and _says_no_more(content, whole):
        return content if {*terms(content)} >= {*terms(whole)} else whole
    spans = spans_of(text)
    if len(spans) <= 1:
        more = _AND.search(text)
        is_first = more is not None and covered(content, text[: more.start()]) >= covered(content, text[more.end() :])
        if more is None or not is_first:
            return content
        rest = text[more.end() :]
        # What was learned says "the user" and "their"; the person says "I".
        return f"{content.rstrip('.')} and {_THEIR.sub('my ', rest) if content.startswith('I ') else rest}"
    parts = [text[slice(*span)] for span in spans]
    place = max(range(len(parts)), key=lambda n: (conflict(content, parts[n]), covered(content, parts[n]), -n))
    start, stop = spans[place]
    return text[:start] + content + text[stop:]


def _says_no_more(content: str, whole: str) -> bool:
    new = {*terms(content)} - {*terms(whole)} - _NOW
    # Pairs of words say nothing that the words do not.
    return not any("_" not in term for term in new)
