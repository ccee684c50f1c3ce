"""Scheduled turns in sessions: they stand in the queue of the session as everybody's do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from commonplace.agent.live_sessions import LiveSessions, ScheduledRun, SessionHistory
from commonplace.errors import Conflict
from commonplace.ports.schedule_target import Delivered, Delivery, ScheduleTarget
from commonplace.values.platform import Bilingual
from commonplace.values.principal import Principal
from commonplace.values.session import SessionMessage
from commonplace.values.turn_event import PromptWithdrawn, TurnEnded, TurnFailed

SESSION: Final = "session:"
_PAGE: Final = 1_000
_AGAIN: Final = (
    "(A daemon stopped in the middle of this turn, which is played again: what it did and said before may come twice.)"
)
ARCHIVED: Final = "The session is archived. Bring it back, or cancel the schedule."


@dataclass(slots=True)
class _RunTrace:
    """What the history has of a run."""

    is_said: bool = False
    is_over: bool = False
    replies: list[str] = field(default_factory=list[str])
    failure: SessionMessage | None = None

    def read(self, message: SessionMessage) -> None:
        if message.role == "user":
            self.is_said = True
        elif message.role == "assistant" and message.kind == "text":
            self.replies.append(message.text)
        elif message.text == "turn_failed" and not message.context_visible:
            self.is_over, self.failure = True, message
        elif message.text == "turn_ended" and not message.context_visible:
            # One that was cancelled was, for all we know, by the end of the daemon.
            self.is_over = message.data.get("stop_reason") != "cancelled"

    def outcome(self, run: str) -> Delivered:
        if self.failure is None:
            return Delivered(run=run, ending="answered", reply="\n\n".join(self.replies), was_over=True)
        data = self.failure.data
        wait = data.get("retry_after")
        return Delivered(
            run=run,
            ending="failed",
            failed=str(data.get("message")),
            code=str(data.get("code")),
            retry_after=wait if isinstance(wait, int) else None,
            was_over=True,
        )


class SessionTarget(ScheduleTarget):
    def __init__(self, sessions: LiveSessions, history: SessionHistory) -> None:
        self._sessions = sessions
        self._history = history

    async def refusal(self, who: Principal, target: str) -> str | None:
        session = await self._history.session(who, _id(target))
        return ARCHIVED if session.archived_at is not None else None

    async def deliver(self, delivery: Delivery) -> Delivered:
        who, id = delivery.who, _id(delivery.target)
        text, run = delivery.text, delivery.runs[0]
        if delivery.is_again:
            state = await self._sessions.state(who, id)
            if playing := [prompt.run for prompt in state.prompts if prompt.run in delivery.runs]:
                return await self._end_of(who, id, playing[0], 0)
            traces = await self._traces(delivery)
            for run in delivery.runs:
                trace = traces[run]
                if trace.is_over:
                    return trace.outcome(run)
                if not trace.is_said:
                    break
            if traces[delivery.runs[0]].is_said:
                mark, _, rest = text.partition("\n")
                text = f"{mark}\n{_AGAIN}\n{rest}"
        ticket = await self._sessions.say(who, id, text, scheduled=ScheduledRun(schedule=delivery.schedule, run=run))
        return await self._end_of(who, id, run, ticket.last_event)

    async def announce(self, who: Principal, target: str, text: Bilingual) -> None:
        await self._sessions.post(who, _id(target), text.en)

    async def _end_of(self, who: Principal, id: str, run: str, after: int) -> Delivered:
        """
        Raises:
            Conflict: the session was let go meanwhile.
        """
        async for entry in self._sessions.hear(who, id, after=after):
            match entry.event:
                case TurnEnded(run=ended, reply=reply, stop_reason=stop) if ended == run:
                    return Delivered(run=run, ending="cancelled" if stop == "cancelled" else "answered", reply=reply)
                case TurnFailed(run=ended, message=message, code=code, retry_after=wait) if ended == run:
                    return Delivered(run=run, ending="failed", failed=message, code=code, retry_after=wait)
                case PromptWithdrawn(run=ended, reason="withdrawn") if ended == run:
                    return Delivered(run=run, ending="cancelled")
                case _:
                    pass
        raise Conflict("The session was closed while a scheduled turn waited for its end. It is looked at again.")

    async def _traces(self, delivery: Delivery) -> dict[str, _RunTrace]:
        """What was said and answered since the turn was queued, by the runs that it may have had."""
        traces = {run: _RunTrace() for run in delivery.runs}
        before: int | None = None
        pages: list[tuple[SessionMessage, ...]] = []
        while True:
            page = await self._history.messages(
                delivery.who, _id(delivery.target), before=before, limit=_PAGE, hidden=True
            )
            pages.append(tuple(page.messages))
            if not page.messages or not page.before or page.messages[0].at < delivery.since:
                break
            before = page.messages[0].position
        for messages in reversed(pages):
            for message in messages:
                if message.run in traces:
                    traces[message.run].read(message)
        return traces


def _id(target: str) -> str:
    return target.removeprefix(SESSION)
