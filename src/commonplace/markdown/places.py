"""Which folders on this machine a record's file may lie in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.errors import CommonplaceError
from commonplace.markdown.roots import Root, channel_root, local_root, user_root, workspace_root
from commonplace.values.file_ref import FileRef
from commonplace.values.scope import Scope

_MEMORY: Final = "memory"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """
    A folder that a file may lie in. `own`: this process keeps records up to it, so that a file that is not there is nowhere.
    `spare`: it was used before another one took its place; a file there counts only as a copy of what the record says.
    """

    root: Root
    own: bool = True
    spare: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The files of `tenant`: those of a person and of any workspace in the home folder, and those in the workspace itself."""

    home: Path
    workspace: Path
    tenant: str
    local: bool = False

    @property
    def name(self) -> str:
        """As everywhere, a workspace goes by the name of its folder."""
        return self.workspace.name or "workspace"

    def of(self, ref: FileRef) -> list[Candidate]:
        """Where the file may lie; nowhere, if no folder of this machine is known to have it."""
        if ref.kind == "user":
            return _there([Candidate(root=user_root(self.home, ref.scope.id))])
        if ref.kind == "channel":
            return _there(self._rooms(ref.scope))
        own = self._workspace()
        if ref.scope == own[0].root.scope and ref.mark in ("", *(candidate.root.mark for candidate in own)):
            return _there([candidate for candidate in own if ref.mark in ("", candidate.root.mark)])
        return _there(self._elsewhere(ref)) if ref.mark else []

    def within(self, scope: Scope) -> list[Candidate]:
        """The folders whose files all belong to a scope."""
        candidates = self._workspace()
        if scope.kind == "user":
            candidates = [Candidate(root=user_root(self.home, scope.id))]
        if scope.kind == "channel":
            candidates = list(self._rooms(scope))
        return _there([candidate for candidate in candidates if candidate.root.scope == scope and not candidate.spare])

    def _workspace(self) -> list[Candidate]:
        """Where the files of this workspace lie, and where they lay before that was set otherwise."""
        home = workspace_root(self.home, self.workspace, self.name)
        inside = local_root(self.workspace, self.name)
        first, second = (inside, home) if self.local else (home, inside)
        return [Candidate(root=first), Candidate(root=second, own=False, spare=True)]

    def _elsewhere(self, ref: FileRef) -> Iterator[Candidate]:
        """Folders of other workspaces end in the mark."""
        with suppress(FileNotFoundError, NotADirectoryError):
            for folder in (self.home / "projects").iterdir():
                if folder.name.endswith(f"-{ref.mark}"):
                    root = Root(kind="project", anchor=folder / _MEMORY, scope=ref.scope, mark=ref.mark)
                    yield Candidate(root=root, own=False)

    def _rooms(self, scope: Scope) -> Iterator[Candidate]:
        """The names of channel and chat may both hold a slash."""
        names = scope.id.split("/")
        for place in range(1, len(names)):
            yield Candidate(root=channel_root(self.home, "/".join(names[:place]), "/".join(names[place:])))


def _there(candidates: Iterator[Candidate] | list[Candidate]) -> list[Candidate]:
    """Those whose folders there are. One that cannot be looked at is there, and will say so."""
    existing: list[Candidate] = []
    for candidate in candidates:
        present = True
        with suppress(CommonplaceError):
            present = candidate.root.folder.exists()
        existing += [candidate] if present else []
    return existing
