"""A model from a few words, and what it costs."""

import sys
from typing import Any

import pytest

from commonplace.errors import InvalidInput, ModelUnavailable
from commonplace.llms.choose import ModelOptions, make_language_model, make_model, read_prices
from commonplace.llms.prices import Price, Prices, Tokens
from commonplace.settings import load_settings
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.workspace.report import PassedOver

MILLION = Tokens(input=1_000_000, output=1_000_000)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("spec", ["anthropic:claude-haiku-4-5", "openai:gpt-5-mini", "google:gemini-2.5-flash"])
def test_each_vendor_makes_its_model_and_sends_nothing_twice(spec: str) -> None:
    model = make_model(spec, api_key="k", timeout=7.0)

    assert model is not None
    assert (model.model_name, model.settings) == (spec.split(":")[1], {"timeout": 7.0, "max_retries": 0})


@pytest.mark.parametrize("spec", ["anthropic:m", "openai:m", "google:m"])
def test_a_vendors_model_needs_a_key(spec: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_model(spec)

    assert "COMMONPLACE_LLM_API_KEY" in refused.value.message


def test_a_server_of_ones_own_needs_none() -> None:
    model = make_model("openai:qwen3:8b", base_url="http://127.0.0.1:11434/v1")

    assert model is not None
    assert (model.model_name, str(model.base_url)) == ("qwen3:8b", "http://127.0.0.1:11434/v1/")


@pytest.mark.anyio
async def test_none_is_no_model(store: Store, clock: FakeClock) -> None:
    assert make_model(" none ") is None
    assert make_language_model(ModelOptions(), store, clock) is None
    assert make_language_model(ModelOptions(model="none"), store, clock) is None


@pytest.mark.parametrize("spec", ["", "openai", "openai:", "gpt-5", "oracle:delphi", "openai:two words"])
def test_what_is_no_form_is_refused(spec: str) -> None:
    with pytest.raises(InvalidInput):
        make_model(spec)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "commonplace.llms.vendors", None)

    with pytest.raises(ModelUnavailable) as refused:
        make_model("openai:m", api_key="k")

    assert "commonplace[llm]" in refused.value.message


def test_the_key_is_not_shown() -> None:
    assert "very-secret" not in repr(ModelOptions(model="openai:m", api_key="very-secret"))


# ---- prices


def test_a_price_of_ones_own_wins_over_the_published_one() -> None:
    published = Prices(model="claude-haiku-4-5", vendor="anthropic")
    own = Prices(model="claude-haiku-4-5", vendor="anthropic", own={"claude-haiku-4-5": Price(input=0.5, output=1)})

    assert (published.cost(MILLION), own.cost(MILLION)) == (6_000_000, 1_500_000)


@pytest.mark.parametrize(
    "where", [{"vendor": "openai"}, {"address": "http://127.0.0.1:11434/v1"}, {}, {"vendor": "nobody"}]
)
def test_a_model_without_a_price_costs_what_unknown_ones_cost(where: dict[str, Any]) -> None:
    prices = Prices(model="no-such-model", unknown=Price(input=2, output=3), **where)

    assert prices.cost(MILLION) == 5_000_000


def test_a_name_that_another_vendor_sells_cheaply_is_not_priced_by_it() -> None:
    prices = Prices(model="gpt-5-mini", address="http://127.0.0.1:1/v1", unknown=Price(input=5, output=25))

    assert prices.cost(MILLION) == 30_000_000


def test_what_costs_less_than_a_millionth_costs_a_millionth() -> None:
    prices = Prices(model="m", own={"m": Price(input=0.01, output=0)})

    assert (prices.cost(Tokens(input=1, output=0)), prices.cost(Tokens(input=0, output=0))) == (1, 0)


def test_tokens_from_a_cache_cost_less() -> None:
    prices = Prices(model="claude-haiku-4-5", vendor="anthropic")

    cached = prices.cost(Tokens(input=1_000_000, output=0, cache_read=900_000))

    assert 0 < cached < prices.cost(Tokens(input=1_000_000, output=0))


def test_prices_are_read_as_they_are_written() -> None:
    assert read_prices(["qwen3=0.2/0.6", " a=b = 1 / 2 "]) == {"qwen3": (0.2, 0.6), "a=b": (1.0, 2.0)}


@pytest.mark.parametrize(
    "written", ["qwen3", "=1/2", "qwen3=1", "qwen3=a/b", "qwen3=-1/2", "qwen3=1/2/3", "qwen3=nan/1"]
)
def test_a_price_that_is_none_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput):
        read_prices([written])


# ---- settings


def test_the_table_of_the_home_folder_sets_the_model(home: Any) -> None:
    home.mkdir()
    table = '[llm]\nmodel = "openai:m"\nbase_url = "http://h/v1"\ndaily_budget_usd = 2.5\nprices = ["m=0/0"]\n'
    (home / "config.toml").write_text(table)

    read = load_settings()

    assert (read.llm_model, read.llm_base_url, read.llm_daily_budget_usd) == ("openai:m", "http://h/v1", 2.5)
    assert read.llm_prices == ("m=0/0",)


def test_the_environment_writes_prices_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_LLM_PRICES", "a=1/2, b=3/4")
    monkeypatch.setenv("COMMONPLACE_LLM_API_KEY", "very-secret")

    read = load_settings()

    assert read.llm_prices == ("a=1/2", "b=3/4")
    assert "very-secret" not in repr(read)


@pytest.mark.parametrize(
    "line",
    [
        'model = "openai:m"',
        'base_url = "http://h"',
        'api_key = "k"',
        "daily_budget_usd = 9",
        'price = "0/0"',
        "timeout = 9",
    ],
)
def test_the_file_of_a_workspace_chooses_no_model_and_spends_nothing(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    folder = tmp_path / "cloned" / ".commonplace"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f"[llm]\n{line}\n")
    plain = load_settings()
    monkeypatch.chdir(folder.parent)

    with pytest.warns(PassedOver):
        assert load_settings() == plain
