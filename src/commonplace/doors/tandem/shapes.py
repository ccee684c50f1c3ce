"""
The governed door: put, search, promote, demote, delete, audit, import, as Tandem has them.

Its own clients do not say what its server asks for: they write `text` for `content` and `sessionId` for `session_id`, leave
out the run and the partition, and send a capability as a text of JSON. Both forms are read. Fields that we do not know are
passed over, except in a search, where they might have narrowed it; fields without a value are left out of answers: the clients
take null for a mistake.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
)
from pydantic.alias_generators import to_camel

from commonplace.errors import InvalidInput
from commonplace.governance.delegation import PREFIX
from commonplace.values.moment import Moment, from_ms
from commonplace.values.principal import Capability, Tier
from commonplace.values.quarantine import Quarantine, Withheld
from commonplace.values.record import Outcome, Trust
from commonplace.wire.shapes import MAX_LINE, MAX_TEXT, Answer, Label, Line, RecordId

MAX_CAPABILITY = 65_536
MAX_REFS = 200
_LAST_MOMENT = 253_402_300_799_999

Metadata = dict[str, JsonValue]
StoredTier = Literal["session", "project", "global"]
Kind = Literal["solution_capsule", "note", "fact"]
Classification = Literal["internal", "restricted"]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must have printable characters only")
    return text


Name = Annotated[Label, AfterValidator(_printable)]
"""A run, a session, a project, a person."""
Names = Annotated[list[Name], Field(max_length=MAX_REFS)]
Reference = Annotated[str, Field(min_length=1, max_length=MAX_LINE), AfterValidator(_printable)]


def _expiry(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not 0 <= value <= _LAST_MOMENT:
        raise ValueError("not a moment in milliseconds since 1970")
    return from_ms(int(value))


Expiry = Annotated[Moment, BeforeValidator(_expiry)]
"""In ISO 8601, or in milliseconds since 1970."""


class Sent(BaseModel):
    """What a caller sends, in snake case or in camel case."""

    model_config = ConfigDict(
        extra="ignore",
        strict=True,
        frozen=True,
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name))),
    )


# ---- where, and what is allowed there


class PartitionBody(Sent):
    """Where. `org_id/workspace_id` is the tenant; what is left out is the caller's own, or `default`."""

    org_id: Name | None = None
    workspace_id: Name | None = None
    project_id: Name | None = None
    tier: Tier | None = None


class TiersBody(Sent):
    """Which tiers a run may use. What is left out is narrow."""

    read_tiers: list[Tier] = ["session", "project"]
    write_tiers: list[Tier] = ["session"]
    promote_targets: list[Tier] = []
    require_review_for_promote: bool = True


class CapabilityBody(Sent):
    """What a run may do. It narrows what the key allows, and never widens it."""

    run_id: Name
    subject: Name
    org_id: Name
    workspace_id: Name
    project_id: Name
    memory: TiersBody = TiersBody()
    expires_at: Expiry | None = None

    def value(self) -> Capability:
        tiers = self.memory
        return Capability(
            run=self.run_id,
            subject=self.subject,
            org=self.org_id,
            workspace=self.workspace_id,
            project=self.project_id,
            read_tiers=frozenset(tiers.read_tiers),
            write_tiers=frozenset(tiers.write_tiers),
            promote_targets=frozenset(tiers.promote_targets),
            require_review=tiers.require_review_for_promote,
            expires_at=self.expires_at,
        )


SignedText = Annotated[str, Field(pattern=f"^{PREFIX}")]


def _read_capability(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if len(value) > MAX_CAPABILITY:
        raise ValueError(f"a capability has at most {MAX_CAPABILITY:,} characters")
    if value.startswith(PREFIX):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("a capability that is sent as text is a JSON object, or a signed one (cap_…)") from None


Capable = Annotated[
    CapabilityBody | SignedText | None,
    BeforeValidator(_read_capability, json_schema_input_type=CapabilityBody | str | None),
]
"""An object, the same as a text of JSON, or the signed text of one that another key issued."""


class SearchedPartitionBody(PartitionBody):
    """As above, for a search: a field that we do not know is refused."""

    model_config = ConfigDict(extra="forbid")


class PlacedBody(Sent):
    """Where something is put or looked for, and whose it is. `project_tag` is another name of `project_id`."""

    run_id: Name | None = None
    session_id: Name | None = None
    partition: PartitionBody | None = None
    project_id: Name | None = None
    project_tag: Name | None = None
    user_id: Name | None = None
    capability: Capable = None


def one_project(*names: str | None) -> str | None:
    """The project that a request names, in one of several places. Raises InvalidInput: it names two."""
    projects = {name for name in names if name is not None}
    if len(projects) > 1:
        raise InvalidInput(f"The request names several projects: {', '.join(sorted(projects))}. Name one.")
    return projects.pop() if projects else None


class BudgetsBody(Sent):
    """How much may be recalled in one window of time, and in one reply."""

    model_config = ConfigDict(extra="forbid")

    max_queries_per_window: int | None = Field(default=None, ge=0, le=1_000_000)
    window_ms: int = Field(default=60_000, ge=1, le=86_400_000)
    max_top_k: int | None = Field(default=None, ge=0, le=1_000)
    max_tokens: int | None = Field(default=None, ge=0, le=1_000_000)
    max_chars: int | None = Field(default=None, ge=0, le=10_000_000)
    max_results_per_window: int = Field(default=20, ge=0, le=1_000_000)
    max_tokens_per_window: int = Field(default=800, ge=0, le=1_000_000_000)
    max_chars_per_window: int = Field(default=4_000, ge=0, le=1_000_000_000)


class GrantBody(Sent):
    """How much one subject may recall. A subject that speaks in a channel has such a budget in any case."""

    model_config = ConfigDict(extra="forbid")

    grant_id: Name
    subject: Name
    org_id: Name | None = None
    workspace_id: Name | None = None
    project_ids: Names = []
    source_binding_ids: Names = []
    source_object_ids: Names = []
    data_classes: Names = []
    budgets: BudgetsBody = BudgetsBody()
    revoked: bool = False
    expires_at: Expiry | None = None


# ---- put


class PutBody(PlacedBody):
    """
    Something worth keeping, for its subject alone until it is promoted. Without a partition its tier is `session`. `user_id` is
    whose it is, the caller's own by default; an admin's key may name another.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"content": "The team uses Rust for backend services.", "tags": ["team"]}]}
    )

    content: Annotated[str, Field(max_length=MAX_TEXT)] = Field(validation_alias=AliasChoices("content", "text"))
    message_id: Name | None = None
    tool_name: Name | None = None
    channel_tag: Name | None = None
    host_tag: Name | None = None
    kind: Kind = "note"
    classification: Classification = "internal"
    artifact_refs: list[Reference] = Field(default=[], max_length=MAX_REFS)
    tags: list[Name] = Field(default=[], max_length=64)
    source: Name | None = None
    trust: Trust | None = Field(default=None, validation_alias=AliasChoices("trust", "trust_label", "trustLabel"))
    metadata: Metadata | None = None
    private: bool = Field(default=False, description="What is put is private in any case, until it is promoted.")

    def label(self) -> Trust:
        """How far it is to be trusted, wherever the body says so. A label that is none of ours is not trusted."""
        metadata = self.metadata or {}
        nested = metadata.get("memory_trust")
        name = (
            self.trust or metadata.get("trust_label") or (nested.get("label") if isinstance(nested, dict) else nested)
        )
        if name is None:
            return "system_generated"
        return next((label for label in get_args(Trust) if label == name), "external_user_supplied")


class ScrubAnswer(Answer):
    status: Literal["passed", "redacted", "blocked"]
    redactions: int
    block_reason: str | None


class PutAnswer(Answer):
    """
    `stored` is false where the same was there already (`deduped`), or where a secret kept it out (`scrub_report`). `quarantined` and
    `quarantine` are there if it waits for a reviewer, and say why.
    """

    id: str
    ok: bool
    stored: bool
    deduped: bool
    tier: Tier
    partition_key: str
    audit_id: str
    scrub_report: ScrubAnswer
    quarantined: bool = Field(default=False, exclude_if=lambda value: not value)
    quarantine: Quarantine | None = Field(default=None, exclude_if=lambda value: value is None)


# ---- search


class SearchBody(PlacedBody):
    """
    A question, by words. Without `read_scopes`, a project or a capability, the caller's own memory counts and what is shared with
    them. `user_id`, `channel_tag` and `host_tag` narrow. A field that we do not know is refused: it might have narrowed, too.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "backend language", "limit": 5}]}
    )

    partition: SearchedPartitionBody | None = None  # pyright: ignore[reportIncompatibleVariableOverride] - bodies are frozen
    query: Annotated[str, Field(max_length=MAX_TEXT, json_schema_extra={"minLength": 1, "maxLength": 10_000})]
    read_scopes: list[Tier] | None = Field(default=None, max_length=20)
    limit: int = Field(default=8, ge=1, le=100)
    tags: list[Name] = Field(default=[], max_length=64)
    channel_tag: Name | None = None
    host_tag: Name | None = None
    retrieval_grant: GrantBody | None = None


class TrustAnswer(Answer):
    """What is not trusted is shown as evidence, never as context."""

    label: Trust
    trusted_for_promotion: bool
    rendering_role: Literal["context", "evidence"]


class LinkageAnswer(Answer):
    run_id: str | None = None
    session_id: str | None = None
    message_id: str | None = None
    project_id: str
    promotion: Metadata | None = None


class GovernanceAnswer(Answer):
    classification: str
    visibility: Literal["private", "shared"]
    demoted: bool
    redaction_status: Literal["passed", "redacted"]
    redaction_count: int


class InfluenceAnswer(Answer):
    pinned: bool
    importance: float


class MemoryAnswer(Answer):
    """One memory. `text` and `content` are the same."""

    id: str
    text: str
    content: str
    score: float | None = None
    relevance: float | None = Field(default=None, description="The chance that it answers the question, from 0 to 1.")
    contradicted_by: list[str] | None = Field(default=None, description="The ids of hits that say otherwise.")
    tier: Tier
    partition_key: str | None = None
    kind: str
    classification: str
    source: str
    source_type: str
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    project_id: str
    channel_tag: str | None = None
    host_tag: str | None = None
    tags: list[str]
    artifact_refs: list[str]
    visibility: Literal["private", "shared"]
    demoted: bool
    created_at_ms: int
    updated_at_ms: int
    memory_trust: TrustAnswer
    linkage: LinkageAnswer
    governance: GovernanceAnswer
    influence: InfluenceAnswer
    provenance: dict[str, str]
    metadata: Metadata


class SearchAnswer(Answer):
    """Best first. `left_out` is how many more there were than the budget allowed."""

    results: list[MemoryAnswer]
    count: int
    scopes_used: list[Tier]
    blocked_scopes: list[Tier]
    audit_id: str
    left_out: int


class ListAnswer(Answer):
    """Newest first. `truncated`: there was more to look through than one request may."""

    items: list[MemoryAnswer]
    count: int
    offset: int
    limit: int
    truncated: bool


# ---- promote, demote, delete


class ReviewBody(Sent):
    required: bool = True
    reviewer_id: Name | None = None
    approval_id: Name | None = None


class OutcomeBody(Sent):
    """How the work went that a memory comes from."""

    model_config = ConfigDict(extra="allow")

    status: Line | None = None
    approved: bool | None = None
    policy_decision_id: Name | None = None


class PromoteBody(PlacedBody):
    """Without `to_tier` it goes to the project it belongs to. It keeps its id."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "01920000-0000-7000-8000-000000000000"}]})

    id: RecordId = Field(validation_alias=AliasChoices("id", "source_memory_id", "sourceMemoryId"))
    from_tier: Tier | None = None
    to_tier: Tier | None = None
    reason: Line | None = None
    review: ReviewBody | None = None
    source_outcome: OutcomeBody | None = None

    def outcome(self) -> Metadata | None:
        if self.source_outcome is None:
            return None
        outcome: Metadata = self.source_outcome.model_dump(mode="json", exclude_none=True)
        return outcome


class PromoteAnswer(Answer):
    """`reason` says why nothing was promoted."""

    ok: bool
    id: str
    promoted: bool
    new_memory_id: str | None
    to_tier: Tier
    scrub_report: ScrubAnswer
    audit_id: str
    policy_decision_id: str
    reason: str | None


class DemoteBody(Sent):
    id: RecordId = Field(validation_alias=AliasChoices("id", "memory_id", "memoryId"))
    run_id: Name | None = None


class ChangedAnswer(Answer):
    """`outcome` is `unchanged` if it was so already."""

    ok: bool = True
    id: str
    audit_id: str
    outcome: Outcome


class DeletedAnswer(ChangedAnswer):
    deleted: bool = True


# ---- audit


class AuditEntry(Answer):
    audit_id: str
    id: str
    action: str
    run_id: str | None = None
    memory_id: str | None = None
    source_memory_id: str | None = None
    to_tier: str | None = None
    partition_key: str | None = None
    actor: str
    status: str
    detail: str | None = None
    created_at_ms: int
    ts_ms: int


class AuditAnswer(Answer):
    """Newest first."""

    entries: list[AuditEntry]
    count: int


# ---- import


class SourceBody(Sent):
    kind: Literal["path"] = "path"
    path: Annotated[str, Field(min_length=1, max_length=MAX_LINE)]


class ImportBody(Sent):
    """A folder of the machine the daemon runs on. A project's needs `project_id`, a session's `session_id`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"source": {"kind": "path", "path": "/srv/notes"}, "tier": "project", "project_id": "handbook"}
            ]
        }
    )

    source: SourceBody
    format: Literal["directory", "openclaw"] = "directory"
    tier: StoredTier = "project"
    project_id: Name | None = None
    session_id: Name | None = None
    source_binding_id: Name | None = None
    sync_deletes: bool = False
    force: bool = Field(default=False, description="Delete even if that is more than half of what the folder brought.")


class SourceAnswer(Answer):
    kind: Literal["path"]
    path: str


class WarnedFile(Answer):
    file: str
    reason: str


class ImportAnswer(Answer):
    ok: bool
    source: SourceAnswer
    format: Literal["directory", "openclaw"]
    tier: StoredTier
    project_id: str | None
    session_id: str | None
    source_binding_id: str | None
    sync_deletes: bool
    discovered_files: int
    files_processed: int
    indexed_files: int
    skipped_files: int
    deleted_files: int
    chunks_created: int
    errors: int
    quarantined: int = 0
    withheld: list[Withheld] = Field(default=[], description="The first of those that wait for a reviewer, and why.")
    warned: list[WarnedFile] = Field(
        default=[], description="Those that have marks of a prompt or hidden characters, and are recalled."
    )


class DistillBody(Sent):
    """A conversation in parts, each of which may say who speaks (`user: …`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"session_id": "s-7", "conversation": ["user: I prefer tabs.", "assistant: Noted."]}]
        }
    )

    session_id: Name
    conversation: list[Annotated[str, Field(max_length=MAX_TEXT)]] = Field(max_length=10_000)
    run_id: Name | None = None
    workflow_id: Name | None = None
    project_id: Name | None = None
    subject: Name | None = None
    artifact_refs: list[Reference] = Field(default=[], max_length=MAX_REFS)
    importance_threshold: float = Field(default=0.5, ge=0, le=1)
    capability: Capable = None


class FactAnswer(Answer):
    category: str
    content: str
    importance: float
    follow_up_needed: bool


class ReportAnswer(Answer):
    method: Literal["rules", "model"]
    user_memory_updated: bool
    agent_memory_updated: bool
    facts: list[FactAnswer]


class DistillAnswer(Answer):
    """`memory_ids` are the facts kept, those that were there already included; `quarantined` of them wait for a reviewer."""

    ok: bool
    distillation_id: str
    session_id: str
    facts_extracted: int
    stored_count: int
    deduped_count: int
    memory_ids: list[str]
    candidate_ids: list[str]
    quarantined: list[Withheld] = Field(default=[])
    status: Literal["stored", "facts_extracted_only", "no_important_facts", "skipped_short_conversation"]
    report: ReportAnswer


class ResolveBody(Sent):
    model_config = ConfigDict(json_schema_extra={"examples": [{"uri": "commonplace://resources/default"}]})

    uri: Line


class NodeAnswer(Answer):
    id: str
    uri: str
    parent_uri: str | None = None
    node_type: Literal["directory", "file"]
    created_at: Moment
    updated_at: Moment
    metadata: Metadata


class ResolveAnswer(Answer):
    node: NodeAnswer


class LayerSummaryAnswer(Answer):
    l0_preview: str | None = None
    l1_preview: str | None = None
    has_l2: bool


class TreeNodeAnswer(Answer):
    """`more` children are not shown."""

    node: NodeAnswer
    children: list[TreeNodeAnswer]
    layer_summary: LayerSummaryAnswer
    more: int


class TreeAnswer(Answer):
    tree: list[TreeNodeAnswer]


class LayersBody(Sent):
    """The id of a memory, or an address in the tree."""

    node_id: Line


class LayerAnswer(Answer):
    layer_type: Literal["L0", "L1"]
    content: str
    token_count: int
    method: Literal["rules", "model"]


class LayersAnswer(Answer):
    ok: bool
    node_id: str
    layers: list[LayerAnswer]
