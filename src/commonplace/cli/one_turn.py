"""One turn for a script: the reply on stdout and the rest on stderr, or each event as a line of JSON."""

import typer

from commonplace.cli.agent_line import AgentLine
from commonplace.cli.door import Door, complain
from commonplace.cli.exits import Exit, exit_of
from commonplace.cli.interrupts import Interrupts
from commonplace.cli.lines import oneline, visible
from commonplace.cli.permission_policy import PermissionPolicy
from commonplace.cli.turn_follower import Left, TurnFollower, TurnHandlers
from commonplace.cli.turn_view import PlainPaper, TurnView
from commonplace.sdk.talk import error_of
from commonplace.values.permission import PermissionChoice, PermissionRequest
from commonplace.values.session import Session
from commonplace.values.turn_event import TextAdded, TurnEnded, TurnEvent, TurnFailed
from commonplace.wire.turns import EVENT

_LEARNED_WITHIN = 30.0
_CUT = ("max_tokens", "max_turn_requests", "refusal")


class OneTurn:
    """`is_denied_silently`: that something was refused is what the caller wanted."""

    def __init__(
        self, door: Door, line: AgentLine, policy: PermissionPolicy, *, is_denied_silently: bool, verbose: bool
    ) -> None:
        self._door = door
        self._line = line
        self._policy = policy
        self._is_denied_silently = is_denied_silently
        self._refused = False
        paper = PlainPaper(note=lambda text: typer.echo(text, nl=False, err=True))
        self._view = TurnView(paper, verbose=verbose)

    def play(self, session: Session, text: str, *, model: str | None, seconds: float | None) -> Exit:
        handlers = TurnHandlers(show=self._show, ask=self._ask, note=self._door.say)
        with Interrupts() as interrupts:
            follower = TurnFollower(self._line, session.id, handlers, interrupts, [])
            try:
                end = follower.say(text, model=model, seconds=seconds)
            except TimeoutError:
                self._complain(f"There was no answer within {seconds:g} seconds.", "timed_out")
                return Exit.TIMED_OUT
            except Left:
                return Exit.INTERRUPTED
            finally:
                self._view.end()
            if self._door.json and isinstance(end, TurnEnded):
                # The last line: what was learned is known a moment after the answer.
                follower.settle(_LEARNED_WITHIN)
        code = self._end(end)
        self._door.say(f"To continue: commonplace run --session {session.id} TEXT")
        return code

    def _show(self, event: TurnEvent) -> None:
        if self._door.json:
            typer.echo(EVENT.dump_json(event).decode())
        elif not self._door.quiet and not isinstance(event, TextAdded | TurnEnded | TurnFailed):
            self._view.show(event)

    def _end(self, end: TurnEnded | TurnFailed) -> Exit:
        if isinstance(end, TurnFailed):
            self._complain(visible(end.message), end.code)
            return exit_of(error_of(end.code, end.message, {}))
        if end.stop_reason == "cancelled":
            return Exit.INTERRUPTED
        if not self._door.json:
            typer.echo(visible(end.reply))
        if end.stop_reason in _CUT:
            self._complain("The agent did not get to the end of its answer.", end.stop_reason)
            return Exit.ERROR
        return Exit.NOT_PERMITTED if self._refused and not self._is_denied_silently else Exit.OK

    def _ask(self, request: PermissionRequest) -> PermissionChoice:
        choice = self._policy.choice(request) or "reject_once"
        if choice == "reject_once":
            self._refused = True
            rule = oneline(visible(request.rule))
            self._door.warn(f"Refused: {oneline(visible(request.title))}. To permit it: --allow '{rule}'")
        return choice

    def _complain(self, message: str, code: str) -> None:
        complain(message, code, as_json=self._door.json)
