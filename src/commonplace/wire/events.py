"""Events on the wire: what the `data` of a server-sent frame holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from commonplace.values.moment import Moment
from commonplace.values.scope import Scope
from commonplace.wire.shapes import Answer


class EventAnswer(Answer):
    """
    One thing that happened. `data` holds ids, kinds and counts, never a memory's text: read the record for that. What the
    stream says about itself (`replay_complete`, `state_resync_required`, `slow_client_warning`, `client_evicted`) has
    `v`, `type` and `data` only.
    """

    id: int | None = Field(default=None, description="Its place in the log; a later event has a greater one.")
    v: Literal[1] = 1
    type: str = Field(examples=["record.created"])
    at: Moment | None = None
    scope: Scope | None = Field(default=None, examples=["workspace:web"])
    actor: str | None = None
    client: str | None = None
    data: dict[str, JsonValue] = Field(default={}, examples=[{"id": "0197…", "version": 1, "kind": "note"}])
