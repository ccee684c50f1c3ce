"""Questions with known evidence, as conversations to be remembered and asked about.

Four sets: LoCoMo, LongMemEval and BEAM from a folder given by the caller (never part of this repository), and the
project's own, in `tests/evaluation`. A set is a list of worlds; each world is told to the memory and then questioned
alone.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.values.note import Note
from commonplace.values.record import Turn

OWN = Path(__file__).parent.parent / "tests" / "evaluation"

_COUNTED_CATEGORIES = frozenset({1, 2, 3, 4})
_EVIDENCE = re.compile(r"D\d+:\d+")


class Asked(NamedTuple):
    """A question and what answers it: ids of turns or records, or of sessions where the set counts those."""

    text: str
    evidence: frozenset[str]
    overlap: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """One session. `ids` are the set's own names of its turns, in the same order."""

    session: str
    scope: str
    turns: list[Turn]
    ids: list[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """What is told, and what is asked of it over these scopes."""

    name: str
    scopes: list[str]
    talks: list[Talk]
    questions: list[Asked]
    notes: list[tuple[str, Note]] = field(default_factory=list[tuple[str, Note]])
    by_session: bool = False
    """Evidence names sessions, not turns."""


def locomo(folder: Path) -> list[World]:
    """A scope a conversation. The caption of a picture belongs to the turn that shows it."""
    worlds: list[World] = []
    for number, told in enumerate(json.loads((folder / "locomo-dev.json").read_text(encoding="utf-8"))):
        name = f"locomo-{told.get('sample_id', number)}"
        talks = list(_locomo_talks(told["conversation"], f"workspace:{name}"))
        known = {id for talk in talks for id in talk.ids}
        questions = list(_locomo_questions(told["qa"], known))
        worlds.append(World(name=name, scopes=[f"workspace:{name}"], talks=talks, questions=questions))
    return worlds


def _locomo_talks(conversation: dict[str, Any], scope: str) -> Iterator[Talk]:
    number = 1
    while (said := conversation.get(f"session_{number}")) is not None:
        when = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(
            tzinfo=UTC
        )
        turns = [Turn(speaker=turn["speaker"], text=_with_caption(turn), at=when) for turn in said]
        yield Talk(session=f"session-{number}", scope=scope, turns=turns, ids=[turn["dia_id"] for turn in said])
        number += 1


def _with_caption(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [image: {caption}]" if caption else turn["text"]


def _locomo_questions(asked: list[dict[str, Any]], known: set[str]) -> Iterator[Asked]:
    for one in asked:
        named = {id for told in one.get("evidence", []) for id in _EVIDENCE.findall(told)}
        if one["category"] in _COUNTED_CATEGORIES and named & known:
            yield Asked(one["question"], frozenset(named & known))


def longmemeval(folder: Path) -> list[World]:
    """One scope for all sessions; a question is answered by whole sessions."""
    told = _unpacked(folder / "longmemeval-pooled-dev.json.gz")
    scope = "workspace:longmemeval"
    talks = [
        Talk(
            session=session["id"],
            scope=scope,
            turns=[
                Turn(speaker=turn["role"], text=turn["text"], at=_moment(session["date"], "%Y/%m/%d (%a) %H:%M"))
                for turn in session["turns"]
            ],
            ids=[session["id"]] * len(session["turns"]),
        )
        for session in told["sessions"]
    ]
    questions = [Asked(one["question"], frozenset(one["evidence"])) for one in told["questions"]]
    return [World(name="longmemeval", scopes=[scope], talks=talks, questions=questions, by_session=True)]


def beam(folder: Path) -> list[World]:
    """A scope a chat."""
    worlds: list[World] = []
    for chat in _unpacked(folder / "beam-100k-dev.json.gz"):
        name = f"beam-{chat['chat']}"
        turns = [
            Turn(speaker=turn["role"], text=turn["text"], at=_moment(turn["time"], "%B-%d-%Y"))
            for turn in chat["turns"]
        ]
        ids = [str(turn["id"]) for turn in chat["turns"]]
        questions = [
            Asked(one["question"], frozenset(map(str, one["evidence"])) & frozenset(ids))
            for one in chat["questions"]
            if one["evidence"]
        ]
        scope = f"workspace:{name}"
        talk = Talk(session=name, scope=scope, turns=turns, ids=ids)
        worlds.append(World(name=name, scopes=[scope], talks=[talk], questions=questions))
    return worlds


def own(language: str, folder: Path = OWN) -> list[World]:
    """All records of a language in their scopes; each question is asked of all of them."""
    lines = [json.loads(line) for line in (folder / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()]
    told = [line for line in lines if line["type"] == "record"]
    notes = [
        (one["id"], Note(text=one["text"], scope=one["scope"], kind=one["kind"]))
        for one in told
        if one["kind"] != "turn"
    ]
    sessions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in told:
        if one["kind"] == "turn":
            sessions.setdefault((one["scope"], one["session"]), []).append(one)
    talks = [_own_talk(scope, session, said) for (scope, session), said in sessions.items()]
    asked = [
        Asked(line["text"], frozenset(line["answers"]), line["overlap"]) for line in lines if line["type"] == "question"
    ]
    scopes = sorted({one["scope"] for one in told})
    return [World(name=f"own-{language}", scopes=scopes, talks=talks, questions=asked, notes=notes)]


def _own_talk(scope: str, session: str, said: list[dict[str, Any]]) -> Talk:
    said = sorted(said, key=lambda one: one["position"])
    turns = [Turn(speaker=one["speaker"], text=one["text"], at=datetime.fromisoformat(one["at"])) for one in said]
    return Talk(session=session, scope=scope, turns=turns, ids=[one["id"] for one in said])


def _moment(told: str | None, form: str) -> datetime | None:
    return None if told is None else datetime.strptime(told, form).replace(tzinfo=UTC)


def _unpacked(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


PUBLIC: dict[str, Callable[[Path], list[World]]] = {"locomo": locomo, "longmemeval": longmemeval, "beam": beam}
"""The sets that need a folder of data."""

FILES = {
    "locomo": "locomo-dev.json",
    "longmemeval": "longmemeval-pooled-dev.json.gz",
    "beam": "beam-100k-dev.json.gz",
}


def load(name: str, data: Path | None) -> list[World] | None:
    """The worlds of a set, or None where its data is not here."""
    if name.startswith("own-"):
        return own(name.removeprefix("own-"))
    if data is None or not (data / FILES[name]).is_file():
        return None
    return PUBLIC[name](data)
