"""What a caller hands over, read: a text from stdin or an editor, metadata from `name=value`."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, get_args

from commonplace.errors import InvalidInput, InvalidText
from commonplace.values.record import Json, State, Trust

T = TypeVar("T", bound=str)
TRUSTS: tuple[Trust, ...] = get_args(Trust)
STATES: tuple[State, ...] = get_args(State)


def text(written: str) -> str:
    """The text itself, or all of stdin where it is `-`."""
    if written != "-":
        return written
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError:
        raise InvalidText("What came on stdin is not UTF-8 text.") from None


def metadata(pairs: Sequence[str] | None) -> dict[str, Json] | None:
    """`owner=ana` and `retries=3` as metadata: a value that reads as JSON is JSON, any other is a string."""
    return None if pairs is None else dict(map(_pair, pairs))


def _pair(written: str) -> tuple[str, Json]:
    name, equals, value = written.partition("=")
    if not (name and equals):
        raise InvalidInput(f"{written!r} is not metadata. Write it as name=value.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def trusts(words: Sequence[str] | None) -> tuple[Trust, ...]:
    return tuple(_known(word, TRUSTS, "trust label") for word in words or ())


def states(words: Sequence[str] | None) -> tuple[State, ...]:
    return tuple(_known(word, STATES, "state") for word in words or ("live",))


def _known(word: str, known: Sequence[T], what: str) -> T:
    for one in known:
        if one == word:
            return one
    raise InvalidInput(f"{word!r} is not a {what}. Use one of {', '.join(known)}.")


def edited(before: str) -> str:
    """What `$VISUAL` or `$EDITOR` makes of a text."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    with tempfile.TemporaryDirectory(prefix="commonplace-") as folder:
        path = Path(folder) / "memory.md"
        path.write_text(before, encoding="utf-8", newline="")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
        except FileNotFoundError:
            raise InvalidInput(
                f"There is no editor {editor!r}. Set EDITOR, or give the new text with --text."
            ) from None
        except subprocess.CalledProcessError as error:
            raise InvalidInput(f"The editor ended with {error.returncode}; nothing was changed.") from None
        after = path.read_text(encoding="utf-8")
    # Most editors end a file with a line break that nobody typed.
    return after if before.endswith("\n") else after.removesuffix("\n")
