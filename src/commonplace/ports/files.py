"""Files that records follow, as whoever purges those records needs them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from commonplace.values.file_ref import FileRef
from commonplace.values.scope import Scope


class LockedFiles(Protocol):
    """Files that nobody else of ours reads or writes meanwhile."""

    @property
    def is_empty(self) -> bool:
        """Whether no folder here has anything of what was to be locked."""
        ...

    async def faults(self, refs: Sequence[FileRef]) -> tuple[Mapping[FileRef, str], Sequence[str]]:
        """
        Which of these files cannot be erased, each with its name and the reason, for people; and the same of others in scopes that
        were locked whole. Nothing is touched.
        """
        ...

    async def erase(self, refs: Sequence[FileRef]) -> int:
        """
        Erase these files and, of scopes that were locked whole, all others that `faults` did not name; with their lines in the index,
        all versions of them, and the jobs that quote them. Answers how many files there were. Of one that is gone already the
        traces go.

        Raises:
            PurgeRefused: one of them cannot be erased after all. All are as they were.
        """
        ...


class FileEraser(Protocol):
    """`tests/engine/managed/test_purge.py` holds each implementation to this."""

    def locked(
        self, tenant: str, refs: Collection[FileRef], scopes: Collection[Scope]
    ) -> AbstractAsyncContextManager[LockedFiles]:
        """The files that `refs` name, and all files of these `scopes`, locked."""
        ...
