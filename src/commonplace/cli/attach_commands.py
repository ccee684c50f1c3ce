"""What can be typed in a session that was joined, beside what is said: `/help` lists it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.cli.lines import clipped, oneline, visible
from commonplace.cli.permission_words import recorded_words
from commonplace.errors import InvalidInput
from commonplace.values.permission import PermissionChoice, PermissionVoteChoice

if TYPE_CHECKING:
    from commonplace.cli.attachment import JoinedSession
    from commonplace.values.session_state import QueuedPrompt

_ALLOW: dict[str, PermissionChoice] = {
    "": "allow_once",
    "once": "allow_once",
    "session": "allow_session",
    "workspace": "allow_workspace",
}


@dataclass(frozen=True, slots=True)
class AttachCommand:
    """`usage` is how it is typed. `act` is given what stands behind its name."""

    usage: str
    help: str
    act: "Callable[[JoinedSession, str], None]"


def perform(attachment: "JoinedSession", text: str) -> bool:
    """
    Do what is typed. False: the person leaves.

    Raises:
        InvalidInput: there is no such command, or it is none that fits.
        CommonplaceError: the daemon would not have it.
    """
    name, _, rest = text[1:].partition(" ")
    if name in ("quit", "exit", "q"):
        return False
    command = COMMANDS.get(name)
    if command is None:
        raise InvalidInput(f"There is no command /{oneline(name)[:40]}. /help shows those there are.")
    command.act(attachment, rest.strip())
    return True


def _help(attachment: "JoinedSession", _: str) -> None:
    for command in COMMANDS.values():
        attachment.say(f"  {command.usage:<32} {command.help}", "plain")
    attachment.say(f"  {'/quit':<32} Leave; so do Ctrl-C and Ctrl-D. The session goes on.", "plain")


def _allow(attachment: "JoinedSession", how: str) -> None:
    choice = _ALLOW.get(how)
    if choice is None:
        raise InvalidInput("Say for how long: /allow, /allow session or /allow workspace.")
    _answer(attachment, choice)


def _deny(attachment: "JoinedSession", _: str) -> None:
    _answer(attachment, "reject_once")


def _answer(attachment: "JoinedSession", choice: PermissionVoteChoice) -> None:
    if not attachment.requests:
        raise InvalidInput("Nothing waits for an answer.")
    request, agent = attachment.requests[0], attachment.line.partner.agent
    vote = attachment.line.ask(agent.answer_permission(attachment.session.id, request.id, choice))
    if vote.outcome == "recorded":
        attachment.say(recorded_words(vote))


def _cancel(attachment: "JoinedSession", what: str) -> None:
    if what == "request":
        _answer(attachment, "cancel")
        return
    if what:
        raise InvalidInput("Say what: /cancel ends the turn, /cancel request only refuses what it asks.")
    if not attachment.line.ask(attachment.line.partner.agent.cancel_turn(attachment.session.id)):
        attachment.say("No turn is played.")


def _queue(attachment: "JoinedSession", _: str) -> None:
    waiting = _waiting(attachment)
    if not waiting:
        attachment.say("Nothing waits for its turn.")
    for place, prompt in enumerate(waiting, 1):
        attachment.say(f"  {place}  {prompt.speaker}: {clipped(visible(prompt.text), 100)}", "plain")


def _withdraw(attachment: "JoinedSession", number: str) -> None:
    waiting = _waiting(attachment)
    place = int(number) if number.isdecimal() else len(waiting) if not number else 0
    if not 1 <= place <= len(waiting):
        raise InvalidInput("Say which: /queue shows what waits, /withdraw 1 takes the first of it back.")
    prompt, agent = waiting[place - 1], attachment.line.partner.agent
    is_back = attachment.line.ask(agent.withdraw_turn(attachment.session.id, prompt.run))
    attachment.say("Taken back." if is_back else "It does not wait any more.")


def _waiting(attachment: "JoinedSession") -> "list[QueuedPrompt]":
    state = attachment.line.ask(attachment.line.partner.agent.session_state(attachment.session.id))
    return [prompt for prompt in state.prompts if prompt.state == "queued"]


def _mode(attachment: "JoinedSession", name: str) -> None:
    agent, id = attachment.line.partner.agent, attachment.session.id
    if name:
        attachment.line.ask(agent.configure_session(id, mode=name))
        return
    options = attachment.line.ask(agent.session_state(id)).options
    for mode in options.modes:
        mark = "*" if mode.id == options.mode else " "
        attachment.say(f"{mark} {mode.id:<14} {visible(mode.description or mode.name)}", "plain")


def _model(attachment: "JoinedSession", name: str) -> None:
    agent, id = attachment.line.partner.agent, attachment.session.id
    if name:
        attachment.line.ask(agent.configure_session(id, model=name))
        return
    options = attachment.line.ask(agent.session_state(id)).options
    for model in options.models:
        attachment.say(f"{'*' if model == options.model else ' '} {visible(model)}", "plain")


def _state(attachment: "JoinedSession", _: str) -> None:
    attachment.show_state(attachment.line.ask(attachment.line.partner.agent.session_state(attachment.session.id)))


COMMANDS: dict[str, AttachCommand] = {
    "help": AttachCommand("/help", "Show this.", _help),
    "allow": AttachCommand("/allow [session|workspace]", "Permit what waits, once or for longer: y, a, w.", _allow),
    "deny": AttachCommand("/deny", "Refuse what waits: n.", _deny),
    "cancel": AttachCommand("/cancel [request]", "End the turn, or only what it asks (c), for everybody.", _cancel),
    "queue": AttachCommand("/queue", "Show what waits for its turn.", _queue),
    "withdraw": AttachCommand("/withdraw [N]", "Take back what you said last and waits, or the Nth.", _withdraw),
    "mode": AttachCommand("/mode [NAME]", "Show the modes, or set one.", _mode),
    "model": AttachCommand("/model [NAME]", "Show the models, or choose one.", _model),
    "state": AttachCommand("/state", "Show how the session is set, and what it does.", _state),
}
