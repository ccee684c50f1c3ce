"""What can be typed in a chat beside what is said: `/help` lists it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.cli.lines import clipped, likelihood, oneline, visible
from commonplace.cli.screen import screen
from commonplace.cli.talk_sessions import heading
from commonplace.cli.turn_notes import TurnNotes
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.values.turn_event import RecalledMemory

if TYPE_CHECKING:
    from commonplace.cli.chat import Chat

_PATIENCE = 10.0
_HITS = 5
_SESSIONS = 10
_TEXT = 300
_REASON = "/undo in a chat"


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """`usage` is how it is typed. `act` is given what stands behind its name."""

    usage: str
    help: str
    act: "Callable[[Chat, str], None]"


def perform(chat: "Chat", text: str) -> bool:
    """
    Do what is typed. False: the person leaves.

    Raises:
        InvalidInput: there is no such command.
    """
    name, _, rest = text[1:].partition(" ")
    if name in ("quit", "exit", "q"):
        return False
    command = COMMANDS.get(name)
    if command is None:
        raise InvalidInput(f"There is no command /{oneline(name)[:40]}. /help shows those there are.")
    command.act(chat, rest.strip())
    return True


def _help(chat: "Chat", _: str) -> None:
    for command in COMMANDS.values():
        chat.paper.line(f"  {command.usage:<20} {command.help}")
    chat.paper.line(f"  {'/quit':<20} Leave; Ctrl-D does, too.")
    chat.paper.line(
        '  A line that ends with \\ goes on in the next one; so does what begins with """, up to the next """.', "dim"
    )


def _remember(chat: "Chat", text: str) -> None:
    if not text:
        raise InvalidInput("Say what to remember: /remember We ship on Fridays.")

    async def remember() -> RecalledMemory:
        workspace = chat.options.place.workspace
        scope = f"workspace:{workspace}" if workspace else (await chat.memory.me()).home
        record = await chat.memory.put(text, scope=scope)
        if record.quarantine is not None:
            chat.say(record.quarantine.message, "warn")
        return RecalledMemory(id=record.id, text=record.text, scope=str(record.scope))

    memory = chat.line.ask(remember())
    chat.notes.append(TurnNotes(run="", text=text, learned=(memory,)))
    chat.say(f"✓ Remembered in {memory.scope}. /undo takes it back.", "good")


def _recall(chat: "Chat", question: str) -> None:
    if not question:
        raise InvalidInput("Ask something: /recall When do we ship?")
    hits = chat.line.ask(chat.memory.search(question, limit=_HITS))
    answers = [hit for hit in hits if hit.relevant]
    if answers:
        screen().hits(answers, explain=False)
    else:
        chat.say("No memory answers this.")


def _why(chat: "Chat", _: str) -> None:
    chat.settle(_PATIENCE)
    notes = next((notes for notes in reversed(chat.notes) if notes.run), None)
    if notes is None:
        chat.say("Nothing was answered in this chat yet.")
        return
    memories = notes.recalled.memories if notes.recalled else ()
    failure = notes.recalled.failed if notes.recalled else None
    chat.say(f"“{clipped(visible(notes.text), _TEXT)}”, answered by {notes.model}", "strong")
    if failure:
        chat.say(f"The memory could not be asked: {failure}", "warn")
    chat.say(f"Recalled before the answer: {_counted(memories)}")
    for memory in memories:
        _tell(chat, memory)
    if notes.learned is None:
        chat.say("What was learned of it is not known yet.")
    else:
        chat.say(f"Learned of it: {_counted(notes.learned)}")
        for memory in notes.learned:
            _tell(chat, memory)


def _counted(memories: tuple[RecalledMemory, ...]) -> str:
    return "nothing" if not memories else "1 memory" if len(memories) == 1 else f"{len(memories)} memories"


def _tell(chat: "Chat", memory: RecalledMemory) -> None:
    chat.paper.line(f"  • {clipped(visible(memory.text), _TEXT)}")
    chance = "{}, {}".format(*likelihood(memory.relevance)) if memory.relevance is not None else None
    parts = (chance, memory.why, memory.scope, memory.source, memory.id)
    chat.paper.line(f"    {oneline(visible(' · '.join(part for part in parts if part)))}", "dim")


def _undo(chat: "Chat", _: str) -> None:
    chat.settle(_PATIENCE)
    notes = next((notes for notes in reversed(chat.notes) if notes.learned), None)
    if notes is None or not notes.learned:
        chat.say("Nothing that was learned in this chat is left to take back.")
        return
    memories, notes.learned = notes.learned, ()
    for memory in memories:
        try:
            chat.line.ask(_take_back(chat, memory.id))
        except CommonplaceError as error:
            chat.complain(error)
        else:
            chat.say(f"Taken back: {clipped(visible(memory.text), _TEXT)}")
    chat.say("`commonplace undo ID` brings one back.")


async def _take_back(chat: "Chat", id: str) -> None:
    """What was new is deleted; what replaced something is that again."""
    record = await chat.memory.get(id)
    if record.version == 1:
        await chat.memory.delete(record.id, expected=1, reason=_REASON)
    else:
        await chat.memory.undo(record.id, expected=record.version, reason=_REASON)


def _sessions(chat: "Chat", id: str) -> None:
    if id:
        chat.enter(chat.line.ask(chat.memory.session(id)))
        return
    sessions = chat.line.ask(chat.options.place.sessions(chat.memory, _SESSIONS))
    if not sessions:
        chat.say("There is no session of this folder yet.")
        return
    for session in sessions:
        here = chat.session is not None and session.id == chat.session.id
        chat.paper.line(f"{'*' if here else ' '} {heading(session)}", "strong" if here else "plain")
    chat.say("/sessions ID goes on in one of them.")


def _model(chat: "Chat", name: str) -> None:
    if name:
        chat.model = name
        chat.say(f"From now on {name} is asked to answer.")
    else:
        current = chat.model or (chat.session.model if chat.session else None) or chat.line.partner.model
        chat.say(f"{current or 'The model of the agent'} answers. /model NAME asks another.")


def _clear(chat: "Chat", _: str) -> None:
    chat.enter(None)
    chat.say("What you say next begins a new session.")


COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand("/help", "Show this.", _help),
    "remember": SlashCommand("/remember TEXT", "Keep something in the memory.", _remember),
    "recall": SlashCommand("/recall QUESTION", "Ask the memory, without the agent.", _recall),
    "why": SlashCommand("/why", "What was recalled for the last answer, and learned of it.", _why),
    "undo": SlashCommand("/undo", "Take back what the last turn left in the memory.", _undo),
    "sessions": SlashCommand("/sessions [ID]", "List the sessions of this folder, or go on in one.", _sessions),
    "model": SlashCommand("/model [NAME]", "Say who answers, or have another model answer.", _model),
    "clear": SlashCommand("/clear", "Begin a new session.", _clear),
}
