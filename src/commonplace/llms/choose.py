"""A language model from the few words a person writes for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from commonplace.errors import InvalidInput, ModelUnavailable
from commonplace.ports.chat import LIBRARIAN
from commonplace.ports.clock import Clock
from commonplace.ports.usage import SpendingStore

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from commonplace.llms.language_model import PydanticAiModel
    from commonplace.llms.prices import Prices

FORMS: Final = ("none", "anthropic:MODEL", "google:MODEL", "openai:MODEL, of OpenAI or of the server at base_url")
_SPEC: Final = re.compile(r"(?P<vendor>anthropic|google|openai):(?P<model>\S+)")
_PRICE: Final = re.compile(r"\s*(?P<input>\d+(?:\.\d+)?)\s*/\s*(?P<output>\d+(?:\.\d+)?)\s*")
_MISSING: Final = "Language models need an extra: pip install 'commonplace[llm]', or set model in [llm] to none."


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelOptions:
    """
    What an operator set. `prices` are MODEL=INPUT/OUTPUT, in US dollars for a million tokens, `price` that of the rest.
    `models` may be named beside `model`.
    """

    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    timeout: float = 60.0
    prices: Sequence[str] = ()
    price: str = "5/25"
    daily_micro_usd: int = 1_000_000
    models: Sequence[str] = ()
    chat_micro_usd: int = 5_000_000


def make_model(
    spec: str, *, api_key: str | None = None, base_url: str | None = None, timeout: float = 60.0
) -> Model | None:
    """
    The pydantic-ai model that `spec` names, None for `none`. Without a key the vendor's own variable is used
    (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GOOGLE_API_KEY`), but never for a server at a `base_url` of its own.

    Raises:
        InvalidInput: no form of `FORMS`, or a key is missing.
        ModelUnavailable: the extra `llm` is not installed.
    """
    if spec.strip() == "none":
        return None
    vendor, model = read_spec(spec)
    try:
        # An extra, and seconds to import.
        from commonplace.llms.vendors import VendorAccount, make  # noqa: PLC0415
    except ImportError as error:
        raise ModelUnavailable(_MISSING) from error
    return make(vendor, model, VendorAccount(api_key=api_key, base_url=base_url, timeout=timeout))


def make_language_model(options: ModelOptions, store: SpendingStore, clock: Clock) -> PydanticAiModel | None:
    """
    The model, metered and paid for out of `store`; enter it before it is used. None where none is asked for.

    Raises:
        As `make_model`, and InvalidInput for a price that is none.
    """
    spec = (options.model or "none").strip()
    model = make_model(spec, api_key=options.api_key, base_url=options.base_url, timeout=options.timeout)
    if model is None:
        return None
    # As above.
    from commonplace.llms.language_model import PydanticAiModel  # noqa: PLC0415
    from commonplace.llms.purse import Purse  # noqa: PLC0415

    purse = Purse(store, clock, options.daily_micro_usd)
    return PydanticAiModel(spec, model, prices=prices_of(spec, options, options.base_url), purse=purse)


def prices_of(spec: str, options: ModelOptions, base_url: str | None) -> Prices:
    """
    What the model that `spec` names costs, at its vendor's or at `base_url`.

    Raises:
        InvalidInput: a price that is none.
    """
    # As above.
    from commonplace.llms.prices import Price, Prices  # noqa: PLC0415

    vendor, name = read_spec(spec)
    elsewhere = vendor == "openai" and base_url is not None
    return Prices(
        model=name,
        vendor=None if elsewhere else vendor,
        address=base_url if elsewhere else None,
        own={of: Price(input=paid[0], output=paid[1]) for of, paid in read_prices(options.prices).items()},
        unknown=Price(**dict(zip(("input", "output"), read_price(options.price), strict=True))),
    )


def is_priced(name: str, options: ModelOptions) -> bool:
    """Whether somebody said what a model costs that a turn may have."""
    if name == LIBRARIAN:
        return True
    return prices_of(name, options, account_of(name, options).base_url).is_known


def account_of(name: str, options: ModelOptions) -> ModelOptions:
    """The key and the address of the settings are those of one vendor. No other is ever sent that key."""
    first = next(other for other in chat_names(options) if other != LIBRARIAN)
    if read_spec(first)[0] == read_spec(name)[0]:
        return options
    return ModelOptions(model=name, timeout=options.timeout)


def chat_names(options: ModelOptions) -> tuple[str, ...]:
    """
    The models that a turn may have, the first if nobody asks for one. The librarian is always among them, alone if chat may cost
    nothing.

    Raises:
        InvalidInput: a name that is none of `FORMS`.
    """
    own = [] if options.model is None or options.model.strip() == "none" else [options.model.strip()]
    others = [name.strip() for name in options.models if name.strip() not in ("none", LIBRARIAN)]
    for name in (*own, *others):
        read_spec(name)
    if options.chat_micro_usd == 0:
        return (LIBRARIAN,)
    return tuple(dict.fromkeys([*(own or [LIBRARIAN]), *others, LIBRARIAN]))


def read_prices(texts: Sequence[str]) -> Mapping[str, tuple[float, float]]:
    """Raises InvalidInput."""
    prices: dict[str, tuple[float, float]] = {}
    for text in texts:
        model, equals, price = text.rpartition("=")
        if not equals or not model.strip():
            raise InvalidInput(f"{text!r:.80} is no price. Write MODEL=INPUT/OUTPUT, for instance qwen3=0.2/0.6.")
        prices[model.strip()] = read_price(price)
    return prices


def read_price(text: str) -> tuple[float, float]:
    """Raises InvalidInput."""
    match = _PRICE.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"{text!r:.80} is no price. Write INPUT/OUTPUT in US dollars for a million tokens, for instance 0.2/0.6."
        )
    return float(match["input"]), float(match["output"])


def read_spec(spec: str) -> tuple[str, str]:
    """The vendor and the model. Raises InvalidInput."""
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise InvalidInput(f"The model {spec!r:.80} is not known. Write one of: {'; '.join(FORMS)}.", spec=spec[:80])
    return match["vendor"], match["model"]
