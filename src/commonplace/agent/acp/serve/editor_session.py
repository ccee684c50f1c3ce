"""
A session as the editor has it open: it is told all that happens there, whoever began it, until the session is closed.

What the editor itself says is a turn of its own here, whose end is the answer to its request.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from commonplace.agent.acp.connection import RequestRefused, RpcConnection
from commonplace.agent.acp.serve.updates import (
    CallView,
    Update,
    config_of,
    permission_options,
    said,
    update_of,
    update_of_message,
    usage_update,
)
from commonplace.errors import CommonplaceError, InternalError, NotFound
from commonplace.ports.agent_client import AgentClient
from commonplace.ports.memory_client import MemoryClient
from commonplace.values.moment import to_iso
from commonplace.values.permission import PermissionRequest, PermissionResolved, PermissionVoteChoice
from commonplace.values.session import Session, SessionMessage
from commonplace.values.session_state import SessionOptions, SessionState
from commonplace.values.turn_event import (
    ModeChanged,
    ModelChanged,
    PermissionAnswered,
    PermissionAsked,
    PromptWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    TurnUsage,
    UsageChanged,
)

_AGAIN_SECONDS: Final = 0.3
_LAST_SECONDS: Final = 10.0
_PAGE: Final = 100


@dataclass
class _OwnTurn:
    """What the editor said last. `run` None: it is not taken on yet."""

    end: asyncio.Future[TurnEnded | TurnFailed]
    stop: asyncio.Event
    run: str | None = None
    is_played: bool = False


class EditorSession:
    def __init__(self, session: Session, agent: AgentClient, memory: MemoryClient, connection: RpcConnection) -> None:
        self.id = session.id
        self.options: SessionOptions | None = None
        """As the editor knows them."""
        self._title = session.title
        self._folder = session.folder
        self._agent = agent
        self._memory = memory
        self._connection = connection
        # Held while something is begun or set, so that what is told of it finds it known.
        self._gate = asyncio.Lock()
        self._follower: asyncio.Task[None] | None = None
        self._known: frozenset[str] = frozenset()
        self._is_new_to_us = True
        self._turn: _OwnTurn | None = None
        self._questions: dict[str, asyncio.Task[None]] = {}
        self._terminals: dict[str, str] = {}
        self._calls: set[str] = set()
        self._micro_usd = 0

    @property
    def is_busy(self) -> bool:
        return self._turn is not None

    # ---- opening and closing

    async def open(self, *, tell: bool = False) -> SessionOptions:
        """Hear what happens from now on, a turn that is being played from its beginning. `tell`: first what was said until now."""
        await self._silence()
        messages: list[SessionMessage] = []
        while True:
            messages += await self._said(messages[-1].position if messages else 0)
            state = await self._agent.session_state(self.id)
            running = _running(state)
            if running is not None:
                # Its own part is heard, whole.
                first = next((place for place, message in enumerate(messages) if message.run == running), len(messages))
                del messages[first:]
                break
            more = await self._said(messages[-1].position if messages else 0)
            messages += more
            if not more:
                break
        if tell:
            view = CallView(folder=self._folder)
            for message in messages:
                await self._tell(update_of_message(message, view))
        self._known = frozenset(message.run for message in messages if message.run is not None)
        self._is_new_to_us = True
        self.options = state.options
        self._follower = asyncio.create_task(self._follow(0))
        return state.options

    async def close(self) -> None:
        """Stop the editor's own turn, and hear no more."""
        await self.stop()
        await self._silence()

    async def stop(self) -> None:
        turn = self._turn
        if turn is not None:
            turn.stop.set()
            await asyncio.wait({turn.end}, timeout=_LAST_SECONDS)

    async def _silence(self) -> None:
        tasks = [*self._questions.values(), *([self._follower] if self._follower is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._questions.clear()
        self._follower = None

    async def _said(self, after: int) -> list[SessionMessage]:
        messages: list[SessionMessage] = []
        more = True
        while more:
            page = await self._memory.session_messages(self.id, after=after, limit=_PAGE)
            messages += page.messages
            more = page.after and bool(page.messages)
            after = page.messages[-1].position if page.messages else after
        return messages

    # ---- what the editor does

    async def prompt(self, text: str, stop: asyncio.Event) -> TurnEnded | TurnFailed:
        """Say it, and wait for the end of its turn, which comes soon after `stop` is set. One at a time."""
        turn = self._turn = _OwnTurn(end=asyncio.get_running_loop().create_future(), stop=stop)
        stopping: asyncio.Task[None] | None = None
        try:
            async with self._gate:
                ticket = await self._agent.say(self.id, text)
                turn.run = ticket.run
                if self._follower is None or self._follower.done():
                    self._is_new_to_us = False
                    self._follower = asyncio.create_task(self._follow(ticket.last_event))
            stopping = asyncio.create_task(self._stop_when_asked(turn, ticket.run))
            return await turn.end
        finally:
            self._turn = None
            turn.end.cancel()
            if stopping is not None:
                stopping.cancel()
                await asyncio.wait({stopping})

    async def configure(self, *, mode: str | None = None, model: str | None = None) -> SessionOptions:
        async with self._gate:
            state = await self._agent.configure_session(self.id, mode=mode, model=model)
            self.options = state.options
            return state.options

    async def tell_config(self) -> None:
        """All that can be chosen, after one of it was chosen another way."""
        if self.options is not None:
            await self._tell({"sessionUpdate": "config_option_update", **config_of(self.options)})

    async def tell_mode(self) -> None:
        if self.options is not None and self.options.modes:
            await self._tell({"sessionUpdate": "current_mode_update", "currentModeId": self.options.mode})

    async def show_terminal(self, call: str, terminal: str) -> None:
        """The tool call is shown in the terminal; if the editor has not heard of the call yet, as soon as it does."""
        self._terminals[call] = terminal
        if call in self._calls:
            await self._tell(self._view(call).shown(call))

    async def _stop_when_asked(self, turn: _OwnTurn, run: str) -> None:
        """Again and again: a turn that is about to begin can neither be taken back nor stopped. Nobody else's turn is stopped."""
        await turn.stop.wait()
        while True:
            with suppress(CommonplaceError):
                waits = not turn.is_played and await self._agent.withdraw_turn(self.id, run)
                if not waits and (turn.is_played or _running(await self._agent.session_state(self.id)) == run):
                    await self._agent.cancel_turn(self.id)
            await asyncio.sleep(_AGAIN_SECONDS)

    # ---- what happens in the session

    async def _follow(self, after: int) -> None:
        error: CommonplaceError | None = None
        try:
            async for entry in self._agent.hear(self.id, after=after):
                async with self._gate:
                    await self._hear(entry.event)
        except CommonplaceError as fault:
            error = fault
        turn = self._turn
        if turn is not None and turn.run is not None and not turn.end.done():
            turn.end.set_exception(error or InternalError("The session was closed while its turn was played."))

    async def _hear(self, event: TurnEvent) -> None:
        if self._is_new_to_us and isinstance(event, TurnStarted) and event.run not in self._known:
            self._is_new_to_us = False
        if isinstance(event, ModeChanged | ModelChanged):
            await self._set_by_somebody()
        elif self._is_new_to_us:
            # It was told out of the history.
            return
        match event:
            case TurnStarted():
                await self._begun(event)
            case TurnEnded() | TurnFailed():
                await self._ended(event)
            case PromptWithdrawn(run=run):
                self._end(TurnEnded(run=run, reply="", stop_reason="cancelled", usage=TurnUsage(model="none")))
            case PermissionAsked() | PermissionAnswered():
                self._question(event)
            case UsageChanged():
                self._micro_usd += event.usage.cost_micro_usd
                await self._tell(usage_update(event, self._micro_usd))
            case _:
                await self._tell(update_of(event, self._call_view(event)))

    async def _begun(self, event: TurnStarted) -> None:
        turn = self._turn
        if turn is not None and turn.run == event.run:
            turn.is_played = True
        else:
            if turn is not None and turn.is_played and not turn.end.done():
                # Turns follow each other: the editor was so slow that the end of its own one is forgotten.
                turn.end.set_exception(InternalError("The end of the turn was missed. Load the session to see it."))
            await self._tell(said("user_message_chunk", event.text))
        if self._title is None:
            await self._tell_title()

    async def _ended(self, event: TurnEnded | TurnFailed) -> None:
        # A question that is still open is about nothing any more.
        for question in self._questions.values():
            question.cancel()
        self._questions.clear()
        self._calls.clear()
        self._terminals.clear()
        await self._tell_title()
        is_own = self._turn is not None and self._turn.run == event.run
        if isinstance(event, TurnFailed) and not is_own:
            await self._tell(said("agent_message_chunk", event.message))
        self._end(event)

    def _end(self, event: TurnEnded | TurnFailed) -> None:
        turn = self._turn
        if turn is not None and turn.run == event.run and not turn.end.done():
            turn.end.set_result(event)

    async def _set_by_somebody(self) -> None:
        before = self.options
        self.options = (await self._agent.session_state(self.id)).options
        if before is None or (before.mode, before.model) == (self.options.mode, self.options.model):
            return
        if before.mode != self.options.mode:
            await self.tell_mode()
        await self.tell_config()

    async def _tell_title(self) -> None:
        with suppress(CommonplaceError):
            session = await self._memory.session(self.id)
            if session.title != self._title:
                self._title = session.title
                info = {"title": session.title, "updatedAt": to_iso(session.updated_at)}
                await self._tell({"sessionUpdate": "session_info_update", **info})

    async def _ask(self, request: PermissionRequest) -> None:
        is_own = self._turn is not None and self._turn.is_played
        options = permission_options(request.choices)
        params = {"sessionId": self.id, "toolCall": self._view(request.call).asked(request), "options": options}
        choice: PermissionVoteChoice | None = None
        with suppress(RequestRefused, ConnectionError):
            choice = _choice(await self._connection.request("session/request_permission", params))
        if choice in (None, "cancel") and not is_own:
            # Others are asked, too.
            return
        try:
            # In the editor's own turn, who cannot be asked has not permitted it.
            await self._agent.answer_permission(self.id, request.id, choice or "reject_once")
        except (PermissionResolved, NotFound):
            # It is over, and the call says how.
            return
        except CommonplaceError as error:
            # The protocol has no other place: else the editor shows what was chosen, and the call waits for somebody else.
            title = request.title.rstrip(".")
            await self._tell(
                said("agent_message_chunk", f"\n\nYour answer to “{title}” was not counted. {error.message}\n\n")
            )

    def _question(self, event: PermissionAsked | PermissionAnswered) -> None:
        if isinstance(event, PermissionAsked):
            self._questions[event.request.id] = asyncio.create_task(self._ask(event.request))
        elif (question := self._questions.pop(event.answer.request, None)) is not None:
            question.cancel()

    def _call_view(self, event: TurnEvent) -> CallView:
        if isinstance(event, ToolStarted):
            self._calls.add(event.call)
        return self._view(event.call if isinstance(event, ToolStarted | ToolEnded) else "")

    def _view(self, call: str) -> CallView:
        return CallView(folder=self._folder, terminal=self._terminals.get(call))

    async def _tell(self, update: Update | None) -> None:
        if update is not None:
            with suppress(ConnectionError):
                await self._connection.notify("session/update", {"sessionId": self.id, "update": update})


def _running(state: SessionState) -> str | None:
    return next((prompt.run for prompt in state.prompts if prompt.state == "running"), None)


def _choice(answer: Any) -> PermissionVoteChoice | None:
    """None: the editor did not answer what was asked."""
    outcome: Any = answer.get("outcome") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - what an editor says
    if not isinstance(outcome, dict):
        return None
    option: object = outcome.get("optionId")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - as above
    if outcome.get("outcome") == "selected" and (option == "allow_once" or option == "allow_session"):  # pyright: ignore[reportUnknownMemberType] - as above
        return option
    return "cancel" if outcome.get("outcome") == "cancelled" else "reject_once"  # pyright: ignore[reportUnknownMemberType] - as above
