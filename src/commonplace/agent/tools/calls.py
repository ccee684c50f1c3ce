"""
The one place that all tool calls pass, those of MCP servers too.

A call is worded, asked about if it must be, told to `started` (which keeps it, before anything happens), run within limits
of time and output, told to `ended`, and only then answered to the model. Whatever goes wrong in a tool is a result that the model is
told, never the end of the turn. A call that is cancelled is stopped here; it has no result, and nothing runs it again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any, Final, Literal, Protocol, cast
from uuid import uuid4

import anyio
from pydantic import ValidationError
from pydantic_ai import RunContext, Tool
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import to_json, to_jsonable_python

from commonplace.agent.tools.tool import CALL, AgentTool, ToolArguments, ToolFunction, ToolResult, cut_off, one_line
from commonplace.errors import CommonplaceError, InternalError
from commonplace.text.fence import outside
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionRequest, ToolKind

LOGGER: Final = logging.getLogger("commonplace")
RETRIES: Final = 5
"""How often in a row a model may send arguments to a tool that it does not take."""
STOP_SECONDS: Final = 2.0
_MOST_PROBLEMS: Final = 5
_MOST_DIFF: Final = 20_000
_MOST_ARGUMENT: Final = 4_000

Verdict = Literal["allow", "ask", "refuse"]


class PermissionRules(Protocol):
    """What is allowed without a question. `agent/permissions.Permissions` is one."""

    def verdict(self, tool: AgentTool, rule: str) -> Verdict:
        """Whether a call with this rule runs, waits for a person, or is not to be had now."""
        ...

    def remember(self, rule: str, answer: PermissionAnswer) -> None:
        """What the answer says about later calls with the same rule. It may write to the disk, and is called in a thread."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """
    A call of a tool, by the model's `id` for it. `arguments` are as they were sent. `answer` is what a person said, None if
    nobody was asked. A call that is not `allowed` is kept and ended as well, but never runs.
    """

    id: str
    tool: str
    kind: ToolKind
    title: str
    rule: str
    arguments: ToolArguments
    answer: PermissionAnswer | None = None
    allowed: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class CallLimits:
    """Of one call. `seconds` counts from its start, not while it waits for a person."""

    seconds: float = 120.0
    characters: int = 30_000
    argument_characters: int = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class CallHandlers:
    """What the turn does about its calls. If `started` raises, the call does not run."""

    started: Callable[[ToolCall], Awaitable[None]]
    ended: Callable[[ToolCall, ToolResult], Awaitable[None]]
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]]
    rules: PermissionRules
    limits: CallLimits = field(default_factory=CallLimits)


@dataclass
class ToolCalls(WrapperToolset[object]):
    """The tools of `wrapped`. `describe` says of each what it is, by its definition."""

    describe: Callable[[ToolDefinition], AgentTool]
    handlers: CallHandlers

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        most = self.handlers.limits.argument_characters
        return {
            name: replace(tool, max_retries=RETRIES, args_validator=_LimitedValidator(tool.args_validator, most))
            for name, tool in (await super().get_tools(ctx)).items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> str:
        description = self.describe(tool.tool_def)

        async def run() -> object:
            return await super(ToolCalls, self).call_tool(name, tool_args, ctx, tool)

        return await _Call(description, self.handlers, ctx.tool_call_id or uuid4().hex, _plain(tool_args)).answer(run)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTools:
    """The tools of an MCP server (`agent/mcp_servers`), whether they are used without a question, and how long each may take."""

    toolset: AbstractToolset[object]
    trusted: bool = False
    seconds: float | None = None


def make_toolset(
    tools: Sequence[AgentTool], handlers: CallHandlers, servers: Sequence[ServerTools] = ()
) -> AbstractToolset[object]:
    """What an agent is given: our own tools, and those of MCP servers."""
    by_name = {tool.name: tool for tool in tools}
    functions = FunctionToolset[object](
        [_function_tool(tool, tool.function) for tool in tools if tool.function is not None], id="commonplace"
    )
    own = ToolCalls(functions, describe=lambda definition: by_name[definition.name], handlers=handlers)
    return CombinedToolset[object](
        [own, *(ToolCalls(server.toolset, describe=_stranger(server), handlers=handlers) for server in servers)]
    )


def _function_tool(tool: AgentTool, function: ToolFunction) -> Tool[object]:
    """What changes something runs alone; what only reads, beside others."""
    if tool.schema is None:
        key = _code_of(function), function.__doc__, tool.name
        schema = _SCHEMAS.get(key)
        if schema is not None:
            schema = replace(schema, function=function)
        described = Tool[object](
            function,
            takes_ctx=False,
            name=tool.name,
            description=tool.description,
            sequential=tool.changes,
            function_schema=schema,
        )
        _SCHEMAS[key] = described.function_schema
        return described
    schema = dict(tool.schema)
    return Tool[object].from_schema(
        function, tool.name, tool.description, schema, takes_ctx=False, sequential=tool.changes
    )


_SCHEMAS: Final[dict[tuple[CodeType, str | None, str], Any]] = {}
"""
What a model is told of the arguments of a function, by its code: a turn binds the same few functions to its own session, and to describe
them anew takes longer than all else it does. They are as many as there are tools in this program.
"""


def _code_of(function: ToolFunction) -> CodeType:
    plain = inspect.unwrap(function)
    return cast(FunctionType, getattr(plain, "__func__", plain)).__code__


def _stranger(server: ServerTools) -> Callable[[ToolDefinition], AgentTool]:
    """A tool of a server: nobody here knows what it does, so it may change anything."""

    def describe(definition: ToolDefinition) -> AgentTool:
        return AgentTool(
            name=definition.name,
            kind="other",
            asks=not server.trusted,
            changes=True,
            untrusted=True,
            seconds=server.seconds,
        )

    return describe


class _Call:
    """One call on its way."""

    def __init__(self, tool: AgentTool, handlers: CallHandlers, id: str, arguments: ToolArguments) -> None:
        self._tool = tool
        self._handlers = handlers
        self._id = id
        self._arguments = arguments

    async def answer(self, run: Callable[[], Awaitable[object]]) -> str:
        """
        The text for the model.

        Raises:
            ToolFailed: with the error that the model is told.
        """
        call, refusal = await self._permission()
        await self._handlers.started(call)
        CALL.set(call.id)
        result = refusal or self._finished(await self._outcome(run))
        await self._handlers.ended(call, result)
        if result.failed:
            raise ToolFailed(result.text)
        return result.text

    async def _permission(self) -> tuple[ToolCall, ToolResult | None]:
        """The call as it is kept, and why it does not run."""
        tool = self._tool
        title = tool.title_of(self._arguments)
        call = ToolCall(
            id=self._id, tool=tool.name, kind=tool.kind, title=title, rule=f"{tool.name}:?", arguments=self._arguments
        )
        try:
            call = replace(call, rule=tool.rule_of(self._arguments))
        except CommonplaceError as error:
            return replace(call, allowed=False), _failed(error.message)
        verdict = self._handlers.rules.verdict(tool, call.rule)
        if verdict == "allow":
            return call, None
        if verdict == "refuse":
            return replace(call, allowed=False), _failed(
                f"{tool.name} is not to be had in this mode. Go on without it."
            )
        try:
            diff = await asyncio.to_thread(tool.diff, self._arguments)
            answer = await self._handlers.ask(_request(call, diff))
        except CommonplaceError as error:
            return replace(call, allowed=False), _failed(error.message)
        if not answer.allows:
            why = f" ({one_line(answer.reason)})" if answer.reason else ""
            return (
                replace(call, answer=answer, allowed=False),
                _failed(
                    f"This call was not permitted{why}. Do not repeat it; go on without, or say what you need it for."
                ),
            )
        try:
            await asyncio.to_thread(self._handlers.rules.remember, call.rule, answer)
        except CommonplaceError as error:
            # This call is allowed all the same; the next one is asked about again.
            LOGGER.warning("permissions", extra={"told": {"error": error.message}})
        return replace(call, answer=answer), None

    async def _outcome(self, run: Callable[[], Awaitable[object]]) -> ToolResult:
        """What the tool did, whatever it did."""
        seconds = self._tool.seconds or self._handlers.limits.seconds
        try:
            value = await _stoppable(run, seconds)
        except CommonplaceError as error:
            return _failed(error.message)
        except (ToolFailed, ModelRetry) as error:
            return _failed(error.message)
        except TimeoutError:
            return _failed(f"{self._tool.name} was stopped: it took more than {seconds:g} seconds.")
        except Exception as error:
            # The boundary of the tools: whatever a tool or a server does wrong, the turn goes on.
            LOGGER.error("unexpected", exc_info=error, extra={"told": {"tool": self._tool.name}})
            return _failed(InternalError().message)
        return value if isinstance(value, ToolResult) else ToolResult(text=_text(value))

    def _finished(self, result: ToolResult) -> ToolResult:
        """Without secrets, no longer than it may be, and behind a fence if it comes from outside."""
        text = cut_off(result.text, self._handlers.limits.characters)
        if self._tool.untrusted:
            text = outside(text, one_line(self._tool.name))
        diff = None if result.diff is None else cut_off(result.diff, _MOST_DIFF)
        return replace(result, text=text, diff=diff)


async def _stoppable(run: Callable[[], Awaitable[object]], seconds: float) -> object:
    """
    Raises:
        TimeoutError: it was stopped after so many seconds.
    """
    task = asyncio.ensure_future(run())
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            # One that does not let itself be stopped is left to itself: the turn does not wait for it.
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task}, timeout=STOP_SECONDS)
            task.add_done_callback(_forget)


def _forget(task: asyncio.Future[object]) -> None:
    if not task.cancelled():
        # Asked for, or asyncio complains that nobody did.
        task.exception()


def _failed(text: str) -> ToolResult:
    return ToolResult(text=text, failed=True)


def _request(call: ToolCall, diff: str | None) -> PermissionRequest:
    return PermissionRequest(
        id=uuid4().hex,
        call=call.id,
        tool=call.tool,
        kind=call.kind,
        title=call.title,
        rule=call.rule,
        arguments={name: _shortened(value) for name, value in call.arguments.items()},
        diff=None if diff is None else cut_off(diff, _MOST_DIFF),
    )


def _shortened(value: Json) -> Json:
    if isinstance(value, str) and len(value) > _MOST_ARGUMENT:
        return f"{value[:_MOST_ARGUMENT]}… ({len(value):,} characters)"
    return value


def _plain(arguments: Mapping[str, Any]) -> ToolArguments:
    return cast(dict[str, Json], to_jsonable_python(dict(arguments), fallback=str))


def _text(value: object) -> str:
    """As the model reads it; pictures and sounds of a server are named, not shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, BinaryContent):
        return f"[{value.media_type}, {len(value.data):,} bytes, not shown]"
    if isinstance(value, (list, tuple)):
        return "\n".join(_text(part) for part in cast(Sequence[object], value))
    return "" if value is None else to_json(value, fallback=str, indent=1).decode(errors="replace")


class _LimitedValidator:
    """
    The arguments of a call, before the tool sees them. What is wrong with them is told in few words: a library's own report
    repeats the whole input.
    """

    def __init__(self, validator: Any, most: int) -> None:
        self._validator = validator
        self._most = most

    def validate_json(self, input: str | bytes | bytearray, **options: Any) -> Any:  # noqa: A002 - pydantic's name
        if len(input) > self._most:
            raise ModelRetry(f"The arguments are too long: at most {self._most:,} characters.")
        return self._checked(self._validator.validate_json, input or "{}", options)

    def validate_python(self, input: Any, **options: Any) -> Any:  # noqa: A002 - pydantic's name
        if len(to_json(input, fallback=str)) > self._most:
            raise ModelRetry(f"The arguments are too long: at most {self._most:,} characters.")
        return self._checked(self._validator.validate_python, input, options)

    def _checked(self, validate: Callable[..., Any], arguments: object, options: Mapping[str, Any]) -> Any:
        try:
            return validate(arguments, **options)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            words = "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"[:300]
                for problem in problems[:_MOST_PROBLEMS]
            )
            raise ModelRetry(f"The arguments do not fit. {words}") from error
