"""How many tokens a text has: a counter is any function from text to a number, and one of them needs no tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

TokenCounter: TypeAlias = Callable[[str], int]

# One match is about one token: up to six Latin letters, two letters of another alphabet, and each digit, mark, emoji
# and Chinese, Japanese or Korean character alone. Subword tokenizers cut a little more coarsely than this, rarely finer.
_PIECE = re.compile(
    r"[A-Za-z]{1,6}|[^\W\d_A-Za-z\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]{1,2}|\S"
)


def estimate(text: str) -> int:
    """About as many tokens as a subword tokenizer would count, for where none is at hand."""
    return len(_PIECE.findall(text))
