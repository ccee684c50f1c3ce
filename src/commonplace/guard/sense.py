"""
What a passage means, in 512 numbers, for the guard's model to weigh beside words and cues.

They come from the sentence model that the default embedder reads Chinese with; it reads English as well, so that what was learned in one language helps
in the other. It is loaded when a text is first doubtful, and a tree that was never built does without.
"""

from __future__ import annotations

from typing import Final

from commonplace.embedders.sentences import PIECES, WEIGHTS, sentence_model
from commonplace.ports.embedder import Floats

MEANINGS: Final = 512


def meanings(passages: list[str]) -> Floats | None:
    """A row of length one a passage, None without the model's files."""
    return sentence_model().raw(passages) if WEIGHTS.is_file() and PIECES.is_file() else None
