"""The port `LanguageModel` over pydantic-ai, which knows how each vendor is spoken to."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Self, TypeVar

import anyio
from pydantic import BaseModel
from pydantic_ai import Agent, Tool, ToolFailed, UsageLimitExceeded, UsageLimits
from pydantic_ai.models import Model

from commonplace.errors import CommonplaceError
from commonplace.llms.failures import told_plainly
from commonplace.llms.meter import MeteredModel, Pause
from commonplace.llms.prices import Prices
from commonplace.llms.purse import Purse
from commonplace.ports import models as port
from commonplace.text.scrub import scrub

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

_NAME: Final = "commonplace"
# An answer that does not have the form asked for may be mended once.
_ANSWERS: Final = 2
_PATIENCE: Final = 5.0


class PydanticAiModel:
    """Satisfies `LanguageModel`. `name` is how a person wrote it, for instance `openai:gpt-5-mini`."""

    def __init__(self, name: str, model: Model, *, prices: Prices, purse: Purse, pause: Pause = asyncio.sleep) -> None:
        self.name = name
        self._model = model
        self._prices = prices
        self._purse = purse
        self._pause = pause

    async def __aenter__(self) -> Self:
        await self._model.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._model.__aexit__(None, None, None)

    async def answer(self, question: port.ModelQuestion[T]) -> port.ModelAnswer[T]:
        agent = Agent(
            output_type=question.schema,
            instructions=scrub(question.system).text,
            name=_NAME,
            retries=_ANSWERS - 1,
        )

        async def work(model: Model) -> T:
            limits = UsageLimits(request_limit=_ANSWERS)
            return (await agent.run(scrub(question.prompt).text, model=model, usage_limits=limits)).output

        value, spent = await self._at_work(question, work)
        return port.ModelAnswer(value=value, spent=spent)

    async def act(self, task: port.Task, tools: Sequence[port.Tool]) -> port.Done:
        agent = Agent(
            instructions=scrub(task.system).text,
            name=_NAME,
            # One at a time: what one tool did, the next one finds done.
            tools=[Tool(_guarded(tool), takes_ctx=False, sequential=True) for tool in tools],
        )

        async def work(model: Model) -> str | None:
            limits = UsageLimits(request_limit=task.limits.turns)
            try:
                return (await agent.run(scrub(task.prompt).text, model=model, usage_limits=limits)).output
            except UsageLimitExceeded:
                return None

        text, spent = await self._at_work(task, work)
        return port.Done(text=text or "", spent=spent, finished=text is not None)

    async def _at_work(self, task: port.Task, work: Callable[[Model], Awaitable[R]]) -> tuple[R, port.Spent]:
        """Within the limits of the task, with a line in the ledger whatever becomes of it."""
        tab = self._purse.open(task, self.name)
        model = MeteredModel(
            self._model,
            tab=tab,
            prices=self._prices,
            output_tokens=task.limits.output_tokens,
            pause=self._pause,
        )
        ok = False
        try:
            with told_plainly():
                # Unlike asyncio's, it leaves a reservation alone that is being made or settled.
                with anyio.fail_after(task.limits.seconds):
                    result = await work(model)
            ok = True
            return result, tab.spent
        finally:
            with anyio.move_on_after(_PATIENCE, shield=True):
                await tab.close(ok=ok)


def _guarded(tool: port.Tool) -> port.Tool:
    """The tool, with what it says scrubbed, and with errors of ours told to the model."""

    @functools.wraps(tool)
    async def called(*args: Any, **kwargs: Any) -> str:
        try:
            output = await tool(*args, **kwargs)
        except CommonplaceError as error:
            raise ToolFailed(scrub(error.message).text) from error
        return scrub(output).text

    return called
