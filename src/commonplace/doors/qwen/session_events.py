"""
What a live session tells, in the words of qwen-code's daemon.

`WireEvent` is one event of a bridge's ring. `Translator` makes them of the turns' own events, one bridge each; `replayed` and
`transcript_event` of what is kept of a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from commonplace.agent.acp.serve.updates import CallView, update_of, update_of_message
from commonplace.agent.mediator import MOST_RESOLVED, MOST_WAITING
from commonplace.doors.qwen.session_stats import SessionStats
from commonplace.events.frames import VERSION, frame
from commonplace.events.ring import RingEvent
from commonplace.values.event import Event, News
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionRequest
from commonplace.values.session import Session, SessionMessage
from commonplace.values.turn_event import (
    ModeChanged,
    ModelChanged,
    PermissionAnswered,
    PermissionAsked,
    PermissionVoted,
    PermissionVoteLate,
    PermissionVoteRefused,
    PromptQueued,
    PromptWithdrawn,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    UsageChanged,
)

OPTIONS: Final[Mapping[PermissionChoice, tuple[str, str, str]]] = {
    "allow_once": ("proceed_once", "Allow once", "allow_once"),
    "allow_session": ("proceed_always", "Allow for this session", "allow_always"),
    "allow_workspace": ("proceed_always_project", "Always allow in this workspace", "allow_always"),
    "reject_once": ("cancel", "Reject", "reject_once"),
}
"""How our choices are called here: `optionId`, `name` and `kind`."""
CHOICES: Final[Mapping[str, PermissionChoice]] = {option: choice for choice, (option, _, _) in OPTIONS.items()}
_PermissionEvent: TypeAlias = (
    PermissionAsked | PermissionAnswered | PermissionVoted | PermissionVoteRefused | PermissionVoteLate
)
_MOST_REQUESTS: Final = MOST_WAITING + MOST_RESOLVED
WORKSPACE_EVENTS: Final = frozenset({"memory_changed"})
"""Events of the workspace that the clients of this door know."""
_INVALID_PARAMS: Final = "-32602"
"""What qwen-code's daemon says of a prompt whose session was closed before its turn came."""
_DEADLINE: Final = "prompt_deadline_exceeded"


@dataclass(frozen=True, kw_only=True, slots=True)
class WireEvent:
    """`prompt` is the turn it belongs to, `client` who caused it. `news`: it is for those only who may hear that."""

    type: str
    data: Mapping[str, Json]
    prompt: str | None = None
    client: str | None = None
    news: News | None = None


def document(entry: RingEvent[WireEvent]) -> dict[str, Json]:
    return envelope(entry.id, entry.at, entry.event)


def envelope(id: int, at: datetime, event: WireEvent) -> dict[str, Json]:
    return {
        "id": id,
        "v": VERSION,
        "type": event.type,
        **({} if event.prompt is None else {"promptId": event.prompt}),
        "data": dict(event.data),
        **({} if event.client is None else {"originatorClientId": event.client}),
        "_meta": {"serverTimestamp": milliseconds(at)},
    }


def mention_of_news(event: Event) -> bytes | None:
    """What happens in the workspace and has no name in qwen-code's daemon: without an id. What has one is an event of the session's own."""
    news = event.news
    if news.type in WORKSPACE_EVENTS:
        return None
    client = {} if news.client is None else {"originatorClientId": news.client}
    shape: dict[str, Json] = {
        "v": VERSION,
        "type": news.type,
        "data": {**news.data, "scope": str(news.scope)},
        **client,
        "_meta": {"serverTimestamp": milliseconds(news.at)},
    }
    return frame(news.type, shape)


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def option_of(choice: PermissionChoice) -> dict[str, Json]:
    option, name, kind = OPTIONS[choice]
    return {"optionId": option, "name": name, "kind": kind}


def outcome_of(answer: PermissionAnswer) -> dict[str, Json]:
    """Whoever answers chooses an option; a request that nobody answered, or that somebody cancelled, is cancelled."""
    if answer.voter is None or answer.decided_by == "cancelled":
        return {"outcome": "cancelled"}
    return {"outcome": "selected", "optionId": OPTIONS[answer.choice][0]}


@dataclass(slots=True)
class TurnInProgress:
    """The turn that is played: the event it began with, and whether its end was announced."""

    run: str
    client: str | None
    began_at: datetime
    is_cancelled: bool = False


@dataclass(slots=True)
class Translator:
    """`clients` says which client ids are known here: another program's is nothing that a client of this door could address."""

    session: str
    clients: Mapping[str, object]
    stats: SessionStats
    view: CallView = field(default_factory=CallView)
    turn: TurnInProgress | None = None
    failure: TurnFailed | None = None
    expired: set[str] = field(default_factory=set[str])
    """Turns that were ended because their deadline passed."""
    waiting: dict[str, PromptQueued] = field(default_factory=dict[str, PromptQueued])
    requests: dict[str, PermissionRequest] = field(default_factory=dict[str, PermissionRequest])
    """Those that were asked, the last ones, also if they are decided."""
    _left: list[PromptQueued] = field(default_factory=list[PromptQueued])

    def translate(self, event: TurnEvent, at: datetime) -> Iterator[WireEvent]:
        self.stats.count(event, at)
        match event:
            case TurnStarted() | TurnEnded() | TurnFailed():
                yield from self._turn(event, at)
            case PromptQueued():
                self.waiting[event.run] = event
                queue: dict[str, Json] = {"text": event.text, "queuedAt": milliseconds(at)}
                yield self._about("pending_prompt_added", event.run, event.client, **queue)
            case PromptWithdrawn():
                yield from self._withdrawn(event)
            case (
                PermissionAsked()
                | PermissionAnswered()
                | PermissionVoted()
                | PermissionVoteRefused()
                | PermissionVoteLate()
            ):
                yield self._permission(event)
            case UsageChanged():
                yield self._usage(event, at)
            case ModeChanged() | ModelChanged():
                yield self._configured(event)
            case _:
                if (update := update_of(event, self.view)) is not None:
                    yield self._update(update)

    def cancelled(self, client: str | None) -> Iterator[WireEvent]:
        """Somebody cancels the turn: it is told before the turn has ended, and once."""
        turn = self.turn
        if turn is not None and not turn.is_cancelled:
            turn.is_cancelled = True
            yield WireEvent(
                type="prompt_cancelled",
                data={"sessionId": self.session},
                prompt=turn.run,
                client=client or turn.client,
            )

    def leave(self) -> Iterator[WireEvent]:
        """The session is closed: what waited is over."""
        for prompt in self._left:
            yield from self._begun(prompt)
            reason: dict[str, Json] = {"sessionId": self.session, "reason": "forward_failed"}
            client = self._client(prompt.client)
            yield WireEvent(type="prompt_cancelled", data=reason, prompt=prompt.run, client=client)
            yield self._about(
                "turn_error",
                prompt.run,
                prompt.client,
                message="The session was closed before the turn of this prompt came.",
                code=_INVALID_PARAMS,
            )
            yield self._completed(prompt)
        self._left.clear()

    # ---- turns

    def _turn(self, event: TurnStarted | TurnEnded | TurnFailed, at: datetime) -> Iterator[WireEvent]:
        match event:
            case TurnStarted():
                return self._started(event, at)
            case TurnEnded():
                return self._ended(event, at)
            case TurnFailed():
                return self._failed(event)

    def _started(self, event: TurnStarted, at: datetime) -> Iterator[WireEvent]:
        self.turn = TurnInProgress(event.run, self._client(event.client), at)
        self.failure = None
        waited = self.waiting.get(event.run)
        if waited is not None:
            yield self._about("pending_prompt_started", event.run, event.client, text=event.text)
        yield self._echo(event.run, event.text, self.turn.client, at)

    def _begun(self, prompt: PromptQueued) -> Iterator[WireEvent]:
        yield self._about("pending_prompt_started", prompt.run, prompt.client, text=prompt.text)
        yield self._echo(prompt.run, prompt.text, self._client(prompt.client))

    def _withdrawn(self, event: PromptWithdrawn) -> Iterator[WireEvent]:
        prompt = self.waiting.get(event.run)
        if prompt is None:
            return
        if event.reason == "session_closed":
            # Behind the end of the turn that is played.
            self._left.append(prompt)
            return
        yield self._completed(prompt, "removed")
        if event.run in self.expired:
            self.expired.discard(event.run)
            yield self._expired(event.run, prompt.client)

    def _ended(self, event: TurnEnded, at: datetime) -> Iterator[WireEvent]:
        turn = self.turn
        client = None if turn is None else turn.client
        is_cancelled = event.stop_reason == "cancelled"
        if event.run in self.expired:
            yield self._expired(event.run, client)
        else:
            if is_cancelled:
                yield from self.cancelled(None)
            more: dict[str, Json] = {}
            if is_cancelled and turn is not None:
                elapsed = milliseconds(at) - milliseconds(turn.began_at)
                more = {"promptCancelled": {"cancelledAt": milliseconds(at), "elapsedMs": elapsed}}
            yield self._about("turn_complete", event.run, client, stopReason=event.stop_reason, **more)
        yield from self._over(event.run)

    def _failed(self, event: TurnFailed) -> Iterator[WireEvent]:
        self.failure = event
        client = None if self.turn is None else self.turn.client
        yield self._about("turn_error", event.run, client, message=event.message, code=event.code)
        yield from self._over(event.run)

    def _over(self, run: str) -> Iterator[WireEvent]:
        self.turn = None
        self.expired.discard(run)
        if (waited := self.waiting.get(run)) is not None:
            yield self._completed(waited)

    def _expired(self, run: str, client: str | None) -> WireEvent:
        return self._about(
            "turn_error",
            run,
            client,
            message="The prompt took longer than its `deadlineMs`, and was stopped.",
            code=_DEADLINE,
            errorKind=_DEADLINE,
        )

    def _completed(self, prompt: PromptQueued, state: str = "completed") -> WireEvent:
        self.waiting.pop(prompt.run, None)
        return self._about("pending_prompt_completed", prompt.run, prompt.client, state=state)

    # ---- what happens in one

    def _usage(self, event: UsageChanged, at: datetime) -> WireEvent:
        usage = event.usage
        tokens: dict[str, Json] = {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.input_tokens + usage.output_tokens,
            "thoughtTokens": usage.thought_tokens,
            "cachedReadTokens": usage.cached_tokens,
        }
        meta: dict[str, Json] = {"usage": tokens}
        if self.turn is not None:
            meta["durationMs"] = milliseconds(at) - milliseconds(self.turn.began_at)
        return self._update(
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": meta}
        )

    def _permission(self, event: _PermissionEvent) -> WireEvent:
        match event:
            case PermissionAsked(request=request):
                self._remember(request)
                asked_for: dict[str, Json] = {
                    "toolCall": {"locations": [], **self.view.asked(request)},
                    "options": [option_of(choice) for choice in request.choices],
                }
                return self._of_request("permission_request", request.id, **asked_for)
            case PermissionAnswered(answer=answer):
                data: dict[str, Json] = {"requestId": answer.request, "outcome": outcome_of(answer)}
                client = self._client(answer.client)
                if client is not None:
                    data["voterClientId"] = client
                event_of_turn = self._of_turn("permission_resolved", data)
                return event_of_turn if client is None else replace(event_of_turn, client=client)
            case PermissionVoted():
                return self._of_request(
                    "permission_partial_vote",
                    event.request,
                    votesReceived=event.votes,
                    votesNeeded=event.needed,
                    quorum=event.quorum,
                    optionTallies={OPTIONS[choice][0]: count for choice, count in event.tallies.items()},
                )
            case PermissionVoteRefused():
                client = self._client(event.client)
                voter: dict[str, Json] = {} if client is None else {"clientId": client}
                return self._of_request("permission_forbidden", event.request, **voter, reason=event.reason)
            case PermissionVoteLate():
                late = self._of_request("permission_already_resolved", event.request, outcome=outcome_of(event.answer))
                return replace(late, client=None)

    def _remember(self, request: PermissionRequest) -> None:
        self.requests[request.id] = request
        while len(self.requests) > _MOST_REQUESTS:
            del self.requests[next(iter(self.requests))]

    def _of_request(self, type: str, request: str, **data: Json) -> WireEvent:  # noqa: A002 - as events call it
        return self._of_turn(type, {"requestId": request, "sessionId": self.session, **data})

    def _configured(self, event: ModeChanged | ModelChanged) -> WireEvent:
        client = self._client(event.client)
        if isinstance(event, ModelChanged):
            switched: dict[str, Json] = {"sessionId": self.session, "modelId": event.model}
            return WireEvent(type="model_switched", data=switched, client=client)
        changed: dict[str, Json] = {
            "sessionId": self.session,
            "previous": event.previous,
            "next": event.mode,
            "persisted": False,
        }
        run = None if self.turn is None else self.turn.run
        return WireEvent(type="approval_mode_changed", data=changed, prompt=run, client=client)

    # ---- shapes

    def _client(self, client: str | None) -> str | None:
        return client if client in self.clients else None

    def _echo(self, run: str, text: str, client: str | None, at: datetime | None = None) -> WireEvent:
        meta: dict[str, Json] = {"source": "bridge-echo"}
        if at is not None:
            meta["serverTimestamp"] = milliseconds(at)
        update: dict[str, Json] = {
            "sessionUpdate": "user_message_chunk",
            "content": {"type": "text", "text": text},
            "_meta": meta,
        }
        return WireEvent(
            type="session_update", data={"sessionId": self.session, "update": update}, prompt=run, client=client
        )

    def _update(self, update: Mapping[str, Any]) -> WireEvent:
        return self._of_turn("session_update", {"sessionId": self.session, "update": dict(update)})

    def _of_turn(self, type: str, data: Mapping[str, Json]) -> WireEvent:  # noqa: A002 - as events call it
        turn = self.turn
        return WireEvent(
            type=type,
            data=data,
            prompt=None if turn is None else turn.run,
            client=None if turn is None else turn.client,
        )

    def _about(self, type: str, run: str, client: str | None, **data: Json) -> WireEvent:  # noqa: A002 - as events call it
        about: dict[str, Json] = {"sessionId": self.session, "promptId": run, **data}
        return WireEvent(type=type, data=about, prompt=run, client=self._client(client))


# ---- what is kept


def updates(session: Session, messages: Sequence[SessionMessage]) -> Iterator[tuple[SessionMessage, dict[str, Json]]]:
    """What was said, as it would be told now."""
    view = CallView(folder=session.folder)
    for message in messages:
        update = update_of_message(message, view)
        if update is None:
            continue
        meta: dict[str, Json] = {"timestamp": milliseconds(message.at), "qwen.session.recordId": message.id}
        if message.run is not None:
            meta["promptId"] = message.run
        yield message, {**update, "_meta": meta, "timestamp": milliseconds(message.at)}


def replayed(session: Session, messages: Sequence[SessionMessage]) -> Iterator[tuple[datetime, WireEvent]]:
    for message, update in updates(session, messages):
        yield message.at, WireEvent(type="session_update", data={"sessionId": session.id, "update": update})


def transcript_events(session: Session, messages: Sequence[SessionMessage]) -> list[dict[str, Json]]:
    return [{"v": VERSION, "type": "session_update", "data": update} for _, update in updates(session, messages)]
