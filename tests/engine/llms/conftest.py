"""A model that is paid for out of a store, and a vendor on this machine. No other is ever called."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import Model

from commonplace.llms.language_model import PydanticAiModel
from commonplace.llms.prices import Price, Prices
from commonplace.llms.purse import Purse
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.vendor import Vendor, running_vendor
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER, SpendingDay


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Store]:
    store = await SqliteStore.open(tmp_path / "memory.db", clock)
    yield store
    await store.aclose()


class Pauses(list[float]):
    """Instead of waiting, write down how long."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> list[float]:
    return Pauses()


@pytest.fixture
def metered(clock: FakeClock, pauses: Any) -> Callable[..., PydanticAiModel]:
    """
    `metered(store, model)` is paid for out of that store: a dollar a day, a millionth of one for a token read, ten for one
    written.
    """

    def made(store: Store, model: Model, *, daily: int = 1_000_000, price: Price | None = None) -> PydanticAiModel:
        prices = Prices(model="small", own={"small": price or Price(input=1.0, output=10.0)})
        return PydanticAiModel("openai:small", model, prices=prices, purse=Purse(store, clock, daily), pause=pauses)

    return made


@pytest.fixture
def spent(clock: FakeClock) -> Callable[..., Awaitable[int]]:
    """What was spent today, in millionths of a dollar."""

    async def today(store: Store, tenant: str = DEFAULT_TENANT) -> int:
        day = SpendingDay.of(clock.now())
        return (await store.quotas.spent(tenant, day.name, day.window)).get(COUNTER, 0)

    return today


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as running:
        yield running
