"""
Who decides a request for permission, and when it is decided: pure, a function of the policy, the voters and the votes.

A vote counts once a person. Whoever may not decide changes nothing; a cancel ends the request whatever the policy, since it permits nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from commonplace.values.permission import (
    PermissionChoice,
    PermissionDecider,
    PermissionPolicy,
    PermissionRefusal,
    PermissionVoteChoice,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ballot:
    """One person's vote. `loopback`: it came from this machine."""

    voter: str
    choice: PermissionVoteChoice
    loopback: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Poll:
    """A request that waits. `voters` empty: everybody may vote, under every policy but consensus."""

    policy: PermissionPolicy
    voters: tuple[str, ...] = ()
    quorum: int = 1
    votes: Mapping[str, PermissionChoice] = field(default_factory=dict[str, PermissionChoice])

    @property
    def tallies(self) -> dict[PermissionChoice, int]:
        return dict(Counter(self.votes.values()))

    @property
    def votes_needed(self) -> int:
        """How many more have to agree with the most frequent choice."""
        return self.quorum - max(self.tallies.values(), default=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """
    What a vote does to a poll, which is `poll` afterwards. `resolved` has the `choice` and what decided it, `refused` the `refusal`.
    `repeated`: this person has voted.
    """

    outcome: Literal["resolved", "recorded", "repeated", "refused"]
    poll: Poll
    choice: PermissionChoice | None = None
    decided_by: PermissionDecider | None = None
    refusal: PermissionRefusal | None = None


def open_poll(
    policy: PermissionPolicy, *, speaker: str | None, present: Iterable[str] = (), quorum: int | None = None
) -> Poll:
    """
    The poll of a request in a turn of `speaker`. `quorum` replaces more than half of the voters, as far as there are so many; only a
    consensus has one.
    """
    if policy == "designated" and speaker is not None:
        return Poll(policy=policy, voters=(speaker,))
    if policy != "consensus":
        return Poll(policy=policy)
    voters = tuple(sorted({*present, *(() if speaker is None else (speaker,))}))
    most = max(1, len(voters))
    return Poll(policy=policy, voters=voters, quorum=max(1, min(quorum or len(voters) // 2 + 1, most)))


def decide(poll: Poll, ballot: Ballot) -> Ruling:
    """What becomes of the poll by this vote."""
    if ballot.choice == "cancel":
        return Ruling(outcome="resolved", poll=poll, choice="reject_once", decided_by="cancelled")
    if (refusal := _refusal(poll, ballot)) is not None:
        return Ruling(outcome="refused", poll=poll, refusal=refusal)
    if ballot.voter in poll.votes:
        return Ruling(outcome="repeated", poll=poll)
    poll = replace(poll, votes={**poll.votes, ballot.voter: ballot.choice})
    if poll.votes_needed <= 0:
        return Ruling(outcome="resolved", poll=poll, choice=ballot.choice, decided_by=poll.policy)
    if len(poll.votes) == len(poll.voters):
        return Ruling(outcome="resolved", poll=poll, choice="reject_once", decided_by="no_consensus")
    return Ruling(outcome="recorded", poll=poll)


def _refusal(poll: Poll, ballot: Ballot) -> PermissionRefusal | None:
    if poll.policy == "local-only" and not ballot.loopback:
        return "remote_not_allowed"
    is_limited = poll.policy == "consensus" or bool(poll.voters)
    return "designated_mismatch" if is_limited and ballot.voter not in poll.voters else None
