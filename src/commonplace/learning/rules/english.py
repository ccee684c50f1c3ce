"""
Reads an English sentence by the cues in `english.toml`.

Outcomes and lessons are read from the whole sentence; everything else clause by clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from commonplace.learning.rules import Cue, grammar, load
from commonplace.learning.rules.statement import EXPLICIT, ScopeHint, Statement, Voice
from commonplace.learning.sentences import bare, in_quotes, is_cut

_CUES: Final = load("english")
_OF_SENTENCES: Final = (*_CUES["conditions"], *_CUES["outcomes"], *_CUES["lessons"])
_OF_CLAUSES: Final = (*_CUES["personal"], *_CUES["orders"], *_CUES["project"], *_CUES["outcomes"], *_CUES["general"])
_STRONG: Final = tuple(cue for cue in _OF_SENTENCES if cue.strong)

_REMEMBER: Final = re.compile(
    r"(?:(?:and|so|also)\s+)?(?:(?:can|could|would) you\s+)?(?:please,?\s+|pls\s+|kindly\s+)?(?:do\s+)?"
    r"(?:(?:always\s+)?remember(?:\s+this)?(?:\s+for (?:later|next time|the future))?(?:\s*:\s*(?:that\s+)?|,?\s+(?:that\s+|(?=(?:I|I'm|we|we're|my|our|the|all|every|never|always)\b)))"
    r"|(?:take|make) (?:a )?note(?:\s*[:,]\s*|\s+(?:that|of the fact that)\s+)|(?:please )?note that\s+|keep in mind,?\s+(?:that\s+)?|bear in mind,?\s+(?:that\s+)?|don'?t forget,?\s+(?:that\s+|(?=(?:I|I'm|we|we're|my|our)\b))"
    r"|(?:save|store|add|commit) (?:this|that|it|the following)?\s*(?:in|to) (?:your |the |long-term )*memory\s*[:,]?\s*(?:that\s+)?|for future reference\s*[:,]\s*|important to (?:know|remember)\s*[:,]\s*|never forget that\s+)",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"(?:it|this|that|these|those|he|she|they|there|to|how|what|when|why|me|you can|you could|you should|you may|you might|you need|you'll)\b",
    re.IGNORECASE,
)
_PERSONAL_WORD: Final = re.compile(r"\b(?:I|I'm|I’m|me|my|mine|myself)\b", re.IGNORECASE)
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|yours|you['’]\w+)\b", re.IGNORECASE)
_EDGES: Final = re.compile(
    r"(?<![,;:\s])[,;:\s]++(?:right|ok|okay|please|thanks|thank you|though|too|as well|btw|by the way|fyi|cheers|haha|either|already|anyway)\s*+[.!]*+$",
    re.IGNORECASE,
)
_FEMALE: Final = r"wife|girlfriend|daughter|sister|mother|mom|mum|grandmother|grandma|aunt|niece"
_MALE: Final = r"husband|boyfriend|son|brother|father|dad|grandfather|grandpa|uncle|nephew"
_EITHER: Final = r"partner|fianc[ée]e?|kid|child|baby|toddler|dog|cat|puppy|boss|manager|landlord|roommate|flatmate|doctor|coach|mentor|colleague|assistant|client|neighbou?r|cousin|friend"
_SOMEBODY: Final = re.compile(
    rf"\b(?:my|our) (?:[\w-]+ ){{0,2}}?(?:(?P<she>{_FEMALE})|(?P<he>{_MALE})|{_EITHER})\b(?:,? (?-i:[A-Z]\w+)){{0,2}}"
    r"|\b(?:have|got|adopted|bought|own|our|my) (?:an? )?(?P<kind>(?:[\w-]+ ){1,3})(?:called|named) (?P<name>(?-i:[A-Z]\w+))",
    re.IGNORECASE,
)
_MEANT: Final = re.compile(
    r"(?P<before>^|[,;—–]\s+(?:and |but |so )?)(?P<who>he|she)(?P<is>['’]s)?(?=\s)", re.IGNORECASE
)


def named(sentence: str, about: str) -> tuple[str, str]:
    """
    The sentence with "she" and "he" as who was spoken of last, and who that is now.

    "My daughter is six. She hates fish" tells that my daughter hates fish.
    """
    start = 0
    for someone in _SOMEBODY.finditer(sentence):
        about, start = f"my {someone['kind']}{someone['name']}" if someone["name"] else someone[0], someone.end()
    if not about or grammar.is_reported(sentence):
        return sentence, about
    other = rf"\b(?:{_MALE})\b", rf"\b(?:{_FEMALE})\b"

    def replaced(match: re.Match[str]) -> str:
        if re.search(other[match["who"].lower() == "he"], about, re.IGNORECASE):
            return match[0]
        return f"{match['before']}{about}{' is' if match['is'] else ''}"

    return sentence[:start] + _MEANT.sub(replaced, sentence[start:]), about


def reserves(sentence: str) -> tuple[bool, ...]:
    """Whether a sentence is doubted, reported, supposed, wished, of the moment, a state, or a wish for now."""
    clause = grammar.opened(sentence)
    return (
        grammar.is_doubted(sentence),
        grammar.is_reported(sentence),
        grammar.is_supposed(clause),
        grammar.is_conditional(sentence),
        grammar.is_momentary(sentence),
        grammar.is_state(sentence),
        grammar.is_task(clause),
        grammar.names_a_day(sentence),
        grammar.is_specific(sentence),
    )


def read(sentence: str, voice: Voice) -> list[Statement]:
    """The facts one English sentence tells."""
    if is_cut(sentence):
        return []
    is_question = sentence.rstrip(" \"'”’)").endswith(("?", "？"))
    text = grammar.opened(sentence)
    if voice.role == "assistant":
        return [] if is_question or _is_idle(text) else list(_of_sentence(_STRONG, text, voice))
    if asked_to := _REMEMBER.match(text):
        return _remembered(text[asked_to.end() :], voice)
    if _is_idle(text):
        return []
    statements = [] if is_question else list(_of_sentence(_OF_SENTENCES, text, voice))
    return statements or list(_clauses(text, voice, is_question))


def unasked(sentence: str) -> str:
    """Without "please remember that": what a person asks to be remembered, or the sentence itself."""
    text = grammar.opened(sentence)
    request = _REMEMBER.match(text)
    return text[request.end() :] if request else sentence


def _is_idle(text: str) -> bool:
    return grammar.is_supposed(text) or grammar.is_doubted(text) or grammar.is_reported(text)


def _of_sentence(cues: tuple[Cue, ...], text: str, voice: Voice) -> Iterator[Statement]:
    """The first of `cues` that fits the whole sentence."""
    if not grammar.is_momentary(text):
        yield from _stated(cues, text, "", voice)


def _remembered(text: str, voice: Voice) -> list[Statement]:
    """What a person asks to be remembered: by the rules where one fits, else as it was said."""
    rest = grammar.opened(text)
    if len(rest.split()) < 2 or grammar.is_momentary(rest) or grammar.is_question(rest):
        return []
    dated = grammar.names_a_day(rest)
    statements = (
        [] if dated else [item._replace(confidence=EXPLICIT) for item in _clauses(rest, voice, is_question=False)]
    )
    if statements:
        return statements
    if _VAGUE.match(rest) or _SECOND_PERSON.search(rest) or grammar.is_state(rest) or grammar.is_supposed(rest):
        return []
    scope: ScopeHint = "user" if _PERSONAL_WORD.search(rest) else "workspace"
    text = grammar.capital(grammar.spoken(bare(rest), voice.name or "The user"))
    return [Statement(text, "learning", scope, EXPLICIT, dated=dated)]


def _clauses(text: str, voice: Voice, is_question: bool) -> Iterator[Statement]:
    text, opening = grammar.led(text)
    parts = grammar.clauses(text)
    for place, part in enumerate(parts):
        if (is_question and place == len(parts) - 1) or _is_unfit(part):
            continue
        clause, lead = (part, opening) if opening and not place else grammar.led(part)
        if not grammar.is_conditional(clause):
            yield from _stated(_OF_CLAUSES, clause, lead, voice)


def _is_unfit(part: str) -> bool:
    """Asked for, wished for, quoted, supposed, or for the moment only."""
    if grammar.is_question(part) or grammar.is_task(part) or grammar.is_reported(part) or in_quotes(part):
        return True
    return grammar.is_momentary(part) or grammar.is_supposed(part)


def _stated(cues: tuple[Cue, ...], clause: str, lead: str, voice: Voice) -> Iterator[Statement]:
    """What the first cue that fits makes of a clause."""
    whole = bare(clause)
    plain = _EDGES.sub("", whole)
    for cue in cues:
        # "Short answers, please": the last word is what makes an order of it.
        match = cue.pattern.fullmatch(plain) or (cue.scope == "agent" and cue.pattern.fullmatch(whole))
        if match and _lasts(cue, plain, lead):
            text = _text(cue, match, voice)
            if lead:
                text = f"{text} {grammar.shifted(lead)}"
            day = grammar.day_named(text) if cue.dated else ""
            if cue.dated:
                text = grammar.undated(text)
            yield Statement(grammar.capital(text), cue.category, cue.scope, cue.confidence, cue.topic, cue.strong, day)
            return


def _lasts(cue: Cue, plain: str, lead: str) -> bool:
    """Whether a clause tells more than how things are just then, or between two who talk."""
    if (cue.states and grammar.is_state(plain)) or (cue.specific and not grammar.is_specific(plain)):
        return False
    if cue.scope != "agent" and cue.topic != "called" and _SECOND_PERSON.search(plain):
        return False
    return cue.dated or not grammar.names_a_day(f"{plain} {lead}")


def _text(cue: Cue, match: re.Match[str], voice: Voice) -> str:
    who = voice.name or "The user"
    if cue.says == "{rest}":
        return grammar.spoken(match["rest"], who)
    words = {name: grammar.shifted(value or "") for name, value in match.groupdict().items()}
    words["me"] = who if who != "The user" else "the user"
    words.update({name: words[name].lower() for name in ("adv", "base", "cond") if name in words})
    if "verb" in words:
        words["verb"] = grammar.third(words["verb"])
    return " ".join(cue.says.format_map({**words, "who": who, "whose": f"{who}'s"}).split()).replace(
        "team's team", "team"
    )
