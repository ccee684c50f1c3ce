"""
What a turn of a hosted agent took, as it says so itself. There are five ways of saying it: in the answer to the prompt; there, in a field
of the vendor's own; behind each call to the model, in a field of another vendor's; as a line of text for a status bar, in a field of a third
one's; and as the size of the context, with what the session has cost so far or without. Who says nothing, or only how large the context is, is
estimated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Self

from commonplace.agent.acp.host.updates import Fields, count, fields, text
from commonplace.values.usage import MICRO

_STATUS_LINE: Final = re.compile(r"(?<![\d,.-])(\d[\d,]{0,15}) in, (\d[\d,]{0,15}) out\b")
"""`1,234 in, 56 out, 2 tools (0.1%)`: of the turn so far."""
_CHARACTERS: Final = 4
"""Of a token, about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedTokens:
    """What an agent says of its calls to a model. `cached` are part of `input`, `thoughts` of `output`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    thoughts: int = 0

    @classmethod
    def of(cls, usage: Fields) -> Self:
        """In the protocol's own words."""
        return cls(
            input=count(usage.get("inputTokens")),
            output=count(usage.get("outputTokens")),
            cached=count(usage.get("cachedReadTokens")),
            thoughts=count(usage.get("thoughtTokens")),
        )

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            thoughts=self.thoughts + other.thoughts,
        )

    def or_more(self, other: Self) -> Self:
        return replace(
            self,
            input=max(self.input, other.input),
            output=max(self.output, other.output),
            cached=max(self.cached, other.cached),
            thoughts=max(self.thoughts, other.thoughts),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedSpending:
    """`cost_micro_usd` None: it was not said. `used` of the `size` tokens of its context; 0: not known."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thought_tokens: int = 0
    cost_micro_usd: int | None = None
    estimated: bool = False
    used: int = 0
    size: int = 0


class HostedUsage:
    """That of one turn. `cost_before` is what the session had cost when it began: agents report the sum."""

    def __init__(self, cost_before: int = 0) -> None:
        self._cost_before = cost_before
        self._calls = self._used = self._size = 0
        self._cost: int | None = None
        self._on_the_way = self._answer = self._line = ReportedTokens()

    @property
    def cost_so_far(self) -> int:
        """Of the session."""
        return self._cost_before if self._cost is None else self._cost

    def hear_chunk(self, update: Fields) -> None:
        """Behind a call to the model (qwen-code)."""
        usage = fields(fields(update.get("_meta")).get("usage"))
        if usage:
            self._calls += 1
            self._on_the_way += ReportedTokens.of(usage)

    def hear_meta(self, message: Fields) -> None:
        """The status line of the turn so far (fast-agent), behind any update or in the answer."""
        meta = fields(message.get("_meta"))
        # Its library has put the field one level too deep at times.
        for holder in (meta, fields(meta.get("field_meta"))):
            line = text(fields(holder.get("openhands.dev/metrics")).get("status_line"))
            if (match := _STATUS_LINE.search(line)) is not None:
                tokens = (count(int(number.replace(",", ""))) for number in match.groups())
                self._line = self._line.or_more(ReportedTokens(input=next(tokens), output=next(tokens)))

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
        self.hear_meta(answer)
        usage = fields(answer.get("usage"))
        quota = fields(fields(fields(answer.get("_meta")).get("quota")).get("token_count"))
        if usage:
            self._answer = ReportedTokens.of(usage)
        elif quota:
            tokens = count(quota.get("input_tokens")), count(quota.get("output_tokens"))
            self._answer = ReportedTokens(input=tokens[0], output=tokens[1])

    def spending(self, characters_in: int, characters_out: int) -> HostedSpending:
        """All of it. The lengths of what was said are for the estimate."""
        # Some answer with the last call to the model, some with all of them: never less than what was said on the way.
        tokens = self._answer.or_more(self._on_the_way).or_more(self._line)
        is_estimated = (tokens.input, tokens.output) == (0, 0)
        if is_estimated:
            output = -(-characters_out // _CHARACTERS)
            tokens = ReportedTokens(input=max(self._used - output, -(-characters_in // _CHARACTERS)), output=output)
        cost = None if self._cost is None else max(0, self._cost - self._cost_before)
        return HostedSpending(
            requests=self._calls or 1,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cached_tokens=tokens.cached,
            thought_tokens=tokens.thoughts,
            cost_micro_usd=cost,
            estimated=is_estimated and cost is None,
            used=self._used,
            size=self._size,
        )
