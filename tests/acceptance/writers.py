"""
Programs that the tests of this folder start: writers to be killed, writers that race, a writer that obeys.

    python writers.py nursery STORE     for each line read, forks a writer that works until somebody kills it
    python writers.py count STORE N T   adds one to shared counters, N times in each of T threads
    python writers.py recount STORE N   writes N notes and searches for each as soon as it is written
    python writers.py obey STORE        does what each line says and answers with an id

What they did is told in lines of JSON, each after the call that did it had returned.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from commonplace import Memory, Record, Turn, open_memory
from commonplace.compose.configuration import configuration
from commonplace.embedders.static import StaticEmbedder
from commonplace.errors import RecordChanged

COUNTERS: tuple[str, ...] = ("apples", "pears", "plums")


def tell(**what: object) -> None:
    """One line in one write, so that a kill never cuts it."""
    os.write(1, json.dumps(what).encode() + b"\n")


def word(chance: random.Random) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=12))


# ---- to be killed


def nursery(store: Path) -> None:
    """Everything is loaded before the first fork, so that a writer's life is spent writing."""
    configuration()
    embedder = StaticEmbedder()
    embedder.embed_now(["warm"])
    for line in sys.stdin:
        seed = int(line)
        child = os.fork()
        if not child:
            with open_memory(store, embedder=embedder) as memory:
                write_forever(memory, random.Random(seed))
        tell(born=child)
        os.waitpid(child, 0)
        tell(dead=child)


def write_forever(memory: Memory, chance: random.Random) -> None:
    acts: list[Callable[[Memory, random.Random, list[str]], list[Record]]] = [_note, _keyed, _turns, _edit, _delete]
    mine: list[str] = []
    while True:
        act = chance.choice(acts) if mine else _note
        written = act(memory, chance, mine)
        tell(written=[[one.id, one.version, one.text, one.deleted_at is not None] for one in written])


def _note(memory: Memory, chance: random.Random, mine: list[str]) -> list[Record]:
    record = memory.put(f"A note about {word(chance)}", scope="workspace:web", tags=["kill"])
    mine.append(record.id)
    return [record]


def _keyed(memory: Memory, chance: random.Random, mine: list[str]) -> list[Record]:
    return [memory.put(f"The news of {word(chance)}", scope="workspace:web", key=f"news-{chance.randrange(5)}")]


def _turns(memory: Memory, chance: random.Random, mine: list[str]) -> list[Record]:
    turns = [Turn(speaker="Ana", text=f"I met {word(chance)}"), Turn(speaker="Ben", text=f"And {word(chance)} too?")]
    return memory.add_turns(f"chat-{chance.randrange(3)}", turns, scope="agent:ana")


def _edit(memory: Memory, chance: random.Random, mine: list[str]) -> list[Record]:
    id = chance.choice(mine)
    return [memory.undo(id) if memory.get(id).deleted_at else memory.edit(id, text=f"Rather about {word(chance)}")]


def _delete(memory: Memory, chance: random.Random, mine: list[str]) -> list[Record]:
    id = chance.choice(mine)
    return [memory.undo(id) if memory.get(id).deleted_at else memory.delete(id)]


# ---- to race


def count(memory: Memory, times: int) -> dict[str, int]:
    """
    Add one to the counters in turn, `times` in all, and answer how often each was raised. Somebody else being first is
    all that may go wrong.
    """
    raised = dict.fromkeys(COUNTERS, 0)
    for turn in range(times):
        key = COUNTERS[turn % len(COUNTERS)]
        while True:
            held = memory.list(scopes="global", key=key).records[0]
            try:
                memory.put(str(int(held.text) + 1), key=key, expected=held.version)
            except RecordChanged:
                continue
            raised[key] += 1
            break
    return raised


def count_in_threads(memory: Memory, times: int, threads: int) -> list[dict[str, int]]:
    with ThreadPoolExecutor(threads) as working:
        return list(working.map(count, [memory] * threads, [times] * threads))


def recount(memory: Memory, times: int) -> int:
    """How many of its own notes a search missed right after they were written."""
    chance = random.Random(os.getpid())
    missed = 0
    for _ in range(times):
        unheard = word(chance)
        record = memory.put(f"Remember {unheard}", scope="workspace:race")
        found = memory.search(unheard, mode="words", limit=3, scopes=["workspace:race", "global"])
        missed += record.id not in [hit.record.id for hit in found]
    return missed


# ---- to obey


def obey(memory: Memory) -> None:
    for line in sys.stdin:
        verb, given, *more = cast("list[str]", json.loads(line))
        if verb == "put":
            record = memory.put(given, scope=more[0])
        elif verb == "edit":
            record = memory.edit(given, text=more[0])
        elif verb == "move":
            record = memory.promote(given, scope=more[0])
        else:
            record = memory.delete(given) if verb == "delete" else memory.undo(given)
        tell(id=record.id)


def main(what: str, store: Path, times: int = 0, threads: int = 1) -> None:
    if what == "nursery":
        nursery(store)
        return
    with open_memory(store) as memory:
        if what == "count":
            tell(raised=count_in_threads(memory, times, threads))
        elif what == "recount":
            tell(missed=recount(memory, times))
        else:
            obey(memory)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
