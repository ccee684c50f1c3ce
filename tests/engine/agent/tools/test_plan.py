from __future__ import annotations

import pytest
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.tools.plan import plan_tool

pytestmark = pytest.mark.anyio


async def test_a_plan_is_told_to_the_turn(turn: Desk) -> None:
    answer = await turn.call(plan_tool(), entries=[{"text": "Read\nit", "status": "completed"}, {"text": "Write it"}])

    assert answer.outcome == "success"
    assert turn.results[0].plan == (
        {"text": "Read it", "status": "completed"},
        {"text": "Write it", "status": "pending"},
    )
    assert turn.requests == []


@pytest.mark.parametrize(
    "entries", [[{"text": ""}], [{"text": "a", "status": "maybe"}], [{"text": "a" * 500}], [{"text": "a"}] * 60, "a"]
)
async def test_what_is_no_plan_is_told(turn: Desk, entries: object) -> None:
    answers = await turn.turn([plan_tool()], [("todo", {"entries": entries})])

    assert answers[0].outcome == "retried"
    assert turn.results == []
