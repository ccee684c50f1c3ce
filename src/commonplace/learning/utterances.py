"""
How a fact is worded: in the words of whoever said it, unless another wording is certain to be right.

A rule's rewriting ("The user prefers tabs") counts if every word that it brings along is one we know how to bend, and nothing in the sentence was typed in
haste. Else the sentence stays as it was said, behind the name of who said it. A sentence that leans on what came before it ("only in
december", "she does") takes that along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from commonplace.learning.rules import chinese, grammar
from commonplace.learning.rules.statement import Statement, Voice
from commonplace.learning.sentences import sentences

LONGEST_QUESTION: Final = 120
_STOPS: Final = "。！？；，"
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
    "^(?:用户|团队|[^，。]{1,12}?)(?=(?:是|在|有|住|用|搬|来自|姓|养|得|做|写|学|负责|采用|使用|最|今年|吃|喝|开|跑|使|从|没|必须|只|喜欢|喜歡|不|偏|习惯|爱|讨厌|对|每|只|都|也|一般|平时|通常|从|会|要|叫|的|希望|想|决定|已|把))"
)
_LEANS: Final = re.compile(
    r"(?:it|its|it's|that|that's|thats|this|they|they're|theyre|he|he's|hes|she|she's|shes|those|these|there|so|not|only|also|otherwise|which|and|but|or|same)\b"
    r"|(?:它|这|那|他|她|就|也|只|都|还|不然|否则|所以|但|而且)",
    re.IGNORECASE,
)
_FREE: Final = (
    r"ok(?:ay)?|okey|yes|yeah|yep|yup|nope|well|so|also|and|but|oh|btw|by the way|fyi|just so you know|h+m+|ah+|aha|arg+h+|ugh|lol|lmao|(?:ha){2,}h?|thx|ty|nah|anyway"
    r"|actually|basically|honestly|yo|kk?|(?:it )?turns out(?: that)?|no(?=\s+(?:i|we|it|that|the|my|our)\b)"
)
_MARKED: Final = (
    r"no|wait|correction|sorry|right|good|great|cool|perfect|nice|awesome|sure|thanks(?: a lot)?|thank you|look|listen|update|reminder|note|important|first|second(?:ly)?|(?:one )?last thing"
    r"|one more thing|another thing|exactly|indeed|got it|sounds good|makes sense|no need|no worries|finally|lastly|plus|question|true|done|for (?:context|the record)"
    r"|(?:as I recall|you told me that)|(?:hi|hey|hello|morning)(?: \w+)?|as (?:I|we) said"
)
_OPENING: Final = re.compile(
    rf"(?:(?:{_FREE})(?:[ \t]*[,!.:;…—–-]+[ \t]*|[ \t]+)|(?:{_MARKED})[ \t]*[,!.:;…—–]+[ \t]*|[^\w\s\"“”‘’'`(（\[/\\.#@$<《「『*-][ \t]*"
    r"|(?:嗯+|哦+|噢+|喔+|呃+|诶+|欸+|哎(?:呀|哟)?|唉+|(?:好|行)(?:的|吧|嘞|滴|啊|哒|呀)?(?=[，,!！~～。、…\s])|好(?:的|嘞|滴|哒)|可以(?=[，,!！~～\s])|对(?:了|的)?(?=[，,!！~～\s])|哈哈+|收到(?=[，,!！\s])|另外(?=[，,\s])|还有(?=[，,\s])|原来)"
    r"[，,！!。~～、…：:\s]*)+",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"(?:(?<!,),|，)\s*+(?:indeed|ok|okay|ty|thx|thanks|cheers|haha|lol|btw|please|tho|though|by the way|哈|谢谢|哈哈)\W*+$",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(r"[^\s:：，。,.][^:：，。,.]{0,39}?(?:: |：)")
_HAN_GAP: Final = re.compile("[\u3400-\u9fff]\\s++[\u3400-\u9fff]")
_BENT_AND: Final = re.compile(r"\b(?:and|or|but|then)\s++([a-z]++)\b", re.IGNORECASE)
_WHOLE: Final = 0.6
"""The share of a sentence that rewritings must not fall below: a clause by itself may mean something else."""
_HASTY: Final = 0.8
"""The same of a sentence typed in haste."""
_THIN: Final = (4, 7)
"""Words, and Chinese characters, below which a sentence leans on the one before."""


def worded(sentence: str, voice: Voice, before: str, *, follows: bool = False) -> str:
    """
    The sentence as it was said. `before` is what came before it: the sentence of the same turn that it `follows`, or the message that
    it answers.
    """
    words = _opened(sentence)
    if before and leans(words):
        question = _question_of(before)
        if question is not None:
            words = f"“{question}” {words}"
        elif follows:
            gap = "" if before[-1:] in _STOPS else " "
            words = f"{_cut_opening(before)}{gap}{words}"
    return f"{_speaker(words, voice)}{' '.join(words.split())}"


def unattributed(text: str) -> str:
    """What was said, without who said it."""
    return _SPEAKER.sub("", text, count=1) if _SPEAKER.match(text) else text


def is_well_formed(sentence: str) -> bool:
    """Whether somebody took the time to write a whole sentence, with a beginning and an end."""
    return sentence[-1:] in ".。!！" and (sentence[:1].isupper() or _HAN.match(sentence) is not None)


def leans(sentence: str) -> bool:
    """Whether a sentence says little without the one before it."""
    words = len(_HAN.findall(sentence)) if _HAN.search(sentence) else len(sentence.split())
    return words < _THIN[bool(_HAN.search(sentence))] or _LEANS.match(sentence) is not None


def are_certain(sentence: str, statements: Sequence[Statement], voice: Voice, *, personal: bool) -> bool:
    """
    Whether rules' rewritings of a sentence are certain to be grammatical and to mean the same together. Several are if somebody took the time to
    write the sentence well. `personal`: "we" is no team.
    """
    well_formed = is_well_formed(sentence)
    least = (_WHOLE if well_formed else _HASTY) * len(_opened(sentence))
    if not statements or sum(len(statement.text) for statement in statements) < least:
        return False
    if len(statements) > 1 and not well_formed:
        return False
    return all(_is_certain(sentence, statement, voice, personal=personal) for statement in statements)


def _is_certain(sentence: str, statement: Statement, voice: Voice, *, personal: bool) -> bool:
    if personal and _names_team(statement):
        return False
    if _HAN.search(sentence):
        return statement.text in sentence or (
            _HAN_GAP.search(sentence) is None and _SUBJECT.match(statement.text) is not None
        )
    if _HASTE.search(sentence):
        return False
    own = {word.lower() for word in _WORD.findall(sentence)} | {word.lower() for word in _WORD.findall(voice.name)}
    words = [match.lower().replace("’", "'") for match in _WORD.findall(statement.text)]
    bent = any(word in _BENT and word not in own for word in words)
    if bent and any(verb.lower() in _VERBS for verb in _BENT_AND.findall(statement.text)):
        # "We deploy on Fridays and go home": only the first of two verbs was bent.
        return False
    return all(word in own or word in _BROUGHT or word in _BENT or word.removesuffix("'s") in own for word in words)


def _names_team(statement: Statement) -> bool:
    return any(team in statement.text.lower() for team in ("the team", "团队", "團隊"))


def _opened(sentence: str) -> str:
    """Without "ok so", 嗯 and the like, and with the mark that ends it taken off if it is only a stop."""
    return _CLOSING.sub("", _cut_opening(sentence)).strip().rstrip("。.;；,， ")


def _cut_opening(sentence: str) -> str:
    opening = _OPENING.match(sentence)
    return (sentence[opening.end() :] if opening else "") or sentence


def _question_of(before: str) -> str | None:
    questions = [part for part in sentences(before) if part.rstrip("\"'”’) ").endswith(("?", "？"))]
    return questions[-1].strip()[-LONGEST_QUESTION:] if questions else None


def _speaker(words: str, voice: Voice) -> str:
    if _HAN.search(words):
        return f"{chinese.subject(voice, words).strip()}："
    return f"{voice.name or 'The user'}: "
