"""
What a chat room remembers: one file, a line a memory, with who said it behind a dash. Beside it `meta.json` says whose it is, since the names
of folders do not.

A line that says what another one says is kept once, whoever repeats it. What stands behind the last dash is ours: nobody's text and nobody's name has such a
dash in it, so that nobody speaks for somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from commonplace.errors import (
    ContentTooLarge,
    FileChanged,
    FileError,
    InvalidContent,
    MemoryFileTooLarge,
    MemoryWriteTimeout,
    PathNotFound,
)
from commonplace.markdown.changes import ChangeOf, FileStep, Past, drop, history_of, keep_change, noted
from commonplace.markdown.confine import FileSnapshot
from commonplace.markdown.cues import normal
from commonplace.markdown.gate import epoch_of
from commonplace.markdown.roots import INDEX, Root
from commonplace.text.fence import without_unseen
from commonplace.values.channel import RoomMemoryFull
from commonplace.values.json import Json
from commonplace.values.moment import new_id, to_iso

MOST_EXISTING: Final = 16 * 1024 * 1024
MOST_WRITE: Final = 1024 * 1024
META: Final = "meta.json"
BY: Final = " — "
HEARD: Final = ", overheard"
"""Behind the name of who said it, in a line that nobody asked for."""
_DASH: Final = " – "
_MOST_NAME: Final = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomChange:
    """
    What can be undone: the line `before` was forgotten, or `after` came in its place. `record`: it was no line, but this record, which a tool or the agent
    had kept.
    """

    id: str
    before: str | None = None
    after: str | None = None
    record: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomFile:
    """The file of one room. Every method blocks, and may raise FileError, PathEscape, MemoryWriteTimeout, ManagedMemoryUnavailable."""

    root: Root
    channel: str
    chat: str
    title: str = ""

    def lines(self) -> tuple[str, ...]:
        """Without their bullets."""
        self._require_own()
        try:
            text = self.root.folder.read((INDEX,), MOST_EXISTING).data.decode("utf-8", "replace")
        except PathNotFound:
            return ()
        return tuple(bare_line(line) for line in text.splitlines() if _says(line))

    def append(self, text: str, by: str, now: datetime) -> bool:
        """
        A line more, or one for each bullet of a list. False: all of it is there already.

        Raises:
            RoomMemoryFull: the file has as much as it may.
            ContentTooLarge, InvalidContent.
        """
        claims = _claims(check_room_text(text))
        if not claims:
            raise InvalidContent("Give something to remember.")
        return self.learn([(claim, by) for claim in claims], (), now)

    def learn(self, claims: Sequence[tuple[str, str]], over: Collection[str], now: datetime) -> bool:
        """Lines more, each with who said it, and without those of `over`, as `lines` has them. False: nothing of it is new. Raises as `append`."""

        def compose(before: str) -> str | None:
            rest = [line for line in before.splitlines(keepends=True) if bare_line(line) not in over]
            present_claims = {normal(claim_of(line)) for line in rest if _says(line)} - {""}
            after = "".join(rest)
            for text, by in claims:
                claim = clean_claim(text)
                plain_claim = normal(claim)
                if claim and plain_claim not in present_claims:
                    present_claims.add(plain_claim)
                    joint = "" if not after or after.endswith("\n") else "\n"
                    after += f"{joint}- {_signed(claim, by)}\n"
            return after

        return self._change(compose, now)

    def correct(self, line: str, text: str, by: str, now: datetime, *, undoable: bool = True) -> bool:
        """Another text in the place of a line, as `lines` has it. False: there is no such line, or it says so already. Raises as `append`."""
        epoch = epoch_of(self.root)
        claim = clean_claim(check_room_text(text))
        if not claim:
            raise InvalidContent("Give something to remember.")
        full = f"- {_signed(claim, by)}\n"

        def compose(before: str) -> str | None:
            return "".join(full if bare_line(other) == line else other for other in before.splitlines(keepends=True))

        is_changed = self._change(compose, now)
        if is_changed and undoable:
            self._keep(now, epoch, before=line, after=bare_line(full))
        return is_changed

    def remove(self, line: str, now: datetime, *, undoable: bool = True) -> bool:
        """Without this line. False: there is none."""
        epoch = epoch_of(self.root)

        def compose(before: str) -> str | None:
            others = [other for other in before.splitlines(keepends=True) if bare_line(other) != line]
            return "".join(others)

        is_changed = self._change(compose, now)
        if is_changed and undoable:
            self._keep(now, epoch, before=line)
        return is_changed

    def changes(self) -> list[RoomChange]:
        """What can be undone, the last first. What was erased since cannot."""
        self._require_own()
        return [change for past, steps in noted(self.root) if (change := _room_change(past, steps)) is not None]

    def note_record(self, record: str, line: str | None, now: datetime) -> None:
        """That a record was forgotten, or that `line` says now what it is to say."""
        self._keep(now, epoch_of(self.root), after=line, record=record)

    def drop_change(self, id: str) -> None:
        """It is undone."""
        with suppress(PathNotFound, FileChanged):
            drop(history_of(self.root), f"{id}.json")

    def _keep(
        self,
        now: datetime,
        epoch: str,
        *,
        before: str | None = None,
        after: str | None = None,
        record: str | None = None,
    ) -> None:
        what: ChangeOf = "forget" if after is None else "edit"
        about: dict[str, Json] = {"room": True} if record is None else {"room": True, "record": record}
        change = Past(id=f"{what}-{new_id(now)}", what=what, at=to_iso(now), paths=(INDEX,), about=about)
        # Of a record that was forgotten nothing is kept here: it is in the store.
        steps = [] if before is None and after is None else [FileStep(INDEX, before, after, before)]
        # Somebody is erasing: it is done all the same, and cannot be undone.
        with suppress(MemoryWriteTimeout):
            keep_change(self.root, change, steps, epoch=epoch)

    def replace(self, text: str, by: str, now: datetime) -> bool:
        """All of it, made shorter for instance. Lines that were not there are those of `by`, whatever they say of themselves. False: it is as before."""
        new = without_unseen(check_room_text(text))

        def compose(before: str) -> str:
            present_lines = [bare_line(line) for line in before.splitlines() if _says(line)]
            by_claim = {normal(claim_of(line)): line for line in present_lines} | dict(
                zip(present_lines, present_lines, strict=True)
            )
            lines = [_signed_line(line, by, by_claim) for line in new.splitlines()]
            return "".join(f"{line}\n" for line in lines)

        return self._change(compose, now, whole=True)

    def _require_own(self) -> None:
        """Raises FileError: the folder is another room's, whose chat has the same hash."""
        try:
            meta = _object(self.root.folder.read((META,), MOST_WRITE).data)
        except PathNotFound:
            return
        if (meta.get("channel", self.channel), meta.get("chat", self.chat)) != (self.channel, self.chat):
            raise FileError("The folder of this room's memory holds that of another room.")

    def _change(self, compose: Callable[[str], str | None], now: datetime, *, whole: bool = False) -> bool:
        self._require_own()
        changed = False

        def work(snapshot: FileSnapshot | None) -> bytes | None:
            nonlocal changed
            # Bytes that are no text stay what they are.
            before = snapshot.data.decode("utf-8", "surrogateescape") if snapshot else ""
            after = compose(before)
            if after is None or after == before:
                return None
            data = after.encode("utf-8", "surrogateescape")
            if len(data) > MOST_EXISTING and len(data) >= len(before):
                raise RoomMemoryFull
            changed = True
            return data

        try:
            # Whoever replaces all of it does not need to read it.
            self.root.folder.change((INDEX,), work, MOST_EXISTING << 4 if whole else MOST_EXISTING)
        except MemoryFileTooLarge:
            raise RoomMemoryFull from None
        if changed:
            self._note(now)
        return changed

    def _note(self, now: datetime) -> None:
        def work(snapshot: FileSnapshot | None) -> bytes:
            meta: dict[str, Any] = {"channel": self.channel, "chat": self.chat, "created_at": to_iso(now)}
            if snapshot is not None:
                meta |= _object(snapshot.data)
            meta |= {"title": self.title, "last_write_at": to_iso(now)}
            return (json.dumps(meta, ensure_ascii=False, indent=2) + "\n").encode()

        self.root.folder.change((META,), work, durable=False)


def _room_change(past: Past, steps: Sequence[FileStep]) -> RoomChange | None:
    """None: nothing is left of it, or somebody else recorded it."""
    record = past.about.get("record")
    record = record if isinstance(record, str) else None
    if not past.about.get("room") or (record is None and not steps) or (past.what == "edit" and not steps):
        return None
    step = steps[0] if steps else None
    return RoomChange(id=past.id, before=step and step.before, after=step and step.after, record=record)


def bare_line(line: str) -> str:
    """Without its bullet."""
    return line.strip().lstrip("-*•").strip()


def claim_of(line: str) -> str:
    """What a line says, without its bullet and without who said it."""
    text = bare_line(line)
    return text.rpartition(BY)[0] or text


def clean_claim(text: str) -> str:
    """One line of what is to be seen, without the dash that only we set."""
    return " ".join(without_unseen(text).split()).replace(BY, _DASH)


def author_name(name: str) -> str:
    """Who asked for a line, as they may be named behind it: nobody is called as what was overheard is labelled."""
    name = _without_dash(name)[:_MOST_NAME].strip()
    while name.endswith(HEARD):
        name = name.removesuffix(HEARD).rstrip()
    return name


def _without_dash(name: str) -> str:
    return " ".join(without_unseen(name).split()).replace("—", "-")


def _signed(claim: str, by: str) -> str:
    by = _without_dash(by)
    return f"{claim}{BY}{by}" if by else claim


def _signed_line(line: str, by: str, present_lines: Mapping[str, str]) -> str:
    """A line of a new file, by whom it is: whoever it was if it was there before. `present_lines` by themselves and by what they say."""
    bare = bare_line(line)
    if not _says(line) or not by or bare in present_lines:
        return line
    before = present_lines.get(plain_claim) if (plain_claim := normal(bare)) else None
    return f"- {before or _signed(clean_claim(bare), by)}"


def _claims(text: str) -> list[str]:
    """Each bullet of a list, else all of it as one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and all(line.startswith(("- ", "* ", "• ")) for line in lines):
        return [claim for line in lines if (claim := clean_claim(bare_line(line)))]
    claim = clean_claim(text)
    return [claim] if claim else []


def check_room_text(text: str) -> str:
    """Raises InvalidContent, ContentTooLarge."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidContent("The content holds a lone surrogate, which is no character.") from None
    if "\0" in text:
        raise InvalidContent("The content holds a NUL character.")
    if size > MOST_WRITE:
        raise ContentTooLarge
    return text


def _says(line: str) -> bool:
    bare = line.strip()
    return bool(bare.lstrip("-*•").strip()) and not bare.startswith(("#", "<!--", "```", "---"))


def _object(data: bytes) -> dict[str, Any]:
    try:
        document: object = json.loads(data)
    except ValueError:
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}
