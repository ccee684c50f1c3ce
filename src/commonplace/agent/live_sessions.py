"""
The sessions that are in use in this process, and the way in for whoever talks to them.

A session is opened from its history when somebody first uses it, and let go when nobody does any more. What it was told and had
not begun when a process ended stands in its history as said and not answered: nothing is lost, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from commonplace.agent.live_session import LiveSession, MakePermissions, Play, Prompt
from commonplace.agent.summary import Summary
from commonplace.errors import InvalidText, NotFound
from commonplace.events.ring import Ring, RingEvent
from commonplace.governance.access import require_role
from commonplace.ports.clock import Clock
from commonplace.text.scrub import scrub
from commonplace.values.moment import new_id
from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionNotFound, PermissionRequest
from commonplace.values.principal import Principal
from commonplace.values.session import (
    MessageDraft,
    MessagePage,
    Session,
    SessionMessage,
    SessionsUnavailable,
    TooManySessions,
)
from commonplace.values.turn_event import SessionEvent, TurnEvent, TurnTicket

MOST_SESSIONS: Final = 64
LONGEST_PROMPT: Final = 1_000_000
"""Characters. What is longer belongs in a file of the workspace."""
_PAGE: Final = 500
_IDLE_SECONDS: Final = 1_800.0
_QUEUED: Final = "prompt_queued"
_WITHDRAWN: Final = "prompt_withdrawn"
COMPACTED: Final = "history_compacted"
"""The name of the hidden event that holds a summary."""


class SessionHistory(Protocol):
    """The history in the reach of a person: `service/history.History`."""

    async def session(self, who: Principal, id: str) -> Session: ...

    async def append(self, who: Principal, session: str, drafts: Sequence[MessageDraft]) -> list[SessionMessage]: ...

    async def messages(
        self,
        who: Principal,
        session: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        hidden: bool = False,
    ) -> MessagePage: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionParts:
    """
    `permissions` makes what a session remembers of the answers of its person. `load` answers what plays a turn, which takes a library
    that loads slowly; it raises ModelUnavailable if that is not installed.
    """

    history: SessionHistory
    permissions: MakePermissions
    load: Callable[[], Awaitable[Play]]
    clock: Clock


class LiveSessions:
    def __init__(self, parts: SessionParts, *, most: int = MOST_SESSIONS, alone: bool = True) -> None:
        """`alone`: every request for a session comes to this process."""
        self._parts = parts
        self._most = most
        self._alone = alone
        self._live: dict[tuple[str, str], LiveSession] = {}
        self._opening = asyncio.Lock()

    @property
    def in_use(self) -> tuple[str, ...]:
        """The ids of those that are open here."""
        return tuple(id for _, id in self._live)

    async def say(self, who: Principal, id: str, text: str, *, model: str | None = None) -> TurnTicket:
        """As `AgentClient.say`. Raises Forbidden: a reader listens, and says nothing."""
        require_role(who, "writer")
        if not text.strip() or "\0" in text:
            raise InvalidText("There is nothing to say. Give a text without NUL characters.")
        if len(text) > LONGEST_PROMPT:
            raise InvalidText(
                f"A prompt has at most {LONGEST_PROMPT:,} characters. Put the text into a file of the workspace, and name it."
            )
        live = await self._use(who, id)
        now = self._parts.clock.now()
        # Before it is kept, told or sent anywhere: a secret belongs neither in a history nor to a model.
        clean = (await asyncio.to_thread(scrub, text)).text
        prompt = Prompt(who=who, run=new_id(now), text=clean, at=now, model=model)
        async with live.door:
            live.require_room()
            await self._say_late(live, who)
            last = live.ring.position
            # What waits is kept as an event that nobody sees until it is said: messages stand in the order of their turns.
            await self._keep(live, queued(prompt) if live.is_busy else said(prompt), who)
            return TurnTicket(run=prompt.run, before=live.say(prompt), last_event=last)

    async def hear(self, who: Principal, id: str, *, after: int | None = None) -> AsyncGenerator[SessionEvent]:
        """As `AgentClient.hear`."""
        live = await self._use(who, id)
        async for entry in live.ring.follow(after):
            if isinstance(entry, RingEvent):
                yield SessionEvent(id=entry.id, event=entry.event)

    async def is_reached(self, who: Principal, id: str) -> bool:
        """Whether the session is there still, and still in reach."""
        try:
            await self._parts.history.session(who, id)
        except NotFound:
            return False
        return True

    async def ring(self, who: Principal, id: str) -> Ring[TurnEvent]:
        """Where its events are told."""
        return (await self._use(who, id)).ring

    async def hears(self, who: Principal, id: str, ring: Ring[TurnEvent]) -> bool:
        """Whether somebody who listens may still: the session is in their reach, and is the one whose ring this is."""
        try:
            live = await self._known(who, id)
        except NotFound:
            return False
        return live is not None and live.ring is ring

    async def cancel(self, who: Principal, id: str) -> bool:
        require_role(who, "writer")
        live = await self._known(who, id)
        return live is not None and await live.cancel()

    async def withdraw(self, who: Principal, id: str, run: str) -> bool:
        """Take back what waits for its turn. Raises Forbidden: somebody else said it."""
        require_role(who, "writer")
        live = await self._known(who, id)
        if live is None:
            return False
        async with live.door:
            is_withdrawn = live.withdraw(who, run)
            if is_withdrawn:
                await self._keep(live, withdrawn(run, who), who)
            return is_withdrawn

    async def permission_requests(self, who: Principal, id: str) -> Sequence[PermissionRequest]:
        live = await self._known(who, id)
        return () if live is None else live.permission_requests

    async def answer(self, who: Principal, id: str, request: str, choice: PermissionChoice) -> PermissionAnswer:
        """As `AgentClient.answer_permission`."""
        require_role(who, "writer")
        live = await self._known(who, id)
        if live is None:
            raise PermissionNotFound(request=request[:100])
        return live.answer_permission(who, request, choice)

    async def settle(self, who: Principal, id: str) -> None:
        """Wait until the turns of a session are over, and what they leave is kept."""
        live = await self._known(who, id)
        if live is not None:
            await live.settle()

    async def let_go(self, tenant: str, id: str, *, forget: bool = False) -> None:
        """Stop a session that is archived, or that another process has taken over; `forget`: that is deleted, and learns nothing more."""
        live = self._live.pop((tenant, id), None)
        if live is not None:
            await live.aclose(forget=forget)

    def doubt(self, tenant: str, id: str) -> None:
        """Look again who may listen: a session is shared no longer."""
        live = self._live.get((tenant, id))
        if live is not None:
            live.ring.doubt()

    async def aclose(self) -> None:
        live = list(self._live.values())
        self._live.clear()
        await asyncio.gather(*(session.aclose() for session in live))

    # ---- sessions in use

    async def _known(self, who: Principal, id: str) -> LiveSession | None:
        """One that is in use, if it is in reach. Raises NotFound."""
        session = await self._parts.history.session(who, id)
        live = self._live.get((who.tenant, session.id))
        return live if live is not None and live.is_of(session) else None

    async def _use(self, who: Principal, id: str) -> LiveSession:
        session = await self._parts.history.session(who, id)
        if not self._alone:
            raise SessionsUnavailable
        key = who.tenant, session.id
        live = self._live.get(key)
        if live is None or not live.is_of(session):
            # Whoever uses a session that is open does not wait for those that are opened.
            live = await self._opened(who, session)
        live.session = session
        live.used_at = asyncio.get_running_loop().time()
        return live

    async def _opened(self, who: Principal, session: Session) -> LiveSession:
        key = who.tenant, session.id
        async with self._opening:
            live = self._live.get(key)
            if live is not None and not live.is_of(session):
                # It was deleted, and somebody has begun another one under its id: nothing of the first one is theirs.
                await self.let_go(*key, forget=True)
                live = None
            if live is None:
                await self._make_room()
                live = self._live[key] = await self._open(who, session)
            return live

    async def _open(self, who: Principal, session: Session) -> LiveSession:
        messages = [message async for message in self._all(who, session.id)]
        live = LiveSession(
            session,
            [message for message in messages if message.context_visible],
            ring=Ring(self._parts.clock),
            permissions=self._parts.permissions,
            play=await self._parts.load(),
        )
        live.summary = _last_summary(messages)
        live.late = _unsaid(messages)
        return live

    async def _say_late(self, live: LiveSession, who: Principal) -> None:
        """What waited when a process ended was said, and nobody answered it. Whoever only listens does not write it."""
        if live.late:
            live.messages += await self._parts.history.append(who, live.session.id, live.late)
            live.late = []

    async def _all(self, who: Principal, id: str) -> AsyncGenerator[SessionMessage]:
        after = 0
        while True:
            page = await self._parts.history.messages(who, id, after=after, limit=_PAGE, hidden=True)
            for message in page.messages:
                yield message
            if not page.after or not page.messages:
                return
            after = page.messages[-1].position

    async def _make_room(self) -> None:
        """Raises TooManySessions: all are in use."""
        now = asyncio.get_running_loop().time()
        idle = sorted((live.used_at, key) for key, live in self._live.items() if live.is_idle)
        full = len(self._live) >= self._most
        for used_at, key in idle:
            if now - used_at > _IDLE_SECONDS or full:
                await self._live.pop(key).aclose()
                full = False
        if full:
            raise TooManySessions(limit=self._most, retry_after=30)

    async def _keep(self, live: LiveSession, draft: MessageDraft, who: Principal) -> None:
        messages = await self._parts.history.append(who, live.session.id, [draft])
        live.messages += [message for message in messages if message.context_visible]


def _last_summary(messages: Sequence[SessionMessage]) -> Summary | None:
    for message in reversed(messages):
        data = message.data
        upto, by = data.get("upto"), data.get("by")
        if message.text == COMPACTED and not message.context_visible and isinstance(upto, int):
            return Summary(upto=upto, text=str(data.get("text") or ""), by="model" if by == "model" else "rules")
    return None


def _unsaid(messages: Sequence[SessionMessage]) -> list[MessageDraft]:
    """What waited and was neither said nor taken back, as messages."""
    over = {message.run for message in messages if message.role == "user" or message.text == _WITHDRAWN}
    return [
        MessageDraft(
            id=f"{message.run}-said",
            role="user",
            kind="text",
            text=str(message.data.get("text")),
            run=message.run,
            speaker=message.speaker,
        )
        for message in messages
        if message.text == _QUEUED and not message.context_visible and message.run not in over
    ]


def queued(prompt: Prompt) -> MessageDraft:
    """That it waits for its turn."""
    return MessageDraft(
        id=f"{prompt.run}-queued",
        role="event",
        kind="event",
        text=_QUEUED,
        data={"text": prompt.text},
        run=prompt.run,
        speaker=prompt.who.subject,
        context_visible=False,
    )


def withdrawn(run: str, who: Principal) -> MessageDraft:
    """That it was taken back: nobody says it later."""
    return MessageDraft(
        id=f"{run}-withdrawn",
        role="event",
        kind="event",
        text=_WITHDRAWN,
        run=run,
        speaker=who.subject,
        context_visible=False,
    )


def said(prompt: Prompt) -> MessageDraft:
    """The user's message. Kept a second time it is the same one."""
    return MessageDraft(
        id=f"{prompt.run}-said",
        role="user",
        kind="text",
        text=prompt.text,
        run=prompt.run,
        speaker=prompt.who.subject,
    )
