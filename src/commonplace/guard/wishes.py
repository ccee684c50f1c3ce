"""
A person's wish how they want to be served, which looks like an order to an agent and is none of a stranger.

"From now on call me Sam" and "Ignore the earlier rule about tabs" are what people tell an agent that works for them. In a person's own
words, kept in their own memory, that is a fact about them. What drops all of an agent's instructions, marks of a prompt, hidden
characters and whatever sends things away are no wish, whoever wrote them; nor is an order in a memory that others read, too.
"""

from __future__ import annotations

import re
from typing import Final

from commonplace.guard.caution import STARK, is_planted
from commonplace.guard.quarantine import signs
from commonplace.guard.signs import Sign, plain
from commonplace.values.file_ref import RootKind

_WISH: Final[frozenset[Sign]] = frozenset({"injection"})
_WHOLESALE: Final = re.compile(
    r"\b(?:ignor\w+|disregard\w*|overrid\w+|bypass\w*|forget|discard|abandon|drop|do not follow|don't follow|stop following)\b(?: \w+){0,2}?"
    r" (?:all|any|every|your|these|previous|prior|above|earlier|existing|original|system|safety)\b(?: \w+){0,2}?"
    r" ?(?:instructions?|prompts?|guidelines?|guardrails?|directives?|programming|polic(?:y|ies)|restrictions?|rules)\b(?! (?:about|on|for|regarding|concerning|of)\b)"
    r"|\b(?:ignore|disregard|forget) (?:all|everything|anything)(?: \w+){0,3} (?:above|before|previously|earlier|so far)\b"
    r"|\bjail-?break(?:s|ing|en)? (?:mode|yourself)|\bdo anything now\b|\b(?:as|are|be) DAN\b|\b(?:enter|enable|activate|switch to|are(?: now)? in) (?:developer|debug|god|sudo) mode\b"
    r"|\byou are (?:now )?(?:an? )?(?:unrestricted|unfiltered|uncensored)\b|\bnote to (?:all |any |the )?(?:ai|llm|agents?|assistants?|models?)\b"
    r"|\bwhatever (?:your|the) (?:owner|user|operator) says\b"
    r"|(?:忽略|无视|無視|忘记|忘記|忘掉|绕过|繞過|推翻|覆盖|覆蓋)(?:你|您|掉|之前|以前|前面|上面|以上|先前|所有|一切|全部|的)*(?:指令|指示|提示词|提示詞|设定|設定|规则|規則|限制)(?!的?(?:缩进|格式))"
    r"|(?:进入|進入|启用|啟用|切换到|处于)(?:越狱|越獄|开发者|開發者)模式",
    re.IGNORECASE,
)


def is_wish(text: str) -> bool:
    """Whether all that looks like an attack in it is what a person may tell an agent of their own."""
    return _WISH.issuperset(signs(text)) and _WHOLESALE.search(plain(text)) is None


def is_order(text: str, kind: RootKind) -> bool:
    """Whether a text that a person keeps in that kind of memory is none of their wishes, but an order to whoever reads it."""
    if not is_planted(text):
        return False
    return not is_wish(text) or (kind != "user" and bool(signs(text)))


def is_refused(text: str, kind: RootKind, *, own: bool) -> bool:
    """Whether it must not be remembered there. `own`: a person said so in their own words."""
    if not own:
        return not STARK.isdisjoint(signs(text))
    if is_wish(text):
        return kind != "user" and bool(signs(text))
    return not STARK.isdisjoint(signs(text)) or _WHOLESALE.search(plain(text)) is not None
