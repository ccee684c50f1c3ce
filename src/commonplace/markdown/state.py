"""
Small files beside a folder of memory: when it was last consolidated, how far extraction has read, and who consolidates now.

They are only ever a help. One that cannot be read counts as absent.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, cast

from commonplace.errors import CommonplaceError
from commonplace.markdown.confine import FileSnapshot, Folder
from commonplace.markdown.roots import META
from commonplace.values.moment import from_iso, to_iso, utc
from commonplace.values.record import Json

CURSOR: Final = "extract-cursor.json"
LOCK: Final = "consolidation.lock"
STALE_AFTER: Final = timedelta(hours=1)
REST: Final = timedelta(hours=24)
SESSIONS: Final = 5
CHECKED_EVERY: Final = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True, slots=True)
class Meta:
    """
    `sessions` are the first five since the last consolidation, oldest first: more need not be known. `checked_at` is when a
    consolidation was last asked for. `about` is what else the file says.
    """

    consolidated_at: datetime | None = None
    consolidated_by: str | None = None
    checked_at: datetime | None = None
    sessions: tuple[str, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def met(self, session: str) -> Meta:
        """With one more session since the last consolidation."""
        if session in self.sessions or len(self.sessions) >= SESSIONS:
            return self
        return replace(self, sessions=(*self.sessions, session))

    def due(self, now: datetime, session: str | None = None) -> bool:
        """Whether it is time to consolidate: a day and five sessions since, and not by the session that did it last."""
        rested = self.consolidated_at is None or now - self.consolidated_at >= REST
        checked = self.checked_at is not None and now - self.checked_at < CHECKED_EVERY
        again = session is not None and session == self.consolidated_by
        return rested and not checked and not again and len(self.sessions) >= SESSIONS


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """How far extraction has read one session."""

    session: str
    offset: int
    updated_at: datetime


def read_meta(state: Folder) -> Meta:
    return _meta(_read(state, META))


def _meta(document: Mapping[str, Json]) -> Meta:
    own_keys = ("lastConsolidatedAt", "lastConsolidatedBy", "lastCheckedAt", "sessions")
    sessions = document.get("sessions")
    return Meta(
        consolidated_at=_moment(document.get("lastConsolidatedAt")),
        consolidated_by=_text(document.get("lastConsolidatedBy")),
        checked_at=_moment(document.get("lastCheckedAt")),
        sessions=tuple(str(session) for session in sessions) if isinstance(sessions, Sequence) else (),
        about={key: value for key, value in document.items() if key not in own_keys},
    )


def write_meta(state: Folder, meta: Meta) -> None:
    change_meta(state, lambda _: meta)


def change_meta(state: Folder, changed: Callable[[Meta], Meta]) -> Meta:
    """What `changed` makes of the file, under its lock: if two processes count a session at once, both are counted."""
    meta = Meta()

    def compose(snapshot: FileSnapshot | None) -> bytes | None:
        nonlocal meta
        before = Meta() if snapshot is None else _meta(_parsed(snapshot.data))
        meta = changed(before)
        return None if meta == before else _written(meta)

    state.change((META,), compose)
    return meta


def ended(state: Folder, session: str, now: datetime) -> bool:
    """
    Count a session that is over, once. True if it is time to consolidate: then the next callers, in whatever process, get
    False for ten minutes. If there is nothing to record, the file is only read.
    """
    meta = read_meta(state)
    if meta.met(session) == meta and not meta.due(now, session):
        return False
    due = False

    def counted(meta: Meta) -> Meta:
        nonlocal due
        meta = meta.met(session)
        due = meta.due(now, session)
        return replace(meta, checked_at=utc(now)) if due else meta

    change_meta(state, counted)
    return due


def consolidated(state: Folder, now: datetime, session: str | None) -> None:
    """Record that `session` consolidated just now: the count of sessions starts again."""
    change_meta(state, lambda meta: replace(meta, consolidated_at=utc(now), consolidated_by=session, sessions=()))


def _written(meta: Meta) -> bytes:
    document: dict[str, Json] = {
        **meta.about,
        "lastConsolidatedAt": _iso(meta.consolidated_at),
        "lastConsolidatedBy": meta.consolidated_by,
        "lastCheckedAt": _iso(meta.checked_at),
        "sessions": list(meta.sessions),
    }
    return _dumped(document)


def read_cursor(state: Folder) -> Cursor | None:
    document = _read(state, CURSOR)
    session, offset, at = (
        _text(document.get("sessionId")),
        document.get("processedOffset"),
        _moment(document.get("updatedAt")),
    )
    if session is None or at is None or not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
        return None
    return Cursor(session=session, offset=offset, updated_at=at)


def write_cursor(state: Folder, cursor: Cursor) -> None:
    document: dict[str, Json] = {
        "sessionId": cursor.session,
        "processedOffset": cursor.offset,
        "updatedAt": _iso(cursor.updated_at),
    }
    _write(state, CURSOR, document)


def begin_consolidation(state: Folder, now: datetime, pid: int | None = None) -> bool:
    """Claim the consolidation of a folder for this process. False if another one, alive and recent, has it."""
    taken = False
    own = pid or os.getpid()
    mine = {"pid": own, "born": _born(own), "host": socket.gethostname(), "startedAt": _iso(utc(now))}

    def compose(snapshot: FileSnapshot | None) -> bytes | None:
        nonlocal taken
        taken = snapshot is None or _is_stale(_parsed(snapshot.data), now)
        return json.dumps(mine).encode() if taken else None

    state.change((LOCK,), compose)
    return taken


def end_consolidation(state: Folder, pid: int | None = None) -> None:
    """Let go of the consolidation, if this process has it."""
    with suppress(CommonplaceError):
        snapshot = state.read((LOCK,))
        owner = _parsed(snapshot.data)
        if (owner.get("pid"), owner.get("host")) == (pid or os.getpid(), socket.gethostname()):
            state.remove((LOCK,), expected=snapshot.stamp)


def _is_stale(owner: Mapping[str, Json], now: datetime) -> bool:
    started, pid = _moment(owner.get("startedAt")), owner.get("pid")
    if started is None or now - started >= STALE_AFTER:
        return True
    # Of a process on another machine nothing is known but its hour.
    if owner.get("host") != socket.gethostname() or not isinstance(pid, int):
        return False
    # In a container every process that is started again gets the number of the one before it.
    born, now_born = owner.get("born"), _born(pid)
    return not _is_alive(pid) or (born is not None and now_born is not None and born != now_born)


def _born(pid: int) -> str | None:
    """When a process began, in the clock ticks of its system; None if that is unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _read(state: Folder, name: str) -> dict[str, Json]:
    try:
        return _parsed(state.read((name,)).data)
    except CommonplaceError:
        return {}


def _parsed(data: bytes) -> dict[str, Json]:
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Json], document) if isinstance(document, dict) else {}


def _write(state: Folder, name: str, document: Mapping[str, Json]) -> None:
    data = _dumped(document)
    state.change((name,), lambda _: data)


def _dumped(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass") + b"\n"


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else to_iso(moment, timespec="auto")


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _moment(value: Json) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return from_iso(value)
    except ValueError:
        return None
