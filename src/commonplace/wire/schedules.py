"""Schedules on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.schedule import MAX_LABEL, MAX_PROMPT, ScheduleFields, SchedulePauseView
from commonplace.wire.queries import UrlQuery
from commonplace.wire.shapes import Body, Line, NarrowBody

Target = Annotated[
    str, Field(min_length=1, max_length=600, description="Where: `session:<id>` or `channel/<channel>/<chat>`.")
]
Zone = Annotated[str, Field(min_length=1, max_length=64, description="A time zone, for instance Europe/Berlin.")]


class ScheduleProposalBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "every weekday at nine post the open questions"}]}
    )

    text: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT + 200)]
    zone: Zone | None = None
    target: Target | None = None


class ScheduleBody(Body):
    """One of `cron` (five fields), `at` and `when` (a sentence, which may have the prompt in it, too) says its times."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"target": "session:plan", "cron": "0 9 * * 1-5", "prompt": "Post the open questions.", "zone": "UTC"}
            ]
        }
    )

    target: Target
    cron: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    at: Moment | None = None
    when: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT + 200)] | None = None
    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)] | None = None
    zone: Zone | None = None
    quiet: (
        Annotated[str, Field(max_length=100, description="Such as `22:00-07:00`; `none`: no quiet hours.")] | None
    ) = None

    def fields(self) -> ScheduleFields:
        values = self.model_dump(exclude={"target"}, exclude_none=True)
        return ScheduleFields(**values)  # pyright: ignore[reportArgumentType] - the fields above are those


class SchedulePauseBody(NarrowBody):
    """Without a target all of the tenant."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"target": "session:plan"}]})

    target: Target | None = None


class SchedulesQuery(UrlQuery):
    target: Target | None = None
    everyone: bool = Field(default=False, description="Other people's, too. For admins; the audit says so.")
    limit: int = Field(default=50, ge=1, le=200)
    cursor: Line | None = None


@dataclass(frozen=True, slots=True)
class SchedulePausesAnswer(JsonObject):
    """An empty `target` is the whole tenant."""

    pauses: tuple[SchedulePauseView, ...]


@dataclass(frozen=True, slots=True)
class ScheduleResumedAnswer(JsonObject):
    resumed: bool
