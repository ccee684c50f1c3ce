"""
Small memories with known answers, and questions that they do not answer.

`locomo_notes`: single turns of LoCoMo as notes ("Caroline: I went …"), so many of one conversation, one of them the answer. The unrelated
question is one of another conversation. `strangers`: notebooks that somebody wrote who has not read the code (`tests/evaluation/notes`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.sets import OWN, Asked, World, locomo
from commonplace.values.note import Note

SIZES: Final = (1, 3, 10, 30)
STRANGERS: Final = OWN / "notes" / "notes.jsonl"


class Ground(NamedTuple):
    """A world, and questions that it does not answer."""

    world: World
    unrelated: list[Asked]


def locomo_notes(folder: Path, size: int, most: int) -> list[Ground]:
    """A scope a question, for at most so many questions that a single turn answers."""
    chosen = random.Random(size)
    worlds = locomo(folder)
    turns = [
        [(id, turn) for talk in world.talks for id, turn in zip(talk.ids, talk.turns, strict=True)] for world in worlds
    ]
    every = [
        (place, question)
        for place, world in enumerate(worlds)
        for question in world.questions
        if len(question.evidence) == 1
    ]
    grounds: list[Ground] = []
    for number, (place, question) in enumerate(chosen.sample(every, min(most, len(every)))):
        [answer] = question.evidence
        others = chosen.sample([id for id, _ in turns[place] if id != answer], size - 1)
        scope = f"workspace:notes-{size}-{number}"
        notes = [
            (id, Note(text=f"{turn.speaker}: {turn.text}", scope=scope))
            for id, turn in turns[place]
            if id == answer or id in others
        ]
        chosen.shuffle(notes)
        foreign = chosen.choice([world for world in worlds if world is not worlds[place]])
        world = World(name=scope, scopes=[scope], talks=[], questions=[question], notes=notes)
        grounds.append(Ground(world, [chosen.choice(foreign.questions)]))
    return grounds


def with_strangers(worlds: Sequence[World], foreign: Sequence[World]) -> list[Ground]:
    """Each world, and as many questions of the others."""
    chosen = random.Random(0)
    grounds: list[Ground] = []
    for world in worlds:
        questions = [question for other in foreign if other.name != world.name for question in other.questions]
        grounds.append(Ground(world, chosen.sample(questions, min(len(world.questions), len(questions)))))
    return grounds


def strangers(language: str, half: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in STRANGERS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["language"] == language and row["half"] == half]


def notebook(row: dict[str, Any]) -> tuple[World, dict[str, list[Asked]]]:
    """A notebook, and its questions by kind; those without an answer have no evidence."""
    scope = f"workspace:{row['id']}"
    notes = [(str(place), Note(text=text, scope=scope)) for place, text in enumerate(row["notes"])]
    kinds: dict[str, list[Asked]] = {}
    for question in row["questions"]:
        asked = Asked(question["question"], frozenset(map(str, question["answers"])))
        kinds.setdefault(question["kind"], []).append(asked)
    return World(name=row["id"], scopes=[scope], talks=[], questions=[], notes=notes), kinds
