"""
Channels: ways in by which chat rooms reach an agent.

A channel has a kind, which is its platform, and settings; a room is one of its chats. The scope `channel:<channel>/<chat>` is what a room
remembers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, TypedDict, get_args

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound
from commonplace.values.agent_profile import AgentProfile, McpServerRow, check_profile, server_row_of
from commonplace.values.json import Json, JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.permission import PermissionPolicy
from commonplace.values.platform import Bilingual, ConnectionState
from commonplace.values.principal import CHANNEL_SUBJECT
from commonplace.values.scope import MAX_SCOPE_ID, Scope

ChannelKind = Literal["web", "terminal", "matrix", "dingtalk", "feishu"]
CHANNEL_KINDS: Final[tuple[ChannelKind, ...]] = get_args(ChannelKind)
LOCAL_KINDS: Final[frozenset[ChannelKind]] = frozenset({"web", "terminal"})
"""Whose rooms are in our own store; the rooms of the others are on their platform."""
GroupPolicy = Literal["disabled", "allowlist", "pairing", "open"]
SenderPolicy = Literal["open", "allowlist", "pairing"]
RouteScope = Literal["user", "thread", "single", "chat_thread"]
DispatchMode = Literal["collect", "steer", "followup"]
GuestReach = Literal["room", "workspace"]

WEB: Final = "web"
TERMINAL: Final = "terminal"
"""The names of the channels that are there without being made: rooms of the console, and of the terminal."""

MAX_CHANNEL_NAME: Final = 40
MAX_CHAT: Final = 180
MAX_ROOM_TITLE: Final = 100
MAX_INSTRUCTIONS: Final = 20_000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")


class ChannelNotFound(NotFound):
    """There is no such channel. List them, or add it."""

    code = "channel_not_found"


class RoomNotFound(NotFound):
    """There is no such room that you reach."""

    code = "room_not_found"


class ChannelExists(Conflict):
    """A channel of this name is there already. Choose another name, or remove that one."""

    code = "channel_exists"


class ChannelStopped(Conflict):
    """This channel is stopped. Start it, then try again."""

    code = "channel_stopped"


class RoomsUnavailable(Conflict):
    """Rooms are led by one process, and this daemon has several. Start it with --workers 1."""

    code = "rooms_unavailable"


class PairingNotFound(NotFound):
    """No sender waits under this code. It may have expired: codes are good for an hour."""

    code = "pairing_not_found"


class RoomMemoryFull(Conflict):
    """The memory of this room is full. Forget some of it, or replace it by something shorter."""

    code = "room_memory_full"


class PlatformError(CommonplaceError):
    """The chat platform did not do what was asked of it."""

    code = "platform_error"
    status = 502
    untaken = False
    """Whether it is certain that nothing was done, so that it may be asked for again."""

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        """`retry_after`: the platform says that it takes nothing for so many seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class PlatformRefused(PlatformError):
    """The chat platform does not accept the credentials of this channel. Look at them, then start the channel again."""

    code = "platform_refused"
    untaken = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomBudget(JsonObject):
    """What the turns of one room may cost in a window of so many hours, in millionths of a dollar, in tokens, or both: what is used up first counts."""

    micro_usd: int | None = None
    hours: int = 24
    tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSettings(JsonObject):
    """
    What differs for one group, or for all (`*`). What is None is as the channel says. `tools` are those that the agent has there, of its own
    and of its servers, of which a name stands for all of its tools; `mcp_servers` it has there beside its own.
    """

    require_mention: bool = True
    dispatch: DispatchMode | None = None
    agent: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    mcp_servers: tuple[McpServerRow, ...] = ()
    permissions: PermissionPolicy | None = None
    quorum: int | None = None
    budget: RoomBudget | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelSettings(JsonObject):
    """
    How the rooms of a channel are. `groups` have settings by the chat's id; those under `*` are for all others, and let none in.
    `allowed` are the senders who may speak (`senders` allowlist or pairing) and who may clear, cancel and steer; nobody named: everybody.
    `dispatch` None: `followup` where several talk, `steer` with one person alone. `guests`: what senders reach whom nobody linked.
    `blocks`: answers are told in pieces while they are made. `zone` is the time zone of its schedules, `quiet` the hours in which nothing is said by itself. `permissions` and
    `quorum`: whose vote decides what a tool may do. `learn`: what is said in a room is distilled into what it remembers; `archive`: each exchange is
    kept whole, too. `options` are what the platform is given that anybody may know, by name; `secrets` say where
    its secrets are: the name of a variable of the environment, or `file:` and a path.
    """

    agent: str = "assistant"
    workspace: str | None = None
    folder: str | None = None
    model: str | None = None
    instructions: str = ""
    group_policy: GroupPolicy = "disabled"
    groups: Mapping[str, GroupSettings] = field(default_factory=dict[str, GroupSettings])
    senders: SenderPolicy = "allowlist"
    allowed: tuple[str, ...] = ()
    route: RouteScope = "thread"
    dispatch: DispatchMode | None = None
    guests: GuestReach = "workspace"
    blocks: bool = False
    language: Literal["en", "zh"] | None = None
    zone: str | None = None
    quiet: str | None = None
    budget: RoomBudget | None = None
    permissions: PermissionPolicy = "first-responder"
    quorum: int | None = None
    learn: bool = True
    archive: bool = False
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_text(self) -> str:
        """As a store keeps it."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> ChannelSettings:
        """What `to_text` wrote, also before a setting was added, or after one was dropped."""
        names = {entry.name for entry in fields(cls)}
        document: dict[str, Any] = {name: value for name, value in json.loads(text).items() if name in names}
        groups: dict[str, dict[str, Any]] = document.get("groups", {})
        document["groups"] = {chat: _group_of(group) for chat, group in groups.items()}
        document["allowed"] = tuple(document.get("allowed", ()))
        document["budget"] = _budget_of(document.get("budget"))
        return cls(**document)

    def group(self, chat: str) -> GroupSettings:
        return self.groups.get(chat) or self.groups.get("*") or GroupSettings()

    def for_room(self, chat: str) -> ChannelSettings:
        """These settings with what differs in one room."""
        group = self.group(chat)
        # A policy brings its own quorum.
        quorum = self.quorum if group.permissions is None else None
        return replace(
            self,
            agent=group.agent or self.agent,
            model=group.model or self.model,
            permissions=group.permissions or self.permissions,
            quorum=group.quorum or quorum,
            budget=group.budget or self.budget,
        )

    def is_allowed(self, sender: str) -> bool:
        """Whether a sender may do what changes the room for everybody."""
        return not self.allowed or sender in self.allowed


def _budget_of(document: dict[str, Any] | None) -> RoomBudget | None:
    return None if document is None else RoomBudget(**document)


def _group_of(document: dict[str, Any]) -> GroupSettings:
    names = {entry.name for entry in fields(GroupSettings)}
    values = {name: value for name, value in document.items() if name in names}
    if values.get("tools") is not None:
        values["tools"] = tuple(values["tools"])
    values["mcp_servers"] = tuple(map(server_row_of, values.get("mcp_servers", ())))
    values["budget"] = _budget_of(values.get("budget"))
    return GroupSettings(**values)


class ChannelChanges(TypedDict, total=False):
    """What to change of a channel; what is absent stays."""

    settings: ChannelSettings
    enabled: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelProfile(JsonObject):
    """A channel as it was configured. `enabled`: it is to run."""

    name: str
    kind: ChannelKind
    created_at: Moment
    settings: ChannelSettings = field(default_factory=ChannelSettings)
    enabled: bool = True

    @property
    def subject(self) -> str:
        return f"{CHANNEL_SUBJECT}{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelStatus(JsonObject):
    """
    A channel, whether it is at work here, how it is connected to its platform, and what its last error means, if we know. `leader`: it is at work at
    another daemon over the same store, which is reached there. Errors and addresses are for admins.
    """

    channel: ChannelProfile
    running: bool
    connection: ConnectionState | None = None
    meaning: Bilingual | None = None
    leader: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelTest(JsonObject):
    """What came of a test message. `is_sent`: the platform took it; else `error` is what it said, and `meaning` what that means, if we know."""

    chat: str
    is_sent: bool
    error: str | None = None
    meaning: Bilingual | None = None
    connection: ConnectionState | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRoom(JsonObject):
    """One chat of a channel. `is_group`: several people talk there. `paused`: the agent does nothing until somebody resumes it."""

    channel: str
    chat: str
    created_at: Moment
    title: str = ""
    is_group: bool = True
    paused: bool = False

    @property
    def scope(self) -> Scope:
        return room_scope(self.channel, self.chat)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomSpent(JsonObject):
    """
    A room and what was spent in it in the window that runs until `until`: `spent_usd` is real, `estimated_usd` what nobody reported, or nobody
    knows the price of. The same of tokens. Without a budget there is no window, and nothing is counted.
    """

    room: ChatRoom
    limit_usd: float | None = None
    spent_usd: float = 0.0
    estimated_usd: float = 0.0
    until: Moment | None = None
    limit_tokens: int | None = None
    tokens: Natural = 0
    estimated_tokens: Natural = 0

    @property
    def share(self) -> float:
        """How much of the budget is used, of what is nearer to its end; 1 is all of it."""
        money = (self.spent_usd + self.estimated_usd) / self.limit_usd if self.limit_usd else 0.0
        tokens = (self.tokens + self.estimated_tokens) / self.limit_tokens if self.limit_tokens else 0.0
        return max(money, tokens)


MessageAuthor = Literal["person", "agent", "notice"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomMessage(JsonObject):
    """
    A message of a room, in its place (`number` grows). `author`: a person, the agent, or the room itself. `data` holds what else there is:
    `reply_to`, a `card`, `run`, the reach of who said it. `handled`: nothing is left to do about it.
    """

    number: Natural
    id: str
    at: Moment
    author: MessageAuthor
    text: str
    sender: str = ""
    sender_name: str = ""
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    handled: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomMessageDraft:
    """A message before it is kept. The same id in the same room is kept once."""

    channel: str
    chat: str
    id: str
    at: datetime
    author: MessageAuthor
    text: str
    sender: str = ""
    sender_name: str = ""
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    handled: bool = True


@dataclass(frozen=True, slots=True)
class RoomMessagePage(JsonObject):
    """In order. `before`: whether there are earlier ones."""

    messages: tuple[RoomMessage, ...]
    before: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Which session of the agent the messages of a `key` go to, and where its answers belong."""

    channel: str
    key: str
    session: str
    chat: str
    thread: str | None = None
    is_group: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelSender(JsonObject):
    """Somebody who spoke to a channel that pairs: `code` waits for an admin until it is too old, or they were approved."""

    channel: str
    sender: str
    name: str = ""
    code: str | None = None
    code_at: Moment | None = None
    approved_at: Moment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SenderLink(JsonObject):
    """That a sender of a platform (`matrix:@ana:example.org`) is a person here (`ana`)."""

    identity: str
    subject: str
    created_at: Moment


def room_scope(channel: str, chat: str) -> Scope:
    return Scope("channel", f"{channel}/{chat}")


def check_channel_name(name: str) -> str:
    if len(name) > MAX_CHANNEL_NAME or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"The name of a channel has 1 to {MAX_CHANNEL_NAME} small letters, digits, dashes and underscores."
        )
    return name


def check_chat(chat: str) -> str:
    if not 1 <= len(chat) <= MAX_CHAT or not chat.isprintable() or "*" in chat or chat != chat.strip():
        raise InvalidInput(f"The id of a chat has 1 to {MAX_CHAT} printable characters, and no star.")
    return chat


def check_settings(settings: ChannelSettings) -> ChannelSettings:
    """Raises InvalidInput: it cannot be used, and why."""
    _check_names(("agent", settings.agent), ("workspace", settings.workspace), ("model", settings.model))
    if len(settings.instructions) > MAX_INSTRUCTIONS or "\0" in settings.instructions:
        raise InvalidInput(f"Instructions have at most {MAX_INSTRUCTIONS:,} characters, without NUL.")
    for chat, group in settings.groups.items():
        if chat != "*":
            check_chat(chat)
        _check_group(group)
    for name, value in (*settings.options.items(), *settings.secrets.items()):
        if not name.isidentifier() or len(name) > 40 or not value.isprintable() or len(value) > 1_000:
            raise InvalidInput(
                f"The option or secret {name!r:.40} has a name of letters and at most 1,000 printable characters."
            )
    if len(settings.groups) > 1_000 or len(settings.allowed) > 1_000:
        raise InvalidInput("A channel names at most 1,000 groups and 1,000 senders.")
    _check_budget(settings.budget)
    return settings


def _check_names(*labels: tuple[str, str | None]) -> None:
    for what, label in labels:
        if label is not None and (not 1 <= len(label) <= MAX_SCOPE_ID or not label.isprintable() or "*" in label):
            raise InvalidInput(f"The {what} of a channel is a name of printable characters, without a star.")


def _check_group(group: GroupSettings) -> None:
    _check_names(("agent", group.agent), ("model", group.model))
    _check_budget(group.budget)
    check_profile(AgentProfile(tools=group.tools, mcp_servers=group.mcp_servers))


def _check_budget(budget: RoomBudget | None) -> None:
    if budget is None:
        return
    amounts = [amount for amount in (budget.micro_usd, budget.tokens) if amount is not None]
    if not amounts or not all(0 < amount <= 10**12 for amount in amounts) or not 0 < budget.hours <= 24 * 366:
        raise InvalidInput(
            "A budget of a room is more than nothing, in US dollars or in tokens, in a window of 1 hour to a year."
        )
