"""
Orders to an agent that are told by what they want, in English and Chinese.

`signs` knows forms that hardly anybody but an attacker writes. Much of what is planted in a memory has none of them: it says in plain
words that an assistant should name a shop first, hide a recall, or send a conversation away. No word of it is suspicious; together they
are. So a passage is read for cues of a few kinds (`english`, `chinese`): it speaks to an agent, it gives an order, it is meant for every time, it
wants something that a reader's own wishes seldom are (hide, skip a check, give away, praise, set rules aside, falsify, break, spread), it claims
to come from somebody. A passage with a harmful wish is an order if enough of the others stand beside it. What speaks against it counts, too: that
somebody is to be asked first, or that it tells of attacks. What is quoted in a report is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, TypeAlias

from commonplace.guard.chinese import CHINESE
from commonplace.guard.cues import Cue
from commonplace.guard.english import ENGLISH

_WISHES: Final[dict[Cue, float]] = {
    "override": 3,
    "exec": 2.5,
    "bypass": 2,
    "covert": 2,
    "exfil": 2,
    "promote": 2,
    "secrecy": 1.5,
    "cover": 1.5,
    "falsify": 2,
    "leak": 2,
    "ship": 1.5,
    "money": 1.5,
    "identity": 1.5,
    "persist": 1,
    "hand": 0.5,
}
"""What is wanted, by how seldom people want it of each other."""
_FORCE: Final[dict[Cue, float]] = {
    "order": 1,
    "agent": 1,
    "address": 1,
    "trigger": 1,
    "save": 1,
    "codeword": 1,
    "party": 0.5,
    "pressure": 0.5,
    "self": -1,
    "prudence": -1.5,
    "report": -2.5,
}
_SPOKEN_TO: Final[frozenset[Cue]] = frozenset({"order", "agent", "address", "save"})
_ENOUGH: Final = 5.0
_ENOUGH_ALONE: Final = 4.0
"""In one sentence; in several, some cues stand together by chance."""
_ONE: Final = 1.0
_SEVERAL: Final = 3.5
_HIDDEN_ENOUGH: Final = 2.5
MOST: Final = 320
"""Characters of a passage, a Chinese one counted twice: what an order says, it says within so many."""
_TOGETHER: Final = 12
"""Sentences of a passage, if they are short."""
LONGEST: Final = 1_200
"""Characters of a sentence that are looked at together."""

_TEXT_ENDS: Final = (
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bNo\.)(?<!e\.g\.)(?<!i\.e\.)\s+|(?<=[。！？])|\n"
)
_QUOTES: Final = r"[\"“「『][^\"“”「」『』\n]{2,200}[\"”」』]|`[^`\n]{2,80}`"
_REPORTS: Final = (
    r"\b(?:said|told|wrote|written|contained|quoted|asked|reads|says|means|called|pretended|(?<!\.)example(?!\.)|such as|compares?|tested|found|showed|begins? with|post-mortem|incident|drill|prompt v?\d|contains?|hid|hides|hidden in|the (?:line|string|phrase|words|text|sentence|prompt|comment)|my prompts|named|titled|labelled|prints|logs?|warning|error|appeared|marker|translat\w+)\b|\bhad [\"“]"
    r"|写着|写了|写“|说“|说：|例子|例如|比如|原文|样例|复盘|演练|工单|藏着|开头|对比|要求大家|幻灯片|提示词第|之类|这类|这种|字样|小字|一句|一行|样本|设定|开场|甲版|问到|自称|故意|有人说|上面写|文案|板书|标语|传说|口号"
)


Forms: TypeAlias = tuple[tuple[Cue, re.Pattern[str]], ...]


@cache
def _patterns() -> tuple[Forms, Forms]:
    """For English and for Chinese. Compiled at first use: a command that judges nothing need not wait for it."""
    english: Forms = tuple((cue, re.compile(form, re.IGNORECASE)) for cue, form in ENGLISH)
    chinese: Forms = tuple((cue, re.compile(form, re.IGNORECASE)) for cue, form in CHINESE)
    return english, chinese


_HAN: Final = re.compile("[\u3400-\u9fff]")
_ENDS: Final = re.compile(_TEXT_ENDS)
_QUOTED: Final = re.compile(_QUOTES)
_REPORTED: Final = re.compile(_REPORTS, re.IGNORECASE)


_WARNS: Final = re.compile(
    r"\b(?:never|do not|don't|nobody|must not|not) (?:share|commit|send|paste|store|tell|give|write|reveal|run|put|post|keep)\b[^.!?\n]{0,40}\b(?:passwords?|secrets?|keys?|tokens?|credentials?|\.env|pins?)(?![\w-])"
    r"|(?:不要|别|不得|勿|不能|禁止|从不)[^。！？，\n]{0,6}(?:密码|口令|密钥|令牌|凭证|机密)",
    re.IGNORECASE,
)


def steers(text: str, *, hidden: bool = False) -> bool:
    """
    Whether a passage of the text reads like an order to an agent. `text` is as an agent would read it. Of what was `hidden` in another
    writing less is enough.
    """
    return any(
        weight_of(cues) >= (_HIDDEN_ENOUGH if hidden else _ENOUGH if sentences > 1 else _ENOUGH_ALONE)
        for sentences, cues in passages(text)
    )


def passages(text: str) -> Iterator[tuple[int, frozenset[Cue]]]:
    """How many, and the cues of sentences that stand together, at most `MOST` characters of them unless one sentence is longer, each with those before it."""
    window: list[tuple[int, frozenset[Cue]]] = []
    size = 0
    for sentence in _sentences(text):
        length = len(sentence) * (2 if _HAN.search(sentence) else 1)
        size += length
        while window and (size > MOST or len(window) == _TOGETHER):
            size -= window.pop(0)[0]
        window.append((length, cues_in(sentence)))
        yield 1, window[-1][1]
        if len(window) > 1:
            yield len(window), frozenset[Cue]().union(*(cues for _, cues in window))


def _sentences(text: str) -> Iterator[str]:
    for sentence in _ENDS.split(text):
        if sentence and not sentence.isspace():
            yield from _cut(sentence)


def _cut(sentence: str) -> Iterator[str]:
    """A sentence that never ends, in pieces that overlap: no cue is longer than what two of them share."""
    for place in range(0, max(len(sentence) - LONGEST // 4, 1), LONGEST * 3 // 4):
        if piece := sentence[place : place + LONGEST]:
            yield piece


def unreported(text: str) -> str:
    """The text without what it only quotes, line by line: a report about an attack is none."""
    return "\n".join(_QUOTED.sub('""', line) if _REPORTED.search(line) else line for line in text.split("\n"))


def cues_in(sentence: str) -> frozenset[Cue]:
    """What speaks for an order in a sentence, and against it. What is given, and what is private, count only together."""
    english, chinese = _patterns()
    forms = (*english, *chinese) if _HAN.search(sentence) else english
    cues: set[Cue] = {cue for cue, form in forms if form.search(sentence)}
    if _WARNS.search(sentence):
        cues.difference_update(("give", "secrecy"))
        cues.add("prudence")
    if "give" in cues and "secret" in cues:
        cues.add("exfil" if "away" in cues else "leak")
    if "give" in cues and "data" in cues:
        cues.add("ship" if "away" in cues else "hand")
    return frozenset(cues.difference(("give", "secret", "data", "away")))


def weight_of(cues: frozenset[Cue]) -> float:
    """0 if it wants nothing, or only one thing of nobody in particular."""
    wish = sum(weight for cue, weight in _WISHES.items() if cue in cues)
    force = sum(weight for cue, weight in _FORCE.items() if cue in cues)
    is_wanted = wish >= _SEVERAL or not _SPOKEN_TO.isdisjoint(cues)
    return wish + force if wish >= _ONE and is_wanted else 0
