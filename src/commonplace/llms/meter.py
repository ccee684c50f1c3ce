"""
A pydantic-ai model that pays for each request before it is sent.

It stands around every request that the library makes, also those by which it lets a model mend a malformed answer or go on
after a tool, so none goes unpaid; what it cannot meter (batches, compaction by the vendor) it refuses. It also sends again what
failed for a passing reason; the vendors' clients are told not to, since what they send a second time nobody would have paid for.

A stream is paid for in the same way: the most it can cost is reserved before it begins, and its reservation is settled once,
when it ends. If it ends early (the reader stops, the connection breaks, the task is cancelled), it costs what is known by
then: the usage that the vendor reported and the text that arrived, or the whole reservation if the vendor reported nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
from pydantic_ai import RunContext
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.batch import Batch, EncodedBatchRequest
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from commonplace.llms.failures import is_free, is_passing, retry_after
from commonplace.llms.prices import Prices, Tokens
from commonplace.llms.purse import Tab
from commonplace.text.tokens import estimate
from commonplace.values.retry import Backoff

ATTEMPTS: Final = 3
_BACKOFF: Final = Backoff(first=0.5)
_LONGEST_PAUSE: Final = 10.0
# Vendors frame messages and tools with tokens of their own, and blanks are no part of our estimate.
_FRAME: Final = 200
_MARGIN: Final = 1.25
_SENT: Final = ("content", "args", "tool_name")
_PATIENCE: Final = 5.0
"""Seconds for the store to reserve or to settle, also while the task is being cancelled."""

_UNMETERED: Final = "A metered model answers requests and streams. Nobody would pay for anything else."

Pause = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class Bill:
    """What a call costs: all that was reserved, until its answer says otherwise (`is_reported`)."""

    micro_usd: int
    most: int
    """What was reserved."""
    tokens: Tokens | None = None
    is_reported: bool = False


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
        settings, most = self._limited(model_settings), self._most(messages, model_request_parameters)
        attempt = 0
        while True:
            attempt += 1
            async with self._billed(most) as bill:
                try:
                    response = await self.wrapped.request(messages, settings, model_request_parameters)
                except AgentRunError as error:
                    wait = _wait_after(error, attempt, bill)
                else:
                    self._charge(bill, response)
                    return response
            await self._pause(wait)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        settings, most = self._limited(model_settings), self._most(messages, model_request_parameters)
        attempt = 0
        while True:
            attempt += 1
            async with AsyncExitStack() as stack:
                bill = await stack.enter_async_context(self._billed(most))
                try:
                    stream = await stack.enter_async_context(
                        self.wrapped.request_stream(messages, settings, model_request_parameters, run_context)
                    )
                except AgentRunError as error:
                    wait = _wait_after(error, attempt, bill)
                else:
                    try:
                        yield stream
                    finally:
                        self._charge(bill, stream.get())
                    return
            await self._pause(wait)

    async def batch_create(self, requests: Sequence[EncodedBatchRequest]) -> Batch:
        del requests
        raise UserError(_UNMETERED)

    async def compact_messages(
        self, request_context: ModelRequestContext, *, instructions: str | None = None
    ) -> ModelResponse:
        del request_context, instructions
        raise UserError(_UNMETERED)

    def _limited(self, settings: ModelSettings | None) -> ModelSettings:
        return ModelSettings(**{**(settings or {}), "max_tokens": self._output_tokens})  # pyright: ignore[reportArgumentType] - of that type already

    def _most(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
        """The most that a call can cost. If nobody knows what the model costs, that is a guess: it must not keep a task from its model."""
        most = self._prices.cost(Tokens(input=input_tokens(messages, parameters), output=self._output_tokens))
        room = self._tab.room
        return most if room is None or self._prices.is_known else min(most, room)

    @asynccontextmanager
    async def _billed(self, most: int) -> AsyncGenerator[Bill]:
        """Reserves, and settles once, whatever happens in between. Neither is left half done by a cancellation."""
        with anyio.fail_after(_PATIENCE, shield=True):
            reserved = await self._tab.reserve(most)
        bill = Bill(reserved.micro_usd, most=reserved.micro_usd)
        try:
            yield bill
        finally:
            with anyio.move_on_after(_PATIENCE, shield=True):
                await self._tab.settle(reserved, bill.micro_usd, tokens=bill.tokens, estimated=not bill.is_reported)

    def _charge(self, bill: Bill, response: ModelResponse) -> None:
        usage = response.usage
        output = usage.output_tokens
        is_told = bool(usage.input_tokens or output)
        if is_told and response.state != "complete":
            # Some vendors count what they wrote only at the end of a stream.
            output = max(output, min(self._output_tokens, output_tokens(response)))
        bill.tokens = Tokens(
            input=usage.input_tokens,
            output=output,
            cache_read=usage.cache_read_tokens,
            cache_write=usage.cache_write_tokens,
            thoughts=usage.output_reasoning_tokens,
        )
        # A server that does not report what it used may have used all of it.
        if is_told:
            cost = self._prices.cost(bill.tokens)
            bill.micro_usd = cost if self._prices.is_known else min(cost, bill.most)
            bill.is_reported = True


def _wait_after(error: AgentRunError, attempt: int, bill: Bill) -> float:
    """Seconds until the next attempt. Raises `error` if there is none."""
    if is_free(error):
        bill.micro_usd = 0
    wait = retry_after(error) or _BACKOFF.after(attempt)
    if attempt == ATTEMPTS or not is_passing(error) or wait > _LONGEST_PAUSE:
        raise error
    return wait


def input_tokens(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    """About as many tokens as the request has, rather more than fewer."""
    tools = [*parameters.function_tools, *parameters.output_tools]
    schemas = [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools]
    text = json.dumps([*_contents(messages), *schemas], ensure_ascii=False)
    return round(estimate(text) * _MARGIN) + _FRAME


def output_tokens(response: ModelResponse) -> int:
    """About as many tokens as have arrived."""
    [message] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return sum(estimate(str(part[name])) for part in message["parts"] for name in _SENT if part.get(name))


def _contents(messages: Sequence[ModelMessage]) -> Iterator[Any]:
    """What a vendor is sent of the messages, without times and ids, which are the library's own."""
    for message in ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"):
        yield message.get("instructions")
        for part in message["parts"]:
            yield [part.get(name) for name in _SENT]
