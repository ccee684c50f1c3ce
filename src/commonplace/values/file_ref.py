"""Which file of managed memory a record follows, or followed once, as its versions tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal, cast

from commonplace.values.record import MAX_KEY, Record
from commonplace.values.scope import Scope

RootKind = Literal["user", "project", "channel"]
GONE: Final = "the file is gone"
"""Why a record was deleted whose file was removed."""
_KEY: Final = re.compile(r"managed:(user|project|channel)(?:@([0-9a-f]{8}))?:(.+)", re.DOTALL)
_LINE: Final = re.compile(r"(.+)#([0-9a-f]{16})", re.DOTALL)
_SHORTENED: Final = re.compile(r".+~([0-9a-f]{16})", re.DOTALL)
_SCOPES: Final[dict[RootKind, str]] = {"user": "user", "project": "workspace", "channel": "channel"}


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRef:
    """
    `mark` tells folders of one name apart. `path` is the file's place in its root, None where the key had no room for it. `line` is
    the hash of the line that a record of a room is. `sha256` is the content that the record tells of. `current`: the record stands
    under `key` in `scope`; else it did once, and another record may follow the file since. `gone`: it was deleted because somebody
    removed the file.
    """

    record: str
    kind: RootKind
    scope: Scope
    key: str
    path: str | None
    mark: str = ""
    line: str | None = None
    sha256: str | None = None
    current: bool = True
    gone: bool = False

    @property
    def name(self) -> str:
        """For people: what to look for, and where."""
        return f"{self.path or self.key} ({self.scope})"


def file_mark(kind: str, path: str) -> str:
    """
    A file in the audit and in events, which no purge reaches: the name of a file is made of what it says, so only a hash of it is
    written there.
    """
    return sha256(f"{kind}/{path}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def refs_of(versions: Sequence[Record]) -> list[FileRef]:
    """The files that a record follows or followed, by all its versions, oldest first; each once."""
    last = versions[-1]
    gone = last.deleted_at is not None and last.reason == GONE
    refs: dict[tuple[Scope, str], FileRef] = {}
    for version in versions:
        for key in _keys(version):
            if (ref := _ref(version, key)) is not None:
                before = refs.get((ref.scope, key))
                content = ref.sha256 or (before and before.sha256)
                current = (last.scope, last.key) == (ref.scope, key) or key != version.key
                refs[ref.scope, key] = replace(ref, sha256=content, current=current, gone=gone)
    return list(refs.values())


def _keys(version: Record) -> Iterator[str]:
    """Its own key, and the one that it was to have and does not while a reviewer looks at it."""
    if version.key is not None:
        yield version.key
    why = version.metadata.get("quarantine")
    if version.key is None and isinstance(why, dict) and isinstance(key := why.get("key"), str):
        yield key


def _ref(version: Record, key: str) -> FileRef | None:
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    kind = cast(RootKind, match[1])
    scope = version.scope
    if scope.kind != _SCOPES[kind]:
        return None
    path, line = _path(version, key, match[3]), None
    if kind == "channel" and path is not None and (place := _LINE.fullmatch(path)):
        path, line = place[1], place[2]
    content = version.metadata.get("sha256")
    return FileRef(
        record=version.id,
        kind=kind,
        scope=scope,
        key=key,
        path=path,
        mark=match[2] or "",
        line=line,
        sha256=content if isinstance(content, str) else None,
    )


def _path(version: Record, key: str, tail: str) -> str | None:
    """The path in the key; of one that was too long, the file that the record names, if its hash is the one in the key."""
    shortened = _SHORTENED.fullmatch(key) if len(key) == MAX_KEY else None
    if shortened is None:
        return tail
    file = version.provenance.file
    matches = file is not None and sha256(file.encode("utf-8", "surrogateescape")).hexdigest()[:16] == shortened[1]
    return file if matches else None
