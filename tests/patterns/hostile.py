"""
Texts that are made to be slow for one pattern, from its own parse tree.

A backtracking search is slow where a repetition can stop at many places and what follows it fails at each of them, or where
it begins anew at each character of what it has just read. So for each repetition of a pattern there are texts that lead up
to it, go on with what it repeats for as long as it takes, and end in what it does not expect; and texts that begin again
and again. Beside them stand single characters, the pattern's own among them, and each of its alternatives.
"""

import re
import string
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_parser: Any = vars(re)["_parser"]
Node = tuple[Any, Any]
Part = tuple[str, bool]

MANY = 10
"""A repetition of fewer is no danger."""
ROOM = 60
ALONE = (
    *string.ascii_lowercase[:3],
    *("A", "Z", "0", "1"),
    *string.punctuation,
    *(" ", "\n", "\t", "\r", "\u3000", "\u200b", "é", "一", "。"),
)
_ENDINGS = ("", "x", "!", "\n", "一", " x", ",", "]", ")", ">", '"')
_MOST_ENDINGS = 4
_IN_CATEGORY = {"SPACE": " \n\t\u3000", "WORD": "a0_一", "DIGIT": "0"}
_OTHERS = "a 0.-\n\t\"'<,:/@_一。"
_SINGLE = ("LITERAL", "NOT_LITERAL", "ANY", "IN")


class Shape(NamedTuple):
    """Parts of a text with whether they grow; those that do grow alike, until the text has its size."""

    parts: tuple[Part, ...]

    def text(self, size: int) -> str:
        fixed = sum(len(part) for part, grows in self.parts if not grows)
        share = max(size - fixed, 0) // max(sum(grows for _, grows in self.parts), 1)
        return "".join(part * max(share // len(part), 1) if grows else part for part, grows in self.parts)


class Repetition(NamedTuple):
    """
    `head` leads up to it in few characters, `run` with as many as there is room for of what the repetition before it repeats,
    `lush` with what makes each gap before it end at many places. `after` follows it.
    """

    head: str
    run: tuple[Part, ...]
    lush: str
    units: tuple[str, ...] = ()
    body: Sequence[Node] = ()
    after: str = ""


def shapes(pattern: str, flags: int = 0) -> list[Shape]:
    tree = _parser.parse(pattern, flags)
    found = {Shape(((unit, True),)): None for unit in (*ALONE, *_beyond_ascii(tree))}
    for repetition in _repetitions(list(tree), Repetition("", (), ""), []):
        found |= dict.fromkeys(_of(repetition))
    return [shape for shape in found if all(part for part, grows in shape.parts if grows)]


def _of(place: Repetition) -> Iterator[Shape]:
    head, after = place.head, place.after
    yield from (Shape(((text, True),)) for text in (head, place.lush, head + after))
    endings = [ending for ending in _ENDINGS if not ending or not _matches(place.body, ending[0])][:_MOST_ENDINGS]
    for number, unit in enumerate(place.units):
        yield Shape(((unit, True),))
        yield Shape(((head + unit * (ROOM // len(unit) + 1), True),))
        for ending in endings:
            yield Shape(((head + unit, True), (ending, False)))
            yield Shape(((head, False), (unit, True), (ending, False)))
            if place.run and number < 2:
                yield Shape((*place.run, (unit, True), (ending, False)))
        if after:
            yield Shape(((head, False), (unit + after, True)))
            yield Shape(((head, False), (unit, True), (after, True)))


# ---- the tree


def _repetitions(nodes: list[Node], before: Repetition, rest: list[Node]) -> Iterator[Repetition]:
    """Every repetition that may be long, and every alternative, with what leads up to it."""
    head, run, lush = before[:3]
    for number, (operation, value) in enumerate(nodes):
        name, following = str(operation), [*nodes[number + 1 :], *rest]
        sample, inner = _sample([(operation, value)]), [list(body) for body in _inner(name, value)]
        for body in inner:
            yield from _repetitions(body, Repetition(head, run, lush), following)
        if name == "BRANCH":
            yield from (Repetition(head + _sample(body), (), lush + _sample(body)) for body in inner)
        if name.endswith("REPEAT") and int(value[1]) >= MANY:
            units, after = _units(inner[0]), _sample(following)
            yield Repetition(head, run, lush, units, inner[0], after)
            fill = after if 0 < len(after) < ROOM else "".join(units[:1])
            lush += fill * (min(int(value[1]), ROOM) // max(len(fill), 1))
            run = ((head, False), (units[0], True)) if units else run
        else:
            lush += sample
            run = (*run, (sample, False)) if run and sample else run
        head += sample


def _inner(name: str, value: Any) -> Iterator[Sequence[Node]]:
    if name.endswith("REPEAT"):
        yield value[2]
    elif name == "BRANCH":
        yield from value[1]
    elif name == "SUBPATTERN":
        yield value[-1]
    elif name == "ATOMIC_GROUP":
        yield value
    elif name in ("ASSERT", "ASSERT_NOT") and value[0] == 1:
        yield value[1]
    elif name == "GROUPREF_EXISTS":
        yield from (body for body in value[1:] if body)


def _sample(nodes: Sequence[Node]) -> str:
    """A short text that they match."""
    text = ""
    for operation, value in nodes:
        name = str(operation)
        if name in _SINGLE:
            text += "".join(_characters(name, value)[:1])
        elif name.endswith("REPEAT"):
            text += _sample(value[2]) * int(value[0])
        elif name in ("BRANCH", "SUBPATTERN", "ATOMIC_GROUP", "GROUPREF_EXISTS"):
            text += _sample(next(_inner(name, value), ()))
    return text


def _units(body: Sequence[Node]) -> tuple[str, ...]:
    """What a repetition may repeat: of a class some characters of each kind, of alternatives each."""
    if len(body) == 1 and str(body[0][0]) in _SINGLE:
        return tuple(_characters(str(body[0][0]), body[0][1]))
    inside = [_inner(str(operation), value) for operation, value in body if not str(operation).startswith("ASSERT")]
    found = [_sample(body), *(unit for bodies in inside for one in bodies for unit in _units(one))]
    return tuple(dict.fromkeys(unit for unit in found if unit))


def _characters(name: str, value: Any) -> list[str]:
    """Some of the characters that a node of one character matches."""
    if name == "LITERAL":
        return [chr(value)]
    if name in ("ANY", "NOT_LITERAL"):
        return [one for one in _OTHERS if name == "ANY" or ord(one) != value][:5]
    others = [one for one in _OTHERS if _in_class(value, one)]
    own = [one for item in value for one in _of_item(*item) if _in_class(value, one)]
    return list(dict.fromkeys([*others[:4], *own[:3]]))


def _of_item(operation: Any, value: Any) -> str:
    name = str(operation)
    if name == "LITERAL":
        return chr(value)
    if name == "RANGE":
        return chr(value[0])
    return _IN_CATEGORY.get(str(value).removeprefix("CATEGORY_"), "") if name == "CATEGORY" else ""


def _in_class(items: Sequence[Node], one: str) -> bool:
    is_negated = any(str(operation) == "NEGATE" for operation, _ in items)
    return any(_in_item(str(operation), value, one) for operation, value in items) != is_negated


def _in_item(name: str, value: Any, one: str) -> bool:
    if name == "LITERAL":
        return ord(one) == value
    if name == "RANGE":
        return value[0] <= ord(one) <= value[1]
    if name != "CATEGORY":
        return False
    *negation, kind = str(value).removeprefix("CATEGORY_").split("_")
    is_one = {"SPACE": one.isspace(), "WORD": one.isalnum() or one == "_", "DIGIT": one.isdigit()}[kind]
    return is_one != bool(negation)


def _matches(body: Sequence[Node], one: str) -> bool:
    if len(body) != 1 or str(body[0][0]) not in _SINGLE:
        return False
    name, value = str(body[0][0]), body[0][1]
    if name == "IN":
        return _in_class(value, one)
    return name == "ANY" or (ord(one) == value) == (name == "LITERAL")


def _beyond_ascii(nodes: Sequence[Node]) -> Iterator[str]:
    """Some of the characters outside ASCII that a pattern names."""
    for operation, value in nodes:
        name = str(operation)
        if name == "IN":
            yield from (one for one in _characters(name, value) if ord(one) > 127)
        for inner in _inner(name, value):
            yield from _beyond_ascii(inner)
