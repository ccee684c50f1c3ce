"""Text made fit for a terminal: nothing in a memory may move the cursor, and ids are as short as they can be."""

import re
import shutil
from collections.abc import Mapping, Sequence

from commonplace.values.query import Hit
from commonplace.values.record import Record

# The first twelve digits of a UUIDv7 are its millisecond: records of one moment differ only in what comes after.
SHORT_ID = 18
_FULL_ID = 36
_LIKELY = ((0.85, "very likely"), (0.6, "likely"), (0.3, "possible"))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What joins or parts letters without being seen, and what only chooses a shape; the one that makes a sign an emoji may stay.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufe00-\ufe0e\U000e0000-\U000e0fff]|(?<![\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
)
_PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):[^@\s]*@")
_PASSWORD_WORD = re.compile(r"(password=)[^\s&]+", re.IGNORECASE)


def clean(text: str) -> str:
    """The text without what a terminal would obey: control characters, escapes, changes of direction."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def visible(text: str) -> str:
    """As `clean`, and without what nobody sees: nothing a model or a tool says reaches a terminal unseen."""
    return clean(_UNSEEN.sub("", text))


def oneline(text: str) -> str:
    return clean(" ".join(text.split()))


def clipped(text: str, length: int) -> str:
    line = oneline(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def title(record: Record) -> str | None:
    """What a record is called: one that follows a file by the file's own name, anything else by its key."""
    file = record.provenance.file if record.source in ("file", "managed") else None
    return file.rpartition("/")[2] if file else record.key


def likelihood(relevance: float) -> tuple[str, str]:
    """The chance in words, and in per cent. Nothing is certain, and nothing out of the question."""
    words = next((words for least, words in _LIKELY if relevance >= least), "unlikely")
    return words, f"{min(99, max(1, round(relevance * 100)))} %"


def beside(hit: Hit, ids: Mapping[str, str]) -> list[str]:
    """What a hit says of other records, a line each: which contradict it, and which say the same."""
    others = (("another memory says otherwise", hit.contradicted_by), ("the same", hit.evidence))
    return [f"{words}: {', '.join(ids.get(id, id) for id in of)}" for words, of in others if of]


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Each id by the shortest prefix, of at least 18 characters, that tells it from the others here."""
    known = sorted(set(ids))
    shortened: dict[str, str] = {}
    for place, id in enumerate(known):
        around = [known[other] for other in (place - 1, place + 1) if 0 <= other < len(known)]
        shared = max((_shared(id, other) for other in around), default=0)
        shortened[id] = id[: min(max(SHORT_ID, shared + 1), _FULL_ID)]
    return shortened


def _shared(one: str, other: str) -> int:
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def width() -> int:
    return shutil.get_terminal_size().columns


def address(store: str) -> str:
    """A store's address without its password."""
    return _PASSWORD_WORD.sub(r"\1***", _PASSWORD.sub(r"\1:***@", store))


def size(count: int) -> str:
    """Bytes as people say them."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
