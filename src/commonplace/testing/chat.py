"""A pydantic-ai model that plays a script, streamed or at once, for tests of whatever talks to one."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

_PIECE: Final = 8
"""Characters of a call's arguments that arrive at once, unless they are very many."""
_MOST_PIECES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Thought:
    """What it thinks before it speaks."""

    text: str


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call of a tool. A text in place of `arguments` is sent as it is, so that it need not be JSON."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str | None = None

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


Wait: TypeAlias = Callable[[], Awaitable[object]]
"""Something to wait for before it goes on: `event.wait`, `anyio.sleep_forever`."""

Step: TypeAlias = str | Thought | ScriptedCall | Wait | Exception
Line: TypeAlias = Step | Sequence[Step]


class ScriptedChatModel(Model):
    """
    The script has a line a request: one step, or several in their order. A text is said, texts one after another as pieces of one; an error
    ends the request there; a function is awaited. After the last line `then` is said, as often as it is asked.

    `requests` are the messages it was sent, `parameters` what came with them.
    """

    def __init__(
        self, *script: Line, then: Line | None = None, name: str = "scripted", usage: RequestUsage | None = None
    ) -> None:
        super().__init__()
        self._script = list(script)
        self._then = then
        self._name = name
        self._usage = usage or RequestUsage(input_tokens=10, output_tokens=5)
        self.requests: list[list[ModelMessage]] = []
        self.parameters: list[ModelRequestParameters] = []

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return "scripted"

    @property
    def left(self) -> int:
        """Lines that nobody has asked for."""
        return len(self._script)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        del run_context
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        self.requests.append(list(messages))
        self.parameters.append(parameters)
        steps = self._next()
        if steps and isinstance(steps[0], Exception):
            raise steps[0]
        yield ScriptedStream(parameters, steps=steps, name=self._name, usage=self._usage)

    def _next(self) -> Sequence[Step]:
        if self._script:
            line = self._script.pop(0)
        else:
            assert self._then is not None, "The script has no line left for this request."
            line = self._then
        return [line] if isinstance(line, str | Thought | ScriptedCall | Exception) or callable(line) else line


class ScriptedStream(StreamedResponse):
    """One line as it is said."""

    def __init__(
        self, parameters: ModelRequestParameters, *, steps: Sequence[Step], name: str, usage: RequestUsage
    ) -> None:
        super().__init__(model_request_parameters=parameters)
        self._steps = steps
        self._name = name
        self._charge = usage
        self._at = datetime.now(UTC)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        self._usage += self._charge
        part = 0
        before: type[Step] | None = None
        for step in self._steps:
            if isinstance(step, Exception):
                raise step
            if not isinstance(step, str | Thought | ScriptedCall):
                await step()
                continue
            # Texts belong together, and so do thoughts; every call is its own.
            part += isinstance(step, ScriptedCall) or type(step) is not before
            before = type(step)
            for event in self._events(step, part):
                yield event

    def _events(self, step: str | Thought | ScriptedCall, part: int) -> list[ModelResponseStreamEvent]:
        parts = self._parts_manager
        if isinstance(step, str):
            return [*parts.handle_text_delta(vendor_part_id=part, content=step)]
        if isinstance(step, Thought):
            return [*parts.handle_thinking_delta(vendor_part_id=part, content=step.text)]
        arguments = step.json
        size = max(_PIECE, len(arguments) // _MOST_PIECES)
        pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)] or [""]
        events: list[ModelResponseStreamEvent] = []
        for number, piece in enumerate(pieces):
            events += parts.handle_tool_call_delta_events(
                vendor_part_id=part,
                tool_name=None if number else step.tool,
                args=piece,
                tool_call_id=None if number else step.id,
            )
        return events

    async def close_stream(self) -> None:
        """There is no connection to close."""

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def provider_name(self) -> str | None:
        return "scripted"

    @property
    def provider_url(self) -> str | None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._at
