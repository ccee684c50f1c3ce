"""
What qwen-code's own daemon answered its published client, and how an answer of ours is held against it.

Recorded from version 0.24.4; long texts and lists are cut. Of a stream that was read in one piece only the beginning is there, and how many
characters it had.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

FOLDER = Path(__file__).parent / "traces"
_PIECE = re.compile(r"id: (\d+)\nevent: (\w+)\ndata: .*?(?:\((\d+) characters\))?\Z", re.DOTALL)
_CUT = re.compile(r"…\(\d+ (items|characters)\)")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A request and its answer; `client` is the id it was sent with."""

    id: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    status: int
    told: Mapping[str, str]
    answer: Any

    @property
    def client(self) -> str | None:
        return self.headers.get("x-qwen-client-id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """What was read of a stream at once: the `id` and type of its first event, and how many characters it had, if it is cut."""

    stream: int
    id: int
    type: str
    size: int | None


def exchanges(name: str) -> list[Exchange]:
    return sorted(
        (
            Exchange(
                id=row["id"],
                method=row["method"],
                path=row["path"],
                headers=row["headers"],
                body=row.get("body"),
                status=row["status"],
                told=row["rheaders"],
                answer=row.get("response"),
            )
            for row in _rows(name)
            if "method" in row
        ),
        key=lambda exchange: exchange.id,
    )


def pieces(name: str) -> list[Piece]:
    found: list[Piece] = []
    for row in _rows(name):
        text = row.get("sse", "").removeprefix("retry: 3000\n\n")
        if (match := _PIECE.match(text)) is not None:
            size = int(match[3]) if match[3] else None
            found.append(Piece(stream=row["id"], id=int(match[1]), type=match[2], size=size))
    return found


def sizes(name: str) -> dict[str, set[int]]:
    """By type, how many characters an event had that was read alone, as if its id had two digits."""
    read, found = pieces(name), dict[str, set[int]]()
    for piece, following in pairwise(read):
        if piece.size is not None and (following.stream, following.id) == (piece.stream, piece.id + 1):
            # The id stands in the frame twice.
            found.setdefault(piece.type, set()).add(piece.size + 2 * (2 - len(str(piece.id))))
    return found


def whole_events(name: str) -> list[dict[str, Any]]:
    """The events that were recorded with all their fields."""
    texts = [row["sse"] for row in _rows(name) if "data: " in row.get("sse", "")]
    return [json.loads(text.partition("data: ")[2]) for text in texts if text.endswith("}\n\n")]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


@dataclass
class Names:
    """Which id of ours stands for which recorded one."""

    ours: dict[str, str] = field(default_factory=dict[str, str])

    def learn(self, recorded: Any, ours: Any) -> None:
        """Ids that stand in the same place of both answers."""
        if isinstance(recorded, dict) and isinstance(ours, dict):
            for name, value in cast(dict[str, Any], recorded).items():
                if name in cast(dict[str, Any], ours):
                    self.learn(value, ours[name])
        elif isinstance(recorded, str) and isinstance(ours, str):
            for old, new in zip(_ID.findall(recorded), _ID.findall(ours), strict=False):
                self.ours.setdefault(old, new)

    def put(self, value: Any) -> Any:
        """The same with our ids."""
        text = json.dumps(value)
        for old, new in self.ours.items():
            text = text.replace(old, new)
        return json.loads(text)


def differences(recorded: Any, ours: Any, place: str = "") -> Iterator[str]:
    """
    Where ours is not as it was recorded: a name that is missing, another type, another text or truth. Of numbers only the type
    counts, of lists every entry, and names of ours that were not recorded are more than was asked for.
    """
    if isinstance(recorded, str) and _CUT.search(recorded):
        return
    if type(recorded) is not type(ours) and not _are_numbers(recorded, ours):
        yield place
    elif isinstance(recorded, dict):
        for name, value in cast(dict[str, Any], recorded).items():
            if name not in ours:
                yield f"{place}.{name}"
            else:
                yield from differences(value, ours[name], f"{place}.{name}")
    elif isinstance(recorded, list):
        yield from _differences_of_lists(cast(list[Any], recorded), ours, place)
    elif isinstance(recorded, str | bool) and recorded != ours and not _is_time(recorded):
        yield place


def _differences_of_lists(recorded: list[Any], ours: list[Any], place: str) -> Iterator[str]:
    """Each recorded entry against ours of the same name; one of ours that was not recorded is more than was asked for."""
    if len(recorded) == len(ours) == 1:
        yield from differences(recorded[0], ours[0], f"{place}[]")
        return
    entries = dict(_named(ours))
    for name, entry in _named(recorded):
        if name in entries:
            yield from differences(entry, entries[name], f"{place}[]")
        elif not _is_cut(entry):
            yield f"{place}[{name[0]}]"


def _named(entries: list[Any]) -> Iterator[tuple[tuple[str, int], Any]]:
    """By what they are and, of those that are the same, which one: what has no name goes by its place in the list."""
    count = Counter[str]()
    for entry in entries:
        name = _name(entry)
        yield (name, count[name]), entry
        count[name] += 1


def _name(entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    fields = cast(dict[str, Any], entry) if isinstance(entry, dict) else {}
    fields = fields.get("data", fields)
    fields = fields.get("update", fields)
    for name in ("sessionUpdate", "id", "modelId", "value", "promptId", "sessionId"):
        if isinstance(fields.get(name), str):
            # An empty piece of text tells what a call took, or how long.
            about = [key for key in ("usage", "timing") if key in fields.get("_meta", {})]
            return " ".join([fields[name], *about])
    return ""


def _is_cut(entry: Any) -> bool:
    return isinstance(entry, str) and _CUT.fullmatch(entry) is not None


def _are_numbers(one: Any, other: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))


def _is_time(value: str | bool) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value) is not None
