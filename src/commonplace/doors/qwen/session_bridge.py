"""
What stands between a live session and the clients of qwen-code's daemon.

A bridge hears each event of the session as it is published, and tells it in that daemon's words in a ring of its own, with ids and an
epoch of its own. Its clients are programs that somebody attached: a client id addresses events, and decides nothing about rights.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from commonplace.agent.acp.serve.updates import CallView
from commonplace.agent.attendance import Attendance
from commonplace.doors.qwen.session_errors import ClientUnknown
from commonplace.doors.qwen.session_events import Translator, WireEvent, document
from commonplace.doors.qwen.session_stats import SessionStats
from commonplace.events.ring import Ring, RingEvent
from commonplace.governance.access import reaches_all
from commonplace.ports.clock import Clock
from commonplace.service.events import may_hear
from commonplace.values.event import News
from commonplace.values.json import Json
from commonplace.values.principal import Principal
from commonplace.values.session import Session
from commonplace.values.turn_event import PromptWithdrawn, TurnEnded, TurnEvent, TurnFailed, TurnStarted

MOST_CLIENTS: Final = 256
"""Of one session. One more, and the one that was not heard of for longest is forgotten."""
CLIENT_SECONDS: Final = 1_800.0
"""For so long a client that says nothing keeps its session in use."""

End = Callable[["Bridge"], None]


@dataclass(slots=True)
class AttachedClient:
    """A program of a person. `seen_at` is the loop's time at which it was heard of last."""

    id: str
    who: Principal
    seen_at: float


@dataclass(frozen=True, slots=True)
class Reader:
    """How events are written for one person: what tells of a scope is for those who reach it."""

    who: Principal

    @classmethod
    def of(cls, who: Principal) -> Reader:
        """Whoever shows the same key reads the same, however they came here."""
        return cls(replace(who, client=None, address=None, request=None, session=None))

    def __call__(self, entry: RingEvent[WireEvent]) -> tuple[str, Mapping[str, Json]] | None:
        news = entry.event.news
        if news is not None and not self.hears(news):
            return None
        return entry.event.type, document(entry)

    def hears(self, news: News) -> bool:
        return may_hear(self.who, news, everything=reaches_all(self.who))


class Bridge:
    """`source` is the ring of the live session, `tell` what it publishes to those who listen here."""

    def __init__(self, session: Session, source: Ring[TurnEvent], clock: Clock, end: End) -> None:
        self.session = session
        self.source = source
        self.ring: Ring[WireEvent] = Ring(clock, epoch=str(uuid.uuid4()))
        self.clients: dict[str, AttachedClient] = {}
        self.stats = SessionStats(clock.now())
        self.translator = Translator(session.id, self.clients, self.stats, CallView(folder=session.folder))
        self.say_door = asyncio.Lock()
        """Held by whoever says something, so that what waits is counted right."""
        self.turn_began = 0
        """The id before the first event of the turn that is played."""
        self.closed_by: tuple[str, str | None] = ("idle_timeout", None)
        """Why the session is closed when it is, and the client that did it."""
        self._end = end
        self._stack = ExitStack()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- clients

    def attach(self, who: Principal) -> AttachedClient:
        while len(self.clients) >= MOST_CLIENTS:
            del self.clients[min(self.clients.values(), key=lambda client: client.seen_at).id]
        client = AttachedClient(f"client_{uuid.uuid4()}", who, _now())
        self.clients[client.id] = client
        return client

    def client_of(self, who: Principal, id: str | None) -> AttachedClient | None:
        """
        Raises:
            ClientUnknown: this person has no such client here.
        """
        if id is None:
            return None
        client = self.clients.get(id)
        if client is None or client.who.subject != who.subject:
            raise ClientUnknown.of(id, self.session.id)
        client.seen_at = _now()
        return client

    def hears(self, news: News) -> bool:
        """Whether one of those who are attached may hear of it."""
        return any(Reader(client.who).hears(news) for client in self.clients.values())

    def present(self) -> set[str]:
        """The persons whose programs were heard of lately, of those who may write: they vote on what is asked."""
        return {client.who.subject for client in self._lately if client.who.is_at_least("writer")}

    @property
    def _lately(self) -> list[AttachedClient]:
        since = _now() - CLIENT_SECONDS
        return [client for client in self.clients.values() if client.seen_at > since]

    # ---- what is told

    def tell(self, *events: WireEvent) -> None:
        for event in events:
            self.ring.publish(event)

    def begin(self, past: Iterable[WireEvent], running: Iterable[RingEvent[TurnEvent]], attendance: Attendance) -> None:
        """Tell what was said before, and what there is of the turn that is played; from now on hear what comes."""
        self.tell(*past)
        self.turn_began = self.ring.position
        for entry in running:
            self.hear(entry)
        self.source.lead(self)
        self._stack.enter_context(attendance.include(self.present))

    def journal(self, reader: Reader) -> list[Mapping[str, Json]]:
        """What was told of the turn that is played, as far as it is for this person."""
        if self.translator.turn is None:
            return []
        shaped = (reader(entry) for entry in self.ring.after(self.turn_began, self.ring.position))
        return [shape[1] for shape in shaped if shape is not None]

    # ---- a deadline

    def limit(self, run: str, seconds: float, stop: Callable[[], Awaitable[object]]) -> None:
        """Call `stop` if the turn is not over by then."""

        def expire() -> None:
            self._timers.pop(run, None)
            self.translator.expired.add(run)
            task = asyncio.ensure_future(_waited(stop))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._timers[run] = asyncio.get_running_loop().call_later(seconds, expire)

    # ---- as a follower of the session's ring

    @property
    def listeners(self) -> int:
        """Those who listen, and the programs that were heard of lately: none of them would like the session gone."""
        return self.ring.listeners + len(self._lately)

    def hear(self, entry: RingEvent[TurnEvent]) -> None:
        match entry.event:
            case TurnStarted():
                self.turn_began = self.ring.position
            case TurnEnded(run=run) | TurnFailed(run=run) | PromptWithdrawn(run=run):
                if (timer := self._timers.pop(run, None)) is not None:
                    timer.cancel()
            case _:
                pass
        self.tell(*self.translator.translate(entry.event, entry.at))

    def doubt(self) -> None:
        self.ring.doubt()

    def end(self) -> None:
        self.source.dismiss(self)
        self._stack.close()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        reason, client = self.closed_by
        closed: dict[str, Json] = {"sessionId": self.session.id, "reason": reason}
        if client is not None:
            closed["closedBy"] = client
        self.tell(*self.translator.leave(), WireEvent(type="session_closed", data=closed, client=client))
        self.ring.close()
        self._end(self)


async def _waited(stop: Callable[[], Awaitable[object]]) -> None:
    await stop()


def _now() -> float:
    return asyncio.get_running_loop().time()
