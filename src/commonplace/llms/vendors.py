"""The pydantic-ai models of the vendors we name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai import UserError
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from commonplace.errors import InvalidInput


@dataclass(frozen=True, kw_only=True, slots=True)
class VendorAccount:
    api_key: str | None = None
    base_url: str | None = None
    timeout: float = 60.0


def make(vendor: str, model: str, account: VendorAccount) -> Model:
    """
    Raises:
        InvalidInput: there is no key for it.
    """
    # Nothing is sent twice but by `MeteredModel`, which pays for it.
    settings = ModelSettings(timeout=account.timeout, max_retries=0)
    try:
        return _made(vendor, model, account, settings)
    except UserError as error:
        raise InvalidInput(
            f"The model {vendor}:{model} needs a key. Set COMMONPLACE_LLM_API_KEY, or api_key in the table [llm] of "
            "config.toml in the home folder.",
            vendor=vendor,
        ) from error


def _made(vendor: str, model: str, account: VendorAccount, settings: ModelSettings) -> Model:
    arguments: dict[str, Any] = {"api_key": account.api_key, "base_url": account.base_url}
    if vendor == "anthropic":
        return AnthropicModel(model, provider=AnthropicProvider(**arguments), settings=settings)
    if vendor == "google":
        return GoogleModel(model, provider=GoogleProvider(**arguments), settings=settings)
    if account.base_url is None:
        return OpenAIChatModel(model, provider=OpenAIProvider(api_key=account.api_key), settings=settings)
    return OpenAIChatModel(model, provider=OpenAICompatibleProvider(_COMPATIBLE, **arguments), settings=settings)


_COMPATIBLE = "openai-compatible"
