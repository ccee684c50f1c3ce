"""
No regular expression of the product can be made slow by the text it reads.

A pattern that backtracks holds the interpreter while it does: somebody who may write one text could stop the daemon for
all. `collect.py` finds every pattern there is, `hostile.py` makes texts against each, and `clock.py` measures. Constraints of
pydantic (`pattern=`) are not among them: pydantic's own engine does not backtrack.

What a pattern costs is measured the way it is used. Where a pattern only ever gets short texts, `LONGEST` says so.
"""

import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from tests.patterns.clock import LARGE, slowness
from tests.patterns.collect import KILLED, SOURCE, places
from tests.patterns.hostile import Shape, shapes

ROOT = Path(__file__).parents[2]
# Patterns that stand in a list or are handed on, and how they are used.
WAYS: dict[str, tuple[str, ...]] = {
    "channels/sentences.py::_SENTENCES": ("fullmatch",),
    "learning/contradiction.py::_FRAMES": ("fullmatch",),
    "learning/contradiction.py::_GONE": ("search",),
    "learning/rules/__init__.py::_compiled": ("fullmatch",),
    "llms/librarian/chinese.py::FOLLOW_UPS": ("search",),
    "llms/librarian/cue.py::hinting": ("search",),
    "llms/librarian/cue.py::opening": ("search",),
    "llms/librarian/cue.py::within": ("search",),
    "llms/librarian/english.py::FOLLOW_UPS": ("search",),
    "llms/librarian/features.py::CONCEPTS": ("search",),
    "llms/librarian/frame.py::COMMANDS": ("match",),
    "llms/librarian/frame.py::_BEFORE": ("match",),
}
SHORT = 40_000
SENTENCE = 600
"""`extract.findings` leaves longer sentences out."""
PIECE = 1_200
"""`orders._cut` takes longer sentences apart."""
REQUEST = 2_000
"""`sentences.parse_sentence` leaves longer messages to the agent."""
MESSAGE = 601
"""`intents.recognise` looks at the ends of longer messages."""
LONGEST: dict[str, int] = {
    "channels/sentences.py::_SENTENCES": REQUEST,
    "guard/orders.py::_patterns": PIECE,
    "guard/orders.py::_WARNS": PIECE,
    "learning/rules/__init__.py::_compiled": SENTENCE,
    "learning/rules/chinese.py::_EDGES": SENTENCE,
    "learning/rules/chinese.py::_SHIELDED": SENTENCE,
    "learning/rules/chinese.py::_SPECIFIC": SENTENCE,
    "learning/rules/grammar.py::_SHIELDED": SENTENCE,
    "llms/librarian/chinese.py::FOLLOW_UPS": MESSAGE,
    "llms/librarian/chinese.py::INSTEAD": MESSAGE,
    "llms/librarian/chinese.py::LEADS": MESSAGE,
    "llms/librarian/chinese.py::STATEMENT": MESSAGE,
    "llms/librarian/cue.py::hinting": MESSAGE,
    "llms/librarian/cue.py::opening": MESSAGE,
    "llms/librarian/cue.py::within": MESSAGE,
    "llms/librarian/english.py::FOLLOW_UPS": MESSAGE,
    "llms/librarian/english.py::INSTEAD": MESSAGE,
    "llms/librarian/english.py::LEADS": MESSAGE,
    "llms/librarian/english.py::STATEMENT": MESSAGE,
    "llms/librarian/features.py::CONCEPTS": MESSAGE,
    "llms/librarian/frame.py::COMMANDS": MESSAGE,
    "llms/librarian/frame.py::_ABOUT": MESSAGE,
    "llms/librarian/frame.py::_ABOUT_HAN": MESSAGE,
    "llms/librarian/frame.py::_BEFORE": MESSAGE,
    "llms/librarian/frame.py::_BEHIND": MESSAGE,
    "llms/librarian/frame.py::_FRAME": MESSAGE,
    "llms/librarian/frame.py::_LEANING": MESSAGE,
    "llms/librarian/frame.py::_NOT": MESSAGE,
    "llms/librarian/frame.py::_OLD": MESSAGE,
    "llms/librarian/frame.py::_PUT": MESSAGE,
    "llms/librarian/frame.py::_REST": MESSAGE,
    "llms/librarian/frame.py::_SAID": MESSAGE,
    "llms/librarian/frame.py::_TO": MESSAGE,
}
FILES = sorted({place.path for path in SOURCE.rglob("*.py") for place in places(path)} - KILLED)


@pytest.fixture(scope="module")
def collected() -> dict[str, Any]:
    program = [sys.executable, str(Path(__file__).with_name("collect.py"))]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=240)
    return json.loads(done.stdout)


def slow_texts(pattern: re.Pattern[Any], ways: tuple[str, ...], largest: int = LARGE) -> list[str]:
    """The first texts that are slow for a pattern, and how slow."""
    is_bytes = isinstance(pattern.pattern, bytes)
    written = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
    found: list[str] = []
    for shape in shapes(written, pattern.flags & ~re.UNICODE.value):
        for way in ways:
            problem = slowness(_use(pattern, way), partial(_text, shape, is_bytes), largest)
            if problem is not None:
                found.append(f"{way} of {shape.parts}: {problem}")
        if found:
            break
    return found


def _use(pattern: re.Pattern[Any], way: str) -> Callable[[Any], object]:
    if way == "finditer":
        return partial(_exhaust, pattern)
    return getattr(pattern, way)


def _exhaust(pattern: re.Pattern[Any], text: Any) -> None:
    find = cast(Callable[[Any], Iterator[object]], pattern.finditer)
    deque(find(text), maxlen=0)


def _text(shape: Shape, is_bytes: bool, size: int) -> Any:
    text = shape.text(size)
    return text.encode("latin-1", "replace") if is_bytes else text


# ---- the gate


@pytest.mark.timeout(300)
def test_every_place_that_makes_a_pattern_is_looked_at(collected: dict[str, Any]) -> None:
    assert collected["missed"] == []
    assert {pattern["name"].partition("::")[0] for pattern in collected["patterns"]} == set(FILES)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", FILES)
def test_no_text_is_slow_for_a_pattern(collected: dict[str, Any], path: str) -> None:
    slow: list[str] = []
    for entry in collected["patterns"]:
        name = entry["name"]
        if name.partition("::")[0] != path:
            continue
        text = entry["text"].encode("latin-1") if entry["bytes"] else entry["text"]
        pattern = re.compile(text, entry["flags"])
        found = slow_texts(pattern, WAYS.get(name, tuple(entry["ways"])), LONGEST.get(name, LARGE))
        slow += [f"{name} (line {entry['line']}, {entry['text'][:40]!r}): {one}" for one in found]

    assert slow == []


def test_each_exception_is_still_there(collected: dict[str, Any]) -> None:
    names = {pattern["name"] for pattern in collected["patterns"]}

    assert names >= WAYS.keys() | LONGEST.keys()


# ---- the gate itself


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"<\s*/?\s*system", "search"),
        (r"\s+x", "finditer"),
        (r"(?:^|\n)\s*Action", "search"),
        (r"[.!?]+[\"']*(?=\s)", "finditer"),
        (r"(?:a+)+b", "search"),
        (r"(?:你要|你|要)*记", "match"),
        (r"not \S[^,]*$", "search"),
        (r"switched from \S.* to", "search"),
        (r"(?:\w+\s?)+", "fullmatch"),
        (rb"a*a*b", "search"),
    ],
)
def test_a_pattern_that_backtracks_is_caught(pattern: str | bytes, way: str) -> None:
    compiled = re.compile(pattern)

    # Most are caught with less: each text that is slow takes up all of its time.
    assert slow_texts(compiled, (way,), SHORT) or slow_texts(compiled, (way,))


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"<\s*+/?\s*+system", "search"),
        (r"(?<!\s)\s++x", "finditer"),
        (r"(?:^|\n)[^\S\n]*+Action", "search"),
        (r"(?:a++)++b", "match"),
        (r"\b(?:ignore|forget)\b.{0,40}\brules?\b", "search"),
    ],
)
def test_a_pattern_that_gives_nothing_back_passes(pattern: str, way: str) -> None:
    assert slow_texts(re.compile(pattern), (way,)) == []


@pytest.mark.parametrize(
    "line",
    [
        "from re import compile",
        "from re import compile as made",
        "import re as patterns",
        "import regex",
        "made = map(re.compile, parts)",
        "def late(part): return re.search(part, part)",
    ],
)
def test_nobody_gets_past_the_gate(line: str, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"{line}\n", encoding="utf-8")

    assert [place.path for place in places(file, tmp_path)] == ["module.py"]
