"""
One memory, one Markdown file: a few lines of frontmatter, a summary, and if they help a `Why:` and a `How to apply:`.

    ---
    name: Deploys happen on Tuesdays
    description: Production deploys run on Tuesday mornings
    type: project
    ---
    Production deploys run on Tuesday mornings.

    Why: the on-call team is complete then.

What a model handed over to be remembered has one more field, `trust: model_generated`. The field only ever lowers the trust of
an entry: a label that would raise it counts for nothing.

People edit these files, so reading is forgiving: unknown fields are kept as they are, a file without frontmatter takes its name
from its heading or its path, and one that cannot be read is reported and left alone. Writing is strict: one line a field,
quoted if YAML would read it otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, get_args

from commonplace.errors import CommonplaceError
from commonplace.markdown.confine import FileInfo, FileSnapshot, Folder, Stamp
from commonplace.values.record import TRUSTED, Trust

EntryType = Literal["user", "feedback", "project", "reference"]
TYPES: Final[tuple[EntryType, ...]] = get_args(EntryType)
MAX_NAME: Final = 120
MAX_DESCRIPTION: Final = 300
_FENCE: Final = re.compile(r"---[ \t]*")
_END: Final = re.compile(r"(?:---|\.\.\.)[ \t]*")
_FIELD: Final = re.compile(r"([A-Za-z][\w-]*+)[ \t]*+:(?:[ \t]++(.*)|[ \t]*+)")
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(.+)")
_SECTION: Final = re.compile(r"(why|how to apply)[ \t]*+[:：][ \t]*+(.*)", re.IGNORECASE)
_NEEDS_QUOTES: Final = re.compile(r"[\s\-?:,\[\]{}#&*!|>'\"%@`~]|.*(?::\s|\s#|:$)")
_BLOCKS: Final = frozenset({">", "|", ">-", "|-", ">+", "|+"})
_SMALL: Final = 16 * 1024
_OWN: Final = frozenset({"name", "description", "type"})
_TYPE: Final = re.compile(r"type[ \t]*+:", re.IGNORECASE)
_TRUST: Final = re.compile(r"trust[ \t]*+:(.*)", re.IGNORECASE)
_LABELS: Final = {label: label for label in get_args(Trust) if label not in TRUSTED}


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryEntry:
    """`extra` holds lines of frontmatter that are not ours, unchanged."""

    name: str
    description: str
    type: EntryType
    body: str
    extra: tuple[str, ...] = ()

    @property
    def trust(self) -> Trust | None:
        """The label in its frontmatter, if it is one that nobody trusts. A label that is none counts as from outside."""
        labels = [_unquoted(match[1].strip()) for line in self.extra if (match := _TRUST.fullmatch(line.rstrip()))]
        unknown: Trust = "external_user_supplied"
        untrusted: list[Trust] = [_LABELS.get(label, unknown) for label in labels if label not in TRUSTED]
        return untrusted[0] if untrusted else None

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The lines of `extra` that are a person's own."""
        return tuple(line for line in self.extra if not _TRUST.fullmatch(line.rstrip()))

    @property
    def summary(self) -> str:
        """The body up to its first `Why:` or `How to apply:`."""
        lines: list[str] = []
        for line in self.body.split("\n"):
            if _SECTION.fullmatch(line.strip()):
                break
            lines.append(line)
        return "\n".join(lines).strip()

    @property
    def why(self) -> str | None:
        return self._section("why")

    @property
    def how_to_apply(self) -> str | None:
        return self._section("how to apply")

    def _section(self, label: str) -> str | None:
        matches = (_SECTION.fullmatch(line.strip()) for line in self.body.split("\n"))
        return next((match[2].strip() for match in matches if match and match[1].lower() == label), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryFile:
    """An entry and the file it was read from."""

    entry: MemoryEntry
    path: str
    snapshot: FileSnapshot

    @property
    def stamp(self) -> Stamp:
        return self.snapshot.stamp

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))


@dataclass(frozen=True, slots=True)
class EntryProblem:
    """A file that cannot be an entry, and why. It is left as it is."""

    path: str
    reason: str


def load(folder: Folder, info: FileInfo, default: EntryType) -> EntryFile | EntryProblem | None:
    """The entry in a file; a problem if it has none; None if the file has just gone. Never raises for a bad file."""
    return _load_small(folder, info, default) if info.size <= _SMALL else _load(folder, info, default)


# `info` says when the file last changed: one that did not change is not read again.
@lru_cache(maxsize=4096)
def _load_small(folder: Folder, info: FileInfo, default: EntryType) -> EntryFile | EntryProblem | None:
    return _load(folder, info, default)


def _load(folder: Folder, info: FileInfo, default: EntryType) -> EntryFile | EntryProblem | None:
    if (reason := _unreadable_name(info.path)) is not None:
        return EntryProblem(info.path.encode("utf-8", "replace").decode(), reason)
    try:
        snapshot = folder.read(info.parts)
    except CommonplaceError as error:
        return None if error.code == "path_not_found" else EntryProblem(info.path, error.message)
    return entry_file(snapshot, info.path, default)


def entry_file(snapshot: FileSnapshot, path: str, default: EntryType) -> EntryFile | EntryProblem:
    try:
        text = snapshot.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return EntryProblem(path, "It is not UTF-8 text.")
    if "\0" in text:
        return EntryProblem(path, "It holds a NUL character.")
    entry = parse(text, path, default)
    return entry if isinstance(entry, EntryProblem) else EntryFile(entry=entry, path=path, snapshot=snapshot)


@dataclass(frozen=True, slots=True)
class SplitText:
    """The fields `name`, `description` and `type` of the frontmatter, its other lines, and what stands below it."""

    fields: Mapping[str, str]
    extra: tuple[str, ...]
    body: str


def split(text: str, path: str) -> SplitText | EntryProblem:
    """A problem if the frontmatter has no end. A text without any has no fields."""
    lines = _lines(text)
    fields: dict[str, str] = {}
    extra: tuple[str, ...] = ()
    if _FENCE.fullmatch(lines[0]):
        end = next((n for n, line in enumerate(lines[1:], start=1) if _END.fullmatch(line)), None)
        if end is None:
            return EntryProblem(path, "Its frontmatter has no end: a line of three dashes is missing.")
        fields, extra = _fields(lines[1:end])
        lines = lines[end + 1 :]
    return SplitText(fields, extra, "\n".join(lines).strip("\n").rstrip())


def parse(text: str, path: str, default: EntryType = "project") -> MemoryEntry | EntryProblem:
    parted = split(text, path)
    if isinstance(parted, EntryProblem):
        return parted
    fields, body = parted.fields, parted.body
    if not body.strip() and not fields.get("description") and not fields.get("name"):
        return EntryProblem(path, "It is empty.")
    return MemoryEntry(
        name=_line(fields.get("name") or _title(body, path), MAX_NAME),
        description=_line(fields.get("description", ""), MAX_DESCRIPTION) or _line(_first(body), MAX_DESCRIPTION),
        type=_type(fields.get("type", ""), path, default),
        body=body,
        extra=parted.extra,
    )


def write(entry: MemoryEntry) -> str:
    """The text of an entry's file. Parsing it gives the entry again."""
    fields = (("name", entry.name), ("description", entry.description), ("type", entry.type))
    head = [f"{name}: {_quoted(value)}" for name, value in fields]
    return "\n".join(["---", *head, *entry.extra, "---", entry.body.strip("\n").rstrip(), ""])


def new_entry(name: str, description: str, kind: EntryType, body: str) -> MemoryEntry:
    """A new entry, each field cut to one line of its size."""
    cleaned = "".join(c for c in body.replace("\r\n", "\n").replace("\r", "\n") if c in "\n\t" or c >= " ")
    name, description = _line(name, MAX_NAME), _line(description, MAX_DESCRIPTION)
    return MemoryEntry(name=name, description=description, type=kind, body=cleaned.strip("\n").rstrip())


def with_trust(entry: MemoryEntry, trust: Trust | None) -> MemoryEntry:
    """The entry with this label in its frontmatter, or without any."""
    return replace(entry, extra=(*entry.own_fields, *([f"trust: {trust}"] if trust else ())))


def label_in(text: str) -> Trust | None:
    """The untrusted label in the frontmatter of a file's text."""
    head = _head(text)
    return MemoryEntry(name="", description="", type="project", body="", extra=tuple(head)).trust if head else None


def labelled(text: str, trust: Trust) -> str:
    """The text of a file with this untrusted label in its frontmatter, which it gets if it has none."""
    head, lines = _head(text), _lines(text)
    if head is None:
        return "\n".join(["---", f"trust: {trust}", "---", *lines])
    fields = [line for line in head if not _TRUST.fullmatch(line.rstrip())]
    return "\n".join(["---", *fields, f"trust: {trust}", *lines[len(head) + 1 :]])


def type_at(folder: str, among: Sequence[EntryType] = TYPES) -> EntryType | None:
    """The type whose entries lie in a folder of that name."""
    return next((kind for kind in among if kind == folder), None)


def typed(text: str, kind: EntryType) -> str:
    """The text of a file with this type in its frontmatter, if it has one."""
    head, lines = _head(text), _lines(text)
    if head is None:
        return text
    fields = [f"type: {kind}" if _TYPE.match(line) else line for line in head]
    more = [] if any(_TYPE.match(line) for line in head) else [f"type: {kind}"]
    return "\n".join(["---", *fields, *more, *lines[len(head) + 1 :]])


def _head(text: str) -> list[str] | None:
    """The lines of the frontmatter; None if there is none, or it has no end."""
    lines = _lines(text)
    if not _FENCE.fullmatch(lines[0]):
        return None
    end = next((n for n, line in enumerate(lines[1:], start=1) if _END.fullmatch(line)), None)
    return None if end is None else lines[1:end]


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def with_body(entry: MemoryEntry, body: str) -> MemoryEntry:
    return replace(entry, body=body.strip("\n").rstrip())


def _fields(lines: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Our fields, and the lines of all others. A line that is indented belongs to the field above it."""
    fields: dict[str, list[str]] = {}
    extra: list[str] = []
    name = ""
    for line in lines:
        match = _FIELD.fullmatch(line.rstrip())
        if match is not None:
            name = match[1].lower()
            if name in _OWN:
                value = (match[2] or "").strip()
                fields[name] = ["" if value in _BLOCKS else _unquoted(value)]
                continue
        elif name in _OWN and line[:1] in (" ", "\t"):
            fields[name].append(line.strip())
            continue
        if line.strip():
            extra.append(line)
    return {name: _folded(parts) for name, parts in fields.items()}, tuple(extra)


def _folded(lines: list[str]) -> str:
    return " ".join(filter(None, lines)).strip() if len(lines) > 1 else lines[0]


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if not value or _NEEDS_QUOTES.match(value) else value


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        try:
            text: object = json.loads(value)
        except ValueError:
            return value[1:-1]
        return text if isinstance(text, str) else value
    return value


def _line(text: str, most: int) -> str:
    """`text` on one line, without what cannot be seen, cut at a word where it is too long."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    line = " ".join(line.split())
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    at_word = cut.rpartition(" ")[0]
    return f"{at_word if len(at_word) > most // 2 else cut}…"


def _title(body: str, path: str) -> str:
    heading = _HEADING.match(body.lstrip("\n"))
    name = path.rpartition("/")[2]
    return heading[1].strip() if heading else name[: -len(".md")].replace("-", " ").replace("_", " ").strip() or name


def _first(body: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in body.split("\n") if line.strip() and not _HEADING.match(line)), "")


def _type(type_name: str, path: str, default: EntryType) -> EntryType:
    for name in (type_name.strip().lower(), path.partition("/")[0].lower()):
        if name in TYPES:
            return name
    return default


def _unreadable_name(path: str) -> str | None:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "Its name is not UTF-8."
    return None if path.isprintable() else "Its name holds characters that cannot be seen."
