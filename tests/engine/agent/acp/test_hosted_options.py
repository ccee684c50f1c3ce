"""What a hosted agent can be set to, and who may set it."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.errors import Forbidden, InvalidInput
from commonplace.testing.host_bench import HostBench, said_by
from commonplace.values.session import Session
from commonplace.values.turn_event import ModeChanged

pytestmark = pytest.mark.anyio
MODES = {
    "modes": {
        "currentModeId": "autoEdit",
        "availableModes": [{"id": id_, "name": id_} for id_ in ("plan", "ask", "autoEdit", "yolo")],
    }
}
MODELS = {
    "configOptions": [
        {
            "id": "which",
            "category": "model",
            "currentValue": "small",
            "options": [{"group": "all", "name": "All", "options": [{"value": "small"}, {"value": "large"}]}],
        }
    ]
}


async def begun(host: HostBench, *steps: dict[str, Any], **more: Any) -> Session:
    host.play([*steps, {"text": "Hello."}], session={"sessionId": "session-1", **MODES, **MODELS}, **more)
    session = await host.session()
    await host.turn(session, "Hello?")
    return session


async def test_it_is_set_to_ask_whatever_mode_it_begins_in(host: HostBench) -> None:
    session = await begun(host)

    options = (await host.agent.session_state(session.id)).options

    assert [message["params"]["modeId"] for message in host.heard("session/set_mode")] == ["ask"]
    assert (options.mode, options.model, options.models) == ("ask", "small", ("small", "large"))
    assert [mode.id for mode in options.modes] == ["plan", "ask", "autoEdit", "yolo"]


async def test_a_person_chooses_its_mode_and_its_model(host: HostBench) -> None:
    session = await begun(host)

    state = await host.agent.configure_session(session.id, mode="plan", model="large")

    assert (state.options.mode, state.options.model) == ("plan", "large")
    assert host.heard("session/set_mode")[-1]["params"]["modeId"] == "plan"
    [params] = [message["params"] for message in host.heard("session/set_config_option")]
    assert (params["configId"], params["value"]) == ("which", "large")


@pytest.mark.parametrize("wish", [{"mode": "architect"}, {"model": "huge"}])
async def test_what_it_does_not_offer_cannot_be_chosen(host: HostBench, wish: dict[str, str]) -> None:
    session = await begun(host)

    with pytest.raises(InvalidInput):
        await host.agent.configure_session(session.id, **wish)


async def test_nobody_has_it_act_unasked_unless_the_operator_allowed_that(host: HostBench) -> None:
    session = await begun(host)

    with pytest.raises(Forbidden):
        await host.agent.configure_session(session.id, mode="yolo")

    assert [message["params"]["modeId"] for message in host.heard("session/set_mode")] == ["ask"]


async def test_the_operator_may_allow_that(host: HostBench) -> None:
    host.allow_all = True
    session = await begun(host)

    state = await host.agent.configure_session(session.id, mode="yolo")

    assert state.options.mode == "yolo"


async def test_a_mode_that_it_changes_itself_is_told(host: HostBench) -> None:
    change = {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}}
    host.play([change, said_by("agent_message_chunk", "I plan.")], session={"sessionId": "session-1", **MODES})
    session = await host.session()

    events = await host.turn(session, "Plan it.")

    [changed] = [event for event in events if isinstance(event, ModeChanged)]
    assert (changed.mode, changed.previous, changed.by) == ("plan", "ask", None)
    assert (await host.agent.session_state(session.id)).options.mode == "plan"
