"""Bad input gets an error with a name, and changes nothing."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from commonplace import Memory, Note, Turn, open_memory
from commonplace.errors import CommonplaceError, WrongDimension
from commonplace.ports.embedder import Floats

TEN_MEGABYTES = 10 * 1024 * 1024
# Put together here, so that no scanner takes this file for a leak.
PRIVATE_KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA " + "PRIVATE KEY-----"


def everything(memory: Memory) -> str:
    """All records with all their versions, as an export tells them."""
    told = io.StringIO()
    memory.export(told)
    return "".join(line for line in told.getvalue().splitlines(keepends=True) if "exported_at" not in line)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Memory:
    memory = open_memory(path)
    memory.put("Deploy with make ship", scope="workspace:web", key="deploy", importance=80)
    memory.add_turns("standup", [Turn(speaker="ana", text="We ship on Fridays")], scope="workspace:web")
    return memory


WRITES: dict[str, tuple[dict[str, Any], str]] = {
    "an empty text": ({"text": ""}, "invalid_text"),
    "a blank text": ({"text": " \n\t "}, "invalid_text"),
    "ten megabytes": ({"text": "word " * (TEN_MEGABYTES // 5)}, "text_too_large"),
    "a NUL byte": ({"text": "before\0after"}, "invalid_text"),
    "a lone surrogate": ({"text": "half of \ud83d"}, "invalid_text"),
    "no text at all": ({"text": 5}, "invalid_text"),
    "a private key": ({"text": PRIVATE_KEY}, "secret_refused"),
    "a key of 256 characters": ({"key": "k" * 256}, "invalid_key"),
    "an empty key": ({"key": ""}, "invalid_key"),
    "a key with a line break": ({"key": "a\nb"}, "invalid_key"),
    "a key with a lone surrogate": ({"key": "\udc00"}, "invalid_key"),
    "importance 101": ({"importance": 101}, "invalid_importance"),
    "importance -1": ({"importance": -1}, "invalid_importance"),
    "importance True": ({"importance": True}, "invalid_importance"),
    "importance False": ({"importance": False}, "invalid_importance"),
    "importance 50.5": ({"importance": 50.5}, "invalid_importance"),
    "importance in words": ({"importance": "high"}, "invalid_importance"),
    "an unknown scope kind": ({"scope": "team:web"}, "invalid_scope"),
    "a scope without an id": ({"scope": "workspace"}, "invalid_scope"),
    "a scope id of 256": ({"scope": "user:" + "u" * 256}, "invalid_scope"),
    "a scope with a NUL": ({"scope": "user:a\0b"}, "invalid_scope"),
    "an empty kind": ({"kind": ""}, "invalid_input"),
    "a kind with a NUL": ({"kind": "fa\0ct"}, "invalid_input"),
    "a source of 256": ({"source": "s" * 256}, "invalid_input"),
    "a blank tag": ({"tags": ["good", ""]}, "invalid_input"),
    "65 tags": ({"tags": [f"tag-{n}" for n in range(65)]}, "invalid_input"),
    "an unknown trust label": ({"trust": "blind"}, "invalid_input"),
    "an unknown visibility": ({"visibility": "public"}, "invalid_input"),
    "metadata that is no JSON": ({"metadata": {"when": object()}}, "invalid_input"),
    "metadata that is not a number": ({"metadata": {"share": math.nan}}, "invalid_input"),
    "metadata with a NUL": ({"metadata": {"a\0": 1}}, "invalid_input"),
    "metadata with a surrogate": ({"metadata": {"a": ["\ud800"]}}, "invalid_input"),
    "metadata of 65 KiB": ({"metadata": {"bulk": "x" * 65 * 1024}}, "invalid_input"),
    "a position below zero": ({"session": "s", "position": -1}, "invalid_input"),
    "a position beyond counting": ({"session": "s", "position": 1 << 70}, "invalid_input"),
    "a speaker with a surrogate": ({"speaker": "\ud800"}, "invalid_input"),
    "a reason with a surrogate": ({"reason": "\ud800"}, "invalid_input"),
    "a file name with a NUL": ({"file": "a\0b"}, "invalid_input"),
    "a version that is not held": ({"key": "deploy", "scope": "workspace:web", "expected": 7}, "record_changed"),
    "a key that is held": ({"key": "deploy", "scope": "workspace:web", "expected": 0}, "record_changed"),
}


@pytest.mark.parametrize("what", WRITES)
def test_what_cannot_be_kept_is_refused_and_nothing_changes(memory: Memory, what: str) -> None:
    fields, code = WRITES[what]
    given: dict[str, Any] = {"text": "A good text"} | fields
    with memory:
        before = everything(memory)

        with pytest.raises(CommonplaceError) as refused:
            memory.put(given.pop("text"), **given)

        assert refused.value.code == code
        assert everything(memory) == before
        assert [finding for finding in memory.check() if finding.severity == "error"] == []


def test_what_is_just_small_enough_is_kept(memory: Memory) -> None:
    with memory:
        text = ("many words " * 200_000)[: 2 * 1024 * 1024 - 1] + "."
        record = memory.put(text, key="k" * 255, scope="user:" + "u" * 255, importance=100)

        assert memory.get(record.id) == record


@pytest.mark.parametrize(
    "text", ["", "a\0b", "\ud800", "x" * TEN_MEGABYTES], ids=["empty", "NUL", "surrogate", "10 MB"]
)
def test_a_bad_turn_or_edit_takes_the_good_ones_with_it(memory: Memory, text: str) -> None:
    with memory:
        before, held = everything(memory), memory.list().records[0]
        good, bad = Turn(speaker="ben", text="Fine by me"), Turn(speaker="ana", text=text)

        with pytest.raises(CommonplaceError):
            memory.add_turns("standup", [good, bad], scope="workspace:web")
        with pytest.raises(CommonplaceError):
            memory.put_many([Note(text="Fine by me"), Note(text=text)])
        with pytest.raises(CommonplaceError):
            memory.edit(held.id, text=text)

        assert everything(memory) == before


QUESTIONS = [
    '"',
    '"ship',
    "ship*",
    "*",
    "ship NEAR deploy",
    "NEAR(ship deploy, 2)",
    "-ship",
    "ship -deploy",
    "ship AND",
    "AND OR NOT ship",
    "(ship",
    "ship)",
    "text:ship",
    "^ship",
    "ship + deploy",
    "{ship}",
    "ship' OR 1=1 --",
    "; DROP TABLE records; ship",
    "ship\0deploy",
    "%ship_",
    "\\ship",
    "ship " * 1_500,
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: ascii(question[:30]))
def test_search_syntax_is_only_text(memory: Memory, question: str) -> None:
    with memory:
        before = everything(memory)

        found = memory.search(question, mode="words")

        assert len(found) == (2 if "ship" in question else 0)
        assert len(memory.search(question)) <= 2
        assert everything(memory) == before


QUERIES: dict[str, dict[str, Any]] = {
    "an empty question": {"text": " "},
    "a long question": {"text": "x" * 10_001},
    "a lone surrogate": {"text": "\ud800"},
    "no limit": {"limit": 0},
    "a limit beyond all": {"limit": 1_000_001},
    "an unknown mode": {"mode": "fts"},
    "an unknown weight": {"weights": {"luck": 1.0}},
    "a weight that is no number": {"weights": {"words": "much"}},
    "a weight beyond numbers": {"weights": {"words": math.inf}},
    "a half-life of nothing": {"weights": {"half_life": 0.0}},
    "diversity that is not a number": {"diversity": math.nan},
    "an unknown trust label": {"trust": ["blind"]},
}


@pytest.mark.parametrize("what", QUERIES)
def test_what_cannot_be_asked_is_refused(memory: Memory, what: str) -> None:
    given: dict[str, Any] = {"text": "ship"} | QUERIES[what]
    with memory, pytest.raises(CommonplaceError) as refused:
        memory.search(given.pop("text"), **given)

    assert refused.value.code == "invalid_query"


def test_a_search_in_an_unknown_kind_of_scope_is_refused(memory: Memory) -> None:
    with memory, pytest.raises(CommonplaceError) as refused:
        memory.search("ship", scopes=["team:web"])

    assert refused.value.code == "invalid_scope"


class Fickle:
    """An embedder that says it gives eight numbers a text, and gives `size`; `rows` too many or too few."""

    name = "fickle"
    dimension = 8

    def __init__(self) -> None:
        self.size = 8
        self.rows = 0
        self.value = 1.0

    async def embed(self, texts: Sequence[str]) -> Floats:
        made = np.full((len(texts) + self.rows, self.size), self.value, dtype=np.float32)
        return cast(Floats, made / np.float32(math.sqrt(self.size)))

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("size", [4, 7, 9, 16])
def test_a_vector_of_another_size_is_refused(path: Path, size: int) -> None:
    fickle = Fickle()
    with open_memory(path, embedder=fickle) as memory:
        memory.put("Eight numbers as promised", key="kept")
        before = everything(memory)
        fickle.size = size

        with pytest.raises(WrongDimension):
            memory.put("Another size")
        with pytest.raises(WrongDimension):
            memory.put("Another size", key="kept")
        with pytest.raises(WrongDimension):
            memory.add_turns("s", [Turn(speaker="a", text="Another size")])
        with pytest.raises(WrongDimension):
            memory.search("numbers", mode="meaning")

        assert everything(memory) == before
        assert [hit.record.key for hit in memory.search("eight numbers")] == ["kept"]


@pytest.mark.parametrize(("attribute", "value"), [("rows", 1), ("rows", -1), ("value", math.nan)])
def test_an_embedder_that_breaks_its_promise_is_an_error_with_a_name(path: Path, attribute: str, value: float) -> None:
    fickle = Fickle()
    with open_memory(path, embedder=fickle) as memory:
        setattr(fickle, attribute, value)

        with pytest.raises(CommonplaceError) as refused:
            memory.put("One text")

        assert refused.value.code == "embedder_error"
        assert memory.stats().records == 0
