"""
Models that talk: opened for one turn by name, and paid for out of every budget that the turn is charged to.

Only names that the operator allowed can be asked for, so that nobody makes the daemon call a model of their choice. Where no model
is set the librarian answers, which calls nobody and costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Self

import anyio
from pydantic_ai.models import Model

from commonplace.errors import InvalidInput
from commonplace.llms.choose import ModelOptions, account_of, chat_names, make_model, prices_of
from commonplace.llms.failures import told_plainly
from commonplace.llms.meter import MeteredModel, Pause
from commonplace.llms.purse import CallTerms, ChatPurse, Tab
from commonplace.ports.chat import LIBRARIAN, ChatTask
from commonplace.ports.clock import Clock
from commonplace.ports.models import Spent
from commonplace.ports.usage import SpendingStore

_PATIENCE: Final = 5.0


MakeLibrarian = Callable[[ChatTask], Model]


class MeteredChat:
    """A model for one turn. `name` is how a person writes it; `spent` is what the turn has cost so far."""

    def __init__(self, name: str, model: Model, tab: Tab | None) -> None:
        self.name = name
        self.model = model
        self._tab = tab

    @property
    def spent(self) -> Spent:
        return Spent(model=self.name) if self._tab is None else self._tab.spent


class ChatModels:
    """Enter it before it is used: it keeps the connections to vendors. `names` may be asked for, the first if nobody asks."""

    def __init__(
        self,
        options: ModelOptions,
        store: SpendingStore,
        clock: Clock,
        librarian: MakeLibrarian,
        *,
        make: Callable[[str, ModelOptions], Model] | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._options = options
        self._purse = ChatPurse(store, clock, options.chat_micro_usd)
        self._librarian = librarian
        self._make = make or _make
        self._pause = pause
        self._models: dict[str, Model] = {}
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self.names = chat_names(options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def name_of(self, *wishes: str | None) -> str:
        """
        The first of `wishes` that is one (the request's, the agent's), else the name of the settings.

        Raises:
            InvalidInput: it may not be asked for here.
        """
        wish = next((wish.strip() for wish in wishes if wish is not None and wish.strip()), self.names[0])
        name = LIBRARIAN if wish == "none" else wish
        if name not in self.names:
            raise InvalidInput(
                f"The model {name!r:.80} may not be used here. Ask for one of: {', '.join(self.names)}. The operator allows "
                "others by models in [llm].",
                models=list(self.names),
            )
        return name

    @asynccontextmanager
    async def open(self, task: ChatTask) -> AsyncGenerator[MeteredChat]:
        """
        The model that the task names, until the turn ends; then its line is in the ledger, whatever became of it.

        Raises:
            InvalidInput: it may not be asked for here, or a key is missing.
            ModelUnavailable: the extra that it needs is not installed.
            ModelError: from the block, for what pydantic-ai raises there. Whoever means to go on after such an error (a limit of
                requests, a cancelled run) catches it inside.
        """
        name = self.name_of(task.model_name)
        if name == LIBRARIAN:
            yield MeteredChat(name, self._librarian(task), None)
            return
        model = await self._opened(name)
        prices = prices_of(name, self._options, account_of(name, self._options).base_url)
        # Outside of rooms a guess is better than a pot that is never empty.
        terms = CallTerms(whole=task.whole, priced=prices.is_known or not task.whole)
        tab = self._purse.open(task, name, task.pots, terms)
        metered = MeteredModel(
            model, tab=tab, prices=prices, output_tokens=task.limits.output_tokens, pause=self._pause
        )
        ok = False
        try:
            with told_plainly():
                yield MeteredChat(name, metered, tab)
            ok = True
        finally:
            with anyio.move_on_after(_PATIENCE, shield=True):
                await tab.close(ok=ok)

    async def estimate(self, task: ChatTask, micro_usd: int) -> tuple[str, ...]:
        """
        Count what a turn probably cost that nobody reported, for instance a hosted agent's. Answers the caps that are passed with
        it, to warn of; nothing is refused for it.
        """
        return await self._purse.estimate(task.tenant, micro_usd, (*task.limits.pots, *task.pots))

    async def _opened(self, name: str) -> Model:
        async with self._lock:
            if name not in self._models:
                self._models[name] = await self._stack.enter_async_context(
                    self._make(name, account_of(name, self._options))
                )
            return self._models[name]


def _make(name: str, account: ModelOptions) -> Model:
    model = make_model(name, api_key=account.api_key, base_url=account.base_url, timeout=account.timeout)
    # `none` is no name of these.
    assert model is not None
    return model
