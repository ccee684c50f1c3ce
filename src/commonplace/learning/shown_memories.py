"""
The memories that a run was shown: what only repeats them is no news.

A model that sees a memory repeats it in its own words, and people who talk with it repeat it again. So what a run learned is
compared with what was recalled into it. An assistant's sentence is an echo as soon as most of its words are in a memory. For a
person the bar is higher: a correction has nearly all the words of the memory, and changes the one that counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from commonplace.learning.rules.statement import Role
from commonplace.text.analyse import terms

_ASSISTANT_SHARE: Final = 0.6
_PERSON_SHARE: Final = 0.8
_LONGEST: Final = 50_000
# Whom a statement is about: a turn says "I" where a fact says "the user".
_SUBJECTS: Final = re.compile(
    r"\b(?:(?:the )?(?:user|team|assistant)(?:['’]s)?|I|we|my|our|you|your|they|their)\b|用[户戶]|[团團][队隊]|助手|[我咱][们們]?|[你您][们們]?",
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    r"\b(?:no longer|not|never|isn't|aren't|wasn't|doesn't|don't|didn't|won't|can't|cannot|stopped|quit|instead|switched|moved|changed"
    r"|replaced|renamed|actually|now|any ?more|rather)\b|不再|不|没|沒|别|別|改用|改成|换成|換成|搬到|其实|其實|现在|現在",
    re.IGNORECASE,
)


class ShownMemories:
    """The memories that a run was shown."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._shown = [(_words(text[:_LONGEST]), _turns(text[:_LONGEST])) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._shown)

    def has(self, text: str, voice: Role) -> bool:
        """Whether the sentence of `voice` only repeats a shown memory."""
        own_words = _words(text)
        if not own_words:
            return False
        turns = _turns(text)
        return any(_echoes(own_words, memory, voice) and turns <= turned for memory, turned in self._shown)


def _echoes(own_words: frozenset[str], memory: frozenset[str], voice: Role) -> bool:
    new = own_words - memory
    share = 1 - len(new) / len(own_words)
    if voice != "person":
        return share >= _ASSISTANT_SHARE
    # One new number or name, or one new character of Chinese, may be all that was said.
    return not new or (share >= _PERSON_SHARE and all(word.isascii() and word.isalpha() for word in new))


def _words(text: str) -> frozenset[str]:
    """The words that count, without pairs of them."""
    return frozenset(term for term in terms(_SUBJECTS.sub(" ", text)) if "_" not in term)


def _turns(text: str) -> frozenset[str]:
    """The words that turn a statement into another one: negations, and words of change."""
    return frozenset(word.lower() for word in _TURNS.findall(text))
