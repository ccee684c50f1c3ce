"""The knowledge registry on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, JsonValue

from commonplace.values.knowledge import (
    Decision,
    Item,
    ItemStatus,
    Preflight,
    Recording,
    RecordingOutcome,
    Space,
    SpaceScope,
    TrustLevel,
)
from commonplace.values.moment import Moment
from commonplace.values.quarantine import Quarantine
from commonplace.wire.shapes import MAX_LINE, Answer, Body, Label, NarrowBody, shared

Metadata = dict[str, JsonValue]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must have printable characters only")
    return text


Id = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
Name = Annotated[Label, AfterValidator(_printable)]
Line = Annotated[str, Field(max_length=MAX_LINE), AfterValidator(_printable)]
References = Annotated[list[Name], Field(max_length=200)]
CoverageKey = Annotated[
    str, Field(max_length=MAX_LINE, examples=["shop::billing::research::vat-rates"]), AfterValidator(_printable)
]
"""`project::namespace::task_family::subject`."""


# ---- spaces


class SpaceBody(Body):
    """A namespace for findings. One of scope `project` names its project, one of scope `run` its run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"scope": "project", "project": "shop", "namespace": "billing"}]}
    )

    scope: SpaceScope = "project"
    project: Name | None = None
    run: Name | None = None
    namespace: Line = "general"
    title: Name | None = None
    trust_level: TrustLevel = "promoted"


class SpaceAnswer(Answer):
    id: str
    tenant: str
    scope: SpaceScope
    project: str | None
    run: str | None
    namespace: str
    title: str | None
    trust_level: TrustLevel
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, space: Space) -> SpaceAnswer:
        """A space of a run names it where one of a project names that."""
        of_run = space.scope == "run"
        names: dict[str, Any] = (
            {"project": None, "run": space.project} if of_run else {"project": space.project, "run": None}
        )
        return cls(**{**shared(cls, space), **names})

    def value(self) -> Space:
        fields = shared(SpaceAnswer, self)
        fields["project"] = fields.pop("run") or self.project
        return Space(**fields)


class SpacesAnswer(Answer):
    spaces: list[SpaceAnswer]


# ---- items


class ItemBody(Body):
    """
    A finding. It covers `coverage_key`, or what its space says together with `task_family` and `subject`. Two of a space with
    one `dedupe_key` (absent: made of what they say) are one: the second refreshes the first or, if it says something else, succeeds it.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "space": "01920000-0000-7000-8000-000000000000",
                    "title": "VAT is 23 % in Portugal",
                    "task_family": "research",
                    "subject": "VAT rates",
                }
            ]
        }
    )

    space: Id
    title: Name
    item_type: Name = "finding"
    task_family: Line = ""
    subject: Line = ""
    coverage_key: CoverageKey | None = None
    dedupe_key: Name | None = None
    summary: Annotated[str, Field(max_length=100_000, json_schema_extra={"maxLength": 8_000})] = ""
    payload: Metadata = Field(default={})
    run: Name | None = None
    artifact_refs: References = Field(default=[])
    source_memory_ids: References = Field(default=[])
    freshness_expires_at: Moment | None = None


class ItemAnswer(Answer):
    id: str
    tenant: str
    space: str
    coverage_key: str
    dedupe_key: str | None = Field(description="None: it is deprecated, or has a successor.")
    item_type: str
    title: str
    summary: str
    payload: Metadata
    trust_level: TrustLevel
    status: ItemStatus
    run: str | None
    artifact_refs: list[str]
    source_memory_ids: list[str]
    reviewer_id: str | None = Field(validation_alias=AliasChoices("reviewer", "reviewer_id"))
    approval_id: str | None = Field(validation_alias=AliasChoices("approval", "approval_id"))
    freshness_expires_at: Moment | None
    supersedes: str | None = Field(description="The finding that this one takes the place of.")
    created_at: Moment
    updated_at: Moment
    last_seen_at: Moment = Field(description="When it was last recorded or confirmed.")

    def value(self) -> Item:
        fields = shared(ItemAnswer, self)
        fields |= {"reviewer": fields.pop("reviewer_id"), "approval": fields.pop("approval_id")}
        fields |= {name: tuple(fields[name]) for name in ("artifact_refs", "source_memory_ids")}
        return Item(**fields)


class RecordedItemAnswer(ItemAnswer):
    """A finding, and what became of recording it. `quarantine` is there if it waits for a reviewer, and says why."""

    outcome: RecordingOutcome
    quarantine: Quarantine | None = Field(default=None, exclude_if=lambda value: value is None)

    @classmethod
    def of(cls, recording: Recording) -> RecordedItemAnswer:
        item = ItemAnswer.model_validate(recording.item)
        return cls.model_validate(
            {**item.model_dump(), "outcome": recording.outcome, "quarantine": recording.item.quarantine}
        )

    def recording(self) -> Recording:
        return Recording(item=self.value(), outcome=self.outcome)


class ItemsAnswer(Answer):
    """Newest first."""

    items: list[ItemAnswer]


class PromoteItemBody(Body):
    """`approved_default` names who approved it, and under which approval."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "promoted"}]})

    status: Literal["promoted", "approved_default"] = "promoted"
    reviewer_id: Name | None = None
    approval_id: Name | None = None
    freshness_expires_at: Moment | None = None
    reason: Line | None = Field(default=None, description="Why; it is kept in the audit.")


class RefreshItemBody(Body):
    """How long a finding that was confirmed is fresh. Absent: for as long again as it was."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "checked against the law"}]})

    freshness_expires_at: Moment | None = None
    reason: Line | None = Field(default=None, description="Why; it is kept in the audit.")


class DeprecateItemBody(Body):
    reviewer_id: Name | None = None
    approval_id: Name | None = None
    reason: Line | None = Field(default=None, description="Why; it is kept in the audit.")


# ---- what is known


class CoverageAnswer(Answer):
    space: str
    coverage_key: str
    latest_item: str | None
    last_seen_at: Moment
    last_promoted_at: Moment | None
    freshness_expires_at: Moment | None


class CoveragesAnswer(Answer):
    coverage: list[CoverageAnswer]


class BindingBody(NarrowBody):
    """What a run would build on. `read_spaces` empty: those of the project and of the tenant with that namespace."""

    enabled: bool = True
    reuse_mode: Literal["preflight", "disabled", "on_demand"] = "preflight"
    trust_floor: TrustLevel = "promoted"
    read_spaces: list[Id] = Field(default=[], max_length=100)
    promote_spaces: list[Id] = Field(default=[], max_length=100)
    namespace: Line | None = None
    subject: Line | None = None
    freshness_ms: int | None = Field(default=None, ge=0, le=10_000_000_000_000)


class PreflightBody(NarrowBody):
    """What a run is about to find out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"project": "shop", "namespace": "billing", "task_family": "research", "subject": "VAT rates"}]
        }
    )

    project: Name | None = None
    namespace: Line | None = None
    task_family: Line = ""
    subject: Line = ""
    binding: BindingBody | None = None


class PreflightAnswer(Answer):
    """What to do, why, the items it rests on, best first, and those as a block for a prompt."""

    decision: Decision
    reason: str
    coverage_key: str
    items: list[ItemAnswer]
    spaces: list[str] = Field(description="Where it was looked for.")
    context: str

    def value(self) -> Preflight:
        fields = shared(PreflightAnswer, self)
        fields |= {"items": tuple(item.value() for item in self.items), "spaces": tuple(self.spaces)}
        return Preflight(**fields)
