"""
What happens in a turn, shown to a person: text as it comes, everything else folded to a line.

`TurnView` says what is shown, a `Paper` how: `LivePaper` at a terminal, `PlainPaper` in pipes. Whatever a model or a tool said is made
fit for a terminal before it gets there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import typer

from commonplace.cli.lines import clipped, counted, oneline, visible
from commonplace.cli.permission_words import VoteEvent, terms_words, vote_words
from commonplace.cli.plain import money
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.turn_event import (
    HistoryCompacted,
    MemoryRecalled,
    ModeChanged,
    ModelChanged,
    PermissionAnswered,
    PermissionVoted,
    PermissionVoteLate,
    PermissionVoteRefused,
    PlanChanged,
    PromptQueued,
    PromptWithdrawn,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    TurnUsage,
)

Tone = Literal["plain", "dim", "good", "bad", "warn", "strong"]
_LINE = 100
_MOST_SHOWN = 4_000
_MARKS = {"pending": "☐", "in_progress": "◐", "completed": "☑"}
_SESSION_NEWS = (
    PromptQueued,
    PromptWithdrawn,
    ModeChanged,
    ModelChanged,
    PermissionVoted,
    PermissionVoteRefused,
    PermissionVoteLate,
)
_STOPS = {
    "max_tokens": "The answer was cut off: it reached the most tokens that an answer may have.",
    "max_turn_requests": "The turn reached its limit. Say `go on` to let it continue.",
    "refusal": "The model refused to answer this.",
    "cancelled": "Stopped.",
}


class Paper(Protocol):
    def text(self, piece: str) -> None:
        """A piece of Markdown. It is one text until `end_text`."""

    def end_text(self) -> None: ...

    def line(self, text: str, tone: Tone = "plain") -> None: ...

    def block(self, text: str, tone: Tone = "dim") -> None:
        """Several lines, indented."""

    def diff(self, text: str) -> None: ...

    def status(self, text: str | None) -> None:
        """What goes on just now; None: nothing does."""

    def tick(self) -> None:
        """Time goes by."""


class PlainPaper:
    """Nothing coloured, nothing moves. `write` prints, `note` prints what is not said by the agent."""

    def __init__(self, write: Callable[[str], None] | None = None, note: Callable[[str], None] | None = None) -> None:
        self._write = write or _print
        self._note = note or write or _print
        self._is_inside = False

    def text(self, piece: str) -> None:
        if piece:
            self._write(piece)
            self._is_inside = not piece.endswith("\n")

    def end_text(self) -> None:
        if self._is_inside:
            self._write("\n")
        self._is_inside = False

    def line(self, text: str, tone: Tone = "plain") -> None:
        del tone
        self.end_text()
        self._note(f"{text}\n")

    def block(self, text: str, tone: Tone = "dim") -> None:
        for line in text.splitlines():
            self.line(f"    {line}", tone)

    def diff(self, text: str) -> None:
        self.block(text)

    def status(self, text: str | None) -> None:
        pass

    def tick(self) -> None:
        pass


def _print(text: str) -> None:
    typer.echo(text, nl=False)


class Cleaner:
    """Text in pieces, without what a terminal would obey, and nobody see."""

    def __init__(self) -> None:
        self._held_back = ""

    def add(self, piece: str) -> str:
        text = self._held_back + piece
        # A line may end in two characters, and the piece between them.
        self._held_back = "\r" if text.endswith("\r") else ""
        return visible(text.removesuffix("\r"))


class TurnView:
    """`verbose` shows thoughts, arguments and results whole. `model` is who is known to answer."""

    def __init__(self, paper: Paper, *, verbose: bool = False, model: str | None = None) -> None:
        self._paper = paper
        self._verbose = verbose
        self._model = model
        self._cleaner = Cleaner()
        self._thoughts: list[str] = []
        self._calls: dict[str, ToolStarted] = {}

    def show(self, event: TurnEvent) -> None:
        if not isinstance(event, ThinkingAdded):
            self._end_thoughts()
        if not isinstance(event, TextAdded | ThinkingAdded):
            self._paper.end_text()
        match event:
            case TextAdded(text=text):
                self._paper.text(self._cleaner.add(text))
                self._paper.status(None)
            case ThinkingAdded(text=text):
                self._think(text)
            case ToolStarted():
                self._calls[event.call] = event
                self._paper.status(oneline(visible(event.title)))
            case ToolEnded():
                self._end_call(event)
            case _:
                self._mark(event)

    def tick(self) -> None:
        self._paper.tick()

    def ask(self, request: PermissionRequest) -> None:
        """What a person is to decide about."""
        self._paper.status(None)
        self._paper.line(f"? {oneline(visible(request.title))}", "strong")
        if request.diff:
            self._paper.diff(visible(request.diff))
        elif self._verbose or request.kind == "other":
            self._paper.block(_arguments(request.arguments))
        if request.terms is not None and request.terms.policy != "designated":
            self.note(f"  {terms_words(request.terms)}")

    def note(self, text: str, tone: Tone = "dim") -> None:
        """A remark of ours; what it quotes is made fit."""
        self._paper.end_text()
        self._paper.line(visible(text), tone)

    def end(self) -> None:
        """The turn is over, or given up."""
        self._end_thoughts()
        self._paper.end_text()
        self._paper.status(None)

    # ---- parts

    def _mark(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted(model=model):
                if self._model not in (None, model):
                    self.note(f"{model} answers.")
                self._model = model
                self._paper.status("…")
            case MemoryRecalled():
                self._recalled(event)
            case PlanChanged(entries=entries):
                self._plan(entries)
            case PermissionAnswered(answer=answer):
                self._answered(answer)
            case TurnEnded():
                self._end(event)
            case TurnFailed(message=message, code=code):
                self.end()
                self._paper.line(visible(f"✗ {message} [{code}]"), "bad")
            case _:
                self._remark(event)

    def _remark(self, event: TurnEvent) -> None:
        if isinstance(event, _SESSION_NEWS):
            self.note(session_news(event))
        elif isinstance(event, HistoryCompacted):
            self.note(f"Earlier messages are told in short from now on: {counted(event.messages, 'message')}.")

    def _think(self, text: str) -> None:
        self._thoughts.append(text)
        tail = "".join(self._thoughts[-50:])[-_LINE:]
        self._paper.status(f"thinking: {oneline(visible(tail))}")

    def _end_thoughts(self) -> None:
        if not self._thoughts:
            return
        text = visible("".join(self._thoughts)).strip()
        self._thoughts.clear()
        self._paper.line(f"∴ thought about it ({counted(len(text.split()), 'word')})", "dim")
        if self._verbose:
            self._paper.block(text)

    def _recalled(self, event: MemoryRecalled) -> None:
        if event.failed is not None:
            self.note(f"! The memory could not be asked: {event.failed}", "warn")
        elif event.memories:
            self.note(f"◦ {counted(len(event.memories), 'memory').replace('memorys', 'memories')} recalled (/why)")

    def _end_call(self, event: ToolEnded) -> None:
        call = self._calls.pop(event.call, None)
        title = oneline(visible(call.title if call else event.tool))
        mark, tone = ("✗", "bad") if event.failed else ("✓", "good")
        self._paper.status("…")
        self._paper.line(f"{mark} {clipped(title, _LINE)} · {outcome(event)}", tone)
        if self._verbose:
            if call is not None and call.arguments:
                self._paper.block(_arguments(call.arguments))
            if event.diff:
                self._paper.diff(visible(event.diff))
            self._paper.block(_shortened(visible(event.text)))

    def _plan(self, entries: Sequence[Mapping[str, str]]) -> None:
        self._paper.line("Plan", "strong")
        for entry in entries:
            status = entry.get("status", "pending")
            tone: Tone = "dim" if status == "completed" else "strong" if status == "in_progress" else "plain"
            self._paper.line(f"  {_MARKS.get(status, '☐')} {oneline(visible(entry.get('text', '')))}", tone)

    def _answered(self, answer: PermissionAnswer) -> None:
        if answer.reason:
            self.note(f"Refused: {answer.reason}")

    def _end(self, event: TurnEnded) -> None:
        self.end()
        if event.stop_reason in _STOPS:
            self.note(_STOPS[event.stop_reason], "warn")
        if self._verbose:
            self.note(spending(event.usage))


def session_news(event: PromptQueued | PromptWithdrawn | ModeChanged | ModelChanged | VoteEvent) -> str:
    """What happened to the session beside its turns, as a sentence."""
    match event:
        case PromptQueued(speaker=speaker, text=text):
            return f"… {speaker}, waiting: {clipped(text, _LINE)}"
        case PromptWithdrawn(reason=reason):
            return (
                "What waited is not said: the session ends."
                if reason == "session_closed"
                else "What waited was taken back."
            )
        case ModeChanged(mode=mode, by=by):
            return f"{by or 'The agent'} set the mode: {mode}."
        case ModelChanged(model=model, by=by):
            return f"{by or 'The agent'} chose the model: {model}."
        case _:
            return vote_words(event)


def outcome(event: ToolEnded) -> str:
    """What came of a call, in a few words: how a file changed, why it failed, or how much was found."""
    if event.failed:
        return clipped(visible(event.text), _LINE) or "failed"
    if event.diff:
        lines = event.diff.splitlines()
        more = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        less = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        return f"+{more} −{less}"
    if (words := _words_of(event.text)) is not None:
        return words
    lines = visible(event.text).strip().splitlines()
    return "done" if not lines else clipped(lines[0], _LINE) if len(lines) == 1 else counted(len(lines), "line")


def _words_of(text: str) -> str | None:
    """What a document of JSON says of itself; None if it is none."""
    if not text.startswith("{"):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    message, count = document.get("message"), document.get("count")
    if isinstance(message, str):
        return clipped(visible(message), _LINE)
    return counted(count, "result") if isinstance(count, int) else "done"


def spending(usage: TurnUsage) -> str:
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    about = "about " if usage.estimated else ""
    return f"{usage.model} · {counted(usage.requests, 'request')} · {tokens} · {about}{money(usage.cost_micro_usd)}"


def _arguments(arguments: Mapping[str, Json]) -> str:
    return _shortened(visible(json.dumps(dict(arguments), ensure_ascii=False, indent=2)))


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\n… {len(text) - _MOST_SHOWN:,} more characters"
