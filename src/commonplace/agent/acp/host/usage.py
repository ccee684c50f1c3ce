"""
What a turn of a hosted agent took, as it says so itself. There are five ways of saying it: in the answer to the prompt; there, in a field
of the vendor's own; behind each call to the model, in a field of another vendor's; as the size of the context, with what the
session has cost so far; and so without the cost. Who says nothing, or only how large the context is, is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commonplace.agent.acp.host.updates import Fields, count, fields, text
from commonplace.values.usage import MICRO

_CHARACTERS: Final = 4
"""Of a token, about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedSpending:
    """`cost_micro_usd` None: it was not said. `used` of the `size` tokens of its context; 0: not known."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int | None = None
    estimated: bool = False
    used: int = 0
    size: int = 0


class HostedUsage:
    """That of one turn. `cost_before` is what the session had cost when it began: agents report the sum."""

    def __init__(self, cost_before: int = 0) -> None:
        self._cost_before = cost_before
        self._calls = self._input = self._output = 0
        self._used = self._size = 0
        self._cost: int | None = None
        self._answer: tuple[int, int] | None = None

    @property
    def cost_so_far(self) -> int:
        """Of the session."""
        return self._cost_before if self._cost is None else self._cost

    def hear_chunk(self, update: Fields) -> None:
        """Behind a call to the model (qwen-code)."""
        usage = fields(fields(update.get("_meta")).get("usage"))
        if usage:
            self._calls += 1
            self._input += count(usage.get("inputTokens"))
            self._output += count(usage.get("outputTokens"))

    def hear_context(self, update: Fields) -> None:
        """A `usage_update`: the size of the context, and perhaps what the session has cost."""
        self._used, self._size = count(update.get("used")), count(update.get("size"))
        cost = fields(update.get("cost"))
        amount = cost.get("amount")
        # Not a number is not in any range.
        if isinstance(amount, int | float) and 0 <= amount < MICRO and text(cost.get("currency")) in ("", "USD"):
            self._cost = round(amount * MICRO)

    def hear_answer(self, answer: Fields) -> None:
        """The answer to the prompt."""
        usage = fields(answer.get("usage"))
        quota = fields(fields(fields(answer.get("_meta")).get("quota")).get("token_count"))
        if usage:
            self._answer = count(usage.get("inputTokens")), count(usage.get("outputTokens"))
        elif quota:
            self._answer = count(quota.get("input_tokens")), count(quota.get("output_tokens"))

    def spending(self, characters_in: int, characters_out: int) -> HostedSpending:
        """All of it. The lengths of what was said are for the estimate."""
        own = self._answer or (0, 0)
        # Some answer with the last call to the model, some with all of them: never less than what was said on the way.
        tokens = max(own[0], self._input), max(own[1], self._output)
        is_estimated = tokens == (0, 0)
        if is_estimated:
            output = -(-characters_out // _CHARACTERS)
            tokens = max(self._used - output, -(-characters_in // _CHARACTERS)), output
        cost = None if self._cost is None else max(0, self._cost - self._cost_before)
        return HostedSpending(
            requests=self._calls or 1,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost_micro_usd=cost,
            estimated=is_estimated and cost is None,
            used=self._used,
            size=self._size,
        )
