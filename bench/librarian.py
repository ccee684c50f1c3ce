"""
What the librarian is worth, without any language model.

Answers, on LoCoMo: every question is put to the librarian in a turn of its own, with the memory's real tools. `quoted`: where recall has the evidence
first, the share of answers that quote it word for word. `words kept`: of the words that the set's own answer shares with that evidence, the share
in the quoted sentences. `says so`: where the floor says that no memory answers, the share of replies that say they do not know; among the questions
are as many of other conversations. `own_ms`: what the librarian itself takes of a turn, beside the tools.

Sentences (`tests/evaluation/librarian`): the share whose intent is understood.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, quantiles
from typing import Any, Final

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from bench.recall import tell
from bench.sets import OWN, Asked, World, locomo
from bench.small import Ground, with_strangers
from commonplace import AsyncMemory, open_memory, open_memory_async
from commonplace.llms.librarian.intents import recognise
from commonplace.llms.librarian.model import Librarian, answered
from commonplace.llms.librarian.phrases import ENGLISH
from commonplace.testing.memory_tools import memory_tools
from commonplace.text.analyse import terms
from commonplace.text.extractive import MORE
from commonplace.values.query import Hit

SETS: Final = {"first": OWN / "librarian", "second": OWN / "librarian" / "second"}
HALVES: Final = ("development", "heldback")
_JUDGED: Final = 10


@dataclass(slots=True)
class LibrarianTally:
    """One set, as its questions are asked."""

    quoted: list[bool] = field(default_factory=list[bool])
    words: list[float] = field(default_factory=list[float])
    nothing: list[bool] = field(default_factory=list[bool])
    seconds: list[float] = field(default_factory=list[float])
    questions: int = 0

    def row(self, name: str) -> dict[str, Any]:
        cuts = quantiles(self.seconds, n=20)
        return {
            "set": name,
            "questions": self.questions,
            "evidence first": len(self.quoted),
            "quoted": round(mean(self.quoted), 3),
            "words kept": round(mean(self.words), 3),
            "floor says nothing": len(self.nothing),
            "says so": round(mean(self.nothing), 3),
            "own_ms_p50": round(cuts[9] * 1000, 2),
            "own_ms_p95": round(cuts[18] * 1000, 2),
        }


async def answers(folder: Path, address: str, embedder: str = "static") -> dict[str, Any]:
    """The figures on LoCoMo."""
    grounds = with_strangers(worlds := locomo(folder), worlds)
    expected = _expected(folder)
    with open_memory(address, embedder=embedder) as memory:
        names = {world.name: tell(memory, world) for world in worlds}
    tally = LibrarianTally()
    async with open_memory_async(address, embedder=embedder) as memory:
        for ground in grounds:
            await _ask_all(memory, ground, names[ground.world.name], expected, tally)
    return tally.row("locomo")


def _expected(folder: Path) -> dict[tuple[str, str], str]:
    """The set's own answers, by conversation and question."""
    told = json.loads((folder / "locomo-dev.json").read_text(encoding="utf-8"))
    return {
        (f"locomo-{one.get('sample_id', number)}", asked["question"]): str(asked["answer"])
        for number, one in enumerate(told)
        for asked in one["qa"]
        if "answer" in asked
    }


async def _ask_all(
    memory: AsyncMemory,
    ground: Ground,
    names: dict[str, str],
    expected: dict[tuple[str, str], str],
    tally: LibrarianTally,
) -> None:
    world = ground.world
    for question in [*world.questions, *(Asked(other.text, frozenset()) for other in ground.unrelated)]:
        tally.questions += 1
        hits = await memory.search(question.text, scopes=world.scopes, limit=_JUDGED)
        reply = await _reply(memory, world, question.text, tally)
        best = hits[0] if hits else None
        if not any(hit.relevant for hit in hits):
            tally.nothing.append(reply.startswith(ENGLISH.unknown))
        elif best is not None and names[best.record.id] in question.evidence:
            quote = _quote(reply, best)
            tally.quoted.append(quote is not None)
            wanted = {*terms(expected.get((world.name, question.text), ""))} & {*terms(best.record.text)}
            if wanted:
                tally.words.append(len(wanted & {*terms(quote or "")}) / len(wanted))


async def _reply(memory: AsyncMemory, world: World, question: str, tally: LibrarianTally) -> str:
    """A turn, as a person would have it; then the librarian's own part of it once more, against the clock."""
    tools = memory_tools(memory, world.scopes[0].partition(":")[2])
    agent: Agent[object, str] = Agent(Librarian(), tools=tools)
    result = await agent.run(question)
    tally.seconds.append(_own_time(result.all_messages(), [tool.tool_def for tool in tools]))
    return result.output


def _own_time(messages: Sequence[ModelMessage], tools: list[ToolDefinition]) -> float:
    parameters = ModelRequestParameters(function_tools=tools)
    seconds = 0.0
    for place, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            began = time.perf_counter()
            answered(messages[:place], parameters)
            seconds += time.perf_counter() - began
    return seconds


def _quote(reply: str, hit: Hit) -> str | None:
    """What the reply quotes of a memory, if it names it and has it word for word."""
    text = " ".join(hit.record.text.split())
    for paragraph in reply.split("\n\n"):
        body, _, source = paragraph.rpartition("\n— ")
        if hit.record.id[-8:] in source:
            quote = body[body.find(ENGLISH.open_quote) + 1 : body.rfind(ENGLISH.close_quote)]
            parts = [part.strip() for part in quote.split(MORE) if part.strip()]
            if parts and all(part in text for part in parts):
                return quote
    return None


def sentences(halves: Sequence[str]) -> list[dict[str, Any]]:
    """How many sentences are understood, by set, half and language."""
    rows: list[dict[str, Any]] = []
    for name, half in ((name, half) for name in SETS for half in halves):
        lines = (SETS[name] / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
        told = [json.loads(line) for line in lines]
        right: Counter[str] = Counter()
        for one in told:
            right[one["lang"]] += recognise(one["text"]).kind == one["intent"]
        count = Counter(one["lang"] for one in told)
        shares = {language: round(right[language] / count[language], 3) for language in ("en", "zh")}
        both = round(right.total() / len(told), 3)
        rows.append({"set": name, "half": half, "sentences": len(told), **shares, "both": both})
    return rows
