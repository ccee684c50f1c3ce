"""
A pydantic-ai model that pays for each request before it is sent.

It stands around every request that the library makes, also those by which it lets a model mend a malformed answer or go on
after a tool, so none goes unpaid. It also sends again what failed for a passing reason; the vendors' clients are told not to,
since what they send a second time nobody would have paid for.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from commonplace.llms.failures import is_free, is_passing, retry_after
from commonplace.llms.prices import Prices, Tokens
from commonplace.llms.purse import Reserved, Tab
from commonplace.text.tokens import estimate
from commonplace.values.retry import Backoff

ATTEMPTS: Final = 3
_BACKOFF: Final = Backoff(first=0.5)
_LONGEST_PAUSE: Final = 10.0
# Vendors frame messages and tools with tokens of their own, and blanks are no part of our estimate.
_FRAME: Final = 200
_MARGIN: Final = 1.25
_SENT: Final = ("content", "args", "tool_name")

Pause = Callable[[float], Awaitable[None]]


class MeteredModel(WrapperModel):
    """For one task, whose `tab` it is."""

    def __init__(self, wrapped: Model, *, tab: Tab, prices: Prices, output_tokens: int, pause: Pause) -> None:
        super().__init__(wrapped)
        self._tab = tab
        self._prices = prices
        self._output_tokens = output_tokens
        self._pause = pause

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        settings = ModelSettings(**{**(model_settings or {}), "max_tokens": self._output_tokens})  # pyright: ignore[reportArgumentType] - of that type already
        read = input_tokens(messages, model_request_parameters)
        most = self._prices.cost(Tokens(input=read, output=self._output_tokens))
        for attempt in range(1, ATTEMPTS + 1):
            reserved = await self._tab.reserve(most)
            try:
                response = await self.wrapped.request(messages, settings, model_request_parameters)
            except AgentRunError as error:
                if is_free(error):
                    await self._tab.give_back(reserved)
                wait = retry_after(error) or _BACKOFF.after(attempt)
                if attempt == ATTEMPTS or not is_passing(error) or wait > _LONGEST_PAUSE:
                    raise
            else:
                await self._settle(reserved, response)
                return response
            await self._pause(wait)
        raise AssertionError  # The last attempt returned or raised.

    async def _settle(self, reserved: Reserved, response: ModelResponse) -> None:
        usage = response.usage
        tokens = Tokens(
            input=usage.input_tokens,
            output=usage.output_tokens,
            cache_read=usage.cache_read_tokens,
            cache_write=usage.cache_write_tokens,
        )
        # A server that does not say what it used may have used all of it.
        is_told = bool(tokens.input or tokens.output)
        cost = self._prices.cost(tokens) if is_told else reserved.micro_usd
        await self._tab.settle(reserved, cost, tokens=(tokens.input, tokens.output))


def input_tokens(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    """About as many tokens as the request has, rather more than fewer."""
    tools = [*parameters.function_tools, *parameters.output_tools]
    shown = [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools]
    text = json.dumps([*_told(messages), *shown], ensure_ascii=False)
    return round(estimate(text) * _MARGIN) + _FRAME


def _told(messages: Sequence[ModelMessage]) -> Iterator[Any]:
    """What a vendor is sent of the messages, without times and ids, which are the library's own."""
    for message in ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"):
        yield message.get("instructions")
        for part in message["parts"]:
            yield [part.get(name) for name in _SENT]
