"""
Where files of memory lie.

The owner's under `<home>/memories`, another person's under `<home>/users/<person>/memories`, those of a workspace under `<home>/projects/<name>/memory` or, where it is set so, in
the workspace itself, and those of a chat room under `<home>/channels/memory/<channel>/<chat>`. These functions only
compute; nothing is made.

A workspace goes by the name of its folder, and two folders may have one name. They share a scope, then, and their records are told
apart by the `mark` of the folder, which is part of their keys.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from commonplace.markdown.confine import Folder, Parts
from commonplace.markdown.names import fault, fold
from commonplace.values.file_ref import RootKind
from commonplace.values.principal import LOCAL
from commonplace.values.record import Trust
from commonplace.values.scope import Scope

INDEX: Final = "MEMORY.md"
META: Final = "meta.json"
_OTHERS: Final = re.compile(r"[^A-Za-z0-9]+")
_MARK_AT_END: Final = re.compile(r"-[0-9a-f]{16}\Z")
_LONGEST: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """
    A folder of memory, the scope its records belong to, and how far they are trusted. What is `inside` the anchor may be
    somebody else's making (a workspace is cloned) and is never followed through a link; the anchor itself is ours. `mark`
    tells a workspace from others in a folder of the same name.
    """

    kind: RootKind
    anchor: Path
    inside: Parts = ()
    scope: Scope
    trust: Trust = "system_generated"
    mark: str = ""

    @property
    def path(self) -> Path:
        return self.anchor.joinpath(*self.inside)

    @property
    def folder(self) -> Folder:
        return Folder(self.anchor, self.inside)

    @property
    def state(self) -> Folder:
        """Where the state files lie: beside the folder of a workspace, else in a hidden folder of its own."""
        if self.kind == "channel":
            return self.folder
        if self.kind == "user":
            return Folder(self.anchor, (*self.inside, ".state"))
        return Folder(self.anchor, self.inside[:-1]) if self.inside else Folder(self.anchor.parent)


def private_folders(home: Path) -> tuple[Path, ...]:
    """The home folder and those in it that hold the memory of everybody."""
    return (home, *(home / name for name in ("memories", "users", "projects", "channels", "agents", "tenants")))


def person_home(home: Path, person: str) -> Path:
    """The home folder of the daemon's owner is theirs; that of every other person lies in it."""
    return home if person == LOCAL else home / "users" / folder_name(person)


def user_root(home: Path, person: str = LOCAL) -> Root:
    return Root(kind="user", anchor=person_home(home, person) / "memories", scope=Scope("user", person))


def workspace_root(home: Path, workspace: Path, id: str) -> Root:
    """The memory of the workspace whose git root (or folder) is `workspace`, kept in our home."""
    folder = home / "projects" / workspace_name(workspace) / "memory"
    # As the folder has it: reached by another name, it is another folder.
    return Root(kind="project", anchor=folder, scope=Scope("workspace", id), mark=_hash(workspace.as_posix(), 8))


def local_root(workspace: Path, id: str) -> Root:
    """The memory kept in the workspace itself. Whoever wrote the workspace wrote it: it is not ours to trust."""
    inside = (".commonplace", "memory")
    scope = Scope("workspace", id)
    # The files are the same by whatever name the workspace is reached.
    mark = _hash(Path(os.path.realpath(workspace)).as_posix(), 8)
    return Root(kind="project", anchor=workspace, inside=inside, scope=scope, trust="external_user_supplied", mark=mark)


def channel_root(home: Path, channel: str, chat: str) -> Root:
    """The memory of one chat room. What is said there comes from outside."""
    folder = home / "channels" / "memory" / folder_name(channel) / _hash(chat, 16)
    return Root(kind="channel", anchor=folder, scope=Scope("channel", f"{channel}/{chat}"), trust="connector_sourced")


def workspace_name(workspace: Path) -> str:
    """A path as one name: its letters and digits, and a hash that tells `/a/b-c` from `/a/b/c`."""
    path = workspace.as_posix()
    return f"{_OTHERS.sub('-', path).strip('-')[-_LONGEST:].strip('-') or 'root'}-{_hash(path, 8)}"


def folder_name(name: str) -> str:
    """The name of a channel or a person, if a folder may have it; else its letters and digits, and a hash of it."""
    if fault(name) is None and _OTHERS.sub("", name) == name.replace("-", "").replace("_", ""):
        return name
    return f"{_OTHERS.sub('-', name).strip('-')[:_LONGEST] or 'channel'}-{_hash(name, 8)}"


def own_folder_name(name: str) -> str:
    """
    As `folder_name`, and no two names have one folder: not if they differ in case alone, nor if one is made to look like the folder of another.
    """
    if folder_name(name) == name == fold(name) and not _MARK_AT_END.search(name):
        return name
    return f"{_OTHERS.sub('-', fold(name)).strip('-')[:_LONGEST] or 'name'}-{_hash(name, 16)}"


def _hash(text: str, digits: int) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
