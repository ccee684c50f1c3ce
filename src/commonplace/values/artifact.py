"""Artifacts: files that were produced, by a run or by hand. No search finds one until somebody promotes it into the memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope

ARTIFACT_SCHEME: Final = "artifact://"


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact(JsonObject):
    """
    A file by its content. `owner` is the subject whose it is, `run` the run that made it. From `expires_at` on it is gone. `record` is
    the memory that it was promoted to. `room` is the scope of the chat room whose it is: all who reach that reach the file.
    """

    id: str
    name: str
    type: str
    size: Natural
    sha256: str
    tenant: str
    owner: str
    created_at: Moment
    run: str | None = None
    expires_at: Moment | None = None
    record: str | None = None
    room: Scope | None = None

    @property
    def uri(self) -> str:
        """How a blackboard names it."""
        return f"{ARTIFACT_SCHEME}{self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtifactDraft:
    """Without an `expires_at` it is kept as long as the settings say."""

    name: str
    type: str = "application/octet-stream"
    run: str | None = None
    expires_at: Moment | None = None
    room: Scope | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtifactQuery:
    """Which artifacts: those of a run, or of a room. `everyone`: other people's, too, for an admin."""

    run: str | None = None
    room: Scope | None = None
    everyone: bool = False
    limit: int = 100
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ArtifactPage(JsonObject):
    """Newest first. `cursor` continues the list; None is the end."""

    artifacts: tuple[Artifact, ...]
    cursor: str | None = None
