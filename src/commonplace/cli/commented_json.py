"""
One entry more in somebody's JSON, and every other byte of it as it was: comments, order, spaces, commas at the end.

Comments and such commas are blanked out by as many spaces, so that a place in the plain text is the same place in theirs.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.errors import InvalidFile

_WHITE = " \t\r\n"


def plain(text: str) -> str:
    """The text with a space for each character of a comment, and of a comma before a closing bracket."""
    letters = list(text)
    place = comma = -1
    while (place := place + 1) < len(text):
        letter = text[place]
        if letter == '"':
            place, comma = _end_of_text(text, place), -1
        elif letter == "/" and text[place + 1 : place + 2] in ("/", "*"):
            end = _end_of_comment(text, place)
            letters[place:end] = [" " if character not in "\r\n" else character for character in text[place:end]]
            place = end - 1
        elif letter == ",":
            comma = place
        elif letter in "]}" and comma >= 0:
            letters[comma], comma = " ", -1
        elif letter not in _WHITE:
            comma = -1
    return "".join(letters)


def with_entry(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """
    The text with `entry` as `name` in the object `section`, which is made if it is missing.

    Raises:
        InvalidFile: it is no JSON that this can be done with.
    """
    if not text.strip():
        return json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    try:
        source = plain(text)
        before: Any = json.loads(source, object_pairs_hook=_without_doubles)
        servers: Any = before.get(section, {})
        if servers.get(name) == entry:
            return text
        changed = _spliced(text, source, section, name, entry)
        # What came out says what it should and nothing else, or it is not written.
        after = json.loads(plain(changed))
        if after != {**before, section: {**servers, name: entry}}:
            raise ValueError("it came out otherwise")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidFile("This file cannot be changed safely by a program.") from error
    return changed


def _spliced(text: str, source: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    indent = _indent(text)
    root = source.index("{")
    places = {key: (start, end) for key, start, end in _members(source, root)}
    if section not in places:
        value = _written({name: entry}, indent, 1)
        return _inserted(text, root, f'{indent}"{section}": {value}', more=bool(places))
    start, _ = places[section]
    inside = {key: (begin, end) for key, begin, end in _members(source, start)}
    value = _written(entry, indent, 2)
    if name in inside:
        begin, end = inside[name]
        return f"{text[:begin]}{value}{text[end:]}"
    return _inserted(text, start, f'{indent * 2}"{name}": {value}', more=bool(inside), close=indent)


def _inserted(text: str, brace: int, member: str, *, more: bool, close: str = "") -> str:
    """Right behind the bracket that opens the object."""
    rest = text[brace + 1 :]
    if more:
        return f"{text[: brace + 1]}\n{member},{rest}"
    # An empty object on one line gets a line for its end.
    if rest.lstrip(" \t").startswith("}"):
        rest = f"\n{close}{rest.lstrip()}"
    return f"{text[: brace + 1]}\n{member}{rest}"


def _written(value: object, indent: str, depth: int) -> str:
    lines = json.dumps(value, indent=indent, ensure_ascii=False).split("\n")
    return f"\n{indent * depth}".join(lines)


def _members(source: str, brace: int) -> Iterator[tuple[str, int, int]]:
    """The names in the object that begins at `brace`, each with where its value begins and ends."""
    decoder = json.JSONDecoder()
    place = _next(source, brace + 1)
    while source[place] != "}":
        name, place = decoder.raw_decode(source, place)
        start = _next(source, _next(source, place) + 1)
        _, end = decoder.raw_decode(source, start)
        yield name, start, end
        place = _next(source, end)
        if source[place] == ",":
            place = _next(source, place + 1)


def _next(source: str, place: int) -> int:
    while source[place] in _WHITE:
        place += 1
    return place


def _end_of_text(text: str, place: int) -> int:
    """Where the quotes that open at `place` close."""
    place += 1
    while place < len(text) and text[place] != '"':
        place += 2 if text[place] == "\\" else 1
    return place


def _end_of_comment(text: str, place: int) -> int:
    mark = "\n" if text[place + 1] == "/" else "*/"
    end = text.find(mark, place + 2)
    if end < 0:
        return len(text)
    return end if mark == "\n" else end + 2


def _indent(text: str) -> str:
    """How the first line that is indented begins."""
    for line in text.splitlines():
        body = line.lstrip(" \t")
        if body.startswith('"') and body != line:
            return line[: len(line) - len(body)]
    return "  "


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name that is there twice means what each program makes of it."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)
