"""
A talk with an agent at a terminal: what is typed becomes turns, or is a command that begins with a slash.

A session is begun by the first thing said, so that looking in leaves nothing behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.cli.agent_line import AgentLine
from commonplace.cli.exits import Exit
from commonplace.cli.interrupts import Interrupts
from commonplace.cli.line_reader import LineReader
from commonplace.cli.lines import clipped, oneline, visible
from commonplace.cli.permission_policy import PermissionPolicy
from commonplace.cli.slash_commands import perform
from commonplace.cli.talk_sessions import TalkPlace, is_unanswered
from commonplace.cli.turn_follower import Left, TurnFollower, TurnHandlers
from commonplace.cli.turn_notes import TurnNotes, notes_of_run
from commonplace.cli.turn_view import Paper, Tone, TurnView
from commonplace.errors import CommonplaceError
from commonplace.values.permission import PermissionChoice, PermissionRequest
from commonplace.values.session import Session, SessionMessage
from commonplace.values.turn_event import PromptQueued, TurnEvent, TurnStarted

if TYPE_CHECKING:
    from commonplace.ports.memory_client import MemoryClient

LIBRARIAN = "librarian"
_RECAP = 100
_SHOWN = 6
_SHORT = 160
_ANSWERS: dict[str, tuple[PermissionChoice, str]] = {
    "y": ("allow_once", "y once"),
    "a": ("allow_session", "a this session"),
    "w": ("allow_workspace", "w this workspace"),
    "n": ("reject_once", "n no"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatOptions:
    place: TalkPlace
    policy: PermissionPolicy
    verbose: bool = False


class Chat:
    """`model` is asked to answer; None: whoever the session, its agent or the settings say."""

    def __init__(self, line: AgentLine, options: ChatOptions, paper: Paper, reader: LineReader) -> None:
        self.line = line
        self.options = options
        self.paper = paper
        self.model = options.place.model
        self.session: Session | None = None
        self.notes: list[TurnNotes] = []
        self.interrupts = Interrupts()
        self._reader = reader
        self._follower: TurnFollower | None = None
        self._words = ""
        self._view = TurnView(paper, verbose=options.verbose, model=self.model or line.partner.model)

    @property
    def memory(self) -> "MemoryClient":
        return self.line.partner.memory

    # ---- the talk

    def greet(self) -> None:
        """Who answers, in two lines."""
        partner = self.line.partner
        model = self.model or (self.session.model if self.session else None) or partner.model
        if model is None:
            self.say(f"You talk to the agent at {partner.place}.", "strong")
        elif model == LIBRARIAN:
            self.say(f"The librarian answers, from the memory in {partner.place}. It needs no model.", "strong")
        else:
            self.say(f"{model} answers, with the memory in {partner.place}.", "strong")
        advice = "For a model, set llm_model (COMMONPLACE_LLM_MODEL=anthropic:…). " if model == LIBRARIAN else ""
        self.say(f"{advice}/help shows what else you can type; Ctrl-C stops an answer, /quit leaves.", "dim")

    def take_turns(self) -> Exit:
        """Until the person leaves."""
        interrupted = False
        while True:
            try:
                text = self._reader.read()
            except KeyboardInterrupt:
                if interrupted:
                    return Exit.INTERRUPTED
                interrupted = True
                self.say("\nCtrl-C once more leaves, or /quit.", "dim")
                continue
            interrupted = False
            if text is None:
                return Exit.OK
            if not text.strip():
                continue
            try:
                if not self._take(text):
                    return Exit.OK
            except CommonplaceError as error:
                self.complain(error)
            except Left:
                return Exit.INTERRUPTED

    def _take(self, text: str) -> bool:
        """Perform a command, or say it. False: the person leaves."""
        if text.startswith("/"):
            return perform(self, text)
        self._turn(text)
        return True

    def _turn(self, text: str) -> None:
        """Say something, and show what comes of it. Raises Left."""
        follower = self._listener()
        self._words = text
        with self.interrupts:
            try:
                # What happened since the last turn comes first.
                follower.catch_up()
                follower.say(text, model=self.model)
            finally:
                self._view.end()
        if self._reader.is_interactive:
            self.paper.line("")

    def _listener(self) -> TurnFollower:
        """Of the session, which is begun if there is none."""
        if self.session is None:
            self.session = self.line.ask(self.options.place.begin(self.memory))
        if self._follower is None:
            handlers = TurnHandlers(show=self._show, ask=self._ask, note=self.say, tick=self._view.tick)
            self._follower = TurnFollower(self.line, self.session.id, handlers, self.interrupts, self.notes)
        return self._follower

    def settle(self, seconds: float) -> None:
        """Wait until it is known what the turns so far left in the memory."""
        if self._follower is not None:
            self._follower.settle(seconds)

    def enter(self, session: Session | None) -> None:
        """Go on in this session, and show where it was left. None: in a new one."""
        self.settle(0.0)
        self.session, self._follower = session, None
        self.notes.clear()
        if session is None:
            self._reader.remember(())
            return
        page = self.line.ask(self.memory.session_messages(session.id, limit=_RECAP))
        self._reader.remember(message.text for message in page.messages if message.role == "user")
        self._recall_talk(page.messages)
        run = next((message.run for message in reversed(page.messages) if message.run), None)
        notes = self.line.ask(notes_of_run(self.memory, run)) if run else None
        self.notes += [notes] if notes else []

    def farewell(self) -> None:
        if self.session is not None and self._reader.is_interactive:
            self.say("To continue this session:")
            self.say(f"commonplace chat --session {self.session.id}", "plain")

    # ---- what is shown

    def say(self, text: str, tone: Tone = "dim") -> None:
        self._view.note(text, tone)

    def complain(self, error: CommonplaceError) -> None:
        self._view.note(f"✗ {error.message} [{error.code}]", "bad")

    def _show(self, event: TurnEvent) -> None:
        if isinstance(event, TurnStarted) and event.text != self._words:
            self.say(f"{event.speaker or 'somebody'}: {event.text}", "plain")
        if isinstance(event, PromptQueued) and event.text == self._words:
            return
        self._view.show(event)

    def _recall_talk(self, messages: Sequence[SessionMessage]) -> None:
        """The end of the talk, as it was said; what was never answered is named."""
        texts = [message for message in messages if message.kind == "text"]
        last = next((place for place in range(len(texts) - 1, -1, -1) if texts[place].role == "user"), 0)
        for place, message in enumerate(texts[-_SHOWN:], max(len(texts) - _SHOWN, 0)):
            text = visible(message.text) if place >= last else clipped(visible(message.text), _SHORT)
            if message.role == "user":
                self.paper.line(f"› {text}", "strong")
            else:
                self.paper.text(text)
                self.paper.end_text()
        if is_unanswered(messages):
            self.say("This was not answered to the end: the turn was cut off, or still goes on.", "warn")

    # ---- permission

    def _ask(self, request: PermissionRequest) -> PermissionChoice:
        choice = self.options.policy.choice(request)
        if choice is not None:
            words = "Allowed" if choice != "reject_once" else "Refused"
            self.say(f"{words}: {oneline(request.title)}")
            return choice
        self._view.ask(request)
        offered = {key: words for key, (choice, words) in _ANSWERS.items() if choice in request.choices}
        question = f"  {' · '.join(offered.values())} › "
        with self.interrupts.at_a_question():
            while True:
                answer = self._reader.ask(question)
                if answer is None:
                    self.say(f"Refused, since nobody is here to ask: {oneline(request.title)}", "warn")
                    return "reject_once"
                key = answer.strip().lower()
                key = {"yes": "y", "no": "n"}.get(key, key)
                if key in offered:
                    return _ANSWERS[key][0]
