# Generated from async_runs.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The parts of the client that are about runs and artifacts: `client.runs` and `client.artifacts`."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from commonplace.sdk.connection import DaemonConnection
from commonplace.sdk.documents import changed, part, query, written
from commonplace.sdk.talk import Call, asked
from commonplace.values.artifact import Artifact, ArtifactPage
from commonplace.values.record import Record
from commonplace.values.run import Blackboard, Checkpoint, RunEvent, RunPage, RunReplay, RunState, RunStatus
from commonplace.values.run_errors import ArtifactNotFound, RunNotFound
from commonplace.values.scope import Scope
from commonplace.wire.runs import CheckpointsAnswer, RunEventsAnswer
from commonplace.wire.shapes import reader

T = TypeVar("T")


def _run(id: str) -> str:
    """The run as a part of a path. Raises RunNotFound: it cannot be one."""
    if not id:
        raise RunNotFound
    return part(id)


def _artifact(id: str) -> str:
    """As above. Raises ArtifactNotFound."""
    if not id:
        raise ArtifactNotFound
    return part(id)


class DaemonRuns:
    """Runs of the caller's own."""

    def __init__(self, daemon: DaemonConnection) -> None:
        self._daemon = daemon

    def list(
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
        parameters = {"session": session, "status": status, "workspace": workspace, "everyone": everyone or None}
        return self._get("", RunPage, {**parameters, "limit": limit, "cursor": cursor})

    def get(self, id: str) -> RunState:
        """A run as it is now."""
        return self._get(f"/{_run(id)}", RunState)

    def events(self, id: str, *, after: int = 0, limit: int = 1_000) -> builtins.list[RunEvent]:
        """What happened in a run after the event `after`, in its order, at most `limit` events."""
        answer = self._get(f"/{_run(id)}/events", RunEventsAnswer, {"after": after, "limit": limit})
        return builtins.list(answer.events)

    def blackboard(self, id: str) -> Blackboard:
        """What those who work on a run share."""
        return self._get(f"/{_run(id)}/blackboard", Blackboard)

    def replay(self, id: str, *, upto: int | None = None, from_checkpoint: bool = True) -> RunReplay:
        """The run made again from its journal, to its end or to the event `upto`, and where that differs from what is kept."""
        parameters = {"upto": upto, "from_checkpoint": from_checkpoint}
        return self._get(f"/{_run(id)}/replay", RunReplay, parameters)

    def checkpoints(self, id: str) -> builtins.list[int]:
        """After which events there are checkpoints, the latest first."""
        return builtins.list((self._get(f"/{_run(id)}/checkpoints", CheckpointsAnswer)).checkpoints)

    def checkpoint(self, id: str, reason: str) -> Checkpoint:
        """Keep the run as it is now. A replay begins there."""
        path, body = f"/v1/runs/{_run(id)}/checkpoints", written(changed({"reason": reason}))
        return self._daemon.ask(asked(Call(method="POST", path=path, body=body, decode=reader(Checkpoint))))

    def delete(self, id: str) -> None:
        """Delete a run with its journal. Its artifacts stay."""
        self._daemon.ask(asked(Call(method="DELETE", path=f"/v1/runs/{_run(id)}", decode=len)))

    def _get(self, path: str, answer: type[T], parameters: Mapping[str, object] | None = None) -> T:
        call = Call(
            method="GET",
            path=f"/v1/runs{path}",
            query=query(parameters or {}),
            decode=reader(answer),
            reads=True,
        )
        return self._daemon.ask(asked(call))


class DaemonArtifacts:
    """Artifacts of the caller's own."""

    def __init__(self, daemon: DaemonConnection) -> None:
        self._daemon = daemon

    def add(
        self,
        name: str,
        data: bytes,
        *,
        type: str = "application/octet-stream",  # noqa: A002 - as artifacts call it
        run: str | None = None,
        expires_at: datetime | None = None,
    ) -> Artifact:
        """Keep a file. No search finds it until it is promoted. Raises ArtifactTooLarge."""
        call = Call(
            method="POST",
            path="/v1/artifacts",
            query=query({"name": name, "type": type, "run": run, "expires_at": expires_at}),
            body=data,
            decode=reader(Artifact),
            condition=("Content-Type", "application/octet-stream"),
        )
        return self._daemon.ask(asked(call))

    def list(
        self, *, run: str | None = None, everyone: bool = False, limit: int = 100, cursor: str | None = None
    ) -> ArtifactPage:
        """Artifacts, newest first, a page at a time. `everyone`: other people's, too, for an admin."""
        parameters = query({"run": run, "everyone": everyone or None, "limit": limit, "cursor": cursor})
        call = Call(method="GET", path="/v1/artifacts", query=parameters, decode=reader(ArtifactPage), reads=True)
        return self._daemon.ask(asked(call))

    def get(self, id: str) -> Artifact:
        """What is known of an artifact."""
        call = Call(method="GET", path=f"/v1/artifacts/{_artifact(id)}", decode=reader(Artifact), reads=True)
        return self._daemon.ask(asked(call))

    def content(self, id: str) -> bytes:
        """The file itself."""
        call = Call(method="GET", path=f"/v1/artifacts/{_artifact(id)}/content", decode=bytes, reads=True)
        return self._daemon.ask(asked(call))

    def promote(self, id: str, scope: Scope | str, *, key: str | None = None) -> Record:
        """Make the text of an artifact a memory of `scope`. Raises ArtifactNotText, Forbidden."""
        path, body = f"/v1/artifacts/{_artifact(id)}/promote", written(changed({"scope": str(scope), "key": key}))
        return self._daemon.ask(asked(Call(method="POST", path=path, body=body, decode=reader(Record))))

    def delete(self, id: str) -> None:
        """Delete an artifact. What it was promoted to stays."""
        self._daemon.ask(asked(Call(method="DELETE", path=f"/v1/artifacts/{_artifact(id)}", decode=len)))
