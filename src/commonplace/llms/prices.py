"""
What tokens cost: an operator's own table first, then the published prices that `genai-prices` carries, then one price for
all that nobody knows.

The published prices lie in the package. Nothing is fetched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from genai_prices import Usage, calc_price

from commonplace.values.usage import MICRO


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """US dollars for a million tokens, which is as many millionths of a dollar for one."""

    input: float
    output: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """`cache_read` and `cache_write` are part of `input`, `thoughts` of `output`."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    thoughts: int = 0


UNKNOWN: Final = Price(input=5.0, output=25.0)
"""Dearer than most, so that a budget is not passed for want of a price."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Of one model. `own` is by the model's name; `address` is where a server that is nobody's in particular listens."""

    model: str
    vendor: str | None = None
    address: str | None = None
    own: Mapping[str, Price] = field(default_factory=dict[str, Price])
    unknown: Price = UNKNOWN

    @property
    def is_known(self) -> bool:
        """Whether somebody said what this model costs: the operator, for it or for all that nobody knows, or its vendor."""
        return self.model in self.own or self.unknown != UNKNOWN or self._published(_ONE) is not None

    def cost(self, tokens: Tokens) -> int:
        """In millionths of a dollar, rounded up."""
        if price := self.own.get(self.model):
            return _micro(_by(price, tokens))
        published = self._published(tokens)
        return _micro(_by(self.unknown, tokens) if published is None else published * MICRO)

    def _published(self, tokens: Tokens) -> Decimal | None:
        usage = Usage(
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cache_read_tokens=tokens.cache_read,
            cache_write_tokens=tokens.cache_write,
        )
        # A name alone is not looked up: another vendor may use it for something that costs less.
        try:
            if self.vendor is not None:
                return calc_price(usage, self.model, provider_id=self.vendor).total_price
            if self.address is not None:
                return calc_price(usage, self.model, provider_api_url=self.address).total_price
        except (LookupError, ValueError):
            return None  # Nobody's, or a usage that does not add up.
        return None


_ONE: Final = Tokens(input=1, output=1)


def _by(price: Price, tokens: Tokens) -> Decimal:
    return Decimal(str(price.input)) * tokens.input + Decimal(str(price.output)) * tokens.output


def _micro(amount: Decimal) -> int:
    return max(math.ceil(amount), 0)
