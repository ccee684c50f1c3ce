"""
What waits for a permission in one session, who votes on it, and what was decided.

`governance/permission_votes.py` says what a vote does; here it is done, each request exactly once: it is taken from what waits, told to the
listeners, remembered, written to the audit, and then the turn goes on. The audit never holds anything up for long. What a person's answer
means for later calls is in `agent/permissions.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from commonplace.errors import CommonplaceError, Conflict
from commonplace.governance.permission_votes import Ballot, Poll, Ruling, decide, open_poll
from commonplace.ports.clock import Clock
from commonplace.text.scrub import scrub
from commonplace.values.json import Json
from commonplace.values.moment import to_iso
from commonplace.values.permission import (
    PermissionAnswer,
    PermissionDecider,
    PermissionForbidden,
    PermissionNotFound,
    PermissionNotOffered,
    PermissionPolicy,
    PermissionRequest,
    PermissionResolved,
    PermissionsFull,
    PermissionTerms,
    PermissionVote,
    PermissionVoteChoice,
)
from commonplace.values.permission_entry import PermissionAction, PermissionEntry
from commonplace.values.principal import CHANNEL_SUBJECT, Principal
from commonplace.values.turn_event import (
    PermissionAnswered,
    PermissionAsked,
    PermissionVoted,
    PermissionVoteLate,
    PermissionVoteRefused,
    TurnEvent,
)

LOGGER: Final = logging.getLogger("commonplace")
MOST_WAITING: Final = 64
MOST_RESOLVED: Final = 512
_AUDIT_SECONDS: Final = 2.0
_LONGEST_RULE: Final = 300
_REASONS: Final[dict[PermissionDecider, str]] = {
    "no_consensus": "those who voted did not agree",
    "cancelled": "somebody cancelled the request",
    "timeout": "nobody answered in time",
    "session_closed": "the session was closed",
    "turn_cancelled": "the turn ended",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MediatorOptions:
    """
    `quorum` replaces more than half of those present, with the policy consensus; `voters` count as present beside those who listen. `seconds` is
    how long a request waits, 0: for ever.
    """

    policy: PermissionPolicy = "designated"
    quorum: int | None = None
    seconds: float = 300.0
    voters: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MediatorCallbacks:
    """`tell` lets the listeners hear it, `present` answers who is there, `note` writes to the audit."""

    tell: Callable[[TurnEvent], object]
    present: Callable[[], Sequence[str]]
    note: Callable[[Sequence[PermissionEntry]], Awaitable[None]]


@dataclass(kw_only=True, slots=True)
class _Pending:
    request: PermissionRequest
    terms: PermissionTerms
    poll: Poll
    speaker: Principal | None
    run: str | None
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    answer: PermissionAnswer | None = None
    recorded: dict[str, PermissionVote] = field(default_factory=dict[str, PermissionVote])


class PermissionMediator:
    """Of one session. Whoever calls `vote` has made sure that the person may write in it."""

    def __init__(self, options: MediatorOptions, callbacks: MediatorCallbacks, clock: Clock) -> None:
        self.options = options
        self._callbacks = callbacks
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._resolved: dict[str, tuple[PermissionAnswer, str | None]] = {}
        self._audit = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting(self) -> tuple[PermissionRequest, ...]:
        """In the order they were asked."""
        return tuple(pending.request for pending in self._pending.values())

    def require_room(self) -> None:
        """Raises PermissionsFull."""
        if len(self._pending) >= MOST_WAITING:
            raise PermissionsFull

    async def ask(
        self, request: PermissionRequest, *, speaker: Principal | None, run: str | None = None
    ) -> PermissionAnswer:
        """
        What was decided, as it holds for the speaker: "always" is remembered only of whoever said so. It is a rejection if nobody decides
        in time, or if the turn or the session ends.

        Raises:
            PermissionsFull: too many wait.
            Conflict: it was asked before.
        """
        self.require_room()
        if request.id in self._pending or request.id in self._resolved:
            raise Conflict("A request with this id was asked before. Ask with a new id.")
        pending = self._issue(request, speaker, run)
        try:
            if self._closed:
                self._reject(pending, "session_closed")
            async with asyncio.timeout(self.options.seconds or None):
                await pending.wake.wait()
        except TimeoutError:
            self._reject(pending, "timeout")
        finally:
            # Whoever asked has gone: an answer would be about nothing.
            self._reject(pending, "turn_cancelled")
        assert pending.answer is not None
        return _for_speaker(pending.answer, speaker)

    async def vote(self, who: Principal, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        """
        Raises:
            PermissionNotFound: nothing was asked under this id.
            PermissionResolved: it is over; `details` has what was decided.
            PermissionNotOffered: the request has no such choice.
            PermissionForbidden: the policy does not let this person decide; `details` has the `reason`.
        """
        pending = self._pending.get(request)
        if pending is None:
            raise await self._late(who, request, choice)
        if choice != "cancel" and choice not in pending.request.choices:
            offered = ", ".join((*pending.request.choices, "cancel"))
            raise PermissionNotOffered(f"{choice} cannot be answered here. Choose one of {offered}.")
        ruling = decide(pending.poll, Ballot(voter=who.subject, choice=choice, loopback=who.loopback))
        match ruling.outcome:
            case "repeated":
                return pending.recorded[who.subject]
            case "refused":
                raise await self._refused(pending, who, choice, ruling)
            case "recorded":
                return await self._recorded(pending, who, choice, ruling)
            case "resolved":
                return await self._decided(pending, who, choice, ruling)

    def cancel(self) -> None:
        """The turn is over: reject all that waits."""
        for pending in tuple(self._pending.values()):
            self._reject(pending, "turn_cancelled")

    def close(self) -> None:
        """The session is over: reject all that waits, and whatever is asked yet."""
        self._closed = True
        for pending in tuple(self._pending.values()):
            self._reject(pending, "session_closed")

    async def settle(self) -> None:
        """Wait until the audit has what was decided, as far as it takes it."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=_AUDIT_SECONDS)

    # ---- a request

    def _issue(self, request: PermissionRequest, speaker: Principal | None, run: str | None) -> _Pending:
        options, now = self.options, self._clock.now()
        subject = None if speaker is None else speaker.subject
        # Somebody whom nobody linked to a person has no vote, so nobody waits for it.
        asker = None if subject is None or subject.startswith(CHANNEL_SUBJECT) else subject
        present = (*self._callbacks.present(), *options.voters)
        poll = open_poll(options.policy, speaker=asker, present=present, quorum=options.quorum)
        terms = PermissionTerms(
            policy=options.policy,
            asked_at=now,
            expires_at=now + timedelta(seconds=options.seconds) if options.seconds else None,
            speaker=subject,
            voters=poll.voters,
            quorum=poll.quorum,
        )
        pending = _Pending(request=replace(request, terms=terms), terms=terms, poll=poll, speaker=speaker, run=run)
        self._pending[request.id] = pending
        self._callbacks.tell(PermissionAsked(request=pending.request))
        details: dict[str, Json] = {
            "call": request.call,
            "tool": request.tool,
            "rule": scrub(request.rule).text[:_LONGEST_RULE],
            "choices": list[Json](request.choices),
            "policy": options.policy,
            "originator": subject,
            "voters_at_issue": list[Json](poll.voters or present),
            "quorum": poll.quorum,
            "issued_at": to_iso(now),
        }
        self._write(self._entry(pending, "permission.requested", speaker, **details))
        return pending

    def _reject(self, pending: _Pending, reason: PermissionDecider) -> None:
        """Unless it is decided."""
        if pending.answer is not None:
            return
        entries: list[PermissionEntry] = []
        if reason == "timeout":
            entries.append(self._entry(pending, "permission.timeout", None, issued_at=to_iso(pending.terms.asked_at)))
        answer = PermissionAnswer(
            request=pending.request.id,
            choice="reject_once",
            reason=_REASONS[reason],
            decided_by=reason,
            votes=pending.poll.votes,
        )
        self._settle(pending, answer, None, *entries)

    # ---- a vote

    async def _decided(
        self, pending: _Pending, who: Principal, choice: PermissionVoteChoice, ruling: Ruling
    ) -> PermissionVote:
        assert ruling.choice is not None
        assert ruling.decided_by is not None
        pending.poll = ruling.poll
        answer = PermissionAnswer(
            request=pending.request.id,
            choice=ruling.choice,
            voter=who.subject,
            client=who.client,
            reason=_REASONS.get(ruling.decided_by),
            decided_by=ruling.decided_by,
            votes=ruling.poll.votes,
        )
        task = self._settle(pending, answer, who, self._vote_entry(pending, who, choice, "resolved"))
        await asyncio.wait({task})
        return PermissionVote(request=answer.request, outcome="resolved", choice=choice, answer=answer)

    async def _recorded(
        self, pending: _Pending, who: Principal, choice: PermissionVoteChoice, ruling: Ruling
    ) -> PermissionVote:
        poll = pending.poll = ruling.poll
        vote = PermissionVote(
            request=pending.request.id, outcome="recorded", choice=choice, votes_needed=poll.votes_needed
        )
        pending.recorded[who.subject] = vote
        self._callbacks.tell(
            PermissionVoted(
                request=vote.request,
                votes=len(poll.votes),
                needed=poll.votes_needed,
                quorum=poll.quorum,
                tallies=poll.tallies,
                voter=who.subject,
                client=who.client,
            )
        )
        await self._written(self._vote_entry(pending, who, choice, "recorded"))
        return vote

    async def _refused(
        self, pending: _Pending, who: Principal, choice: PermissionVoteChoice, ruling: Ruling
    ) -> PermissionForbidden:
        assert ruling.refusal is not None
        id, reason = pending.request.id, ruling.refusal
        self._callbacks.tell(
            PermissionVoteRefused(request=id, voter=who.subject, choice=choice, reason=reason, client=who.client)
        )
        details: dict[str, Json] = {"choice": choice, "loopback": who.loopback, "reason": reason}
        await self._written(self._entry(pending, "permission.forbidden", who, **details))
        return PermissionForbidden(reason=reason, request=id, policy=pending.terms.policy)

    async def _late(self, who: Principal, request: str, choice: PermissionVoteChoice) -> CommonplaceError:
        if request not in self._resolved:
            return PermissionNotFound(request=request[:100])
        answer, run = self._resolved[request]
        self._callbacks.tell(PermissionVoteLate(request=request, voter=who.subject, answer=answer, client=who.client))
        await self._written(
            PermissionEntry(
                action="permission.voted",
                who=who,
                run=run,
                details=_vote_details(request, who, choice, "already_resolved"),
            )
        )
        return PermissionResolved(choice=answer.choice, voter=answer.voter, reason=answer.reason)

    # ---- the end of a request

    def _settle(
        self, pending: _Pending, answer: PermissionAnswer, who: Principal | None, *entries: PermissionEntry
    ) -> asyncio.Task[None]:
        """The one place where a request ends. The task is done when the turn goes on."""
        pending.answer = answer
        del self._pending[answer.request]
        self._callbacks.tell(PermissionAnswered(answer=answer))
        self._resolved[answer.request] = answer, pending.run
        while len(self._resolved) > MOST_RESOLVED:
            del self._resolved[next(iter(self._resolved))]
        details: dict[str, Json] = {
            "choice": answer.choice,
            "decided_by": answer.decided_by,
            "reason": answer.reason,
            "votes": dict[str, Json](answer.votes),
        }
        audit = self._write(*entries, self._entry(pending, "permission.resolved", who, **details))
        return self._begin(self._wake(pending, audit))

    async def _wake(self, pending: _Pending, audit: asyncio.Task[None]) -> None:
        try:
            await asyncio.wait({audit}, timeout=_AUDIT_SECONDS)
        finally:
            pending.wake.set()

    # ---- the audit

    def _entry(
        self, pending: _Pending, action: PermissionAction, who: Principal | None, **details: Json
    ) -> PermissionEntry:
        asker = {} if pending.terms.speaker is None else {"sender": pending.terms.speaker}
        return PermissionEntry(
            action=action, who=who, run=pending.run, details={"permission": pending.request.id, **asker, **details}
        )

    def _vote_entry(
        self, pending: _Pending, who: Principal, choice: PermissionVoteChoice, outcome: str
    ) -> PermissionEntry:
        details = _vote_details(pending.request.id, who, choice, outcome)
        return self._entry(pending, "permission.voted", who, **details)

    def _write(self, *entries: PermissionEntry) -> asyncio.Task[None]:
        """In the background, in the order in which it is called."""
        return self._begin(self._note(entries))

    async def _written(self, *entries: PermissionEntry) -> None:
        # Also if whoever waits for it goes away.
        await asyncio.wait({self._write(*entries)}, timeout=_AUDIT_SECONDS)

    async def _note(self, entries: Sequence[PermissionEntry]) -> None:
        async with self._audit:
            try:
                async with asyncio.timeout(_AUDIT_SECONDS):
                    await self._callbacks.note(entries)
            except (CommonplaceError, TimeoutError) as error:
                LOGGER.warning("permissions", extra={"told": {"audit": getattr(error, "code", "timed_out")}})

    def _begin(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _vote_details(request: str, who: Principal, choice: PermissionVoteChoice, outcome: str) -> dict[str, Json]:
    return {"permission": request, "choice": choice, "loopback": who.loopback, "outcome": outcome}


def _for_speaker(answer: PermissionAnswer, speaker: Principal | None) -> PermissionAnswer:
    """Nobody says "always" for somebody else: of others' votes only this call is permitted."""
    if speaker is None or not answer.allows or answer.votes.get(speaker.subject) == answer.choice:
        return answer
    return replace(answer, choice="allow_once")
