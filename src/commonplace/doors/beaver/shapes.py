"""
The gateway door: users, their chats and their documents, as Beaver asks a Memory Gateway for them.

Fields that we do not know are passed over. A user's key is a secret all the way: no model here prints it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr

from commonplace.values.moment import Moment
from commonplace.values.quarantine import Withheld
from commonplace.values.record import Outcome
from commonplace.wire.shapes import MAX_TEXT, Answer, Label, Line

MAX_MESSAGES = 500
_LAST_MOMENT = 253_402_300_799_999

Named = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$", examples=["default"])]
"""An app or a project: together they are the tenant."""
UserKey = Annotated[SecretStr, Field(min_length=1, max_length=255, examples=["uk_…"])]
Session = Annotated[Label, Field(max_length=128, examples=["chat:42"])]
SearchScope = Literal["current_chat", "resources", "all_user_memory"]
Uri = Annotated[Label, Field(max_length=240, examples=["notes/handbook.md"])]


WithheldOnes = Annotated[
    list[Withheld],
    Field(
        exclude_if=lambda withheld: not withheld,
        json_schema_extra={
            "description": "Kept, but not found until a reviewer has looked, and why; absent if there is none."
        },
    ),
]


class Sent(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class NewUser(Sent):
    user_id: Label
    app_id: Named | None = None
    project_id: Named | None = None

    @property
    def tenant(self) -> str | None:
        if self.app_id is None and self.project_id is None:
            return None
        return f"{self.app_id or 'default'}/{self.project_id or 'default'}"


class UserAnswer(Answer):
    """The key is shown this once."""

    user_id: str
    user_key: str


class Credentials(Sent):
    user_id: Label
    user_key: UserKey
    app_id: Named = "default"
    project_id: Named = "default"

    @property
    def tenant(self) -> str:
        return f"{self.app_id}/{self.project_id}"


# ---- search


class Search(Credentials):
    """A field that we do not know is refused: it might have narrowed the search."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1, max_length=MAX_TEXT, description="Its first 10,000 characters count.")]
    scope: Annotated[list[SearchScope], Field(min_length=1, max_length=10)] = Field(
        default=["all_user_memory", "resources"], validate_default=False
    )
    conversation_id: Annotated[Line, Field(max_length=122)] | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] = Field(default=8, validation_alias=AliasChoices("top_k", "topK"))
    min_relevance: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="All that has at least this score; without: what answers, which may be nothing."
    )


class Raw(Answer):
    """
    What else is known of a result. `evidence`: the ids of records that say the same and are not listed; `contradicted_by`: those of results
    that say otherwise.
    """

    kind: str
    role: str | None
    sender_id: str | None
    at: Moment | None
    trust: str
    title: str | None
    evidence: list[str]
    contradicted_by: list[str]


class Result(Answer):
    """`score`: the chance that it answers the question, from 0 to 1."""

    id: str
    session_id: str | None
    text: str
    score: float
    source_scope: SearchScope
    resource_uri: str | None
    raw: Raw | None


class Results(Answer):
    results: list[Result]


# ---- talk


class Item(Sent):
    """A piece of a message. What is not text is remembered by its type only."""

    type: Annotated[str, Field(max_length=64)] = "text"
    text: Annotated[str, Field(max_length=MAX_TEXT)] | None = None


class Message(Sent):
    sender_id: Label
    sender_name: Label | None = None
    role: Literal["user", "assistant", "tool"]
    timestamp: Annotated[int, Field(gt=0, le=_LAST_MOMENT, description="Milliseconds since 1970, UTC.")]
    content: Annotated[str, Field(max_length=MAX_TEXT)] | Annotated[list[Item], Field(max_length=1_000)]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        parts = [item.text if item.text is not None else f"[{item.type}]" for item in self.content]
        return "\n".join(part for part in parts if part.strip())


class Add(Credentials):
    session_id: Session
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]


class Added(Answer):
    """`message_count` messages were stored; `unchanged_count` were there before, and those without a text count nowhere."""

    message_count: int
    unchanged_count: int = 0
    quarantined_count: int = 0
    status: Literal["accumulated"] = "accumulated"
    quarantined: WithheldOnes = Field(default=[])


class Flush(Credentials):
    session_id: Session
    wait: bool | None = None


class FlushAnswer(Answer):
    """
    What came of the messages since the last flush: the ids of the facts, and of the episode they belong to. `superseded` are
    the facts that are no longer so; `dropped` counts what was found and not kept, by the reason. While it is `queued`, nothing has come of it yet.
    """

    status: Literal["extracted", "no_extraction", "queued"]
    message_count: int
    facts: list[str]
    episode: str | None
    superseded: list[str] = Field(default=[])
    dropped: dict[str, int] = Field(default={})
    method: Literal["rules", "model"] = "rules"
    job: str | None = None
    quarantined: WithheldOnes = Field(default=[])


# ---- documents


class NewResource(Credentials):
    content: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    uri: Uri | None = None
    title: Label | None = None


class ResourceKept(Answer):
    resource_uri: str
    chunks: int
    outcome: Outcome | None = None
    quarantined: WithheldOnes = Field(default=[])


class Resource(Answer):
    resource_uri: str
    title: str | None
    characters: int
    created_at: Moment
    updated_at: Moment


class Resources(Answer):
    resources: list[Resource]
    cursor: str | None


class ResourceRemoved(Answer):
    resource_uri: str
    deleted: Literal[True] = True
