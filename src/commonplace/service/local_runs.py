"""Runs and artifacts of a memory in this process: parts of `LocalMemory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.ports.run_client import ArtifactClient, RunClient
from commonplace.values.artifact import ArtifactDraft, ArtifactQuery
from commonplace.values.run import RunQuery, RunRows

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable
    from datetime import datetime

    from commonplace.service.services import Services
    from commonplace.values.artifact import Artifact, ArtifactPage
    from commonplace.values.principal import Principal
    from commonplace.values.record import Record
    from commonplace.values.run import Blackboard, Checkpoint, RunEvent, RunPage, RunReplay, RunState, RunStatus
    from commonplace.values.scope import Scope


class LocalRuns(RunClient):
    """Runs of the caller's own."""

    def __init__(self, services: Callable[[], Services], principal: Principal) -> None:
        """`services` says which they are now, or that the memory was closed."""
        self._services = services
        self._principal = principal

    async def list(
        self,
        *,
        session: str | None = None,
        status: RunStatus | None = None,
        workspace: str | None = None,
        everyone: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> RunPage:
        """Runs, newest first, a page at a time. `everyone`: other people's, too, for an admin."""
        query = RunQuery(
            session=session, status=status, workspace=workspace, everyone=everyone, limit=limit, cursor=cursor
        )
        return await self._services().runs.list(self._principal, query)

    async def get(self, id: str) -> RunState:
        """A run as it is now."""
        return await self._services().runs.get(self._principal, id)

    async def events(self, id: str, *, after: int = 0, limit: int = 1_000) -> builtins.list[RunEvent]:
        """What happened in a run after the event `after`, in its order, at most `limit` events."""
        rows = RunRows(after=after, limit=limit)
        return [*await self._services().runs.events(self._principal, id, rows)]

    async def blackboard(self, id: str) -> Blackboard:
        """What those who work on a run share."""
        return await self._services().runs.blackboard(self._principal, id)

    async def replay(self, id: str, *, upto: int | None = None, from_checkpoint: bool = True) -> RunReplay:
        """The run made again from its journal, to its end or to the event `upto`, and where that differs from what is kept."""
        runs = self._services().runs
        return await runs.replay(self._principal, id, upto_seq=upto, from_checkpoint=from_checkpoint)

    async def checkpoints(self, id: str) -> builtins.list[int]:
        """After which events there are checkpoints, the latest first."""
        return [*await self._services().runs.checkpoints(self._principal, id)]

    async def checkpoint(self, id: str, reason: str) -> Checkpoint:
        """Keep the run as it is now. A replay begins there."""
        return await self._services().runs.checkpoint(self._principal, id, reason)

    async def delete(self, id: str) -> None:
        """Delete a run with its journal. Its artifacts stay."""
        await self._services().runs.delete(self._principal, id)


class LocalArtifacts(ArtifactClient):
    """Artifacts of the caller's own."""

    def __init__(self, services: Callable[[], Services], principal: Principal) -> None:
        """`services` says which they are now, or that the memory was closed."""
        self._services = services
        self._principal = principal

    async def add(
        self,
        name: str,
        data: bytes,
        *,
        type: str = "application/octet-stream",  # noqa: A002 - as artifacts call it
        run: str | None = None,
        expires_at: datetime | None = None,
    ) -> Artifact:
        """Keep a file. No search finds it until it is promoted. Raises ArtifactTooLarge."""
        draft = ArtifactDraft(name=name, type=type, run=run, expires_at=expires_at)
        return await self._services().artifacts.add(self._principal, draft, data)

    async def list(
        self, *, run: str | None = None, everyone: bool = False, limit: int = 100, cursor: str | None = None
    ) -> ArtifactPage:
        """Artifacts, newest first, a page at a time. `everyone`: other people's, too, for an admin."""
        query = ArtifactQuery(run=run, everyone=everyone, limit=limit, cursor=cursor)
        return await self._services().artifacts.list(self._principal, query)

    async def get(self, id: str) -> Artifact:
        """What is known of an artifact."""
        return await self._services().artifacts.get(self._principal, id)

    async def content(self, id: str) -> bytes:
        """The file itself."""
        return (await self._services().artifacts.content(self._principal, id))[1]

    async def promote(self, id: str, scope: Scope | str, *, key: str | None = None) -> Record:
        """Make the text of an artifact a memory of `scope`. Raises ArtifactNotText, Forbidden."""
        return await self._services().artifacts.promote(self._principal, id, scope, key=key)

    async def delete(self, id: str) -> None:
        """Delete an artifact. What it was promoted to stays."""
        await self._services().artifacts.delete(self._principal, id)
