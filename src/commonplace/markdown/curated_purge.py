"""
The curated files of a person or an agent, erased when all of theirs is purged.

They are no records, so that a purge of records would leave them. The folder gets a name that nobody looks for, then everything else is erased,
then it is removed: whatever fails before that leaves it as it was.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Final

from commonplace.errors import PurgeRefused
from commonplace.markdown.curated_pair import NAMES, CuratedFiles
from commonplace.ports.files import FileEraser, LockedFiles
from commonplace.values.file_ref import FileRef
from commonplace.values.scope import Scope

_ASIDE: Final = ".erased-"


@dataclass(frozen=True, slots=True)
class CuratedEraser:
    """Satisfies `FileEraser`: as `inner`, and of a scope `user:` or `agent:` that is erased whole also the curated files."""

    inner: FileEraser
    files: CuratedFiles

    @asynccontextmanager
    async def locked(
        self, tenant: str, refs: Collection[FileRef], scopes: Collection[Scope]
    ) -> AsyncGenerator[LockedFiles]:
        folders = await asyncio.to_thread(self._folders, tenant, scopes)
        async with self.inner.locked(tenant, refs, scopes) as files:
            yield _LockedFolders(files, folders)

    def _folders(self, tenant: str, scopes: Collection[Scope]) -> tuple[Path, ...]:
        """Those there are, and those that a killed purge left."""
        folders = [folder for scope in scopes for folder in self.files.folders_of(scope, tenant=tenant)]
        leftovers = [aside for folder in folders for aside in folder.parent.glob(f"{_ASIDE}{folder.name}-*")]
        return tuple(folder for folder in (*folders, *leftovers) if folder.is_dir() and not folder.is_symlink())


@dataclass(frozen=True, slots=True)
class _LockedFolders:
    inner: LockedFiles
    folders: tuple[Path, ...]

    @property
    def is_empty(self) -> bool:
        return self.inner.is_empty and not self.folders

    async def faults(self, refs: Sequence[FileRef]) -> tuple[Mapping[FileRef, str], Sequence[str]]:
        return await self.inner.faults(refs)

    async def erase(self, refs: Sequence[FileRef]) -> int:
        count = await asyncio.to_thread(lambda: sum(map(_count, self.folders)))
        moves: list[tuple[Path, Path]] = []
        try:
            await asyncio.to_thread(self._move, moves)
            count += await self.inner.erase(refs)
        except BaseException:
            await asyncio.to_thread(_move_back, moves)
            raise
        await asyncio.to_thread(_remove, [aside for _, aside in moves])
        return count

    def _move(self, moves: list[tuple[Path, Path]]) -> None:
        for folder in self.folders:
            name = folder.name if folder.name.startswith(_ASIDE) else f"{_ASIDE}{folder.name}"
            aside = folder.with_name(f"{name}-{token_hex(4)}")
            try:
                folder.rename(aside)
            except OSError as error:
                reason = f"{folder}: {error.strerror}"
                raise PurgeRefused(
                    f"Nothing was purged: a folder cannot be removed: {reason}", files=[reason]
                ) from error
            moves.append((folder, aside))


def _remove(folders: Sequence[Path]) -> None:
    """What cannot be removed is found again by the next purge."""
    for folder in folders:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise _refused(folder, error) from error


def _refused(folder: Path, error: OSError) -> PurgeRefused:
    reason = f"{folder}: {error.strerror}"
    return PurgeRefused(
        f"The records stay: a folder cannot be removed: {reason}. Put that right and purge again.", files=[reason]
    )


def _count(folder: Path) -> int:
    return sum(1 for name in NAMES.values() for _ in folder.rglob(name))


def _move_back(moves: Sequence[tuple[Path, Path]]) -> None:
    for folder, aside in moves:
        # Somebody may have begun a new one meanwhile; then the old one stays aside, and the next purge finds it.
        with suppress(OSError):
            aside.rename(folder)
