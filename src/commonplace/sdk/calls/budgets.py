"""What language models cost."""

from __future__ import annotations

from commonplace.sdk.documents import query, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.usage import Budget
from commonplace.wire.budgets import BudgetAnswer


def _read(body: bytes) -> Budget:
    return BudgetAnswer.model_validate_json(body).value()


def budgets(days: int, limit: int) -> Talk[Budget]:
    told = query({"days": days, "limit": limit})
    return asked(Call(method="GET", path="/v1/budgets", query=told, read=_read, reads=True))


def set_budget(daily_usd: float | None) -> Talk[Budget]:
    return asked(Call(method="PUT", path="/v1/budgets", body=written({"daily_usd": daily_usd}), read=_read))
