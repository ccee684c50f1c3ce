"""
The tool calls of a hosted agent in one turn. What is known of a call comes in pieces, in any order: announced, asked about, changed,
ended; some agents leave out one or the other, and a question may name nothing but a call that was announced before.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from commonplace.agent.acp.host.updates import Fields, block_text, entries, fields, output_text, text
from commonplace.agent.tools.calls import ToolCall
from commonplace.agent.tools.difference import unified
from commonplace.agent.tools.tool import AgentTool, ToolResult, cut_off, one_line
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionChoice, ToolKind

MOST_CALLS: Final = 2_000
MOST_TEXT: Final = 30_000
_MOST_DIFF: Final = 20_000
_MOST_ARGUMENTS: Final = 1_000_000
_LONGEST_ID: Final = 200
_KINDS: Final[tuple[ToolKind, ...]] = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other")
_READS: Final[frozenset[ToolKind]] = frozenset({"read", "search", "think", "fetch"})
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}")
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh"})
_TOO_LARGE: Final[dict[str, Json]] = {"left_out": "The arguments are too long to be kept."}


class HostedCall:
    """One call. `answer` is what was said about it, None if nobody was asked."""

    def __init__(self, id_: str, agent: str, folder: Path | None) -> None:
        self.id = id_
        self._agent = agent
        self._folder = folder
        self._title = ""
        self._tool = ""
        self._kind: ToolKind | None = None
        self._input: Any = None
        self._output: Any = None
        self._content: Sequence[Fields] = ()
        self._paths: tuple[str, ...] = ()
        self.status = ""
        self.answer: PermissionAnswer | None = None
        self.asked = ""
        """What it said it would do when somebody was asked, in words."""
        self.is_allowed = True
        self.is_started = False
        self.is_ended = False

    def merge(self, update: Fields) -> None:
        """What is said of it now; what is left out stays."""
        self._title = one_line(text(update.get("title"))) or self._title
        for kind in _KINDS:
            if update.get("kind") == kind:
                self._kind = kind
        meta = fields(update.get("_meta"))
        for name in (meta.get("toolName"), meta.get("tool_name"), update.get("name")):
            if isinstance(name, str) and _NAME.fullmatch(name):
                self._tool = name
                break
        content = entries(update.get("content"))
        self._input = update.get("rawInput") or self._input or _arguments_in(content)
        self._output = update.get("rawOutput") or self._output
        self._content = content or self._content
        paths = [text(place.get("path")) for place in entries(update.get("locations"))]
        self._paths = tuple(path for path in paths if path) or self._paths
        self.status = text(update.get("status")) or self.status

    # ---- as our own calls are

    @property
    def kind(self) -> ToolKind:
        return self._kind or "other"

    @property
    def tool(self) -> str:
        return self._tool or self.kind

    @property
    def title(self) -> str:
        """What it would do, in one line. Some agents say only the name of a tool, and what it is about beside it."""
        title, about = self._title or self.tool, self._command or self._about
        return one_line(title if about in title else f"{title}: {about}")

    @property
    def arguments(self) -> dict[str, Json]:
        values: dict[str, Json] = {**fields(self._input)}
        if self._input is not None and not isinstance(self._input, dict):
            values = {"input": self._input}
        return values if len(json.dumps(values, default=str)) <= _MOST_ARGUMENTS else dict(_TOO_LARGE)

    @property
    def rule(self) -> str:
        """What an answer that holds longer is about: this command, the plain files of the folder, just this."""
        if self.kind == "edit" and (paths := self.paths):
            outside = next((path for path in paths if not self._is_plain(path)), None)
            return f"{self.tool}:{outside or '*'}"
        return f"{self.tool}:{(self._command or self.title).strip()}"

    @property
    def is_plain_to_see(self) -> bool:
        """Whether the rule says enough to hold longer: that a command is to be run does not."""
        return self.kind != "execute" or bool(self._command) or " " in self.title

    @property
    def described(self) -> AgentTool:
        """As the rules for permissions look at it: whatever an agent asks about is asked about."""
        return AgentTool(
            name=self.tool,
            kind=self.kind,
            asks=True,
            changes=self.kind not in _READS,
            edits=self.kind == "edit" and bool(self.paths),
        )

    @property
    def call(self) -> ToolCall:
        return ToolCall(
            id=self.id,
            tool=self.tool,
            kind=self.kind,
            title=self.title,
            rule=self.rule,
            arguments=self.arguments,
            answer=self.answer,
            allowed=self.is_allowed,
        )

    @property
    def result(self) -> ToolResult:
        parts = [block_text(item.get("content")) for item in self._content if item.get("type") == "content"]
        output = "\n".join(part for part in parts if part) or output_text(self._output)
        return ToolResult(text=cut_off(output, MOST_TEXT), failed=self.status == "failed", diff=self.diff)

    @property
    def diff(self) -> str | None:
        """How files change by it."""
        changes = [item for item in self._content if item.get("type") == "diff" and text(item.get("path"))]
        if not changes:
            return None
        texts = [
            unified(self._shown(text(change.get("path"))), _before(change), text(change.get("newText")))
            for change in changes
        ]
        return cut_off("".join(texts), _MOST_DIFF) or None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it is about."""
        of_diffs = [text(item.get("path")) for item in self._content if item.get("type") == "diff"]
        return tuple(path for path in of_diffs if path) or self._paths

    @property
    def _command(self) -> str:
        command: Any = fields(self._input).get("command") or fields(self._input).get("cmd")
        if isinstance(command, list):
            return command_line([str(word) for word in cast(list[Any], command)])
        return text(command)

    @property
    def told(self) -> str:
        """All that it says of what it would do."""
        texts = [block_text(item.get("content")) for item in self._content if item.get("type") == "content"]
        return " ".join([self._title, self._command, *texts])

    @property
    def _about(self) -> str:
        """What stands beside a title that is nothing but a name."""
        if " " in self._title or self.paths or self.status in ("completed", "failed"):
            return ""
        texts = [block_text(item.get("content")) for item in self._content if item.get("type") == "content"]
        return one_line(" ".join(texts))

    def _shown(self, path: str) -> str:
        real = os.path.normpath(path)
        if self._folder is not None and Path(real).is_relative_to(self._folder):
            return Path(real).relative_to(self._folder).as_posix()
        return one_line(path, 1_000).lstrip("/")

    def _is_plain(self, path: str) -> bool:
        """Whether it lies in the folder, and no part of its path is hidden: such files steer programs."""
        if self._folder is None:
            return False
        whole = Path(os.path.normpath(self._folder / path))
        if not whole.is_relative_to(self._folder):
            return False
        return not any(part.startswith(".") for part in whole.relative_to(self._folder).parts)


class HostedCalls:
    """Those of one turn, by the agent's ids for them."""

    def __init__(self, agent: str, folder: Path | None) -> None:
        self._agent = agent
        self._folder = folder
        self._calls: dict[str, HostedCall] = {}
        self._commands: set[str] = set()

    def merge(self, update: Fields) -> HostedCall | None:
        """The call that the update is about, as it is known now. None: it names none, or there are too many."""
        id_ = text(update.get("toolCallId"))[:_LONGEST_ID]
        if not id_ or not id_.isprintable() or (id_ not in self._calls and len(self._calls) >= MOST_CALLS):
            return None
        call = self._calls.setdefault(id_, HostedCall(id_, self._agent, self._folder))
        call.merge(update)
        return call

    @property
    def unfinished(self) -> list[HostedCall]:
        return [call for call in self._calls.values() if not call.is_ended]

    def permits_writing(self, path: str) -> bool:
        """Whether somebody has allowed a change of this file in this turn."""
        return any(
            call.answer is not None and call.answer.allows and path in call.paths for call in self._calls.values()
        )

    def take_command(self, words: Sequence[str]) -> bool:
        """Whether somebody was shown this command, has allowed it, and it has not been run yet. It is allowed once."""
        command = " ".join(self._without_folder(command_line(words)).split())
        for call in self._calls.values():
            is_permitted = call.answer is not None and call.answer.allows and not call.is_ended
            was_shown = command in " ".join(call.asked.split())
            if call.kind == "execute" and is_permitted and was_shown and call.id not in self._commands:
                self._commands.add(call.id)
                return True
        return False

    def _without_folder(self, command: str) -> str:
        """The command itself, of an agent that puts `cd FOLDER &&` before it; where the session works is known."""
        head, and_then, rest = command.partition(" && ")
        return rest if and_then and head.replace("'", "").replace('"', "") == f"cd {self._folder}" else command


def command_line(words: Sequence[str]) -> str:
    """What is run: of a shell, what the shell is to run."""
    is_shell = len(words) == 3 and words[1] in ("-c", "-lc") and Path(words[0]).name in _SHELLS
    return words[2] if is_shell else " ".join(words)


class OfferedOptions:
    """
    The answers that an agent takes to a question, by their kinds. "Always" is ours to remember and to take back, so that an agent is told
    "once" wherever it takes that.
    """

    def __init__(self, params: Fields) -> None:
        self._ids: dict[str, str] = {}
        for option in entries(params.get("options")):
            if (id_ := option.get("optionId")) is not None and isinstance(id_, str):
                self._ids.setdefault(text(option.get("kind")), id_)

    @property
    def choices(self) -> tuple[PermissionChoice, ...]:
        if "allow_once" in self._ids:
            return ("allow_once", "allow_session", "allow_workspace", "reject_once")
        # "Always" is all that it takes: it is not ours to say that this was meant once.
        return ("allow_session", "reject_once") if "allow_always" in self._ids else ("reject_once",)

    def outcome(self, answer: PermissionAnswer | None) -> dict[str, Any]:
        """What the agent is told; None: its turn was cancelled."""
        kinds: tuple[str, ...] = ()
        if answer is not None:
            kinds = ("allow_once", "allow_always") if answer.allows else ("reject_once", "reject_always")
            if answer.choice == "allow_once":
                kinds = ("allow_once",)
        option = next((self._ids[kind] for kind in kinds if kind in self._ids), None)
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option}}


def _arguments_in(content: Sequence[Fields]) -> Any:
    """Some agents send the arguments of a call as its content."""
    for item in content:
        if (words := block_text(item.get("content"))).startswith("{"):
            try:
                return fields(json.loads(words)) or None
            except (ValueError, RecursionError):
                return None
    return None


def _before(change: Fields) -> str | None:
    before = change.get("oldText")
    return before if isinstance(before, str) else None
