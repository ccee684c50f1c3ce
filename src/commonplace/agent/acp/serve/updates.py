"""What happens in a turn, and what is kept of it, as updates of the Agent Client Protocol."""

from __future__ import annotations

from typing import Any, Final

from commonplace.values.permission import PermissionRequest
from commonplace.values.session import SessionMessage
from commonplace.values.turn_event import (
    PlanChanged,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEvent,
    TurnUsage,
)

Update = dict[str, Any]
OPTIONS: Final = (
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "allow_session", "name": "Allow for this session", "kind": "allow_always"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
)


def said(kind: str, text: str) -> Update:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def update_of(event: TurnEvent) -> Update | None:
    """None: an editor has no place for it."""
    match event:
        case TextAdded(text=text):
            return said("agent_message_chunk", text)
        case ThinkingAdded(text=text):
            return said("agent_thought_chunk", text)
        case ToolStarted():
            call = {"toolCallId": event.call, "title": event.title, "kind": event.kind, "status": "in_progress"}
            return {"sessionUpdate": "tool_call", **call, "rawInput": dict(event.arguments)}
        case ToolEnded():
            return _ended(event.call, event.text, event.diff, failed=event.failed)
        case PlanChanged():
            entries = [
                {"content": entry["text"], "priority": "medium", "status": entry["status"]} for entry in event.entries
            ]
            return {"sessionUpdate": "plan", "entries": entries}
        case _:
            return None


def update_of_message(message: SessionMessage) -> Update | None:
    """A message of the history, as it was told when it was said."""
    match message.kind:
        case "text":
            return said("user_message_chunk" if message.role == "user" else "agent_message_chunk", message.text)
        case "thinking":
            return said("agent_thought_chunk", message.text)
        case "tool_call":
            call = {"toolCallId": message.call or message.id, "title": message.text, "status": "in_progress"}
            kind, arguments = message.data.get("kind", "other"), message.data.get("arguments", {})
            return {"sessionUpdate": "tool_call", **call, "kind": kind, "rawInput": arguments}
        case "tool_result":
            diff = message.data.get("diff")
            difference = diff if isinstance(diff, str) else None
            return _ended(message.call or message.id, message.text, difference, failed=bool(message.data.get("failed")))
        case _:
            return None


def asked(request: PermissionRequest) -> Update:
    """The tool call that a request for permission is about."""
    call = {"toolCallId": request.call, "title": request.title, "kind": request.kind, "status": "pending"}
    return {**call, "rawInput": dict(request.arguments), "content": _difference(request.diff)}


def usage_of(usage: TurnUsage) -> dict[str, int]:
    total = usage.input_tokens + usage.output_tokens
    return {"totalTokens": total, "inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}


def _ended(call: str, text: str, diff: str | None, *, failed: bool) -> Update:
    content = [{"type": "content", "content": {"type": "text", "text": text}}, *_difference(diff)]
    status = "failed" if failed else "completed"
    return {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "content": content}


def _difference(diff: str | None) -> list[Update]:
    """The parts of a file that change, before and after."""
    lines = (diff or "").splitlines(keepends=True)
    if len(lines) < 3 or not lines[1].startswith("+++ b/"):
        return []
    body = [line for line in lines[2:] if line[:1] in " +-"]
    before, after = ("".join(line[1:] for line in body if line[0] in f" {sign}") for sign in "-+")
    is_new = lines[0].startswith("--- /dev/null")
    return [
        {"type": "diff", "path": lines[1][6:].rstrip("\n"), "newText": after, **({} if is_new else {"oldText": before})}
    ]
