"""The librarian as a pydantic-ai model."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from commonplace.llms.librarian.changes import Step
from commonplace.llms.librarian.dialogue import Dialogue, read_dialogue
from commonplace.llms.librarian.intents import is_chinese
from commonplace.llms.librarian.phrases import phrases
from commonplace.llms.librarian.steps import next_step

NAME: Final = "librarian"
_CHUNK: Final = re.compile(r"[\s\S]{1,80}(?=\s|$)|[\s\S]{1,40}")


class Librarian(Model):
    """Answers out of the memory, by the tools it is offered. It costs nothing and calls nobody."""

    @property
    def model_name(self) -> str:
        return NAME

    @property
    def system(self) -> str:
        return "commonplace"

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
        if not parameters.allow_text_output:
            raise UserError("The librarian answers in text only. For answers of another type set a language model.")
        yield LibrarianStream(parameters, answered(messages, parameters))


def answered(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> Step:
    """What the librarian does after these messages."""
    dialogue = read_dialogue(messages, parameters)
    step = next_step(dialogue)
    return _introduced(dialogue, step) if isinstance(step, str) else step


def _introduced(dialogue: Dialogue, reply: str) -> str:
    """Once a conversation it says what it is."""
    if dialogue.is_introduced:
        return reply
    return f"{reply}\n\n{phrases(is_chinese(dialogue.now.prompt)).introduction}"


class LibrarianStream(StreamedResponse):
    """One answer, in pieces."""

    def __init__(self, parameters: ModelRequestParameters, step: Step) -> None:
        super().__init__(model_request_parameters=parameters)
        self._step = step
        self._usage = RequestUsage()
        self._at = datetime.now(UTC)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        if isinstance(self._step, str):
            for piece in _CHUNK.findall(self._step):
                for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=piece):
                    yield event
            return
        for place, use in enumerate(self._step):
            for event in self._parts_manager.handle_tool_call_delta_events(
                vendor_part_id=place, tool_name=use.tool, args=json.dumps(use.arguments, ensure_ascii=False)
            ):
                yield event

    async def close_stream(self) -> None:
        """There is no connection to close."""

    @property
    def model_name(self) -> str:
        return NAME

    @property
    def provider_name(self) -> str | None:
        return "commonplace"

    @property
    def provider_url(self) -> str | None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._at
