"""The cue rules as data: each can be read, and says nothing that its pattern does not find."""

import re
import string

import pytest

from commonplace.learning.rules import load


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_a_cue_is_compiled_once_and_says_what_its_pattern_finds(language: str) -> None:
    cues = [cue for table in load(language).values() for cue in table]

    patterns = [cue.pattern for cue in cues]

    assert all(isinstance(pattern, re.Pattern) for pattern in patterns)
    assert all(cue.pattern is pattern for cue, pattern in zip(cues, patterns, strict=True))
    for cue in cues:
        fields = {field for _, field, _, _ in string.Formatter().parse(cue.says) if field}
        assert fields <= {"who", "whose", "me", "all", *cue.pattern.groupindex}, cue.says
