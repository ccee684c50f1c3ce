"""Runs and artifacts at the native door: what comes in, and the lists that go out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject
from commonplace.values.run import RunEvent
from commonplace.wire.shapes import Body, KeyName, Line, ScopeName


@dataclass(frozen=True, slots=True)
class RunEventsAnswer(JsonObject):
    """In their order. `after` is the `seq` to go on with; None: these were all."""

    events: tuple[RunEvent, ...]
    after: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointsAnswer(JsonObject):
    """After which events there are checkpoints, the latest first."""

    checkpoints: tuple[int, ...]


class CheckpointReasonBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "before the migration"}]})

    reason: Annotated[Line, Field(min_length=1)]


class ArtifactPromotionBody(Body):
    """Where the text goes, and under which key."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "workspace:web", "key": "report"}]})

    scope: ScopeName
    key: KeyName | None = None
