"""
Turns of hosted agents in our budgets. Such an agent calls its model itself: what it will cost is not known before, so that a turn is
refused only when a budget is used up already, and is charged with what the agent reports afterwards. What it does not report is an
estimate, which refuses nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from commonplace.llms.choose import read_price
from commonplace.llms.prices import Tokens
from commonplace.llms.purse import CallTerms, ChatPurse, Reserved, Tab
from commonplace.ports.chat import ChatTask, HostedCharge, HostedCost
from commonplace.ports.clock import Clock
from commonplace.ports.usage import SpendingStore

_PATIENCE: Final = 5.0


class ChatHostedPurse:
    """`price` is what the tokens of the agent cost, as INPUT/OUTPUT in US dollars for a million; None: nothing but what it reports itself."""

    def __init__(self, store: SpendingStore, clock: Clock, daily_micro_usd: int, price: str | None = None) -> None:
        """Raises InvalidInput: the price is none."""
        self._purse = ChatPurse(store, clock, daily_micro_usd)
        self._price = read_price(price) if price is not None else (0.0, 0.0)

    @asynccontextmanager
    async def open(self, task: ChatTask, name: str) -> AsyncGenerator[ChatHostedBill]:
        """As `HostedPurse.open`."""
        tab = self._purse.open(task, name, task.pots, CallTerms(whole=task.whole))
        bill = ChatHostedBill(self._purse, task, tab, await tab.reserve(0), self._price)
        ok = False
        try:
            yield bill
            ok = True
        finally:
            with anyio.move_on_after(_PATIENCE, shield=True):
                await bill.close(ok=ok)


class ChatHostedBill:
    """As `HostedBill`."""

    def __init__(
        self, purse: ChatPurse, task: ChatTask, tab: Tab, reserved: Reserved, price: tuple[float, float]
    ) -> None:
        self._purse = purse
        self._task = task
        self._tab = tab
        self._reserved: Reserved | None = reserved
        self._price = price

    async def charge(self, charge: HostedCharge) -> HostedCost:
        """As `HostedBill.charge`."""
        reserved, self._reserved = self._reserved, None
        assert reserved is not None
        tokens = Tokens(input=charge.input_tokens, output=charge.output_tokens)
        # Dollars for a million tokens are millionths of a dollar for one.
        priced = round(tokens.input * self._price[0] + tokens.output * self._price[1])
        micro_usd = priced if charge.cost_micro_usd is None else charge.cost_micro_usd
        if not charge.estimated:
            await self._tab.settle(reserved, micro_usd, tokens=tokens)
            return HostedCost(micro_usd=micro_usd)
        await self._tab.settle(reserved, 0, tokens=tokens, estimated=True)
        pots = (*self._task.limits.pots, *self._task.pots)
        passed = await self._purse.estimate(self._task.tenant, micro_usd, pots, tokens.input + tokens.output)
        return HostedCost(micro_usd=micro_usd, passed=passed)

    async def close(self, *, ok: bool) -> None:
        """Leave a line in the ledger."""
        if self._reserved is not None:
            await self._tab.settle(self._reserved, 0)
        await self._tab.close(ok=ok)
