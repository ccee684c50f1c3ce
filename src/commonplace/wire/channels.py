"""Channels and their rooms on the wire."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from commonplace.values.channel import (
    ChannelKind,
    ChannelSender,
    ChannelSettings,
    ChannelStatus,
    ChatRoom,
    DispatchMode,
    GroupPolicy,
    GroupSettings,
    GuestReach,
    RoomBudget,
    RoomSpent,
    RouteScope,
    SenderLink,
    SenderPolicy,
)
from commonplace.values.json import JsonObject
from commonplace.values.permission import PermissionPolicy, PermissionVoteChoice
from commonplace.values.platform import ConnectionEntry, PlatformGuide
from commonplace.values.room_event import RoomEvent
from commonplace.values.usage import to_micro
from commonplace.wire.owners import McpServerBody
from commonplace.wire.queries import UrlQuery
from commonplace.wire.shapes import MAX_COUNT, Body, Label, NarrowBody

ROOM_EVENT: Final[TypeAdapter[RoomEvent]] = TypeAdapter(Annotated[RoomEvent, Field(discriminator="type")])
"""Reads an event of a room, and writes it."""


class RoomBody(Body):
    """A new room. Without an `id` it is given one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Releases"}]})

    title: str = Field(max_length=4_096)
    id: Label | None = None


class RoomSayBody(Body):
    """
    What somebody says in a room. `mention`: whether it is for the agent; without it its text says so (`@assistant …`). `id` makes it known again
    if it is sent twice. `speaker`: whom the operator speaks for, in a room of the terminal.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "@assistant When do we ship?"}]})

    text: str = Field(max_length=1_000_000)
    mention: bool | None = None
    reply_to: Label | None = None
    id: Label | None = None
    speaker: Label | None = None
    attachments: list[Label] = Field(default=[], max_length=10, description="Files that were uploaded to the room.")


class RoomTypingBody(Body):
    active: bool = True


class RoomsQuery(UrlQuery):
    everyone: bool = Field(default=False, description="Other people's rooms, too. For admins; the audit says so.")


class RoomMessagesQuery(UrlQuery):
    before: int | None = Field(default=None, ge=1, le=MAX_COUNT, description="Only those before this number.")
    limit: int = Field(default=100, ge=1, le=500)


@dataclass(frozen=True, slots=True)
class RoomsAnswer(JsonObject):
    rooms: tuple[ChatRoom, ...]


@dataclass(frozen=True, slots=True)
class RoomDeletedAnswer(JsonObject):
    chat: str


@dataclass(frozen=True, slots=True)
class ChannelsAnswer(JsonObject):
    channels: tuple[ChannelStatus, ...]
    kinds: tuple[ChannelKind, ...]


class RoomBudgetBody(NarrowBody):
    """What the turns of one room may cost in so many hours, in US dollars, in tokens, or both: what is used up first counts."""

    usd: float | None = Field(default=None, gt=0, le=1_000_000)
    hours: int = Field(default=24, ge=1, le=8_784)
    tokens: int | None = Field(default=None, ge=1, le=1_000_000_000_000)

    def value(self) -> RoomBudget:
        usd = None if self.usd is None else to_micro(self.usd)
        return RoomBudget(micro_usd=usd, hours=self.hours, tokens=self.tokens)


class GroupBody(NarrowBody):
    """What differs for one room, or for all that are not named (`*`). What is absent is as the channel says."""

    require_mention: bool = True
    dispatch: DispatchMode | None = None
    agent: Label | None = None
    model: Label | None = None
    tools: list[Label] | None = Field(default=None, max_length=100, description="The agent's own that it has there.")
    mcp_servers: list[McpServerBody] = Field(
        default_factory=list[McpServerBody], max_length=100, description="Beside the agent's own."
    )
    permissions: PermissionPolicy | None = None
    quorum: int | None = Field(default=None, ge=1, le=1_000)
    budget: RoomBudgetBody | None = None

    def value(self) -> GroupSettings:
        return GroupSettings(
            require_mention=self.require_mention,
            dispatch=self.dispatch,
            agent=self.agent,
            model=self.model,
            tools=None if self.tools is None else tuple(self.tools),
            mcp_servers=tuple(server.value() for server in self.mcp_servers),
            permissions=self.permissions,
            quorum=self.quorum,
            budget=None if self.budget is None else self.budget.value(),
        )


_MAY_BE_WITHOUT: Final = frozenset({"workspace", "folder", "model", "dispatch", "language", "budget", "quorum"})


class ChannelSettingsBody(NarrowBody):
    """
    How the rooms of a channel are. What is absent is as it was, in a new channel as its kind has it. null takes back what a channel may be
    without: `workspace`, `folder`, `model`, `dispatch`, `language`, `budget`, `quorum`.
    """

    agent: Label | None = None
    workspace: Label | None = None
    folder: str | None = Field(default=None, max_length=4_096)
    model: Label | None = None
    instructions: str | None = Field(default=None, max_length=100_000)
    group_policy: GroupPolicy | None = None
    groups: dict[str, GroupBody] | None = None
    senders: SenderPolicy | None = None
    allowed: list[str] | None = None
    route: RouteScope | None = None
    dispatch: DispatchMode | None = None
    guests: GuestReach | None = None
    blocks: bool | None = None
    language: Literal["en", "zh"] | None = None
    zone: str | None = Field(default=None, max_length=64, description="The time zone of its schedules.")
    quiet: str | None = Field(
        default=None, max_length=100, description="Hours in which nothing is said by itself, such as `22:00-07:00`."
    )
    budget: RoomBudgetBody | None = None
    permissions: PermissionPolicy | None = None
    quorum: int | None = Field(default=None, ge=1, le=1_000)
    learn: bool | None = None
    archive: bool | None = None
    options: dict[str, str] | None = None
    secrets: dict[str, str] | None = None

    def over(self, settings: ChannelSettings) -> ChannelSettings:
        """These settings with what the body says."""
        values: dict[str, Any] = {
            name: getattr(self, name)
            for name in self.model_fields_set
            if getattr(self, name) is not None or name in _MAY_BE_WITHOUT
        }
        if self.groups is not None:
            values["groups"] = {chat: group.value() for chat, group in self.groups.items()}
        if self.allowed is not None:
            values["allowed"] = tuple(self.allowed)
        if self.budget is not None:
            values["budget"] = self.budget.value()
        return replace(settings, **values)


class ChannelBody(Body):
    """A new channel."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "team", "kind": "web", "settings": {"agent": "assistant"}}]}
    )

    name: str = Field(max_length=255)
    kind: Label = "web"
    settings: ChannelSettingsBody = Field(default_factory=ChannelSettingsBody)


class ChannelChangeBody(NarrowBody):
    """What is absent stays. `enabled`: whether it is to run."""

    settings: ChannelSettingsBody | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class ChannelKindAnswer(JsonObject):
    """A kind of channel and how it is set up. `available`: this version has a client for it."""

    guide: PlatformGuide
    available: bool


@dataclass(frozen=True, slots=True)
class ChannelKindsAnswer(JsonObject):
    kinds: tuple[ChannelKindAnswer, ...]


@dataclass(frozen=True, slots=True)
class ChannelLogAnswer(JsonObject):
    entries: tuple[ConnectionEntry, ...]


class ChannelTestBody(Body):
    chat: Label


@dataclass(frozen=True, slots=True)
class ChannelSpendingAnswer(JsonObject):
    rooms: tuple[RoomSpent, ...]


class ChannelPauseBody(NarrowBody):
    """`paused` false: the agent works there again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"chat": "releases"}]})

    chat: Label
    paused: bool = True


class PairBody(Body):
    code: str = Field(max_length=64)


class SenderLinkBody(Body):
    """That a sender of a platform is a person here."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"identity": "terminal:ana", "subject": "ana"}]})

    identity: str = Field(max_length=4_096)
    subject: Label


class RoomVoteBody(NarrowBody):
    choice: PermissionVoteChoice


class RoomMemoryBody(NarrowBody):
    """`append` adds a line, `replace` takes the place of all of them."""

    content: str = Field(max_length=4 << 20)
    mode: Literal["append", "replace"] = "append"


class RoomForgetBody(NarrowBody):
    line: str = Field(max_length=100_000)


class RoomCorrectBody(NarrowBody):
    line: str = Field(max_length=100_000, description="As the memory has it.")
    text: str = Field(min_length=1, max_length=100_000, description="What it is to say.")


@dataclass(frozen=True, slots=True)
class RoomMemoryAnswer(JsonObject):
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SendersAnswer(JsonObject):
    senders: tuple[ChannelSender, ...]


@dataclass(frozen=True, slots=True)
class LinksAnswer(JsonObject):
    links: tuple[SenderLink, ...]


@dataclass(frozen=True, slots=True)
class ChannelDeletedAnswer(JsonObject):
    name: str
