"""
The sessions that are in use in this process, and the way in for whoever talks to them.

A session is opened from its history when somebody first uses it, and let go when nobody does any more. What it was told and had
not begun when a process ended stands in its history as said and not answered: nothing is lost, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Protocol

from commonplace.agent.activity_watch import ActivityWatch
from commonplace.agent.attendance import Attendance
from commonplace.agent.live_session import TAIL_SECONDS, LiveSession, PermissionParts, Player, Prompt
from commonplace.agent.session_claims import SessionClaims
from commonplace.agent.summary import Summary
from commonplace.agent.supplies import SessionSupplies
from commonplace.errors import CommonplaceError, Forbidden, InvalidText, NotFound
from commonplace.events.ring import Ring, RingEvent
from commonplace.governance.access import require_role
from commonplace.ports.clock import Clock
from commonplace.text.scrub import scrub
from commonplace.values.json import Json
from commonplace.values.moment import new_id
from commonplace.values.permission import PermissionNotFound, PermissionRequest, PermissionVote, PermissionVoteChoice
from commonplace.values.principal import Principal
from commonplace.values.session import (
    MessageDraft,
    MessagePage,
    Session,
    SessionChanges,
    SessionEnding,
    SessionMessage,
    TooManySessions,
)
from commonplace.values.session_state import ActivityState, LiveSessionSummary, SessionActivity, SessionState
from commonplace.values.turn_event import (
    ModeChanged,
    ModelChanged,
    NoticePosted,
    PromptQueued,
    PromptWithdrawn,
    SessionEvent,
    TurnEvent,
    TurnTicket,
)

LOGGER: Final = logging.getLogger("commonplace")
MOST_SESSIONS: Final = 64
LONGEST_PROMPT: Final = 1_000_000
"""Characters. What is longer belongs in a file of the workspace."""
_PAGE: Final = 500
_IDLE_SECONDS: Final = 1_800.0
_BEHIND_SECONDS: Final = 300.0
"""How long each thing that a session leaves may take if nobody waits for it."""
_CLOSE_SECONDS: Final = 30.0
_QUEUED: Final = "prompt_queued"
_WITHDRAWN: Final = "prompt_withdrawn"
_MODE: Final = "mode_changed"
_ORDER: Final[dict[ActivityState, int]] = {"asking": 0, "running": 1, "idle": 2}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
COMPACTED: Final = "history_compacted"
"""The name of the hidden event that holds a summary."""
HOSTED: Final = "hosted_session"
"""The name of the hidden event that says which conversation of a hosted agent a session is."""


class SessionHistory(Protocol):
    """The history in the reach of a person: `service/history.History`."""

    async def session(self, who: Principal, id: str) -> Session: ...

    async def among(self, who: Principal, ids: Sequence[str], *, everyone: bool = False) -> list[Session]: ...

    async def tell_activity(self, tenant: str, id: str, state: ActivityState, backlog: int) -> None: ...

    async def change(self, who: Principal, id: str, changes: SessionChanges) -> Session: ...

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
    `load` answers what plays the turns, which takes a library that loads slowly; it raises ModelUnavailable if that is not installed.
    `claims`: of the sessions that this process leads, under which `history` is written; None: no other process ever does.
    """

    history: SessionHistory
    permissions: PermissionParts
    load: Callable[[], Awaitable[Player]]
    clock: Clock
    claims: SessionClaims | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduledRun:
    """A turn that a schedule plays by itself, and the id of its run."""

    schedule: str
    run: str


class LiveSessions:
    """Whoever asks for a session that another process leads is told so: SessionElsewhere, SessionInUse."""

    def __init__(self, parts: SessionParts, *, most: int = MOST_SESSIONS) -> None:
        self._parts = parts
        self._claims = parts.claims
        self._most = most
        self._renewal: asyncio.Task[None] | None = None
        self._live: dict[tuple[str, str], LiveSession] = {}
        self._leaving: dict[tuple[str, str], asyncio.Event] = {}
        self._opening = asyncio.Lock()
        self._endings: set[asyncio.Task[None]] = set()
        """Of sessions that end behind whoever let them go."""

    @property
    def in_use(self) -> tuple[str, ...]:
        """The ids of those that are open here."""
        return tuple(id for _, id in self._live)

    async def activities(self, who: Principal, *, everyone: bool = False) -> tuple[LiveSessionSummary, ...]:
        """As `AgentClient.live_sessions`."""
        live = {id: session for (tenant, id), session in self._live.items() if tenant == who.tenant}
        sessions = await self._parts.history.among(who, tuple(live), everyone=everyone)
        activities = [live[session.id].activity(session) for session in sessions if live[session.id].is_of(session)]
        return by_urgency(activities)

    async def say(
        self,
        who: Principal,
        id: str,
        text: str,
        *,
        model: str | None = None,
        scheduled: ScheduledRun | None = None,
        run: str | None = None,
    ) -> TurnTicket:
        """
        As `AgentClient.say`; `run` is the id of the turn, if it has one.

        Raises:
            Forbidden: a reader listens, and says nothing.
            SessionEnding: it is let go just now.
        """
        require_role(who, "writer")
        if not text.strip() or "\0" in text or _SURROGATE.search(text):
            raise InvalidText("There is nothing to say. Give a text without NUL characters and lone surrogates.")
        if len(text) > LONGEST_PROMPT:
            raise InvalidText(
                f"A prompt has at most {LONGEST_PROMPT:,} characters. Put the text into a file of the workspace, and name it."
            )
        live = await self._use(who, id)
        now = self._parts.clock.now()
        # Before it is kept, told or sent anywhere: a secret belongs neither in a history nor to a model.
        clean = (await asyncio.to_thread(scrub, text)).text
        run, schedule = (scheduled.run, scheduled.schedule) if scheduled else (run or new_id(now), None)
        prompt = Prompt(who=who, run=run, text=clean, at=now, model=model, scheduled=schedule)
        async with live.door:
            if live.is_stopped:
                raise SessionEnding
            live.require_room()
            await self._say_late(live, who)
            last = live.ring.position
            # What waits is kept as an event that nobody sees until it is said: messages stand in the order of their turns.
            await self._keep(live, queued(prompt) if live.is_busy else said(prompt), who)
            if live.is_busy:
                waiting = PromptQueued(
                    run=prompt.run, text=clean, speaker=who.subject, client=who.client, scheduled=schedule
                )
                live.ring.publish(waiting)
            return TurnTicket(run=prompt.run, before=live.say(prompt), last_event=last)

    async def hear(self, who: Principal, id: str, *, after: int | None = None) -> AsyncGenerator[SessionEvent]:
        """As `AgentClient.hear`."""
        async with self.attend(who, id) as ring:
            async for entry in ring.follow(after):
                if isinstance(entry, RingEvent):
                    yield SessionEvent(id=entry.id, event=entry.event)

    async def post(self, who: Principal, id: str, text: str) -> None:
        """Have the agent say something that answers nobody."""
        live = await self._use(who, id)
        now = self._parts.clock.now()
        async with live.door:
            await self._keep(live, MessageDraft(id=new_id(now), role="assistant", kind="text", text=text), who)
            live.ring.publish(NoticePosted(text=text))

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

    @asynccontextmanager
    async def attend(self, who: Principal, id: str) -> AsyncGenerator[Ring[TurnEvent]]:
        """Where its events are told. As long as it is entered, the person counts as present: they vote on what is asked."""
        live = await self._use(who, id)
        try:
            with live.attendance.attend(who):
                live.tell_activity()
                yield live.ring
        finally:
            live.tell_activity()

    async def hears(self, who: Principal, id: str, ring: Ring[TurnEvent]) -> bool:
        """Whether somebody who listens may still: the session is in their reach, and is the one whose ring this is."""
        try:
            session = await self._parts.history.session(who, id)
        except NotFound:
            return False
        live = self._live.get((who.tenant, session.id))
        return live is not None and live.ring is ring and live.is_of(session)

    async def attendance(self, who: Principal, id: str) -> Attendance:
        """Who is present in it."""
        return (await self._use(who, id)).attendance

    def activity(self, tenant: str, session: Session) -> SessionActivity:
        """What a session does that the caller has found, as far as this process knows. It is not opened for that."""
        live = self._live.get((tenant, session.id))
        if live is None or not live.is_of(session):
            return SessionActivity()
        return SessionActivity(prompts=live.prompts, permissions=live.mediator.waiting)

    async def live_ring(self, who: Principal, id: str) -> Ring[TurnEvent] | None:
        """Where its events are told, if it is in use. It is not opened for that."""
        live = await self._known(who, id)
        return None if live is None else live.ring

    async def cancel(self, who: Principal, id: str, *, run: str | None = None) -> bool:
        """End the turn that is played; with a `run` only if it is that one."""
        require_role(who, "writer")
        live = await self._known(who, id)
        if live is not None:
            live.require_cancel(who)
        return live is not None and await live.cancel(run)

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
                live.ring.publish(PromptWithdrawn(run=run))
            return is_withdrawn

    async def state(self, who: Principal, id: str) -> SessionState:
        """As `AgentClient.session_state`."""
        return await self._state(await self._use(who, id), who)

    async def configure(
        self, who: Principal, id: str, *, mode: str | None = None, model: str | None = None
    ) -> SessionState:
        """As `AgentClient.configure_session`. Raises Forbidden: only the owner of a session and admins set it."""
        require_role(who, "writer")
        live = await self._use(who, id)
        if who.subject != live.session.owner and who.role != "admin":
            raise Forbidden("Only the owner of the session and admins change how it works.")
        async with live.door:
            before = await live.player.options(live, who)
            mode, model = _new(mode, before.mode), _new(model, before.model)
            await live.player.configure(live, who, mode=mode, model=model)
            if mode is not None:
                await self._keep(live, chosen_mode(mode, self._parts.clock.now(), who), who)
                live.mode = mode
                live.ring.publish(ModeChanged(mode=mode, previous=before.mode, by=who.subject, client=who.client))
            if model is not None:
                live.session = await self._parts.history.change(who, live.session.id, {"model": model})
                live.ring.publish(ModelChanged(model=model, previous=before.model, by=who.subject, client=who.client))
        return await self._state(live, who)

    async def _state(self, live: LiveSession, who: Principal) -> SessionState:
        return SessionState(
            session=live.session.id,
            options=await live.player.options(live, who),
            prompts=live.prompts,
            permissions=live.mediator.waiting,
            policy=live.mediator.options.policy,
            listeners=live.ring.listeners,
        )

    async def permission_requests(self, who: Principal, id: str) -> Sequence[PermissionRequest]:
        live = await self._known(who, id)
        return () if live is None else live.mediator.waiting

    async def answer(self, who: Principal, id: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        """As `AgentClient.answer_permission`. Raises Forbidden: a program refuses and cancels; only people permit."""
        require_role(who, "writer")
        if who.is_model and choice.startswith("allow"):
            raise Forbidden("A person permits tool calls. This is an agent's key: it may refuse and cancel.")
        live = await self._known(who, id)
        if live is None:
            raise PermissionNotFound(request=request[:100])
        return await live.mediator.vote(who, request, choice)

    async def supply(self, who: Principal, id: str, supplies: SessionSupplies) -> None:
        """Have the next turns played with what somebody lends; for as long as the session is in use here."""
        (await self._use(who, id)).supplies = supplies

    async def settle(self, who: Principal, id: str) -> None:
        """Wait until the turns of a session are over, and what they leave is kept."""
        live = await self._known(who, id)
        if live is not None:
            await live.settle()

    async def let_go(self, tenant: str, id: str, *, forget: bool = False) -> None:
        """Stop a session that is archived; `forget`: that is deleted, and learns nothing more."""
        await self._close((tenant, id), forget=forget)

    async def leave(self, tenant: str, id: str, *, seconds: float) -> None:
        """
        As `let_go`, behind whoever calls, and with time for a slow model to read what was said. It is stopped when this returns, and ended if that takes no longer than
        so many `seconds`.
        """
        live = self._live.pop((tenant, id), None)
        if live is None:
            return
        ending = asyncio.create_task(self._end_behind((tenant, id), live, self._note_leaving((tenant, id))))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
        await live.stop()
        await asyncio.wait({ending}, timeout=seconds)

    async def release(self, tenant: str, id: str) -> None:
        """Let it go if nobody uses it. A turn that is played goes on, and the session is let go some time after it."""
        live = self._live.get((tenant, id))
        if live is not None and live.is_idle:
            await self.let_go(tenant, id)

    def doubt(self, tenant: str, id: str) -> None:
        """Look again who may listen: a session is shared no longer."""
        live = self._live.get((tenant, id))
        if live is not None:
            live.ring.doubt()

    async def require_here(self, who: Principal, id: str) -> None:
        """For what ends a session's turn. Raises SessionElsewhere, SessionInUse: another process plays it. Raises NotFound."""
        await self._known(who, id)

    async def changed(self, tenant: str, id: str, session: Session | None) -> None:
        """Somebody changed a session, here or at another process: it is this one now, and None if it is deleted."""
        live = self._live.get((tenant, id))
        if live is None:
            return
        if session is None or not live.is_of(session):
            await self.let_go(tenant, id, forget=True)
        elif session.archived_at is not None and live.session.archived_at is None:
            await self.let_go(tenant, id)
        else:
            live.session = session
            live.ring.doubt()

    async def lose(self, key: tuple[str, str]) -> None:
        """Another process leads it now: its turn ends here, what waits is said there, and its listeners come again."""
        await self._close(key, forget=True)

    async def aclose(self) -> None:
        await asyncio.gather(*(self._close(key) for key in list(self._live)), self._end_all())
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait({self._renewal})

    async def _end_behind(self, key: tuple[str, str], live: LiveSession, end: asyncio.Event) -> None:
        try:
            await self._end(key, live, end, patience=_BEHIND_SECONDS)
        except CommonplaceError as error:
            LOGGER.warning("sessions", extra={"told": {"session": key[1], "code": error.code}})

    async def _end_all(self) -> None:
        """What ends behind others has as long as the end of the process may take."""
        if self._endings:
            _, late = await asyncio.wait(self._endings, timeout=_CLOSE_SECONDS)
            for ending in late:
                ending.cancel()
            if late:
                await asyncio.wait(late)

    # ---- sessions in use

    async def _known(self, who: Principal, id: str) -> LiveSession | None:
        """One that is in use, if it is in reach. Raises NotFound."""
        session = await self._parts.history.session(who, id)
        await self._keep_up((who.tenant, session.id))
        live = self._live.get((who.tenant, session.id))
        if live is None and self._claims is not None:
            await self._claims.require_free(who.tenant, session.id)
        return live if live is not None and live.is_of(session) else None

    async def _use(self, who: Principal, id: str) -> LiveSession:
        session = await self._parts.history.session(who, id)
        key = who.tenant, session.id
        await self._keep_up(key)
        live = self._live.get(key)
        if live is None or not live.is_of(session):
            # Whoever uses a session that is open does not wait for those that are opened.
            live = await self._opened(who, session)
        live.session = session
        live.used_at = asyncio.get_running_loop().time()
        return live

    async def _opened(self, who: Principal, session: Session) -> LiveSession:
        key = who.tenant, session.id
        if key in self._leaving:
            await self._leaving[key].wait()
        async with self._opening:
            live = self._live.get(key)
            if live is not None and not live.is_of(session):
                # It was deleted, and somebody has begun another one under its id: nothing of the first one is theirs.
                await self.let_go(*key, forget=True)
                live = None
            if live is None:
                await self._make_room()
                live = self._live[key] = await self._led(who, session)
            return live

    async def _led(self, who: Principal, session: Session) -> LiveSession:
        """Nobody else adds to it from before it is read until it is let go."""
        if self._claims is None:
            return await self._open(who, session)
        key = who.tenant, session.id
        await self._claims.take(*key)
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._claims.keep_up(self.lose))
        try:
            return await self._open(who, session)
        except BaseException:
            await self._claims.release(key)
            raise

    async def _keep_up(self, key: tuple[str, str]) -> None:
        """Before a session is used: whether it is led here still, if its lease may have run out."""
        if self._claims is not None and key in self._live and self._claims.is_doubtful(*key):
            for lost in {*await self._claims.renew(), *(() if self._claims.holds(*key) else (key,))}:
                await self.lose(lost)

    async def _close(self, key: tuple[str, str], *, forget: bool = False) -> None:
        """Led until what it leaves behind is kept; whoever wants it meanwhile waits."""
        live = self._live.pop(key, None)
        if live is not None:
            await self._end(key, live, self._note_leaving(key), forget=forget)

    def _note_leaving(self, key: tuple[str, str]) -> asyncio.Event:
        """What whoever wants it meanwhile waits for."""
        end = self._leaving[key] = asyncio.Event()
        return end

    async def _end(
        self,
        key: tuple[str, str],
        live: LiveSession,
        end: asyncio.Event,
        *,
        forget: bool = False,
        patience: float = TAIL_SECONDS,
    ) -> None:
        try:
            await live.aclose(forget=forget, patience=patience)
        finally:
            if self._claims is not None:
                await self._claims.release(key)
            del self._leaving[key]
            end.set()

    async def _open(self, who: Principal, session: Session) -> LiveSession:
        messages = [message async for message in self._all(who, session.id)]
        live = LiveSession(
            session,
            [message for message in messages if message.context_visible],
            tenant=who.tenant,
            ring=Ring(self._parts.clock),
            permissions=self._parts.permissions,
            player=await self._parts.load(),
        )
        live.summary = _last_summary(messages)
        live.mode = _last_mode(messages)
        live.hosted = _last_hosted(messages)
        live.late = _unsaid(messages)
        live.watch = ActivityWatch(live.ring, partial(self._tell_activity, who.tenant, live))
        live.stack.push_async_callback(live.watch.aclose)
        return live

    async def _tell_activity(self, tenant: str, live: LiveSession, state: ActivityState) -> None:
        backlog = sum(prompt.state == "queued" for prompt in live.prompts)
        await self._parts.history.tell_activity(tenant, live.session.id, state, backlog)

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
        others = 0 if self._claims is None else await self._claims.beside()
        full = len(self._live) + others >= self._most
        for used_at, key in idle:
            if now - used_at > _IDLE_SECONDS or full:
                await self._close(key)
                full = False
        if full:
            raise TooManySessions(limit=self._most, retry_after=30)

    async def _keep(self, live: LiveSession, draft: MessageDraft, who: Principal) -> None:
        messages = await self._parts.history.append(who, live.session.id, [draft])
        live.messages += [message for message in messages if message.context_visible]


def by_urgency(summaries: Sequence[LiveSessionSummary]) -> tuple[LiveSessionSummary, ...]:
    """First those that wait for a permission, then those that play a turn; the one used last before others."""
    return tuple(sorted(summaries, key=lambda each: (_ORDER[each.state], -each.session.updated_at.timestamp())))


def _last_summary(messages: Sequence[SessionMessage]) -> Summary | None:
    for message in reversed(messages):
        data = message.data
        upto, by = data.get("upto"), data.get("by")
        if message.text == COMPACTED and not message.context_visible and isinstance(upto, int):
            return Summary(upto=upto, text=str(data.get("text") or ""), by="model" if by == "model" else "rules")
    return None


def _last_mode(messages: Sequence[SessionMessage]) -> str | None:
    for message in reversed(messages):
        if message.text == _MODE and not message.context_visible:
            return str(message.data.get("mode"))
    return None


def _last_hosted(messages: Sequence[SessionMessage]) -> Mapping[str, Json]:
    for message in reversed(messages):
        if message.text == HOSTED and not message.context_visible:
            return message.data
    return {}


def _new(wish: str | None, current: str) -> str | None:
    return None if wish == current else wish


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


def chosen_mode(mode: str, at: datetime, who: Principal) -> MessageDraft:
    """That the session works so from now on, also in a process that opens it later."""
    return MessageDraft(
        id=new_id(at),
        role="event",
        kind="event",
        text=_MODE,
        data={"mode": mode},
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
