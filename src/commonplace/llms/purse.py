"""
A day's budget, and that of several tasks together, spent so that they cannot be passed.

Before a model is called, the most that the call can cost is taken from the budget; one statement of the store decides
whether there is so much left, so that of many calls at once only those are made that fit. After the call what was not used
is given back. A process that dies in between leaves it taken: the budget is then a little smaller that day, never larger.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from commonplace.errors import SpendingCapReached
from commonplace.ports.clock import Clock
from commonplace.ports.models import Pot, Spent, Task
from commonplace.ports.usage import SpendingStore
from commonplace.values.usage import COUNTER, SpendingDay, Usage, daily_budget, to_usd

_POT_LASTS: Final = timedelta(days=2)
_OFF: Final = "Models are turned off: the budget is 0. Raise it at /v1/budgets, or daily_budget_usd in [llm]."


@dataclass(frozen=True, kw_only=True, slots=True)
class Reserved:
    day: SpendingDay
    micro_usd: int
    pot: Pot | None = None


class Purse:
    """`daily` is what every tenant may spend that has no budget of its own."""

    def __init__(self, store: SpendingStore, clock: Clock, daily: int) -> None:
        self._store = store
        self._clock = clock
        self._daily = daily

    def open(self, task: Task, model: str) -> Tab:
        return Tab(self, task, model)

    async def reserve(self, tenant: str, micro_usd: int, pot: Pot | None = None) -> Reserved:
        """Raises SpendingCapReached."""
        budget = daily_budget(self._daily, await self._store.usage.budget(tenant))
        if budget == 0:
            raise SpendingCapReached(_OFF, cap="day")
        now = self._clock.now()
        day = SpendingDay.of(now)
        if pot is not None and not await self._take(tenant, pot, micro_usd):
            raise SpendingCapReached(
                "What several tasks may cost together is used up.", cap="pot", pot_usd=to_usd(pot.micro_usd)
            )
        if not await self._store.quotas.spend(tenant, day.name, day.window, {COUNTER: micro_usd}, {COUNTER: budget}):
            if pot is not None:
                await self._take(tenant, pot, -micro_usd)
            raise SpendingCapReached(
                cap="day", daily_usd=to_usd(budget), retry_after=(day.ends_at - now).total_seconds()
            )
        return Reserved(day=day, micro_usd=micro_usd, pot=pot)

    async def settle(self, tenant: str, reserved: Reserved, micro_usd: int) -> None:
        """What the call really cost. That may be more than was reserved: then the day is charged for it all the same."""
        difference = micro_usd - reserved.micro_usd
        if not difference:
            return
        await self._store.quotas.spend(tenant, reserved.day.name, reserved.day.window, {COUNTER: difference}, {})
        if reserved.pot is not None:
            await self._store.quotas.spend(tenant, _name(reserved.pot), _POT_LASTS, {COUNTER: difference}, {})

    async def _take(self, tenant: str, pot: Pot, micro_usd: int) -> bool:
        return await self._store.quotas.spend(
            tenant, _name(pot), _POT_LASTS, {COUNTER: micro_usd}, {COUNTER: pot.micro_usd}
        )

    async def note(self, task: Task, spent: Spent, *, ok: bool) -> None:
        usage = Usage(
            tenant=task.tenant,
            at=self._clock.now(),
            session=task.session,
            purpose=task.purpose,
            model=spent.model,
            agent=task.agent,
            workspace=task.workspace,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_micro_usd=spent.cost_micro_usd,
            ok=ok,
        )
        await self._store.usage.add_usage(usage)


def _name(pot: Pot) -> str:
    return f"pot:{pot.name}"


class Tab:
    """What one task has cost so far. A call whose end nobody saw counts with all that was reserved for it."""

    def __init__(self, purse: Purse, task: Task, model: str) -> None:
        self._purse = purse
        self._task = task
        self._model = model
        self._calls = self._input = self._output = self._micro_usd = 0
        self._open: list[Reserved] = []

    @property
    def spent(self) -> Spent:
        return Spent(
            model=self._model,
            calls=self._calls,
            input_tokens=self._input,
            output_tokens=self._output,
            cost_micro_usd=self._micro_usd,
        )

    @property
    def open_reservations(self) -> int:
        """How many calls have not been settled."""
        return len(self._open)

    async def reserve(self, micro_usd: int) -> Reserved:
        """Raises SpendingCapReached: the task, its pot, or the day, has not so much left."""
        cap = self._task.limits.micro_usd
        if cap is not None and self._micro_usd + micro_usd > cap:
            raise SpendingCapReached(
                "The task might cost more than it may. Give the model less to read, or choose a cheaper one in [llm].",
                cap="task",
                task_usd=to_usd(cap),
            )
        # Counted at once: another call of the task may ask while the store decides.
        self._count(micro_usd)
        with ExitStack() as undo:
            undo.callback(self._count, -micro_usd)
            reserved = await self._purse.reserve(self._task.tenant, micro_usd, self._task.limits.pot)
            undo.pop_all()
        self._open.append(reserved)
        return reserved

    async def settle(self, reserved: Reserved, micro_usd: int, *, tokens: tuple[int, int] | None = None) -> None:
        """
        End a call: it cost so much. `tokens`, read and written, are None if it was not answered.

        Raises:
            ValueError: this call was settled before.
        """
        self._open.remove(reserved)
        if tokens is not None:
            self._calls += 1
            self._input += tokens[0]
            self._output += tokens[1]
        await self._purse.settle(self._task.tenant, reserved, micro_usd)
        self._count(micro_usd - reserved.micro_usd)

    async def close(self, *, ok: bool) -> None:
        """Leave a line, where there is anything to tell."""
        spent = self.spent
        if spent.input_tokens or spent.output_tokens or spent.cost_micro_usd:
            await self._purse.note(self._task, spent, ok=ok)

    def _count(self, micro_usd: int) -> None:
        self._micro_usd += micro_usd
