"""
A day's budget, and those of several tasks together, spent so that they cannot be passed.

Before a model is called, the most that the call can cost is taken from every budget it is charged to: the day's, and pots such
as that of a session or a room. One statement of the store decides for each whether there is so much left, so that of many calls
at once only those are made that fit; if one refuses, the others get back what was taken. After the call what was not used
is given back. A process that dies in between leaves it taken: a budget is then a little smaller that day, never larger.

What a hosted agent used and never reported is an estimate. It is counted beside the real money, warns, and refuses nothing.

A task that is `whole`, such as a turn in a room, is declined before it begins, and never in the middle: its first call is refused once a
pot is used up, and those after it are charged to whatever there is. A budget may so be passed by the tasks that were under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

import anyio

from commonplace.errors import SpendingCapReached, StoreError
from commonplace.llms.prices import Tokens
from commonplace.ports.clock import Clock
from commonplace.ports.models import Pot, Spent, TaskLimits
from commonplace.ports.usage import SpendingStore
from commonplace.values.usage import (
    COUNTER,
    ESTIMATED_TOKENS,
    ESTIMATES,
    TOKENS,
    SpendingDay,
    Usage,
    daily_budget,
    to_usd,
)

_OFF: Final = "Models are turned off: the budget is 0. Raise it at /v1/budgets, or daily_budget_usd in [llm]."
_CHAT_OFF: Final = "Models are turned off for chat: its budget is 0. Raise chat_budget_usd in [llm]."
_CHAT_DAY: Final = (
    "What chat may cost in a day is used up, so no model was called. Wait for the next day (UTC), or raise chat_budget_usd in "
    "[llm]."
)
_PATIENCE: Final = 5.0
"""Seconds to give back what was taken, also while the task is being cancelled."""


class PaidWork(Protocol):
    """What the ledger says of a task, and what it may take."""

    @property
    def tenant(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def limits(self) -> TaskLimits: ...
    @property
    def agent(self) -> str | None: ...
    @property
    def workspace(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """
    One budget that a call is charged to, as the store counts it, and what it says if it refuses. `off`: it always does. `is_day`: it is that of
    the day, and not a pot.
    """

    name: str
    pot: Pot
    refusal: SpendingCapReached
    off: bool = False
    is_day: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTerms:
    """
    How a call is charged. `whole`: it is of a task that is finished once it has begun; `begun`: that one has. `priced`: somebody said what its
    model costs; else what it costs is an estimate to the pots.
    """

    whole: bool = False
    begun: bool = False
    priced: bool = True


_PLAIN: Final = CallTerms()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reserved:
    counters: tuple[Counter, ...]
    micro_usd: int
    terms: CallTerms = _PLAIN

    def held(self, counter: Counter) -> int:
        """How much of it was taken from one of them."""
        return self.micro_usd if counter.is_day or self.terms.priced else 0


class Purse:
    """`daily` is what every tenant may spend that has no budget of its own."""

    def __init__(self, store: SpendingStore, clock: Clock, daily: int) -> None:
        self._store = store
        self._clock = clock
        self._daily = daily

    def open(self, work: PaidWork, model: str, pots: Sequence[Pot] = (), terms: CallTerms = _PLAIN) -> Tab:
        """`pots` are charged beside those of the limits."""
        return Tab(self, work, model, (*work.limits.pots, *pots), terms)

    async def reserve(
        self, tenant: str, micro_usd: int, pots: Sequence[Pot] = (), terms: CallTerms = _PLAIN
    ) -> Reserved:
        """
        Take so much from the day and from every pot, or from none of them.

        Raises:
            SpendingCapReached: one has not so much left; `cap` in its details says which.
        """
        counters = (*map(_counter_of, pots), await self._day(tenant, self._clock.now()))
        reserved = Reserved(counters=counters, micro_usd=micro_usd, terms=terms)
        for counter in counters:
            if counter.off and not terms.begun:
                raise counter.refusal
        charged: list[Counter] = []
        try:
            for counter in counters:
                if not await self._take(tenant, counter, reserved):
                    raise counter.refusal
                charged.append(counter)
        except BaseException:
            with anyio.move_on_after(_PATIENCE, shield=True):
                # Why nothing was reserved matters more than that something could not be given back.
                with suppress(StoreError):
                    for counter in charged:
                        await self._charge(tenant, counter, {COUNTER: -reserved.held(counter)})
            raise
        return reserved

    async def settle(
        self, tenant: str, reserved: Reserved, micro_usd: int, tokens: int = 0, *, estimated: bool = False
    ) -> None:
        """
        What the call really cost. That may be more than was reserved: then all are charged for it all the same. `estimated`: nobody reported it;
        to the pots of a whole task it is no more than that.
        """
        terms = reserved.terms
        is_guess = not terms.priced or (terms.whole and estimated)
        for counter in reserved.counters:
            money = {COUNTER: micro_usd - reserved.held(counter)}
            if is_guess and not counter.is_day:
                money = {COUNTER: -reserved.held(counter), ESTIMATES: micro_usd}
            is_counted = terms.whole and not counter.is_day
            await self._charge(tenant, counter, {**money, TOKENS: tokens} if is_counted else money)

    async def estimate(self, tenant: str, micro_usd: int, pots: Sequence[Pot] = (), tokens: int = 0) -> tuple[str, ...]:
        """
        Count what was probably used and nobody reported. Answers which caps are passed with it: something to warn of, and nothing
        that a later call is refused for.
        """
        caps: list[str] = []
        for counter in (*map(_counter_of, pots), await self._day(tenant, self._clock.now())):
            pot = counter.pot
            amounts = {ESTIMATES: micro_usd} if counter.is_day else {ESTIMATES: micro_usd, ESTIMATED_TOKENS: tokens}
            await self._charge(tenant, counter, amounts)
            spent = await self._store.quotas.spent(tenant, counter.name, pot.lasts)
            if pot.micro_usd is not None and spent.get(COUNTER, 0) + spent.get(ESTIMATES, 0) > pot.micro_usd:
                caps.append(pot.cap)
        return tuple(caps)

    async def _take(self, tenant: str, counter: Counter, reserved: Reserved) -> bool:
        """Whether there was so much; of a whole task, whether there is anything left when it begins."""
        pot, terms, micro_usd = counter.pot, reserved.terms, reserved.held(counter)
        limits = {} if pot.micro_usd is None else {COUNTER: pot.micro_usd}
        if terms.begun:
            await self._charge(tenant, counter, {COUNTER: micro_usd})
            return True
        if not terms.whole or counter.is_day:
            return await self._store.quotas.spend(tenant, counter.name, pot.lasts, {COUNTER: micro_usd}, limits)
        if pot.tokens is not None:
            limits[TOKENS] = pot.tokens
        if not await self._store.quotas.spend(tenant, counter.name, pot.lasts, {COUNTER: 1, TOKENS: 1}, limits):
            return False
        await self._charge(tenant, counter, {COUNTER: micro_usd - 1, TOKENS: -1})
        return True

    async def _charge(self, tenant: str, counter: Counter, amounts: dict[str, int]) -> None:
        """Whatever its limit is."""
        amounts = {name: amount for name, amount in amounts.items() if amount}
        if amounts:
            await self._store.quotas.spend(tenant, counter.name, counter.pot.lasts, amounts, {})

    async def _day(self, tenant: str, now: datetime) -> Counter:
        budget = daily_budget(self._daily, await self._store.usage.budget(tenant))
        return _day_counter(SpendingDay.of(now), now, budget, off=_OFF)

    async def note(self, work: PaidWork, spent: Spent, *, ok: bool) -> None:
        usage = Usage(
            tenant=work.tenant,
            at=self._clock.now(),
            session=work.session,
            purpose=work.purpose,
            model=spent.model,
            agent=work.agent,
            workspace=work.workspace,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_micro_usd=spent.cost_micro_usd,
            ok=ok,
        )
        await self._store.usage.add_usage(usage)


class ChatPurse(Purse):
    """What chat may cost in a day is counted apart, and is the same for every tenant."""

    async def _day(self, tenant: str, now: datetime) -> Counter:
        del tenant
        return _day_counter(SpendingDay.of(now, "chat"), now, self._daily, off=_CHAT_OFF, full=_CHAT_DAY)


def _counter_of(pot: Pot) -> Counter:
    usd = None if pot.micro_usd is None else to_usd(pot.micro_usd)
    refusal = SpendingCapReached(
        "What several tasks may cost together is used up.", cap=pot.cap, pot=pot.name, pot_usd=usd
    )
    return Counter(name=f"pot:{pot.name}", pot=pot, refusal=refusal)


def _day_counter(day: SpendingDay, now: datetime, budget: int, *, off: str, full: str | None = None) -> Counter:
    wait = (day.ends_at - now).total_seconds()
    refusal = SpendingCapReached(full, cap="day", daily_usd=to_usd(budget), retry_after=wait)
    return Counter(
        name=day.name,
        pot=Pot(name=day.name, micro_usd=budget, cap="day", lasts=day.window),
        # Nothing to wait for.
        refusal=refusal if budget else SpendingCapReached(off, cap="day"),
        off=not budget,
        is_day=True,
    )


class Tab:
    """What one task has cost so far. A call whose end nobody saw counts with all that was reserved for it."""

    def __init__(
        self, purse: Purse, work: PaidWork, model: str, pots: Sequence[Pot] = (), terms: CallTerms = _PLAIN
    ) -> None:
        self._purse = purse
        self._work = work
        self._model = model
        self._pots = pots
        self._terms = terms
        self._calls = self._input = self._output = self._cached = self._thoughts = self._micro_usd = 0
        self._open: list[Reserved] = []

    @property
    def spent(self) -> Spent:
        return Spent(
            model=self._model,
            calls=self._calls,
            input_tokens=self._input,
            output_tokens=self._output,
            cached_tokens=self._cached,
            thought_tokens=self._thoughts,
            cost_micro_usd=self._micro_usd,
        )

    @property
    def room(self) -> int | None:
        """What the task may still cost; None if it has no limit of its own."""
        cap = self._work.limits.micro_usd
        return None if cap is None else max(cap - self._micro_usd, 0)

    @property
    def open_reservations(self) -> int:
        """How many calls have not been settled."""
        return len(self._open)

    async def reserve(self, micro_usd: int) -> Reserved:
        """Raises SpendingCapReached: the task, one of its pots, or the day, has not so much left."""
        cap = self._work.limits.micro_usd
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
            reserved = await self._purse.reserve(self._work.tenant, micro_usd, self._pots, self._terms)
            undo.pop_all()
        # What has begun is finished.
        self._terms = replace(self._terms, begun=self._terms.whole)
        self._open.append(reserved)
        return reserved

    async def settle(
        self, reserved: Reserved, micro_usd: int, *, tokens: Tokens | None = None, estimated: bool = False
    ) -> None:
        """
        End a call: it cost so much. `tokens` None: it was not answered; `estimated`: nobody reported them.

        Raises:
            ValueError: this call was settled before.
        """
        self._open.remove(reserved)
        if tokens is not None:
            self._calls += 1
            self._input += tokens.input
            self._output += tokens.output
            self._cached += tokens.cache_read
            self._thoughts += tokens.thoughts
        counted = 0 if tokens is None or estimated else tokens.input + tokens.output
        await self._purse.settle(self._work.tenant, reserved, micro_usd, counted, estimated=estimated)
        self._count(micro_usd - reserved.micro_usd)

    async def close(self, *, ok: bool) -> None:
        """Leave a line, where there is anything to tell."""
        spent = self.spent
        if spent.input_tokens or spent.output_tokens or spent.cost_micro_usd:
            await self._purse.note(self._work, spent, ok=ok)

    def _count(self, micro_usd: int) -> None:
        self._micro_usd += micro_usd
