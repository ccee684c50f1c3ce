"""The command that tells what language models cost: `commonplace budgets`."""

import math
from typing import Annotated

import typer

from commonplace.cli.door import Door, command
from commonplace.errors import InvalidInput

PANEL = "Look after"


def budgets(
    door: Door,
    days: Annotated[
        int, typer.Option("--days", "-d", metavar="N", help="Of how many days, today included.", min=1, max=366)
    ] = 1,
    daily: Annotated[
        float | None,
        typer.Option("--daily", metavar="USD", help="Set what may be spent in a day; 0 turns models off.", min=0),
    ] = None,
    standard: Annotated[
        bool, typer.Option("--standard", help="Go back to the budget of the settings (llm_daily_budget_usd).")
    ] = False,
) -> None:
    """Show what language models cost, by purpose, what may be spent in a day (UTC), and what is left of it."""
    if standard and daily is not None:
        raise InvalidInput("Give --daily or --standard, not both.")
    if daily is not None and not math.isfinite(daily):
        raise InvalidInput("A daily budget is 0 to 1,000,000 US dollars.")
    with door.open(create=True) as memory:
        if standard or daily is not None:
            memory.set_budget(daily)
        budget = memory.budgets(days=days)
    door.answer(budget, lambda: door.screen.budget(budget))
    if budget.model is None:
        door.say("There is no language model: everything is done by rules.")


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace budgets --days 7", "commonplace budgets --daily 0.25", panel=PANEL)(budgets)
