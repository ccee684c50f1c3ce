"""What a turn began with and what it left: noted while it is followed, or read from its run afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from commonplace.errors import CommonplaceError, NotFound
from commonplace.values.json import Json
from commonplace.values.turn_event import MemoryRecalled, RecalledMemory

if TYPE_CHECKING:
    from commonplace.ports.memory_client import MemoryClient

_GONE = "(it is no longer there)"
_EVENTS = 1_000


@dataclass(kw_only=True, slots=True)
class TurnNotes:
    """`learned` is None until that is known. `run` is empty for what a person had remembered."""

    run: str
    text: str = ""
    model: str | None = None
    recalled: MemoryRecalled | None = None
    learned: tuple[RecalledMemory, ...] | None = None


async def notes_of_run(memory: "MemoryClient", run: str) -> TurnNotes | None:
    """From the journal of the run. None: it is gone, or lies elsewhere."""
    try:
        events = await memory.runs.events(run, limit=_EVENTS)
    except CommonplaceError:
        return None
    notes = TurnNotes(run=run)
    for event in events:
        match event.type, event.payload:
            case "session_run_started", {"text": str(text), "model": str(model)}:
                notes.text, notes.model = text, model
            case "memory_recalled", {"hits": list(hits)}:
                notes.recalled = MemoryRecalled(memories=await _memories(memory, hits))
            case "memory_learned", {"memories": list(memories)}:
                notes.learned = await _memories(memory, memories)
            case _:
                pass
    return notes


async def _memories(memory: "MemoryClient", entries: Sequence[Json]) -> tuple[RecalledMemory, ...]:
    """A journal has their ids; what they say is in the memory, unless somebody removed it."""
    memories: list[RecalledMemory] = []
    for entry in cast("Sequence[Mapping[str, Json]]", entries):
        id, relevance, why = str(entry.get("id")), entry.get("relevance"), entry.get("why")
        try:
            record = await memory.get(id)
        except NotFound:
            memories.append(RecalledMemory(id=id, text=str(entry.get("text") or _GONE)))
            continue
        chance = float(relevance) if isinstance(relevance, int | float) else None
        reason = why if isinstance(why, str) else None
        memories.append(
            RecalledMemory(
                id=id, text=record.text, relevance=chance, scope=str(record.scope), source=record.source, why=reason
            )
        )
    return tuple(memories)
