"""The files of managed memory on this machine, for a memory inside a program: looked for when a record to be purged follows one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection
    from pathlib import Path

    from commonplace.markdown.purge import MemoryFolders
    from commonplace.ports.clock import Clock
    from commonplace.ports.files import FileEraser, LockedFiles
    from commonplace.ports.jobs import JobQueue
    from commonplace.ports.journal import Journal
    from commonplace.values.file_ref import FileRef
    from commonplace.values.scope import Scope


class HomeFiles:
    """
    Satisfies `FileEraser`: the folders are those of the settings, as a daemon with these settings would have them. `curated` are home and tenant
    whose agents keep their files beside this store; None if it is another store than the settings name.
    """

    def __init__(
        self, jobs: JobQueue, journal: Journal, clock: Clock, *, curated: tuple[Path, str] | None = None
    ) -> None:
        self._jobs = jobs
        self._journal = journal
        self._clock = clock
        self._curated = curated

    @asynccontextmanager
    async def locked(
        self, tenant: str, refs: Collection[FileRef], scopes: Collection[Scope]
    ) -> AsyncGenerator[LockedFiles]:
        # Settings load slowly, and few purges come near a file.
        from commonplace.markdown.purge import NoFiles  # noqa: PLC0415

        # No record of this store follows a file: nobody knows whether the folders of this machine are its own.
        eraser: FileEraser = await asyncio.to_thread(self._folders) if refs else NoFiles()
        if self._curated is not None and any(scope.kind in ("user", "agent") for scope in scopes):
            # As above.
            from commonplace.markdown.curated_pair import CuratedFiles  # noqa: PLC0415
            from commonplace.markdown.curated_purge import CuratedEraser  # noqa: PLC0415

            eraser = CuratedEraser(eraser, CuratedFiles(*self._curated))
        async with eraser.locked(tenant, refs, scopes) as files:
            yield files

    def _folders(self) -> MemoryFolders:
        # As above.
        from commonplace.markdown.places import Places  # noqa: PLC0415
        from commonplace.markdown.purge import MemoryFolders  # noqa: PLC0415
        from commonplace.settings import load_settings, workspace_folder  # noqa: PLC0415

        settings = load_settings()
        workspace = (settings.workspace or workspace_folder()).absolute()
        places = Places(home=settings.home, workspace=workspace, tenant=settings.tenant, local=settings.managed_local)
        return MemoryFolders(places=places, jobs=self._jobs, journal=self._journal, clock=self._clock, follows=False)
