"""Permission to use a tool: what is asked, what may be answered, what was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from commonplace.errors import Conflict, Forbidden, NotFound, QueueFull
from commonplace.values.json import Json, JsonObject, Natural
from commonplace.values.moment import Moment


class PermissionNotFound(NotFound):
    """No permission is asked under this id. List what waits, and answer that."""

    code = "permission_not_found"


class PermissionResolved(Conflict):
    """This request was answered already, or is over. What was decided stays."""

    code = "permission_resolved"


class PermissionNotOffered(Conflict):
    """This cannot be answered here. Choose one of the choices of the request, or cancel it."""

    code = "permission_not_offered"


class PermissionForbidden(Forbidden):
    """Your vote does not count for this request. Leave the decision to those who may vote, or cancel the request."""

    code = "permission_forbidden"


class PermissionsFull(QueueFull):
    """Too many requests wait for an answer. Answer some of them first."""

    code = "permissions_full"


ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
"""What a tool does, in the words of the Agent Client Protocol."""

PermissionPolicy = Literal["first-responder", "designated", "consensus", "local-only"]
"""
Whose vote decides a request: the first one's; only that of who asked for the turn; that of most who were present when it was asked; the first
one's from this machine.
"""
POLICIES: Final[tuple[PermissionPolicy, ...]] = ("first-responder", "designated", "consensus", "local-only")

PermissionChoice = Literal["allow_once", "allow_session", "allow_workspace", "reject_once"]
CHOICES: Final[tuple[PermissionChoice, ...]] = ("allow_once", "allow_session", "allow_workspace", "reject_once")


PermissionVoteChoice = PermissionChoice | Literal["cancel"]
"""What a person may vote. `cancel` ends the request whatever the policy: the call is refused."""
VOTE_CHOICES: Final[tuple[PermissionVoteChoice, ...]] = (*CHOICES, "cancel")

PermissionRefusal = Literal["designated_mismatch", "remote_not_allowed"]
"""Why a vote does not count: it is not this person's to give, or it did not come from this machine."""

PermissionDecider = (
    PermissionPolicy
    | Literal["no_consensus", "cancelled", "timeout", "session_closed", "turn_cancelled", "scheduled_turn"]
)
"""
What decided a request: votes, by a policy; that all have voted and did not agree; a person who cancelled it; nobody in time; the end of the
session or of the turn; that the turn is scheduled, so that nobody is asked.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionTerms(JsonObject):
    """
    How a request is decided. `speaker` is whose turn it is, `voters` whose votes count (empty: of everybody who may write in the session),
    `quorum` how many of them have to agree. `expires_at` None: it waits for ever.
    """

    policy: PermissionPolicy
    asked_at: Moment
    expires_at: Moment | None = None
    speaker: str | None = None
    voters: tuple[str, ...] = ()
    quorum: Natural = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionRequest(JsonObject):
    """
    A tool call that waits for a person. `title` says in one line what it would do, `diff` how a file would change. `rule` is
    what is remembered if the answer is to hold longer: calls that have the same rule are then not asked about again. `terms` are there
    as soon as it is asked.
    """

    id: str
    call: str
    tool: str
    kind: ToolKind
    title: str
    rule: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    diff: str | None = None
    choices: tuple[PermissionChoice, ...] = CHOICES
    terms: PermissionTerms | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionAnswer(JsonObject):
    """
    What was decided. `voter` is the subject whose vote decided it, `client` the program they voted with; None: nobody's did (`reason` says
    why). `votes` are those that counted, by subject.
    """

    request: str
    choice: PermissionChoice
    voter: str | None = None
    client: str | None = None
    reason: str | None = None
    decided_by: PermissionDecider = "designated"
    votes: Mapping[str, PermissionChoice] = field(default_factory=dict[str, PermissionChoice])

    @property
    def allows(self) -> bool:
        return self.choice != "reject_once"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionVote(JsonObject):
    """
    What became of a vote. It `resolved` the request, whose `answer` is there then, or was `recorded`: `votes_needed` more have to
    agree with the most frequent choice. `choice` is what counts, which is a person's first vote.
    """

    request: str
    outcome: Literal["resolved", "recorded"]
    choice: PermissionVoteChoice
    answer: PermissionAnswer | None = None
    votes_needed: Natural = 0
