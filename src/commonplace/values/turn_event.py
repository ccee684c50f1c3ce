"""What happens in a turn of the agent, as its listeners hear it: each has a `type`, by which JSON tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from commonplace.values.json import Json, JsonObject, Natural
from commonplace.values.permission import (
    PermissionAnswer,
    PermissionChoice,
    PermissionRefusal,
    PermissionRequest,
    PermissionVoteChoice,
    ToolKind,
)

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
"""Why a turn ended, in the words of the Agent Client Protocol."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnUsage(JsonObject):
    """
    What the model calls of a turn took. `cached_tokens` are part of the input, `thought_tokens` of the output. `estimated`: nobody reported
    it.
    """

    model: str
    requests: Natural = 0
    input_tokens: Natural = 0
    output_tokens: Natural = 0
    cached_tokens: Natural = 0
    thought_tokens: Natural = 0
    cost_micro_usd: Natural = 0
    estimated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RecalledMemory(JsonObject):
    """A memory that was put before the model, and why."""

    id: str
    text: str
    relevance: float | None = None
    scope: str | None = None
    source: str | None = None
    why: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnStarted(JsonObject):
    run: str
    session: str
    text: str
    model: str
    speaker: str | None = None
    client: str | None = None
    scheduled: str | None = None
    """The schedule that said it by itself, in the name of the speaker."""
    type: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptQueued(JsonObject):
    """Somebody said something while another turn is played; it waits for its own."""

    run: str
    text: str
    speaker: str
    client: str | None = None
    scheduled: str | None = None
    type: Literal["prompt_queued"] = "prompt_queued"


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptWithdrawn(JsonObject):
    """What waited is not played: somebody took it back, or the session ended."""

    run: str
    reason: Literal["withdrawn", "session_closed"] = "withdrawn"
    type: Literal["prompt_withdrawn"] = "prompt_withdrawn"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeChanged(JsonObject):
    """`by` is the person who changed it; None: the agent itself did."""

    mode: str
    previous: str
    by: str | None = None
    client: str | None = None
    type: Literal["mode_changed"] = "mode_changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChanged(JsonObject):
    model: str
    previous: str
    by: str | None = None
    client: str | None = None
    type: Literal["model_changed"] = "model_changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageChanged(JsonObject):
    """What the turn took, told when it ends. `used` of the `size` tokens that a prompt may hold; 0: not known."""

    usage: TurnUsage
    used: Natural = 0
    size: Natural = 0
    type: Literal["usage"] = "usage"


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryRecalled(JsonObject):
    """What the turn begins with. `block` is the text as the model is sent it; empty if no memory answers."""

    memories: tuple[RecalledMemory, ...] = ()
    block: str = ""
    backend: str = "curated"
    failed: str | None = None
    type: Literal["memory_recalled"] = "memory_recalled"


@dataclass(frozen=True, kw_only=True, slots=True)
class TextAdded(JsonObject):
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, kw_only=True, slots=True)
class ThinkingAdded(JsonObject):
    text: str
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolStarted(JsonObject):
    """The call is kept in the history by now: it is never run again."""

    call: str
    tool: str
    kind: ToolKind
    title: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    type: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEnded(JsonObject):
    """`failed`: the text is an error, which the model was told. `diff`: what changed in a file."""

    call: str
    tool: str
    text: str
    failed: bool = False
    diff: str | None = None
    type: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanChanged(JsonObject):
    """Each entry has `text` and `status` (pending, in_progress, completed)."""

    entries: tuple[Mapping[str, str], ...]
    type: Literal["plan"] = "plan"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionAsked(JsonObject):
    """The `terms` of the request say who decides it, and until when."""

    request: PermissionRequest
    type: Literal["permission_asked"] = "permission_asked"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionAnswered(JsonObject):
    answer: PermissionAnswer
    type: Literal["permission_answered"] = "permission_answered"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionVoted(JsonObject):
    """A vote was counted, and the request waits for more. `needed` have to agree with the most frequent choice still."""

    request: str
    votes: Natural
    needed: Natural
    quorum: Natural
    tallies: Mapping[PermissionChoice, Natural]
    voter: str
    client: str | None = None
    type: Literal["permission_voted"] = "permission_voted"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionVoteRefused(JsonObject):
    """Somebody voted whose vote does not count. It changed nothing."""

    request: str
    voter: str
    choice: PermissionVoteChoice
    reason: PermissionRefusal
    client: str | None = None
    type: Literal["permission_vote_refused"] = "permission_vote_refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionVoteLate(JsonObject):
    """Somebody voted when it was decided already. `answer` is what was."""

    request: str
    voter: str
    answer: PermissionAnswer
    client: str | None = None
    type: Literal["permission_vote_late"] = "permission_vote_late"


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryCompacted(JsonObject):
    """Earlier messages are told to the model in short from now on; the session has them all."""

    messages: Natural
    by: Literal["model", "rules"]
    type: Literal["history_compacted"] = "history_compacted"


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryLearned(JsonObject):
    """What the turn left in the memory: the ids and texts of records."""

    memories: tuple[RecalledMemory, ...] = ()
    type: Literal["memory_learned"] = "memory_learned"


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnEnded(JsonObject):
    """The reply is whole, and kept."""

    run: str
    reply: str
    stop_reason: StopReason
    usage: TurnUsage
    type: Literal["turn_ended"] = "turn_ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnFailed(JsonObject):
    """The session can be used on. `code` is one of our errors'; in less than `retry_after` seconds it would be the same again."""

    run: str
    code: str
    message: str
    usage: TurnUsage
    retry_after: Natural | None = None
    type: Literal["turn_failed"] = "turn_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticePosted(JsonObject):
    """The daemon says something that answers nobody, such as that a schedule was disabled."""

    text: str
    type: Literal["notice"] = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class EventsMissed(JsonObject):
    """A listener was away, and some events are gone. `epoch_reset`: the daemon was restarted, and counts anew; what it did then is over."""

    reason: Literal["epoch_reset", "ring_evicted"]
    type: Literal["events_missed"] = "events_missed"


TurnEvent: TypeAlias = (
    TurnStarted
    | PromptQueued
    | PromptWithdrawn
    | ModeChanged
    | ModelChanged
    | UsageChanged
    | MemoryRecalled
    | TextAdded
    | ThinkingAdded
    | ToolStarted
    | ToolEnded
    | PlanChanged
    | PermissionAsked
    | PermissionAnswered
    | PermissionVoted
    | PermissionVoteRefused
    | PermissionVoteLate
    | HistoryCompacted
    | MemoryLearned
    | TurnEnded
    | TurnFailed
    | NoticePosted
    | EventsMissed
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionEvent:
    """An event of a session's turns, with its id, by which a listener goes on later. What is told of the stream itself has none."""

    id: int | None
    event: TurnEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnTicket(JsonObject):
    """A turn that was taken on: its `run`, how many others come `before` it, and the last event of the session so far."""

    run: str
    before: int
    last_event: int
