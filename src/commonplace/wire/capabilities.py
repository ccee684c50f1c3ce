"""Capabilities on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from commonplace.values.capability import CapabilityFields
from commonplace.values.moment import Moment
from commonplace.values.principal import Tier
from commonplace.wire.shapes import Label, NarrowBody


class CapabilityIssueBody(NarrowBody):
    """A capability to be issued: for which key, for which run, and how much of what your own key reaches."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"key": "nightly bot", "run": "r-7", "project": "shop", "read_tiers": ["session", "project"]}]
        }
    )

    key: Label = Field(description="The key that is to present it: its id, or its name if no other key bears that.")
    run: Label = Field(description="The run it is for. A request that names another run is refused.")
    subject: Label | None = Field(
        default=None, description="Whose memory it is about. Absent: that of the person your key speaks for."
    )
    project: Label | None = Field(default=None, description="Absent: `default`.")
    read_tiers: list[Tier] | None = Field(default=None, description="Absent: `session` and `project`.")
    write_tiers: list[Tier] | None = Field(default=None, description="Absent: `session`, if your key writes.")
    promote_targets: list[Tier] | None = Field(default=None, description="Of `project` and `global`. Absent: none.")
    expires_at: Moment | None = Field(
        default=None, description="Absent: in an hour. Seven days at most, and not after your own key."
    )

    def fields(self) -> CapabilityFields:
        return {
            "subject": self.subject,
            "project": self.project,
            "read_tiers": self.read_tiers,
            "write_tiers": self.write_tiers,
            "promote_targets": self.promote_targets,
            "expires_at": self.expires_at,
        }
