"""What the turns of a session took since a bridge stands before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from commonplace.values.json import Json
from commonplace.values.turn_event import (
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    TurnUsage,
    UsageChanged,
)

_MOST_NAMES: Final = 200
"""Of tools and models that are counted one by one: a model may call any name."""


@dataclass(slots=True)
class ModelCount:
    requests: int = 0
    errors: int = 0
    latency: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thought_tokens: int = 0

    def document(self) -> dict[str, Json]:
        total = self.input_tokens + self.output_tokens
        return {
            "api": {"totalRequests": self.requests, "totalErrors": self.errors, "totalLatencyMs": self.latency},
            "tokens": {
                "prompt": self.input_tokens,
                "candidates": self.output_tokens,
                "total": total,
                "cached": self.cached_tokens,
                "thoughts": self.thought_tokens,
            },
        }


@dataclass(slots=True)
class ToolCount:
    success: int = 0
    fail: int = 0
    milliseconds: int = 0

    def document(self) -> dict[str, Json]:
        decisions: dict[str, Json] = {"accept": 0, "reject": 0, "modify": 0, "auto_accept": 0}
        count = self.success + self.fail
        return {
            "count": count,
            "success": self.success,
            "fail": self.fail,
            "durationMs": self.milliseconds,
            "decisions": decisions,
        }


@dataclass(slots=True)
class SessionStats:
    began_at: datetime
    prompts: int = 0
    models: dict[str, ModelCount] = field(default_factory=dict[str, ModelCount])
    tools: dict[str, ToolCount] = field(default_factory=dict[str, ToolCount])
    context: UsageChanged | None = None
    """What the last turn said of the room in a prompt."""
    lines_added: int = 0
    lines_removed: int = 0
    _turn: datetime | None = None
    _calls: dict[str, datetime] = field(default_factory=dict[str, datetime])

    def count(self, event: TurnEvent, at: datetime) -> None:
        match event:
            case TurnStarted():
                self.prompts += 1
                self._turn = at
                self._calls.clear()
            case UsageChanged():
                self.context = event
            case TurnEnded(usage=usage):
                self._model(usage, at, errors=0)
            case TurnFailed(usage=usage):
                self._model(usage, at, errors=1)
            case ToolStarted(call=call):
                self._calls[call] = at
            case ToolEnded():
                self._tool(event, at)
            case _:
                pass

    def document(self, now: datetime) -> dict[str, Json]:
        tools = self.tools.values()
        success, fail = sum(tool.success for tool in tools), sum(tool.fail for tool in tools)
        return {
            "sessionStartTimeMs": round(self.began_at.timestamp() * 1000),
            "durationMs": _between(self.began_at, now),
            "promptCount": self.prompts,
            "models": {name: model.document() for name, model in self.models.items()},
            "tools": {
                "totalCalls": success + fail,
                "totalSuccess": success,
                "totalFail": fail,
                "totalDurationMs": sum(tool.milliseconds for tool in tools),
                "byName": {name: tool.document() for name, tool in self.tools.items()},
            },
            "files": {"totalLinesAdded": self.lines_added, "totalLinesRemoved": self.lines_removed},
        }

    def _model(self, usage: TurnUsage, at: datetime, *, errors: int) -> None:
        if usage.model not in self.models and len(self.models) >= _MOST_NAMES:
            return
        model = self.models.setdefault(usage.model, ModelCount())
        model.requests += usage.requests
        model.errors += errors
        model.latency += _between(self._turn or at, at)
        model.input_tokens += usage.input_tokens
        model.output_tokens += usage.output_tokens
        model.cached_tokens += usage.cached_tokens
        model.thought_tokens += usage.thought_tokens

    def _tool(self, event: ToolEnded, at: datetime) -> None:
        for line in (event.diff or "").splitlines():
            self.lines_added += line.startswith("+") and not line.startswith("+++")
            self.lines_removed += line.startswith("-") and not line.startswith("---")
        if event.tool not in self.tools and len(self.tools) >= _MOST_NAMES:
            return
        tool = self.tools.setdefault(event.tool, ToolCount())
        tool.success += not event.failed
        tool.fail += event.failed
        tool.milliseconds += _between(self._calls.pop(event.call, at), at)


def _between(start: datetime, end: datetime) -> int:
    return round((end - start).total_seconds() * 1000)
