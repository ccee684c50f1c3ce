"""What may be kept. Each check returns its input, or raises an error that says what to change."""

from __future__ import annotations

import math
from collections.abc import Mapping

from commonplace.errors import InvalidImportance, InvalidInput, InvalidKey, InvalidText, TextTooLarge
from commonplace.values.record import MAX_KEY, MAX_TEXT_BYTES, Json

MAX_TAGS = 64
MAX_LABEL = 255
MAX_POSITION = 2**31 - 1
MAX_METADATA_BYTES = 64 * 1024


def check_text(text: str) -> str:
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - as below
        raise InvalidText("The text is empty. Give something to remember.")
    if "\0" in text:
        raise InvalidText("The text holds a NUL character. Remove it and try again.")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidText("The text holds a lone surrogate, which is no character. Decode it properly first.") from None
    if size > MAX_TEXT_BYTES:
        raise TextTooLarge(
            f"The text has {size:,} bytes; at most {MAX_TEXT_BYTES:,} are kept. Split it, or import it as files."
        )
    return text


def check_key(key: str | None) -> str | None:
    if key is not None and not (1 <= len(key) <= MAX_KEY and key.isprintable()):
        raise InvalidKey
    return key


def check_importance(importance: int) -> int:
    # Callers without a type checker send what JSON gave them.
    if isinstance(importance, bool) or not isinstance(importance, int) or not 0 <= importance <= 100:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidImportance
    return importance


def check_position(position: int | None) -> int | None:
    if position is not None and (isinstance(position, bool) or not 0 <= position <= MAX_POSITION):
        raise InvalidInput(f"A position is a whole number from 0 to {MAX_POSITION:,}.")
    return position


def check_label(what: str, label: str) -> str:
    """A kind, a source, a tag, a session, a speaker: short printable text."""
    if not (1 <= len(label) <= MAX_LABEL and label.isprintable()):
        raise InvalidInput(f"A {what} has 1 to {MAX_LABEL} printable characters.")
    return label


def check_choice(what: str, choice: str, known: tuple[str, ...]) -> None:
    if choice not in known:
        raise InvalidInput(f"{choice!r:.40} is no {what}. Use one of {', '.join(known)}.")


def check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"A record has at most {MAX_TAGS} tags.")
    return tuple(dict.fromkeys(check_label("tag", tag) for tag in tags))


def check_metadata(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Plain JSON with text keys, at most 64 KiB."""
    if not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        raise InvalidInput("Metadata is an object with text keys.")
    budget = [MAX_METADATA_BYTES]
    _spend(metadata, budget, depth=0)
    return dict(metadata)


def _spend(value: object, budget: list[int], depth: int) -> None:
    if depth > 32:
        raise InvalidInput("Metadata is nested more than 32 deep.")
    budget[0] -= 2
    if isinstance(value, str):
        _spend_text(value, budget)
    elif isinstance(value, Mapping):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(key, str):
                raise InvalidInput("Metadata has text keys only.")
            _spend_text(key, budget)
            _spend(item, budget, depth + 1)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            _spend(item, budget, depth + 1)  # pyright: ignore[reportUnknownArgumentType]
    elif not isinstance(value, bool | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidInput(f"Metadata is plain JSON; {value!r:.40} is not.")
    if budget[0] < 0:
        raise InvalidInput("Metadata is larger than 64 KiB. Store the bulk as the record's text, or as a file.")


def _spend_text(text: str, budget: list[int]) -> None:
    try:
        budget[0] -= len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidInput("Metadata holds a lone surrogate, which is no character.") from None
    if "\0" in text:
        raise InvalidInput("Metadata holds a NUL character.")
