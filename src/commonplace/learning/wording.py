"""
How a fact is worded: in the words of whoever said it, unless another wording is certain to be right.

A rule's rewriting ("The user prefers tabs") counts if every word that it brings along is one we know how to bend, and nothing in the sentence was typed in
haste. Else the sentence stays as it was said, behind the name of who said it. A sentence that leans on what came before it ("only in
december", "she does") takes that along.
"""

from __future__ import annotations

import re
from typing import Final

from commonplace.learning.rules import grammar
from commonplace.learning.rules.statement import Statement, Voice
from commonplace.learning.sentences import bare, sentences

LONGEST_QUESTION: Final = 120
_HAN: Final = re.compile("[\u3400-\u9fff]")
_WORD: Final = re.compile(r"[a-z]++(?:['’][a-z]++)?", re.IGNORECASE)
_HASTE: Final = re.compile(
    r"\b(?:dont|doesnt|didnt|cant|couldnt|wont|wouldnt|shouldnt|isnt|arent|wasnt|werent|havent|hasnt|im|ive|ill|id|thats|theres|whats|hes|shes|theyre|youre|weve"
    r"|lets|u|ur|r|pls|plz|thx|ty|rn|gonna|wanna|gotta|kinda|lol|idk|tbh|imo|bc|cuz|w/)\b",
    re.IGNORECASE,
)
_BROUGHT: Final = frozenset(
    "the user user's team team's they their them theirs themselves is are has have does not was were will to wants assistant assistant's it its his her"
    " prefers likes name called be years old must should never always when and that's".split()
)
_VERBS: Final = frozenset(
    "accept add adopt agree allow answer approve archive ask avoid back book bring build buy call care carry change charge check choose clean close code collect come commit"
    " cook count cover create cut deal decide deliver deploy design develop document dislike drink drive eat edit enjoy expect feed file finish fix follow forget format freeze get give go"
    " grow handle hate have help host hold import keep know lead learn leave like limit lint listen live log look love maintain make manage measure meet merge move name need"
    " offer open order own pay pin plan play practise prefer print publish pull push put read record release rely rename rent reply report require review rotate round run save say schedule"
    " see sell send serve set share ship show sign sleep speak spell spend squash stand start stay stick stop store study support switch take talk teach test think"
    " track train translate travel treat try type use visit wait walk want watch wear work write".split()
)
_BENT: Final = frozenset(grammar.third(verb) for verb in _VERBS)
_SUBJECT: Final = re.compile(
    "^(?:用户|团队|[^，。]{1,12}?)(?=(?:是|在|有|住|用|喜欢|不|偏|习惯|爱|讨厌|对|每|只|都|也|一般|平时|通常|从|会|要|叫|的|希望|想|决定|已|把))"
)
_LEANS: Final = re.compile(
    r"(?:it|its|it's|that|that's|thats|this|they|they're|theyre|he|he's|hes|she|she's|shes|those|these|there|so|not|only|also|otherwise|which|and|but|or|same)\b"
    r"|(?:它|这|那|他|她|就|也|只|都|还|不然|否则|所以|但|而且)",
    re.IGNORECASE,
)
_WHOLE: Final = 0.6
"""The share of a sentence that a rewriting must not fall below: a clause by itself may mean something else."""
_THIN: Final = (4, 7)
"""Words, and Chinese characters, below which a sentence leans on the one before."""


def worded(sentence: str, voice: Voice, before: str) -> str:
    """The sentence as it was said. `before` is what came before it: a sentence of the same turn, or the message that it answers."""
    said = _opened(sentence)
    if before and leans(said):
        question = _question_of(before)
        said = f"{before} {said}" if question is None else f"“{question}” {said}"
    return f"{voice.name}: {said}" if voice.name else f"{_nobody(said)} {said}"


def is_well_formed(sentence: str) -> bool:
    """Whether somebody took the time to write a whole sentence, with a beginning and an end."""
    return sentence[-1:] in ".。!！" and (sentence[:1].isupper() or _HAN.match(sentence) is not None)


def leans(sentence: str) -> bool:
    """Whether a sentence says little without the one before it."""
    words = len(_HAN.findall(sentence)) if _HAN.search(sentence) else len(sentence.split())
    return words < _THIN[bool(_HAN.search(sentence))] or _LEANS.match(sentence) is not None


def is_certain(sentence: str, statement: Statement, voice: Voice, *, personal: bool) -> bool:
    """Whether a rule's rewriting of a sentence is certain to be grammatical and to mean the same. `personal`: "we" is no team."""
    if (personal and _names_team(statement)) or len(statement.text) < _WHOLE * len(sentence):
        return False
    if _HAN.search(sentence):
        return _is_certain_in_chinese(sentence, statement)
    if _HASTE.search(sentence):
        return False
    own = {word.lower() for word in _WORD.findall(sentence)} | {word.lower() for word in _WORD.findall(voice.name)}
    return all(
        word in own or word in _BROUGHT or word in _BENT or word.removesuffix("'s") in own
        for word in (match.lower().replace("’", "'") for match in _WORD.findall(statement.text))
    )


def _is_certain_in_chinese(sentence: str, statement: Statement) -> bool:
    text = statement.text
    return text in sentence or (len(re.findall("[，,、 ]", bare(sentence))) == 0 and _SUBJECT.match(text) is not None)


def _names_team(statement: Statement) -> bool:
    return "team" in statement.text.lower() or "团队" in statement.text


def _opened(sentence: str) -> str:
    """Without "ok so" and the like, and with the mark that ends it taken off if it is only a stop."""
    return (grammar.opened(sentence) or sentence).strip().rstrip("。.;；,， ")


def _question_of(before: str) -> str | None:
    asked = [part for part in sentences(before) if part.rstrip("\"'”’) ").endswith(("?", "？"))]
    return asked[-1].strip()[-LONGEST_QUESTION:] if asked else None


def _nobody(text: str) -> str:
    return "用户：" if _HAN.search(text) else "The user:"
