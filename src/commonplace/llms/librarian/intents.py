"""
What a sentence wants of the librarian, in English and Chinese.

A plain command at the beginning of any sentence decides ("remember that …", "更正：…"). Else the cues of `english.py` and `chinese.py` are tried in their
order, on the sentence and on what is left of it behind "could you please" and the like, and the first that fits has a vote; what no cue fits is a statement, or small
talk if it says nothing. The classifier, which learnt from examples, has the last word. What it is about comes from the cue, or from what is left without the
framing. A statement that nobody asked to be kept is not `explicit`, nor is anything unsure, and the librarian asks before it files or corrects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Final

from commonplace.llms.librarian import chinese, english
from commonplace.llms.librarian.classifier import judge
from commonplace.llms.librarian.cue import FollowUp, IntentKind, SentenceCue
from commonplace.llms.librarian.frame import COMMANDS, fact, stated, to_forget, topic
from commonplace.llms.librarian.quotes import spans_of
from commonplace.llms.librarian.times import timed_wish
from commonplace.text.unicode import reads_as_cjk

LONGEST: Final = 600
"""Characters of a message that are looked at. What is asked stands at its beginning or at its end."""

_EDGES: Final = " \t\r\n,.;:!，。；：！、—–-~～"
_BEHIND: Final = " \t\r\n,;:，；：、—–-"
_QUOTES: Final = str.maketrans({"’": "'", "‘": "'", "＇": "'", "\u00a0": " ", "\n": " ", "\r": " ", "\t": " "})
_FIRST: Final = re.compile(r"\w")
_PERSON: Final = re.compile(r"\b(?:i|i'd|we|you)\b", re.IGNORECASE)
_THANKS: Final = re.compile(
    r"(?:(?:^|,? )\b(?:please|pls|plz|ok(?:ay)?|thanks|thank you|will you|would you|right))++$", re.IGNORECASE
)
_REASON: Final = re.compile(r"[^,;.，；。]{1,200}(?=[,;，；。]|\. )")
"""What is to go stands before the reason why."""
_FACTS: Final = frozenset({"remember", "correct"})
"""What is kept as it was written, with the mark at its end."""
_SURE: Final = 0.7
"""How far an intent must be ahead of the next for the librarian to act without a question, as the logarithm of odds: two to one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """
    `argument` is what is to be remembered, listed, corrected, forgotten, done or looked for, in the person's own words. `explicit`: a cue
    says so. `chinese` is the language of the answer.
    """

    kind: IntentKind
    argument: str
    explicit: bool = True
    chinese: bool = False


def is_chinese(text: str) -> bool:
    return reads_as_cjk(text[:LONGEST])


def recognise(text: str) -> Intent:
    """What a message wants, looked at alone."""
    language = _language(text)
    if (intent := _commanded(text, language)) is not None:
        return intent
    if (task := timed_wish(text)) is not None:
        return Intent(kind="schedule", argument=task.prompt, chinese=language is chinese)
    rule = by_rule(text)
    sentence = _sentence(text)
    judgement = judge(sentence, rule.kind, chinese=rule.chinese)
    if judgement.kind == rule.kind:
        intent = rule
    elif (match := _cued(language, sentence, text, judgement.kind)) is not None:
        intent = match
    else:
        intent = Intent(kind=judgement.kind, argument="", explicit=False, chinese=rule.chinese)
    intent = replace(intent, argument=_framed(intent, text, sentence))
    # What is not sure is asked, not done.
    is_sure = judgement.margin >= _SURE or (judgement.kind == rule.kind and judgement.second in _FACTS)
    return intent if is_sure else replace(intent, explicit=False)


def by_rule(text: str) -> Intent:
    """What the cues make of a message: the first that fits decides."""
    language = _language(text)
    sentence = _sentence(text)
    if (intent := _cued(language, sentence, text)) is not None:
        return intent
    kind: IntentKind = "remember" if language.STATEMENT.search(sentence) else "chat"
    short = _bare(language, sentence)
    # "I want to be called Sam" is no request to the librarian.
    statement = sentence if _PERSON.search(sentence[: len(sentence) - len(short)]) else short
    return Intent(kind=kind, argument=_tidy(statement, kind), explicit=False, chinese=language is chinese)


def _cued(language: ModuleType, sentence: str, text: str, kind: IntentKind | None = None) -> Intent | None:
    """The first cue that fits, of this kind if one is given."""
    short = _bare(language, sentence)
    forms = (sentence,) if short == sentence else (sentence, short)
    for cue in language.CUES:
        if kind not in (None, cue.kind):
            continue
        for form in forms:
            if match := cue.pattern.search(form):
                argument = _argument(cue, match, form, text)
                return Intent(kind=cue.kind, argument=argument, explicit=cue.explicit, chinese=language is chinese)
    return None


def _commanded(text: str, language: ModuleType) -> Intent | None:
    """A wish that opens one of the sentences, though another stands before it."""
    sentence = _sentence(text)
    if len(text.strip()) > LONGEST:
        return None
    for start, _ in spans_of(sentence):
        for kind, pattern in COMMANDS:
            rest = sentence[start:].lstrip()
            if match := pattern.match(rest):
                argument = _tidy(rest[match.end() :], kind)
                argument = fact(argument, kind) if kind == "correct" else argument
                if argument and not (kind == "remember" and rest.rstrip().endswith(("?", "？"))):
                    return Intent(kind=kind, argument=argument, chinese=language is chinese)
    return None


def _framed(intent: Intent, text: str, sentence: str) -> str:
    """The argument without what is still said to the librarian around it."""
    kind, argument = intent.kind, intent.argument
    if len(argument) > LONGEST or (argument and len(text.strip()) > LONGEST):
        return argument
    if kind in _FACTS:
        if argument and intent.explicit and kind == "remember":
            return argument
        right = stated(sentence) if kind == "correct" else None
        return _tidy(right or fact(argument or sentence, kind), kind)
    if kind == "forget":
        return to_forget(argument, intent.chinese) if argument else topic(sentence, intent.chinese)
    if argument or kind in ("ask", "chat"):
        return argument
    return topic(sentence, intent.chinese) if kind == "list" else _tidy(sentence, kind)


def follow_up(text: str) -> FollowUp | None:
    """What a message means after an answer, if it means nothing without one."""
    sentence = _sentence(text)
    return next((name for name, pattern in _language(text).FOLLOW_UPS if pattern.search(sentence)), None)


def instead(text: str) -> str | None:
    """Whom or what the question before is asked about now: "and Bo?"."""
    match = _language(text).INSTEAD.search(_sentence(text))
    return next((part.strip() for part in match.groups() if part), None) if match else None


def _language(text: str) -> ModuleType:
    return chinese if is_chinese(text) else english


def _sentence(text: str) -> str:
    text = text.strip()
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
    return text.translate(_QUOTES)


def _bare(language: ModuleType, sentence: str) -> str:
    match = language.LEADS.match(sentence)
    rest = sentence[match.end() :] if match else sentence
    return rest or sentence


def _argument(cue: SentenceCue, match: re.Match[str], form: str, text: str) -> str:
    groups = match.groupdict()
    if groups.get("what"):
        return _tidy(groups["what"], cue.kind)
    if not cue.opens:
        return _tidy(form, cue.kind)
    if len(text.strip()) > LONGEST:
        # All of it, though only its ends were looked at.
        rest = text.strip()
        return _tidy(rest[match.end() + rest.translate(_QUOTES).find(form[: LONGEST // 4]) :], cue.kind)
    return _tidy(form[match.end() :], cue.kind)


def _tidy(text: str, kind: IntentKind) -> str:
    text = text.lstrip(_EDGES)
    text = text.rstrip(_BEHIND) if kind in _FACTS else _THANKS.sub("", text.rstrip(_EDGES + "?？"))
    if kind == "forget" and (reason := _REASON.match(text)):
        text = reason[0]
    text = text.rstrip("?？ ") if kind == "remember" else text
    return text if _FIRST.search(text) else ""
