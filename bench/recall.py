"""Evidence recall through the public door alone: `open_memory`, `add_turns`, `put_many`, `search`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.counting import DEEP, means, of_sessions, of_turns
from bench.sets import World
from commonplace import Memory

Mode = Literal["hybrid", "words", "meaning"]
MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What one set gave in one mode."""

    set: str
    mode: Mode
    questions: int
    figures: dict[str, float]
    seconds: float

    def as_row(self) -> dict[str, Any]:
        rounded = {name: round(value, 4) for name, value in self.figures.items()}
        return asdict(self) | {"figures": rounded, "seconds": round(self.seconds, 1)}


def tell(memory: Memory, world: World) -> dict[str, str]:
    """Remember a world. Returns what its records are called in the set, by their ids here."""
    names: dict[str, str] = {}
    if world.notes:
        kept = memory.put_many([note for _, note in world.notes])
        names |= {record.id: name for record, (name, _) in zip(kept, world.notes, strict=True)}
    for talk in world.talks:
        kept = memory.add_turns(talk.session, talk.turns, scope=talk.scope)
        names |= {record.id: name for record, name in zip(kept, talk.ids, strict=True)}
    return names


def ask(memory: Memory, world: World, names: dict[str, str], mode: Mode) -> list[dict[str, float]]:
    """The figures of each question."""
    rows: list[dict[str, float]] = []
    for asked in world.questions:
        hits = memory.search(asked.text, scopes=world.scopes, limit=DEEP if world.by_session else 20, mode=mode)
        found = [names[hit.record.id] for hit in hits]
        rows.append(of_sessions(asked, found) if world.by_session else of_turns(asked, found))
    return rows


def measure(memory: Memory, name: str, worlds: Sequence[World], modes: Sequence[Mode]) -> list[Figures]:
    """Tell all worlds of a set, then ask every question in every mode."""
    told = [(world, tell(memory, world)) for world in worlds]
    results: list[Figures] = []
    for mode in modes:
        start = time.perf_counter()
        rows = [row for world, names in told for row in ask(memory, world, names, mode)]
        seconds = time.perf_counter() - start
        results.append(Figures(set=name, mode=mode, questions=len(rows), figures=means(rows), seconds=seconds))
    return results
