"""
What of a message may be kept, and the title of a session.

A tool may print anything, a model may break off in the middle of a character: what no store can hold is replaced, since losing a
message is worse than losing a byte of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast, get_args

from commonplace.errors import InvalidInput, TextTooLarge
from commonplace.memory.validate import MAX_LABEL
from commonplace.values.json import Json
from commonplace.values.line import is_text
from commonplace.values.session import MessageDraft, MessageKind, MessageRole

MAX_MESSAGE: Final = 16 * 1024 * 1024
"""Characters of a text, or of its data as JSON."""
MAX_TITLE: Final = 200
TITLE: Final = 60
"""Characters of a title that a message gives."""


def check_draft(draft: MessageDraft) -> MessageDraft:
    """
    The draft as it can be kept.

    Raises:
        InvalidInput: its id, role or kind is none, or its data is not JSON.
        TextTooLarge
    """
    if not 1 <= len(draft.id) <= MAX_LABEL or not draft.id.isprintable():
        raise InvalidInput(f"The id of a message has 1 to {MAX_LABEL} printable characters.")
    if draft.role not in get_args(MessageRole) or draft.kind not in get_args(MessageKind):
        raise InvalidInput(f"{draft.role!r:.40} and {draft.kind!r:.40} are no role and kind of a message.")
    if len(draft.text) > MAX_MESSAGE:
        raise TextTooLarge(
            f"The message has {len(draft.text):,} characters; at most {MAX_MESSAGE:,} are kept. Put it into a file."
        )
    return replace(draft, text=storable(draft.text), data=_check_data(draft.data))


def storable(text: str) -> str:
    """Without NUL and lone surrogates: a mark stands in their place."""
    if not is_text(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _check_data(data: Mapping[str, Json]) -> dict[str, Json]:
    try:
        text = json.dumps(dict(data), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("The data of a message is not JSON.") from error
    if len(text) > MAX_MESSAGE:
        raise TextTooLarge(f"The data of the message has {len(text):,} characters; at most {MAX_MESSAGE:,} are kept.")
    return cast("dict[str, Json]", _storable_json(json.loads(text)))


def _storable_json(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case list():
            return [_storable_json(item) for item in cast("list[Any]", value)]
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {storable(name): _storable_json(item) for name, item in items}
        case _:
            return value


def check_title(title: str) -> str:
    """One line. Raises InvalidInput."""
    line = " ".join(title.split())
    if not 1 <= len(line) <= MAX_TITLE or not line.isprintable():
        raise InvalidInput(f"A title has 1 to {MAX_TITLE} printable characters, on one line.")
    return line


def title_of(text: str) -> str | None:
    """The title that a first message gives: the beginning of its first line that says something. None: it says nothing."""
    for line in text[:10_000].splitlines():
        words = "".join(character for character in " ".join(line.split()) if character.isprintable()).strip("#>*-`~ ")
        if not words:
            continue
        if len(words) <= TITLE:
            return words
        cut = words[:TITLE]
        return (cut.rpartition(" ")[0] if " " in cut[TITLE // 2 :] else cut).rstrip(" ,;:.") + "…"
    return None
