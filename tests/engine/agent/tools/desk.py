"""A turn's side of its tool calls, written down; and a model that makes the calls it is given."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from commonplace.agent.tools.calls import (
    CallHandlers,
    CallLimits,
    PermissionRules,
    ServerTools,
    ToolCall,
    Verdict,
    make_toolset,
)
from commonplace.agent.tools.tool import AgentTool, ToolResult
from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionRequest


@dataclass
class Desk:
    """`log` has, in order, what happened. A tool that `asks` is asked about, once a rule."""

    choice: PermissionChoice = "allow_once"
    limits: CallLimits = field(default_factory=CallLimits)
    log: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    results: list[ToolResult] = field(default_factory=list[ToolResult])
    requests: list[PermissionRequest] = field(default_factory=list[PermissionRequest])
    descriptions: dict[str, str] = field(default_factory=dict[str, str])
    """What the model is told of each tool."""
    remembered: set[str] = field(default_factory=set[str])
    on_start: Callable[[ToolCall], Awaitable[None]] | None = None
    on_ask: Callable[[PermissionRequest], Awaitable[None]] | None = None

    def verdict(self, tool: AgentTool, rule: str) -> Verdict:
        return "ask" if tool.asks and rule not in self.remembered else "allow"

    def remember(self, rule: str, answer: PermissionAnswer) -> None:
        if answer.choice in ("allow_session", "allow_workspace"):
            self.remembered.add(rule)

    async def started(self, call: ToolCall) -> None:
        if self.on_start is not None:
            await self.on_start(call)
        self.log.append(f"started {call.tool}")
        self.calls.append(call)

    async def ended(self, call: ToolCall, result: ToolResult) -> None:
        self.log.append(f"ended {call.tool}")
        self.results.append(result)

    async def ask(self, request: PermissionRequest) -> PermissionAnswer:
        self.log.append(f"asked {request.tool}")
        self.requests.append(request)
        if self.on_ask is not None:
            await self.on_ask(request)
        return PermissionAnswer(request=request.id, choice=self.choice, voter="ann")

    @property
    def handlers(self) -> CallHandlers:
        return CallHandlers(started=self.started, ended=self.ended, ask=self.ask, rules=self, limits=self.limits)

    async def call(self, tool: AgentTool, /, **arguments: Any) -> ToolReturnPart:
        """What the model is told about one call."""
        return (await self.turn([tool], [(tool.name, arguments)]))[0]

    async def turn(
        self,
        tools: Sequence[AgentTool],
        calls: Sequence[tuple[str, dict[str, Any] | str]],
        servers: Sequence[ServerTools] = (),
        *,
        rules: PermissionRules | None = None,
    ) -> list[ToolReturnPart]:
        """The answers to the calls, each made in a request of its own."""
        answers: list[ToolReturnPart] = []

        def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.descriptions = {tool.name: tool.description or "" for tool in info.function_tools}
            last = messages[-1]
            assert isinstance(last, ModelRequest)
            answers.extend(part for part in last.parts if isinstance(part, ToolReturnPart))
            if len(answers) >= len(calls):
                return ModelResponse(parts=[TextPart("Done.")])
            name, arguments = calls[len(answers)]
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            return ModelResponse(parts=[ToolCallPart(name, text, tool_call_id=f"call-{len(answers)}")])

        handlers = replace(self.handlers, rules=rules or self)
        agent = Agent(
            FunctionModel(respond), toolsets=[make_toolset(tools, handlers, servers)], deps_type=object, retries=3
        )
        async with agent:
            await agent.run("Go on.", deps=None)
        return answers
