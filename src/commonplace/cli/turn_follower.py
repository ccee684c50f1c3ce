"""Follows one turn of an agent from what was said to its end: shows what happens, has permissions answered, and stops it."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from commonplace.cli.agent_line import AgentLine
from commonplace.cli.interrupts import Interrupts
from commonplace.cli.lines import counted
from commonplace.cli.permission_words import recorded_words
from commonplace.cli.turn_notes import TurnNotes
from commonplace.errors import CommonplaceError, Conflict, NotFound, TimedOut
from commonplace.values.agent_errors import TurnCutOff
from commonplace.values.permission import PermissionChoice, PermissionForbidden, PermissionRequest
from commonplace.values.turn_event import (
    EventsMissed,
    MemoryLearned,
    MemoryRecalled,
    PermissionAsked,
    TextAdded,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    TurnTicket,
    TurnUsage,
)

_LOOK_EVERY = 0.05
_ASK_EVERY = 0.5
_LAST_WORDS = 4.0
"""Seconds that a turn has to say that it stopped. It stops within two."""
_GONE = "The turn does not answer any more. What was said is kept: say it again, or go on."


class Left(Exception):
    """Whoever waited for the turn does so no longer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnHandlers:
    """`ask` raises KeyboardInterrupt if the person would rather stop. `tick` is called all the time."""

    show: Callable[[TurnEvent], None]
    ask: Callable[[PermissionRequest], PermissionChoice]
    note: Callable[[str], None]
    tick: Callable[[], None] = field(default=lambda: None)


class TurnFollower:
    """Of one session. To `notes` those of each turn are added."""

    def __init__(
        self, line: AgentLine, session: str, handlers: TurnHandlers, interrupts: Interrupts, notes: list[TurnNotes]
    ) -> None:
        self._line = line
        self._session = session
        self._handlers = handlers
        self._interrupts = interrupts
        self._unlearned: deque[TurnNotes] = deque()
        self._listens = False
        self.notes = notes

    def say(self, text: str, *, model: str | None = None, seconds: float | None = None) -> TurnEnded | TurnFailed:
        """
        What became of the turn. After `seconds` it is stopped.

        Raises:
            TimeoutError: it took longer.
            Left: Ctrl-C came twice.
            CommonplaceError: it was not taken on, can no longer be heard, or does not stop.
        """
        ticket = self._line.ask(self._line.partner.agent.say(self._session, text, model=model))
        if not self._listens:
            self._line.listen(self._session, ticket.last_event)
            self._listens = True
        if ticket.before:
            self._handlers.note(f"This waits for {counted(ticket.before, 'turn')} that came before.")
            self._ask_what_waits()
        return self._wait(ticket, None if seconds is None else time.monotonic() + seconds)

    def settle(self, seconds: float) -> None:
        """Wait until it is known what the turns left in the memory."""
        deadline = time.monotonic() + seconds
        while self._unlearned and time.monotonic() < deadline:
            self._hear(_LOOK_EVERY)

    def catch_up(self) -> None:
        """Take note of what happened meanwhile."""
        while self._hear(0.0) is not None:
            pass

    # ---- one turn

    def _wait(self, ticket: TurnTicket, deadline: float | None) -> TurnEnded | TurnFailed:
        stop_at: float | None = None
        ask_at = 0.0
        is_late = False
        while True:
            now = time.monotonic()
            is_late = is_late or (deadline is not None and now > deadline)
            if (self._interrupts.count or is_late) and now >= ask_at:
                # Again and again: a turn that is about to begin cannot be stopped yet.
                stop_at, ask_at = stop_at or now + _LAST_WORDS, now + _ASK_EVERY
                self._stop(ticket)
            if self._interrupts.count > 1:
                raise Left
            if stop_at is not None and now > stop_at:
                raise TimeoutError if is_late else TimedOut(_GONE)
            event = self._hear(_LOOK_EVERY)
            self._handlers.tick()
            if isinstance(event, EventsMissed) and event.reason == "epoch_reset":
                return self._after_restart(ticket)
            if isinstance(event, TurnEnded | TurnFailed) and event.run == ticket.run:
                if is_late:
                    raise TimeoutError
                return event

    def _after_restart(self, ticket: TurnTicket) -> TurnEnded:
        """A turn is never taken up again: its reply is in the session, or it was cut off. Raises TurnCutOff."""
        page = self._line.ask(self._line.partner.memory.session_messages(self._session))
        for message in reversed(page.messages):
            is_reply = message.run == ticket.run and message.role == "assistant" and message.kind == "text"
            if is_reply and not message.data.get("partial"):
                self._handlers.note("The connection was lost; this is the whole reply.")
                self._handlers.show(TextAdded(text=message.text))
                return TurnEnded(
                    run=ticket.run, reply=message.text, stop_reason="end_turn", usage=TurnUsage(model="unknown")
                )
        raise TurnCutOff

    def _stop(self, ticket: TurnTicket) -> None:
        """While it waits for the turn of somebody else, there is nothing of ours to stop."""
        if not ticket.before or any(notes.run == ticket.run for notes in self.notes):
            self._line.begin(self._line.partner.agent.cancel_turn(self._session))

    def _hear(self, seconds: float) -> TurnEvent | None:
        """Raises CommonplaceError: nothing more will be heard."""
        entry = self._line.hear(seconds)
        if isinstance(entry, CommonplaceError):
            self._listens = False
            raise entry
        if entry is None:
            return None
        event = entry.event
        self._take_note(event)
        self._handlers.show(event)
        if isinstance(event, PermissionAsked):
            self._ask(event.request)
        return event

    def _ask_what_waits(self) -> None:
        """A turn that somebody left alone may wait for a permission, and everything behind it."""
        for request in self._line.ask(self._permission_requests()):
            self._ask(request)

    async def _permission_requests(self) -> Sequence[PermissionRequest]:
        return await self._line.partner.agent.permission_requests(self._session)

    def _take_note(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self.notes.append(TurnNotes(run=event.run, text=event.text, model=event.model))
            case MemoryRecalled() if self.notes:
                self.notes[-1].recalled = event
            case TurnEnded(run=run, stop_reason=reason) if reason != "cancelled":
                # What it learned is told later, in the order of the turns.
                self._unlearned.extend(notes for notes in self.notes if notes.run == run)
            case MemoryLearned(memories=memories) if self._unlearned:
                self._unlearned.popleft().learned = memories
            case _:
                pass

    def _ask(self, request: PermissionRequest) -> None:
        try:
            choice = self._handlers.ask(request)
        except KeyboardInterrupt:
            self._interrupts.count += 1
            return
        work = self._line.partner.agent.answer_permission(self._session, request.id, choice)
        try:
            vote = self._line.ask(work)
        except (Conflict, NotFound, PermissionForbidden) as error:
            self._handlers.note(error.message)
        else:
            if vote.outcome == "recorded":
                self._handlers.note(recorded_words(vote))
