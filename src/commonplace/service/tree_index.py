"""
Where each record of a scope stands in the tree, and what it is called there.

A folder is what stands before a slash in a key or in the path of a file; what was said in a session is in `sessions/<session>`.
A file is called by its key, the name of its file, its title or its first words, as far as somebody can read them: ids and
hashes are left out. Two of one name in a folder get a number, the later one by age, and deleted records count: so nobody else
moves into an address.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

from commonplace.ports.recall import RecallStore
from commonplace.ports.statistics import StoreStatistics
from commonplace.text.slug import readable_name, without_digests
from commonplace.values.scope import Scope
from commonplace.values.tree import ALIASES, Outline, TreePlace

MAX_OUTLINES: Final = 100_000
"""Of a larger scope the oldest records have names; the others are found by key or id."""
WARM_SCOPES: Final = 16
UNNAMED: Final = "unnamed"
SESSIONS: Final = "sessions"
_RESOURCE: Final = "resource:"
_WORDS: Final = 8

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FolderEntries:
    """What is in a folder, by name."""

    folders: Mapping[str, Path]
    files: Mapping[str, Outline]


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeIndex:
    """Of one scope, at one moment. `unnamed` is how many records have no name, since there are too many."""

    files: Mapping[Path, Outline]
    folders: Mapping[Path, FolderEntries]
    paths: Mapping[str, Path]
    unnamed: int = 0

    def listed(self, path: Path, now: datetime) -> list[Outline]:
        """The records in a folder and below that are to be seen."""
        entries = self.folders.get(path)
        if entries is None:
            return []
        below = [outline for folder in entries.folders.values() for outline in self.listed(folder, now)]
        return [*(outline for outline in entries.files.values() if outline.is_listed(now)), *below]


def index_of(scope: Scope, outlines: Iterable[Outline]) -> TreeIndex:
    """Names for all of these, each the only one in its folder."""
    taken = frozenset(ALIASES.get(TreePlace.of(scope).kind, ()))
    proposals = [(outline, _proposal(scope, outline)) for outline in outlines]
    folder_names = {path[:-1]: _folder_path(path[:-1], taken) for _, path in proposals}
    folders = {path[:depth] for path in folder_names.values() for depth in range(len(path) + 1)} | {()}
    files: dict[Path, Outline] = {}
    numbers: defaultdict[Path, int] = defaultdict(lambda: 1)
    # Who is called by the whole key keeps that name; else the older one does.
    for outline, proposal in sorted(proposals, key=lambda pair: ("/".join(pair[1]) != pair[0].key, pair[0].id)):
        folder, name = folder_names[proposal[:-1]], proposal[-1]
        path = (*folder, name)
        while path in files or path in folders or (not folder and path[-1] in taken):
            numbers[(*folder, name)] += 1
            path = (*folder, _numbered(name, numbers[(*folder, name)]))
        files[path] = outline
    return TreeIndex(files=files, folders=_entries(folders, files), paths={at.id: path for path, at in files.items()})


def _entries(folders: set[Path], files: Mapping[Path, Outline]) -> dict[Path, FolderEntries]:
    subfolders: defaultdict[Path, dict[str, Path]] = defaultdict(dict)
    outlines: defaultdict[Path, dict[str, Outline]] = defaultdict(dict)
    for folder in folders - {()}:
        subfolders[folder[:-1]][folder[-1]] = folder
    for path, outline in files.items():
        outlines[path[:-1]][path[-1]] = outline
    return {folder: FolderEntries(subfolders[folder], outlines[folder]) for folder in folders}


def _folder_path(path: Path, taken: frozenset[str]) -> Path:
    """A folder that is called as an address calls the whole scope gets a number."""
    return (_numbered(path[0], 2), *path[1:]) if path and path[0] in taken else path


def _numbered(name: str, number: int) -> str:
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number}.{ending}" if dot and stem and ending.isalnum() else f"{name}-{number}"


def _proposal(scope: Scope, outline: Outline) -> Path:
    """Where a record would like to be, its name last."""
    if outline.kind == "turn" and outline.session is not None:
        own = scope.kind == "session" and scope.id == outline.session
        folders = () if own else (SESSIONS, readable_name(outline.session) or UNNAMED)
        number = "" if outline.position is None else f"{outline.position + 1:04}-"
        return (*folders, number + (readable_name(outline.speaker or "") or _title(outline)))
    key = outline.key.removeprefix(_RESOURCE) if outline.key and outline.kind == "resource" else outline.key
    steps = (outline.file or key or "").replace("\\", "/").split("/")
    folders = tuple(name for step in steps[:-1] if (name := readable_name(step)))
    is_readable = bool(steps[-1]) and without_digests(steps[-1]) == steps[-1]
    return (*folders, (readable_name(steps[-1]) if is_readable else "") or _title(outline))


def _title(outline: Outline) -> str:
    words = " ".join(outline.beginning.split()[:_WORDS])
    return readable_name(outline.title or "") or readable_name(words) or UNNAMED


@dataclass(frozen=True, slots=True)
class TreeIndexes:
    """The index of each scope, made anew when something was written to it. Those used last stay in memory."""

    recall: RecallStore
    statistics: StoreStatistics
    _warm: OrderedDict[tuple[str, Scope], tuple[int, int, TreeIndex]] = field(
        default_factory=OrderedDict[tuple[str, Scope], tuple[int, int, TreeIndex]]
    )

    async def of(self, tenant: str, scope: Scope) -> TreeIndex:
        marks = await self.recall.marks(tenant, [scope])
        if not marks:
            return index_of(scope, ())
        [mark] = marks
        cached = self._warm.get((tenant, scope))
        if cached is None or cached[:2] != (mark.seq, mark.epoch):
            outlines, unnamed = await self.statistics.outlines(tenant, scope, MAX_OUTLINES)
            # Of a large scope it takes a while; others go on meanwhile.
            index = replace(await asyncio.to_thread(index_of, scope, outlines), unnamed=unnamed)
            cached = self._warm[tenant, scope] = (mark.seq, mark.epoch, index)
        self._warm.move_to_end((tenant, scope))
        self._trim()
        return cached[2]

    def _trim(self) -> None:
        size = sum(len(index.files) for _, _, index in self._warm.values())
        while len(self._warm) > 1 and (size > MAX_OUTLINES or len(self._warm) > WARM_SCOPES):
            _, (_, _, coldest) = self._warm.popitem(last=False)
            size -= len(coldest.files)
