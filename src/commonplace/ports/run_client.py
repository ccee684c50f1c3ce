"""How runs and artifacts are used: `memory.runs` and `memory.artifacts`. See `memory_client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import builtins
    from datetime import datetime

    from commonplace.values.artifact import Artifact, ArtifactPage
    from commonplace.values.record import Record
    from commonplace.values.run import Blackboard, Checkpoint, RunEvent, RunPage, RunReplay, RunState, RunStatus
    from commonplace.values.scope import Scope


class RunClient(Protocol):
    """Runs of the caller's own. Every method raises RunNotFound, and RunsUnavailable if the run lies at another daemon."""

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
        ...

    async def get(self, id: str) -> RunState:
        """A run as it is now."""
        ...

    async def events(self, id: str, *, after: int = 0, limit: int = 1_000) -> builtins.list[RunEvent]:
        """What happened in a run after the event `after`, in its order, at most `limit` events."""
        ...

    async def blackboard(self, id: str) -> Blackboard:
        """What those who work on a run share."""
        ...

    async def replay(self, id: str, *, upto: int | None = None, from_checkpoint: bool = True) -> RunReplay:
        """The run made again from its journal, to its end or to the event `upto`, and where that differs from what is kept."""
        ...

    async def checkpoints(self, id: str) -> builtins.list[int]:
        """After which events there are checkpoints, the latest first."""
        ...

    async def checkpoint(self, id: str, reason: str) -> Checkpoint:
        """Keep the run as it is now. A replay begins there."""
        ...

    async def delete(self, id: str) -> None:
        """Delete a run with its journal. Its artifacts stay."""
        ...


class ArtifactClient(Protocol):
    """Artifacts of the caller's own. Every method raises ArtifactNotFound."""

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
        ...

    async def list(
        self, *, run: str | None = None, everyone: bool = False, limit: int = 100, cursor: str | None = None
    ) -> ArtifactPage:
        """Artifacts, newest first, a page at a time. `everyone`: other people's, too, for an admin."""
        ...

    async def get(self, id: str) -> Artifact:
        """What is known of an artifact."""
        ...

    async def content(self, id: str) -> bytes:
        """The file itself."""
        ...

    async def promote(self, id: str, scope: Scope | str, *, key: str | None = None) -> Record:
        """Make the text of an artifact a memory of `scope`. Raises ArtifactNotText, Forbidden."""
        ...

    async def delete(self, id: str) -> None:
        """Delete an artifact. What it was promoted to stays."""
        ...
