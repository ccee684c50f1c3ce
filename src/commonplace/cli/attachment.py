"""
A session that lives in a daemon, joined at a terminal: what everybody says in it and what the agent does, while one may say something, too.

What happens is heard in a thread of its own, so that it is shown while the person types. Whoever leaves ends nothing.
"""

import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import typer

from commonplace.cli.agent_line import AgentLine
from commonplace.cli.attach_commands import perform
from commonplace.cli.exits import Exit, exit_of
from commonplace.cli.line_reader import LineReader
from commonplace.cli.lines import clipped, counted, visible
from commonplace.cli.permission_words import answer_words, terms_words
from commonplace.cli.turn_view import Paper, Tone, TurnView
from commonplace.errors import CommonplaceError
from commonplace.values.permission import PermissionRequest
from commonplace.values.session import Session, SessionMessage
from commonplace.values.session_state import SessionState
from commonplace.values.turn_event import (
    EventsMissed,
    PermissionAnswered,
    PermissionAsked,
    PromptQueued,
    PromptWithdrawn,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
)
from commonplace.wire.turns import EVENT

_LOOK_EVERY = 0.1
_SHORT = 400
_KEYS = {"y": "/allow", "a": "/allow session", "w": "/allow workspace", "n": "/deny", "c": "/cancel request"}
_ANSWERS = "y once · a this session · w this workspace · n no · c cancel it for everybody"


@dataclass(frozen=True, kw_only=True, slots=True)
class AttachOptions:
    """`watch`: nothing is said. `messages`: how many of the last are shown first. `json`: every event is a line of JSON."""

    watch: bool = False
    messages: int = 10
    verbose: bool = False
    json: bool = False


class JoinedSession:
    """`wake` ends the wait of whoever types."""

    def __init__(
        self,
        line: AgentLine,
        session: Session,
        options: AttachOptions,
        paper: Paper,
        reader: LineReader,
        wake: Callable[[], None] | None = None,
    ) -> None:
        self.line = line
        self.session = session
        self.requests: list[PermissionRequest] = []
        """Those that wait for an answer, oldest first."""
        self._options = options
        self._paper = paper
        self._reader = reader
        self._wake = wake or _interrupt
        self._view = TurnView(paper, verbose=options.verbose)
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._end: CommonplaceError | None = None
        self._mine: set[str] = set()
        """Turns that were said here and have not ended."""
        self._before: str | None = None
        """The run whose beginning is waited for: what is heard before that was over when we came."""

    def stay(self) -> Exit:
        """Until the person leaves, or the session does."""
        self._arrive()
        ear = threading.Thread(target=self._hear_on, name="commonplace-ear", daemon=True)
        ear.start()
        try:
            self._take_lines()
        except KeyboardInterrupt:
            self.say("")
        finally:
            self._over.set()
            ear.join()
        if self._end is not None:
            return exit_of(self._end)
        if self._reader.is_interactive:
            self.say(f"You left; the session goes on. To come back: commonplace sessions attach {self.session.id}")
        return Exit.OK

    def leave(self) -> None:
        self._over.set()

    def say(self, text: str, tone: Tone = "dim") -> None:
        """A remark of ours."""
        if not self._options.json:
            with self._lock:
                self._view.note(text, tone)

    def complain(self, error: CommonplaceError) -> None:
        self.say(f"✗ {error.message} [{error.code}]", "bad")

    def show_state(self, state: SessionState) -> None:
        options = state.options
        self.say(f"Mode {options.mode} · model {options.model} · {counted(state.listeners, 'listener')}")
        for prompt in state.prompts:
            is_waiting = prompt.state == "queued"
            self.say(f"{'…' if is_waiting else '›'} {prompt.speaker}: {clipped(visible(prompt.text), _SHORT)}", "plain")

    # ---- arriving

    def _arrive(self) -> None:
        partner, id = self.line.partner, self.session.id
        self.line.listen(id, None)
        page = self.line.ask(partner.memory.session_messages(id, limit=max(self._options.messages, 1)))
        state = self.line.ask(partner.agent.session_state(id))
        running = next((prompt.run for prompt in state.prompts if prompt.state == "running"), None)
        if running is not None:
            # What the turn did so far is told by its events.
            self._before = running
            self.line.listen(id, 0)
        if self._options.json:
            return
        self.say(
            f"{self.session.title or 'A session without a title'} · {self.session.owner}'s, with {self.session.agent}",
            "strong",
        )
        for message in page.messages if self._options.messages else ():
            if message.run != running:
                self._show_message(message)
        self.show_state(state)
        if running is None:
            for request in state.permissions:
                self._ask(request)
        if not self._options.watch and self._reader.is_interactive:
            self.say("Write to say something. /help shows what else; Ctrl-C leaves, and ends nothing.")

    def _show_message(self, message: SessionMessage) -> None:
        if message.kind != "text" or not message.text.strip():
            return
        text = clipped(visible(message.text), _SHORT)
        if message.role == "user":
            self.say(f"{message.speaker or 'somebody'} › {text}", "strong")
        else:
            self.say(text, "plain")

    # ---- what is typed

    def _take_lines(self) -> None:
        if self._options.watch:
            while not self._over.wait(_LOOK_EVERY):
                pass
            return
        while not self._over.is_set():
            text = self._reader.read()
            if text is None:
                break
            try:
                if text.strip() and not self._take(text):
                    return
            except CommonplaceError as error:
                self.complain(error)
        # A pipe has an end, and what it said an answer.
        while self._mine and not self._reader.is_interactive and not self._over.wait(_LOOK_EVERY):
            pass

    def _take(self, text: str) -> bool:
        """Do what is typed, or say it. False: the person leaves."""
        key = text.strip().lower()
        if self.requests and key in _KEYS:
            return perform(self, _KEYS[key])
        if text.startswith("/"):
            return perform(self, text)
        ticket = self.line.ask(self.line.partner.agent.say(self.session.id, text))
        with self._lock:
            self._mine.add(ticket.run)
        if ticket.before:
            self.say(f"This waits for {counted(ticket.before, 'turn')} that came before. /withdraw takes it back.")
        return True

    # ---- what happens

    def _hear_on(self) -> None:
        while not self._over.is_set():
            entry = self.line.hear(_LOOK_EVERY)
            if isinstance(entry, CommonplaceError):
                self.complain(entry)
                self._end = entry
                self._over.set()
                if not self._options.watch:
                    self._wake()
            elif entry is not None:
                with self._lock:
                    self._hear(entry.event)

    def _hear(self, event: TurnEvent) -> None:
        if self._is_past(event):
            return
        if self._options.json:
            typer.echo(EVENT.dump_json(event).decode())
        match event:
            case EventsMissed():
                self._miss(event)
            case TurnStarted():
                self._begin(event)
            case PromptQueued(run=run) | PromptWithdrawn(run=run) if run in self._mine:
                pass
            case PermissionAsked(request=request):
                self._ask(request)
            case PermissionAnswered(answer=answer):
                self.requests = [request for request in self.requests if request.id != answer.request]
                self.say(answer_words(answer))
            case _:
                self._show(event)
        if isinstance(event, TurnEnded | TurnFailed):
            self._mine.discard(event.run)
            self.requests.clear()

    def _miss(self, event: EventsMissed) -> None:
        self.requests.clear()
        restarted = "The daemon was restarted; what it did then is over."
        self.say("Some events were missed." if event.reason == "ring_evicted" else restarted, "warn")
        with suppress(CommonplaceError):
            for request in self.line.ask(self._permission_requests()):
                self._ask(request)

    async def _permission_requests(self) -> Sequence[PermissionRequest]:
        return await self.line.partner.agent.permission_requests(self.session.id)

    def _begin(self, event: TurnStarted) -> None:
        if event.run not in self._mine or not self._reader.is_interactive:
            self.say(f"{event.speaker or 'somebody'} › {event.text}", "strong")
        self._show(event)

    def _is_past(self, event: TurnEvent) -> bool:
        if self._before is None:
            return False
        if isinstance(event, EventsMissed) or (isinstance(event, TurnStarted) and event.run == self._before):
            self._before = None
            return False
        return True

    def _show(self, event: TurnEvent) -> None:
        if not self._options.json:
            self._view.show(event)

    def _ask(self, request: PermissionRequest) -> None:
        self.requests.append(request)
        if self._options.json:
            return
        self._view.ask(request)
        if request.terms is not None and request.terms.policy == "designated":
            self.say(f"  {terms_words(request.terms)}")
        if not self._options.watch:
            self.say(f"  {_ANSWERS}, and Enter")


def _interrupt() -> None:
    """Ctrl-C, as if somebody had pressed it: nothing else ends the wait for a line."""
    thread = threading.main_thread().ident
    if thread is not None:
        with suppress(ProcessLookupError):
            signal.pthread_kill(thread, signal.SIGINT)
