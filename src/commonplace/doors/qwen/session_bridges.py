"""
The sessions of a daemon as the clients of qwen-code's know them: created, attached to, loaded, closed.

All that is live is asked of `LiveSessions`; what is here is which programs are attached, and what they are told. A person attaches to their
own sessions, and to those that are shared with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from commonplace.agent.live_sessions import LiveSessions
from commonplace.doors.qwen.session_bridge import AttachedClient, Bridge
from commonplace.doors.qwen.session_errors import (
    InvalidApprovalMode,
    InvalidSessionScope,
    SessionArchived,
    SessionLimitExceeded,
    SessionNotFound,
    WorkspaceMismatch,
)
from commonplace.doors.qwen.session_events import WORKSPACE_EVENTS, WireEvent, replayed
from commonplace.doors.qwen.session_shapes import CreateBody, SessionRestoreBody
from commonplace.errors import CommonplaceError, InvalidInput, NotFound
from commonplace.events.ring import Ring, RingEvent
from commonplace.service.services import Services
from commonplace.values.event import Event
from commonplace.values.json import Json
from commonplace.values.permission import PermissionPolicy
from commonplace.values.principal import Principal
from commonplace.values.session import Session, SessionFields, SessionMessage, TooManySessions
from commonplace.values.session_lease import SessionElsewhere, SessionInUse
from commonplace.values.session_state import SessionState
from commonplace.values.turn_event import (
    PromptQueued,
    PromptWithdrawn,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
)

SOURCE: Final = "qwen"
"""Where a session comes from whose person gets it again when they ask for one."""
THREAD: Final = "qwen-thread"
"""One that is only had by its id."""
PAGE: Final = 1_000
"""Messages that are told to whoever loads a session. What was said before them is in the transcript."""
_LONGEST_PATH: Final = 4_096
_LOOKED_AT: Final = 20
_AGENT: Final = "assistant"


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionDoorOptions:
    """`shared`: sessions begun here are shared with whoever reaches the workspace. `most`: how many a daemon has open at once."""

    shared: bool = False
    most: int = 64
    policy: PermissionPolicy = "designated"


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A program at a session. `attached`: it was in use already."""

    bridge: Bridge
    client: AttachedClient
    attached: bool
    is_busy: bool = False
    model_applied: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored(Attachment):
    state: SessionState
    messages: Sequence[SessionMessage]
    has_more: bool


class Bridges:
    """One a process. `aclose` is not needed: a bridge ends with the session it follows."""

    def __init__(self, services: Services, live: LiveSessions, options: SessionDoorOptions) -> None:
        self._services = services
        self._live = live
        self._bridges: dict[tuple[str, str], Bridge] = {}
        self._opening = asyncio.Lock()
        self.options = options
        services.events.hub.watch(self._tell_news)

    @property
    def workspace(self) -> Path:
        return self._services.managed.ground.workspace

    @property
    def workspace_id(self) -> str:
        return self._services.managed.ground.name

    def of_tenant(self, tenant: str) -> Iterator[Bridge]:
        return (bridge for (at, _), bridge in [*self._bridges.items()] if at == tenant)

    async def reaches(self, who: Principal, bridge: Bridge) -> bool:
        """Whether the session is in reach of the caller."""
        return await self._live.hears(who, bridge.session.id, bridge.source)

    def find(self, who: Principal, id: str) -> Bridge | None:
        """The bridge in this process, if there is one. Whether the caller reaches the session was looked at before."""
        return self._bridges.get((who.tenant, id))

    # ---- in and out

    async def create(self, who: Principal, body: CreateBody) -> Attachment:
        """
        A session of the caller's: their own that is in use, or a new one.

        Raises:
            WorkspaceMismatch, InvalidSessionScope, InvalidApprovalMode, SessionLimitExceeded
        """
        self.require_workspace(body.cwd)
        if body.session_scope not in (None, "single", "thread"):
            raise InvalidSessionScope
        mode = _mode(body.approval_mode)
        is_single = body.session_scope != "thread"
        async with self._opening:
            session = await self._single(who) if is_single else None
            if session is not None:
                bridge = await self._open(who, session)
                client = await self._attach(who, bridge)
                return Attachment(bridge=bridge, client=client, attached=True, is_busy=await self._is_busy(who, bridge))
            session = await self._begin(who, SOURCE if is_single else THREAD)
            try:
                bridge = await self._open(who, session)
                client = await self._attach(who, bridge)
                if mode is not None:
                    await self._set_mode(replace(who, client=client.id), bridge, mode)
            except CommonplaceError:
                # Nobody would ever find it again.
                await self._live.let_go(who.tenant, session.id, forget=True)
                await self._services.history.delete(who, session.id)
                raise
        applied = await self._set_model(replace(who, client=client.id), bridge, body.model_service_id)
        return Attachment(bridge=bridge, client=client, attached=False, model_applied=applied)

    async def restore(self, who: Principal, id: str, body: SessionRestoreBody) -> Restored:
        """
        Take a session up again, whoever has used it before.

        Raises:
            SessionNotFound, SessionArchived, WorkspaceMismatch, SessionLimitExceeded
        """
        self.require_workspace(body.cwd if body.cwd is not None else body.workspace_cwd)
        mode = _mode(body.approval_mode)
        session = await self.session(who, id)
        if session.archived_at is not None:
            raise SessionArchived.of(id)
        async with self._opening:
            attached = await self._live.live_ring(who, id) is not None
            bridge = await self._open(who, session)
            client = await self._attach(who, bridge)
        if mode is not None:
            await self._set_mode(replace(who, client=client.id), bridge, mode)
        state = await self._live.state(who, id)
        messages, has_more = await self._messages(who, id, _page(body.history_page_size))
        running = {prompt.run for prompt in state.prompts}
        return Restored(
            bridge=bridge,
            client=client,
            attached=attached,
            is_busy=bool(state.prompts),
            state=state,
            messages=[message for message in messages if message.run not in running],
            has_more=has_more,
        )

    async def require(self, who: Principal, id: str) -> Bridge:
        """
        The bridge of a session that is in use.

        Raises:
            SessionNotFound: it is out of reach, or nobody has loaded it.
        """
        with _named(id):
            ring = await self._live.live_ring(who, id)
        bridge = self._bridges.get((who.tenant, id))
        if ring is None or bridge is None or bridge.source is not ring:
            raise SessionNotFound.of(id)
        return bridge

    async def session(self, who: Principal, id: str) -> Session:
        """Raises SessionNotFound."""
        with _named(id):
            return await self._services.history.session(who, id)

    async def close(self, who: Principal, id: str, client: str | None) -> None:
        """
        Stop a session, whatever it does. What was said in it is kept.

        Raises:
            SessionNotFound, ClientUnknown
            Forbidden: it is shared with the caller, and somebody else's.
        """
        bridge = await self.require(who, id)
        bridge.client_of(who, client)
        await self._services.history.own(who, id)
        await self._stop(bridge, who.tenant, client)

    async def detach(self, who: Principal, id: str, client: str | None) -> None:
        """The program is gone. With the last one the session is closed; a turn that is played goes on."""
        bridge = await self.require(who, id)
        attached = bridge.client_of(who, client)
        if attached is None:
            return
        del bridge.clients[attached.id]
        if not bridge.clients:
            bridge.closed_by = ("last_client_detached", attached.id)
            bridge.end()
            await self._live.release(who.tenant, id)

    async def remove(self, who: Principal, id: str) -> None:
        """Delete a session with all that was said in it. Raises NotFound, Forbidden."""
        history = self._services.history
        session = await history.own(who, id)
        # First: whoever leads the session, here or elsewhere, is to do this.
        await self._live.live_ring(who, session.id)
        if (bridge := self.find(who, session.id)) is not None:
            bridge.closed_by = ("session_deleted", None)
        await self._live.let_go(who.tenant, session.id, forget=True)
        await history.delete(who, session.id)

    async def archive(self, who: Principal, id: str, *, archived: bool) -> bool:
        """Whether it was not so before. Raises NotFound, Forbidden."""
        history = self._services.history
        session = await history.own(who, id)
        if (session.archived_at is not None) == archived:
            return False
        await self._live.live_ring(who, session.id)
        await history.change(who, session.id, {"archived": archived})
        if archived:
            if (bridge := self.find(who, session.id)) is not None:
                bridge.closed_by = ("session_archived", None)
            await self._live.let_go(who.tenant, session.id)
        return True

    async def _stop(self, bridge: Bridge, tenant: str, client: str | None) -> None:
        bridge.closed_by = ("client_close", client)
        # From now on nobody finds it, also while its last turn comes to its end.
        self._bridges.pop((tenant, bridge.session.id), None)
        await self._live.let_go(tenant, bridge.session.id)

    # ---- how a session comes into use

    def require_workspace(self, cwd: object) -> None:
        """Raises InvalidInput, WorkspaceMismatch."""
        if cwd is None:
            return
        if not isinstance(cwd, str):
            raise InvalidInput("`cwd` must be a string")
        if len(cwd) > _LONGEST_PATH:
            raise InvalidInput(f"`cwd` has at most {_LONGEST_PATH:,} characters")
        if not cwd.isprintable() or Path(cwd) != self.workspace:
            # Half a character cannot be told back.
            requested = cwd.encode(errors="replace").decode()
            raise WorkspaceMismatch(boundWorkspace=str(self.workspace), requestedWorkspace=requested)

    async def _single(self, who: Principal) -> Session | None:
        """
        The session that is in use and that the caller gets without naming it: their own before one that is shared. One that another program
        has open, or another daemon, is none of them: nobody asked for that one.
        """
        page = await self._services.history.sessions(who, {"workspace": self.workspace_id}, limit=_LOOKED_AT * 5)
        singles = [session for session in page.sessions if session.source == SOURCE]
        own = [session for session in singles if session.owner == who.subject]
        shared = [session for session in singles if session.owner != who.subject and session.shared]
        for session in (*own[:_LOOKED_AT], *(shared[:_LOOKED_AT] if self.options.shared else ())):
            try:
                ring = await self._live.live_ring(who, session.id)
            except SessionInUse:
                continue
            except SessionElsewhere as error:
                if error.is_beside:
                    # The request is passed on to that worker.
                    raise
                continue
            if ring is not None:
                return session
        return None

    async def _begin(self, who: Principal, source: str) -> Session:
        workspace = str(self.workspace)
        fields = SessionFields(workspace=self.workspace_id, source=source, shared=self.options.shared)
        if await asyncio.to_thread(self._services.work_folders.allows, who, workspace):
            fields["folder"] = workspace
        return await self._services.history.create(who, _AGENT, fields)

    async def _open(self, who: Principal, session: Session) -> Bridge:
        """Its bridge, with what was said before. Raises SessionLimitExceeded."""
        try:
            ring = await self._live.ring(who, session.id)
            attendance = await self._live.attendance(who, session.id)
        except TooManySessions as error:
            raise SessionLimitExceeded.of(error.details.get("limit")) from error
        key = who.tenant, session.id
        bridge = self._bridges.get(key)
        if bridge is not None and bridge.source is ring:
            return bridge
        before = ring.position
        messages, _ = await self._messages(who, session.id, PAGE)
        bridge = self._bridges[key] = Bridge(session, ring, self._services.desk.clock, self._ended)
        running = _running(ring, before)
        runs = {entry.event.run for entry in running if isinstance(entry.event, TurnStarted | PromptQueued)}
        earlier = [message for message in messages if message.run not in runs]
        bridge.begin((event for _, event in replayed(session, earlier)), running, attendance)
        return bridge

    async def _attach(self, who: Principal, bridge: Bridge) -> AttachedClient:
        # What is shared with somebody is in their reach as well: they hear of it.
        return bridge.attach(await self._services.desk.with_every_scope(who))

    def _ended(self, bridge: Bridge) -> None:
        for key, other in [*self._bridges.items()]:
            if other is bridge:
                del self._bridges[key]

    async def _messages(self, who: Principal, id: str, limit: int) -> tuple[Sequence[SessionMessage], bool]:
        page = await self._services.history.messages(who, id, limit=limit)
        return page.messages, page.before

    async def _is_busy(self, who: Principal, bridge: Bridge) -> bool:
        return bool((await self._live.state(who, bridge.session.id)).prompts)

    # ---- how it is set

    async def _set_mode(self, who: Principal, bridge: Bridge, mode: str) -> None:
        try:
            await self._live.configure(who, bridge.session.id, mode=mode)
        except InvalidInput as error:
            raise InvalidApprovalMode(error.message) from error

    async def _set_model(self, who: Principal, bridge: Bridge, model: object) -> bool | None:
        """Whether it talks to that model; None: none was asked for. One that is not to be had leaves the session as it is."""
        if not isinstance(model, str) or not model:
            return None
        try:
            await self._live.configure(who, bridge.session.id, model=model)
        except CommonplaceError as error:
            bridge.tell(model_failed(bridge, model, error, who.client))
            return False
        return True

    # ---- what happens in the workspace

    def _tell_news(self, event: Event) -> None:
        news = event.news
        if news.type not in WORKSPACE_EVENTS:
            return
        for bridge in self.of_tenant(news.tenant):
            if bridge.hears(news):
                bridge.tell(WireEvent(type=news.type, data=news.data, client=news.client, news=news))


def model_failed(bridge: Bridge, model: str, error: CommonplaceError, client: str | None) -> WireEvent:
    data: dict[str, Json] = {
        "sessionId": bridge.session.id,
        "requestedModelId": model[:255],
        "error": error.message,
    }
    return WireEvent(type="model_switch_failed", data=data, client=client)


@contextmanager
def _named(id: str) -> Generator[None]:
    """What is not found is this session."""
    try:
        yield
    except NotFound as error:
        raise SessionNotFound.of(id) from error


def _mode(mode: object) -> str | None:
    if mode is None:
        return None
    if not isinstance(mode, str) or not mode:
        raise InvalidApprovalMode("`approvalMode` must be a string")
    return mode


def _page(size: object) -> int:
    if size is None:
        return PAGE
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InvalidInput("`historyPageSize` must be a positive integer")
    return min(size, PAGE)


def _running(ring: Ring[TurnEvent], before: int) -> list[RingEvent[TurnEvent]]:
    """What was told of the turn that was played at the event `before`, and of those that waited then, and all that came after."""
    turn: list[RingEvent[TurnEvent]] = []
    waiting: dict[str, RingEvent[TurnEvent]] = {}
    for entry in ring.after(0, before):
        if entry.id > before:
            break
        match entry.event:
            case PromptQueued(run=run):
                waiting[run] = entry
            case TurnStarted():
                turn = [entry]
            case TurnEnded(run=run) | TurnFailed(run=run):
                turn = []
                waiting.pop(run, None)
            case PromptWithdrawn(run=run):
                waiting.pop(run, None)
            case _ if turn:
                turn.append(entry)
            case _:
                pass
    return [*waiting.values(), *turn, *ring.after(before, ring.position)]
