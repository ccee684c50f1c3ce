"""What happens in a turn, what is kept of it and how its session is set, in the words of the Agent Client Protocol."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from commonplace.values.json import Json
from commonplace.values.permission import PermissionChoice, PermissionRequest
from commonplace.values.session import SessionMessage
from commonplace.values.session_state import SessionOptions
from commonplace.values.turn_event import (
    PlanChanged,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEvent,
    TurnUsage,
    UsageChanged,
)

Update = dict[str, Any]
MODE: Final = "mode"
MODEL: Final = "model"
_OPTIONS: Final[Mapping[PermissionChoice, tuple[str, str]]] = {
    "allow_once": ("Allow once", "allow_once"),
    "allow_session": ("Allow for this session", "allow_always"),
    "reject_once": ("Reject", "reject_once"),
}
_WITH_PATH: Final = frozenset({"read_file", "write_file", "edit_file", "list_folder"})
_MICRO: Final = 1_000_000


def said(kind: str, text: str) -> Update:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


@dataclass(frozen=True, kw_only=True, slots=True)
class CallView:
    """A tool call as an editor shows it: files by their whole paths below `folder`, a command in the `terminal` it runs in."""

    folder: str | None = None
    terminal: str | None = None

    def started(self, call: str, tool: str, title: str, kind: Json, arguments: Mapping[str, Json]) -> Update:
        update: Update = {
            "sessionUpdate": "tool_call",
            "toolCallId": call,
            "title": title,
            "kind": kind,
            "status": "in_progress",
            "rawInput": dict(arguments),
        }
        if (location := self._location(tool, arguments)) is not None:
            update["locations"] = [location]
        return {**update, "content": self._terminal} if self.terminal else update

    def ended(self, call: str, text: str, diff: str | None, *, failed: bool) -> Update:
        # The terminal shows what the command wrote.
        content = self._terminal or [{"type": "content", "content": {"type": "text", "text": text}}]
        return {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "status": "failed" if failed else "completed",
            "content": [*content, *self.difference(diff)],
        }

    def shown(self, call: str) -> Update:
        """A call whose terminal is opened after it was told."""
        return {"sessionUpdate": "tool_call_update", "toolCallId": call, "content": self._terminal}

    def asked(self, request: PermissionRequest) -> Update:
        """The tool call that a request for permission is about."""
        call: Update = {
            "toolCallId": request.call,
            "title": request.title,
            "kind": request.kind,
            "status": "pending",
            "rawInput": dict(request.arguments),
            "content": self.difference(request.diff),
        }
        location = self._location(request.tool, request.arguments)
        return {**call, "locations": [location]} if location is not None else call

    def difference(self, diff: str | None) -> list[Update]:
        """The parts of a file that change, before and after."""
        lines = (diff or "").splitlines(keepends=True)
        if len(lines) < 3 or not lines[1].startswith("+++ b/"):
            return []
        body = [line for line in lines[2:] if line[:1] in " +-"]
        before, after = ("".join(line[1:] for line in body if line[0] in f" {sign}") for sign in "-+")
        path = self._whole(lines[1][6:].rstrip("\n"))
        old = {} if lines[0].startswith("--- /dev/null") else {"oldText": before}
        return [{"type": "diff", "path": path, "newText": after, **old}]

    @property
    def _terminal(self) -> list[Update]:
        return [{"type": "terminal", "terminalId": self.terminal}] if self.terminal else []

    def _location(self, tool: str, arguments: Mapping[str, Json]) -> Update | None:
        path, line = arguments.get("path"), arguments.get("offset")
        if tool not in _WITH_PATH or not isinstance(path, str) or (self.folder is None and not path.startswith("/")):
            return None
        return {"path": self._whole(path), **({"line": line} if isinstance(line, int) and line > 0 else {})}

    def _whole(self, path: str) -> str:
        return os.path.normpath(path if path.startswith("/") else f"{self.folder or ''}/{path}")


def update_of(event: TurnEvent, view: CallView) -> Update | None:
    """None: an editor has no place for it."""
    match event:
        case TextAdded(text=text):
            return said("agent_message_chunk", text)
        case ThinkingAdded(text=text):
            return said("agent_thought_chunk", text)
        case ToolStarted():
            return view.started(event.call, event.tool, event.title, event.kind, event.arguments)
        case ToolEnded():
            return view.ended(event.call, event.text, event.diff, failed=event.failed)
        case PlanChanged():
            entries = [
                {"content": entry["text"], "priority": "medium", "status": entry["status"]} for entry in event.entries
            ]
            return {"sessionUpdate": "plan", "entries": entries}
        case _:
            return None


def update_of_message(message: SessionMessage, view: CallView) -> Update | None:
    """A message of the history, as it was told when it was said."""
    data, call = message.data, message.call or message.id
    match message.kind:
        case "text":
            return said("user_message_chunk" if message.role == "user" else "agent_message_chunk", message.text)
        case "thinking":
            return said("agent_thought_chunk", message.text)
        case "tool_call":
            arguments = data.get("arguments")
            fields = arguments if isinstance(arguments, dict) else {}
            return view.started(call, str(data.get("tool")), message.text, data.get("kind", "other"), fields)
        case "tool_result":
            diff = data.get("diff")
            difference = diff if isinstance(diff, str) else None
            return view.ended(call, message.text, difference, failed=bool(data.get("failed")))
        case _:
            return None


def permission_options(choices: Sequence[PermissionChoice]) -> list[Update]:
    return [
        {"optionId": choice, "name": name, "kind": kind}
        for choice, (name, kind) in _OPTIONS.items()
        if choice in choices
    ]


# ---- what a session is set to


def modes_of(options: SessionOptions) -> Update:
    """For an answer; empty if there is nothing to choose."""
    if not options.modes:
        return {}
    modes = [{"id": mode.id, "name": mode.name, "description": mode.description} for mode in options.modes]
    return {"modes": {"currentModeId": options.mode, "availableModes": modes}}


def config_of(options: SessionOptions) -> Update:
    """The same for what is chosen from lists: the mode once more, and the model."""
    modes = [(mode.id, mode.name, mode.description) for mode in options.modes]
    models = [(model, model, "") for model in options.models]
    selects = [
        _select(MODE, "Mode", options.mode, modes) if modes else None,
        _select(MODEL, "Model", options.model, models) if models else None,
    ]
    return {"configOptions": [select for select in selects if select is not None]}


def _select(id: str, name: str, current: str, choices: Sequence[tuple[str, str, str]]) -> Update:
    if current not in [choice for choice, _, _ in choices]:
        choices = [(current, current, ""), *choices]
    return {
        "id": id,
        "name": name,
        "category": id,
        "type": "select",
        "currentValue": current,
        "options": [
            {"value": value, "name": label, **({"description": words} if words else {})}
            for value, label, words in choices
        ],
    }


# ---- what it took


def usage_of(usage: TurnUsage) -> dict[str, int]:
    total = usage.input_tokens + usage.output_tokens
    # What is nothing need not be said.
    parts = {"thoughtTokens": usage.thought_tokens, "cachedReadTokens": usage.cached_tokens}
    return {
        "totalTokens": total,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        **{name: count for name, count in parts.items() if count},
    }


def usage_update(event: UsageChanged, micro_usd: int) -> Update | None:
    """How full the prompt is, and what the session has cost. None: nobody knows how much fits."""
    if not event.size:
        return None
    cost = {"amount": micro_usd / _MICRO, "currency": "USD"}
    return {"sessionUpdate": "usage_update", "used": event.used, "size": event.size, "cost": cost}
