"""What has been said and done so far, read from the messages that a model is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from commonplace.llms.librarian.phrases import MARKS
from commonplace.llms.librarian.tool_memory import ToolMemory, rows_of, rows_of_block
from commonplace.text.fence import CLOSE, OPEN
from commonplace.text.scheduled_prompt import unmarked
from commonplace.text.speaker import without_speaker

MOST_READ: Final = 1_000_000
"""Characters of a tool's answer that are read as JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """A call of a tool and, once it came, its answer: a document, or the text of an answer that is none."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    document: Mapping[str, Any] | None = None
    text: str = ""
    refused: bool = False

    @property
    def failed(self) -> bool:
        return self.refused or self.document is None or self.document.get("ok") is False

    @property
    def rows(self) -> tuple[ToolMemory, ...]:
        return rows_of(self.document) if self.document is not None else ()


@dataclass(slots=True)
class ChatTurn:
    """What a person said, what was done about it, and the reply."""

    prompt: str
    at: datetime | None = None
    uses: list[ToolUse] = field(default_factory=list[ToolUse])
    reply: str = ""

    def shown(self) -> tuple[ToolMemory, ...]:
        """The memories that the reply names."""
        rows = {row.id: row for use in self.uses for row in use.rows}
        return tuple(row for row in rows.values() if row.short_id in self.reply)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialogue:
    """A conversation, up to what is to be answered now. `reference` are the memories that were recalled into the prompt."""

    now: ChatTurn
    earlier: Sequence[ChatTurn]
    tools: Mapping[str, ToolDefinition]
    reference: tuple[ToolMemory, ...]
    is_introduced: bool

    @property
    def before(self) -> ChatTurn | None:
        return self.earlier[-1] if self.earlier else None

    def offers(self, *names: str) -> str | None:
        """The first of these tools that there is."""
        return next((name for name in names if name in self.tools), None)

    def used(self, tool: str) -> ToolUse | None:
        """What the tool answered in this turn."""
        return next((use for use in self.now.uses if use.tool == tool), None)

    def fitted(self, tool: str, **values: Any) -> ToolUse:
        """A call with those of the arguments that the tool knows."""
        names = self.tools[tool].parameters_json_schema.get("properties")
        fits = {name: value for name, value in values.items() if not isinstance(names, Mapping) or name in names}
        return ToolUse(tool=tool, arguments=fits)


def read_dialogue(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> Dialogue:
    exchanges: list[ChatTurn] = []
    blocks: list[str] = []
    calls: dict[str, ToolCallPart] = {}
    is_introduced = False
    for message in messages:
        if isinstance(message, ModelRequest):
            _read_request(message, exchanges, blocks, calls)
            continue
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, TextPart) and exchanges:
                exchanges[-1].reply += part.content
                is_introduced = is_introduced or any(mark in part.content for mark in MARKS)
    now = exchanges.pop() if exchanges else ChatTurn("")
    return Dialogue(
        now=now,
        earlier=exchanges,
        tools={tool.name: tool for tool in parameters.function_tools},
        reference=rows_of_block(blocks[-1]) if blocks else (),
        is_introduced=is_introduced,
    )


def _read_request(
    message: ModelRequest, exchanges: list[ChatTurn], blocks: list[str], calls: Mapping[str, ToolCallPart]
) -> None:
    for part in message.parts:
        if isinstance(part, SystemPromptPart) and OPEN in part.content:
            blocks.append(part.content)
        elif isinstance(part, UserPromptPart):
            text = _user_text(part)
            if OPEN in text and CLOSE in text:
                blocks.append(text)
                start, stop = text.find(OPEN), text.rfind(CLOSE) + len(CLOSE)
                text = text[:start] + text[stop:]
                if not text.strip():
                    continue
            exchanges.append(ChatTurn(without_speaker(unmarked(text)).strip(), at=part.timestamp))
        elif isinstance(part, ToolReturnPart) and exchanges:
            exchanges[-1].uses.append(_used(part, calls.get(part.tool_call_id)))
    if message.instructions and OPEN in message.instructions:
        blocks.append(message.instructions)


def _user_text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = [item.content if isinstance(item, TextContent) else item for item in part.content]
    return "\n".join(text for text in texts if isinstance(text, str))


def _used(part: ToolReturnPart, call: ToolCallPart | None) -> ToolUse:
    document = _document(part.content)
    return ToolUse(
        tool=part.tool_name,
        arguments=_arguments(call),
        document=document,
        text="" if document is not None else str(part.content)[:MOST_READ],
        refused=part.outcome != "success",
    )


def _arguments(call: ToolCallPart | None) -> Mapping[str, Any]:
    if call is None:
        return {}
    document = _document(call.args)
    return document if document is not None else {}


def _document(content: object) -> Mapping[str, Any] | None:
    if isinstance(content, BaseModel):
        content = content.model_dump(mode="json")
    if isinstance(content, str) and len(content) <= MOST_READ:
        try:
            content = json.loads(content)
        except ValueError:
            return None
    if isinstance(content, list):
        content = {"results": cast(list[Any], content)}
    return cast(Mapping[str, Any], content) if isinstance(content, Mapping) else None
