"""Tasks of managed memory on the wire of our own API: what is to be remembered, forgotten, tidied."""

from __future__ import annotations

from pydantic import Field

from commonplace.values.task import ContextMode, TargetScope
from commonplace.wire.shapes import Body, NarrowBody, Text


class RememberBody(Body):
    content: Text = Field(examples=["We ship on Fridays."])
    context_mode: ContextMode = Field(
        default="workspace", description="`workspace`: existing memory is looked at. `clean`: none is."
    )
    scope: TargetScope | None = Field(default=None, description="To file it there and nowhere else.")


class ForgetBody(NarrowBody):
    query: Text = Field(examples=["the release day"])
    scope: TargetScope | None = Field(default=None, description="To look there and nowhere else.")
