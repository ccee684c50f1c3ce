"""What language models cost, on the wire. Money is in US dollars, to the millionth."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from commonplace.values.json import Natural
from commonplace.values.moment import Moment
from commonplace.values.usage import Budget, ChatBudget, Usage, UsageTotal, to_micro, to_usd
from commonplace.wire.queries import UrlQuery
from commonplace.wire.shapes import Answer, NarrowBody, shared


class BudgetQuery(UrlQuery):
    days: int = Field(default=1, ge=1, le=366, description="Of how many days the totals are, today included.")
    limit: int = Field(default=20, ge=0, le=1000, description="How many of the latest tasks are told.")


class BudgetBody(NarrowBody):
    """`daily_usd`: what may be spent in a day (UTC). 0 turns models off; null goes back to the daemon's own setting."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"daily_usd": 0.5}]})

    daily_usd: float | None = Field(ge=0, le=1_000_000, allow_inf_nan=False)

    @property
    def micro_usd(self) -> int | None:
        return None if self.daily_usd is None else to_micro(self.daily_usd)


class TotalAnswer(Answer):
    """All tasks of one purpose and model."""

    purpose: str
    model: str
    tasks: Natural
    failed: Natural
    input_tokens: Natural
    output_tokens: Natural
    cost_usd: float

    @classmethod
    def of(cls, total: UsageTotal) -> TotalAnswer:
        return cls(**shared(cls, total), cost_usd=to_usd(total.cost_micro_usd))

    def value(self) -> UsageTotal:
        fields = {name: value for name, value in self if name != "cost_usd"}
        return UsageTotal(**fields, cost_micro_usd=to_micro(self.cost_usd))


class UsageAnswer(Answer):
    """One task. `session` names the work, for instance `memory-extract:<session>`."""

    tenant: str
    at: Moment
    session: str
    purpose: str
    model: str
    agent: str | None
    workspace: str | None
    input_tokens: Natural
    output_tokens: Natural
    cost_usd: float
    ok: bool

    @classmethod
    def of(cls, usage: Usage) -> UsageAnswer:
        return cls(**shared(cls, usage), cost_usd=to_usd(usage.cost_micro_usd))

    def value(self) -> Usage:
        fields = {name: value for name, value in self if name != "cost_usd"}
        return Usage(**fields, cost_micro_usd=to_micro(self.cost_usd))


class ChatBudgetAnswer(Answer):
    """What chat may cost in a day, apart from the rest. `estimated_usd` is what nobody reported; it refuses nothing."""

    daily_usd: float
    spent_usd: float
    left_usd: float
    estimated_usd: float

    @classmethod
    def of(cls, chat: ChatBudget) -> ChatBudgetAnswer:
        return cls(
            daily_usd=to_usd(chat.daily),
            spent_usd=to_usd(chat.spent),
            left_usd=to_usd(chat.left),
            estimated_usd=to_usd(chat.estimated),
        )

    def value(self) -> ChatBudget:
        return ChatBudget(
            daily=to_micro(self.daily_usd), spent=to_micro(self.spent_usd), estimated=to_micro(self.estimated_usd)
        )


class BudgetAnswer(Answer):
    """
    Today's budget. `model` is null where everything is done by rules. `own`: the budget was set for this tenant; else it is
    `standard_usd`, the daemon's. `spent_usd` holds what calls that have not ended may still cost. The totals begin at
    `since`, the dearest first; `latest` are tasks, newest first.
    """

    model: str | None
    daily_usd: float
    standard_usd: float
    own: bool
    spent_usd: float
    left_usd: float
    resets_at: Moment
    since: Moment
    totals: list[TotalAnswer]
    latest: list[UsageAnswer]
    chat: ChatBudgetAnswer

    @classmethod
    def of(cls, budget: Budget) -> BudgetAnswer:
        return cls(
            model=budget.model,
            daily_usd=to_usd(budget.daily),
            standard_usd=to_usd(budget.standard),
            own=budget.own,
            spent_usd=to_usd(budget.spent),
            left_usd=to_usd(budget.left),
            resets_at=budget.resets_at,
            since=budget.since,
            totals=[TotalAnswer.of(total) for total in budget.totals],
            latest=[UsageAnswer.of(usage) for usage in budget.latest],
            chat=ChatBudgetAnswer.of(budget.chat),
        )

    def value(self) -> Budget:
        return Budget(
            model=self.model,
            daily=to_micro(self.daily_usd),
            standard=to_micro(self.standard_usd),
            own=self.own,
            spent=to_micro(self.spent_usd),
            resets_at=self.resets_at,
            since=self.since,
            totals=tuple(total.value() for total in self.totals),
            latest=tuple(usage.value() for usage in self.latest),
            chat=self.chat.value(),
        )
