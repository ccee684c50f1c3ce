"""The remember door on the wire: memory of a workspace, and its tasks, as qwen-code's clients speak of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from commonplace.values.json import Natural
from commonplace.values.moment import Moment

TaskStatus = Literal["queued", "running", "completed", "failed"]
Topic = Literal["user", "feedback", "project", "reference"]
Target = Literal["user", "project"]


class Given(BaseModel):
    """
    What a caller sends. Whether it can be used is for the service to say, with a code of its own, and what we do not know is
    passed by: these clients are newer or older than we are. A body that is no object says nothing.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _object(cls, value: Any) -> Any:
        is_object = bool(isinstance(value, dict | Given))
        return value if is_object else {}


class Remember(Given):
    content: Any = Field(
        default=None, description="The fact: text, at most 64 KiB of UTF-8.", examples=["We ship on Fridays."]
    )
    context_mode: Any = Field(
        default=None, description="`workspace` (default): existing memory is looked at. `clean`: none is."
    )
    scope: Any = Field(default=None, description="`project` or `user`, to file it there and nowhere else.")


class Forget(Given):
    query: Any = Field(default=None, description="What to forget: text, at most 64 KiB of UTF-8.")
    scope: Any = Field(default=None, description="`project` or `user`, to look there and nowhere else.")


class Write(Given):
    scope: Any = Field(default=None, description="`workspace` or `global`.")
    content: Any = Field(default=None, description="Text, at most 1 MiB of UTF-8.")
    mode: Any = Field(default=None, description="`append` (default) or `replace`.")


class RoomWrite(Given):
    content: Any = Field(
        default=None, description="Text, at most 1 MiB of UTF-8. A list of bullets becomes a line for each."
    )
    mode: Any = Field(default=None, description="`append` (default) or `replace`.")


class CamelModel(BaseModel):
    """What we answer."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


NamedScope = Annotated[
    Target | None,
    Field(
        exclude_if=lambda scope: scope is None, json_schema_extra={"description": "Only where the request named one."}
    ),
]
"""A task that was for no scope in particular does not speak of any."""


class TaskFailure(CamelModel):
    code: str = Field(examples=["remember_path_escape"])
    message: str
    details: str = Field(description="Our own code for what went wrong.")


class RememberQueued(CamelModel):
    scope: NamedScope = None
    task_id: str
    status: TaskStatus
    context_mode: Literal["workspace", "clean"]
    created_at: Moment
    updated_at: Moment


class Redaction(CamelModel):
    kind: str = Field(examples=["github_token"])
    count: Natural


class RememberResult(CamelModel):
    summary: str
    files_touched: list[str]
    touched_scopes: list[Target]
    method: Literal["rules", "model"]
    quarantined: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="It is filed, and not recalled until a reviewer has looked; the summary says why. Absent if it is not so.",
    )
    quarantine_reasons: list[str] = Field(default=[], exclude_if=lambda value: not value)
    outcome: Literal["saved", "updated", "known"] | None = Field(
        default=None, description="A new entry, one that was brought up to date, or nothing: it was known."
    )
    redactions: list[Redaction] = Field(
        default=[], description="What was taken out of the text, since no secret is kept."
    )
    fallback: str | None = Field(default=None, description="The code for which rules did what a model was to do.")
    unsure: list[str] = Field(
        default=[], description="The files that may belong into the other memory; `POST /v1/managed/move` moves them."
    )


class RememberTask(RememberQueued):
    result: RememberResult | None
    error: TaskFailure | None


class ForgetQueued(CamelModel):
    scope: NamedScope = None
    task_id: str
    status: TaskStatus
    created_at: Moment
    updated_at: Moment


class Removed(CamelModel):
    topic: Topic
    summary: str
    file_path: str


class ForgetResult(CamelModel):
    summary: str
    removed_entries: list[Removed]
    touched_topics: list[Topic]
    touched_scopes: list[Target]
    method: Literal["rules", "model"]


class ForgetTask(ForgetQueued):
    result: ForgetResult | None
    error: TaskFailure | None


class DreamQueued(CamelModel):
    task_id: str
    status: TaskStatus
    created_at: Moment
    updated_at: Moment


class DreamResult(CamelModel):
    summary: str
    touched_topics: list[str]
    deduped_entries: Natural
    method: Literal["rules", "model"]
    fallback: str | None = Field(default=None, description="The code for which rules did what a model was to do.")


class DreamTask(DreamQueued):
    result: DreamResult | None
    error: TaskFailure | None


# ---- MEMORY.md


class FileTold(CamelModel):
    kind: Literal["memory_file"] = "memory_file"
    path: str
    scope: Literal["workspace", "global"]
    bytes: Natural


class FileProblem(CamelModel):
    kind: Literal["memory_file"] = "memory_file"
    status: Literal["error"] = "error"
    error: str
    hint: str


class MemoryStatus(CamelModel):
    v: Literal[1] = 1
    workspace_cwd: str
    initialized: bool
    files: list[FileTold]
    total_bytes: Natural
    file_count: Natural
    rule_count: Natural
    errors: list[FileProblem]


class Written(CamelModel):
    ok: Literal[True] = True
    file_path: str
    bytes_written: Natural = Field(description="The size of the file now; 0 where nothing changed.")
    mode: Literal["append", "replace"]
    changed: bool


class RoomWritten(CamelModel):
    ok: Literal[True] = True
    channel_name: str
    chat_id: str
    line_count: Natural = Field(description="How many lines the room remembers now.")
    mode: Literal["append", "replace"]
    changed: bool


# ---- what this daemon can


class Protocols(CamelModel):
    current: str = "v1"
    supported: list[str] = ["v1"]


class Feature(CamelModel):
    since: str = "v1"
    modes: list[str] | None = None


class Policy(CamelModel):
    permission: str = Field(description="Whose vote decides a request for permission.")


class WorkspaceEntry(CamelModel):
    id: str
    cwd: str
    primary: bool = True
    trusted: bool = True
    removable: bool = False


class Capabilities(CamelModel):
    v: Literal[1] = 1
    protocol_versions: Protocols = Protocols()
    mode: Literal["native"] = "native"
    features: list[str] = Field(description="What a client may use.", examples=[["workspace_memory_remember"]])
    feature_details: dict[str, Feature] = Field(description="More about those that come in several modes.")
    model_services: list[str] = []
    workspace_cwd: str
    workspaces: list[WorkspaceEntry]
    transports: list[str] = ["rest"]
    policy: Policy
    limits: dict[str, int]
