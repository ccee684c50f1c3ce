"""Models that talk, as the agent sees them: opened for one turn, by name, and paid for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from commonplace.ports.models import Pot, Spent, TaskLimits
from commonplace.values.usage import CHAT

if TYPE_CHECKING:
    # An extra, and slow to load.
    from pydantic_ai.models import Model

LIBRARIAN: Final = "librarian"
"""The model that answers where no language model is set: it calls nobody and costs nothing."""

_CHAT_LIMITS: Final = TaskLimits(seconds=600.0, output_tokens=8_192)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatTask:
    """
    One turn that is to be paid for. `pots` are charged beside the day: the session's, the room's, the tenant's. `whole`: once begun it is
    finished, whatever it costs, so that nobody is left with half of a work; and what a model costs that nobody knows the price of is only an
    estimate to its pots.
    """

    tenant: str
    session: str
    agent: str | None = None
    workspace: str | None = None
    pots: Sequence[Pot] = ()
    limits: TaskLimits = _CHAT_LIMITS
    model_name: str | None = None
    purpose: str = CHAT
    whole: bool = False


class ChatModel(Protocol):
    """A model for one turn. `name` is how a person writes it; `spent` is what the turn has cost so far."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> Model: ...

    @property
    def spent(self) -> Spent: ...


class ChatModelRegistry(Protocol):
    """The models that may be asked for here, by `names`: the first answers if nobody asks."""

    @property
    def names(self) -> Sequence[str]: ...

    def name_of(self, *wishes: str | None) -> str:
        """
        The first of `wishes` that is one (the request's, the agent's), else the name of the settings.

        Raises:
            InvalidInput: it may not be asked for here.
        """
        ...

    def open(self, task: ChatTask) -> AbstractAsyncContextManager[ChatModel]:
        """
        The model that the task names, until the turn ends; then its line is in the ledger, whatever became of it.

        Raises:
            InvalidInput: it may not be asked for here, or a key is missing.
            ModelUnavailable: the extra that it needs is not installed.
            ModelError: from the block, for what pydantic-ai raises there. Whoever means to go on after such an error (a limit of
                requests, a cancelled run) catches it inside.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedCharge:
    """
    What a turn of a hosted agent took. `cost_micro_usd` None: the agent did not say; `estimated`: it said nothing of all this, and what is not
    reported is only warned of.
    """

    requests: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int | None = None
    estimated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedCost:
    """What a turn came to, and the caps that its estimate passes: something to warn of."""

    micro_usd: int = 0
    passed: tuple[str, ...] = ()


class HostedBill(Protocol):
    """One turn of a hosted agent, which pays its own vendor."""

    async def charge(self, charge: HostedCharge) -> HostedCost:
        """Count it, once."""
        ...


class HostedPurse(Protocol):
    """Where the turns of hosted agents are charged: the same budgets as those of our own."""

    def open(self, task: ChatTask, name: str) -> AbstractAsyncContextManager[HostedBill]:
        """
        Until the turn ends; then its line is in the ledger, whatever became of it. `name` is what the agent is called there.

        Raises:
            SpendingCapReached: a budget is used up.
        """
        ...
