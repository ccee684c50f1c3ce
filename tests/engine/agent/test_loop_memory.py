"""The agent loop with each of its memories: what is asked when, where what was recalled stands, and what is told afterwards."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart

from commonplace.agent.equipment import EquipmentParts, Outfit, ToolOptions
from commonplace.agent.memory.backend import RULE
from commonplace.agent.memory.curated_pair import CuratedMemoryBackend
from commonplace.agent.memory.gateway import MemoryGatewayBackend
from commonplace.agent.memory.gateway_client import GatewayOptions, MemoryGatewayClient
from commonplace.agent.tools.tool import AgentTool
from commonplace.markdown.curated_pair import CuratedFiles, CuratedOperation
from commonplace.testing.agents import WHO, TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel, Thought
from commonplace.testing.gateway import ScriptedGateway, running_gateway
from commonplace.testing.vendor import Reply
from commonplace.values.principal import Principal
from commonplace.values.scope import Scope
from commonplace.values.session import SessionMessage
from commonplace.values.turn_event import TurnEnded, TurnEvent

pytestmark = pytest.mark.anyio

KEY = "uk_the-key-that-nobody-may-see"
QUESTION = "Where do we deploy?"
FACT = "The zebra cluster is where we deploy."


@pytest.fixture
def gateway() -> Generator[ScriptedGateway]:
    with running_gateway() as running:
        running.find({"id": "m1", "text": FACT, "score": 0.9, "source_scope": "resources", "raw": {"x": "RAW"}})
        yield running


@pytest.fixture
async def with_gateway(bench: TurnBench, gateway: ScriptedGateway) -> AsyncGenerator[TurnBench]:
    client = MemoryGatewayClient(GatewayOptions(base_url=gateway.url, user_id="ana", user_key=KEY, timeout_seconds=5))
    backend = MemoryGatewayBackend(client)
    bench.backends = (backend,)
    yield bench
    await backend.aclose()


def system(messages: list[ModelMessage]) -> str:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    parts = [part for message in requests for part in message.parts if isinstance(part, SystemPromptPart)]
    return "\n".join([*(message.instructions or "" for message in requests), *(part.content for part in parts)])


def user_texts(messages: list[ModelMessage]) -> list[str]:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


def reply(events: list[TurnEvent]) -> tuple[str, str]:
    (end,) = [event for event in events if isinstance(event, TurnEnded)]
    return end.reply, end.stop_reason


async def history(bench: TurnBench, session: str) -> list[SessionMessage]:
    page = await bench.services.history.messages(WHO, session, after=0, limit=500, hidden=True)
    return list(page.messages)


async def test_gateway_search_occurs_before_the_provider_call(
    with_gateway: TurnBench, gateway: ScriptedGateway
) -> None:
    before: list[list[str]] = []

    async def look() -> None:
        before.append(gateway.paths)

    with_gateway.model = ScriptedChatModel([look, "To zebra."])
    await with_gateway.turn(await with_gateway.session(), QUESTION)

    assert before == [["/memories/search"]]


async def test_recalled_content_appears_before_the_current_user_prompt_and_outside_the_system_prompt_body(
    with_gateway: TurnBench,
) -> None:
    model = with_gateway.model = ScriptedChatModel("Hello.", "To zebra.")
    session = await with_gateway.session()
    await with_gateway.turn(session, "Good morning!")
    await with_gateway.turn(session, QUESTION)

    texts = user_texts(model.requests[1])
    places = [place for place, text in enumerate(texts) if FACT in text]
    # One message, before the history and the question; that of the turn before was not kept.
    assert len(places) == 1
    assert places[0] < texts.index("Good morning!") < texts.index(QUESTION)
    assert FACT not in system(model.requests[1])
    assert not any(FACT in message.text for message in await history(with_gateway, session.id))


async def test_the_system_prompt_contains_the_untrusted_reference_rule_in_gateway_mode(
    with_gateway: TurnBench, gateway: ScriptedGateway
) -> None:
    model = with_gateway.model = ScriptedChatModel("One.", "Two.")
    session = await with_gateway.session()
    await with_gateway.turn(session, QUESTION)
    gateway.find()
    await with_gateway.turn(session, QUESTION)

    assert RULE in system(model.requests[0])
    assert RULE in system(model.requests[1])


async def test_add_and_flush_happen_after_the_final_assistant_response_and_exactly_once_each(
    with_gateway: TurnBench, gateway: ScriptedGateway
) -> None:
    during: list[list[str]] = []

    async def look() -> None:
        during.append(gateway.paths)

    async def note() -> str:
        """Note something."""
        return "noted"

    with_gateway.tools = [AgentTool(name="note", kind="other", function=note)]
    with_gateway.model = ScriptedChatModel(ScriptedCall("note"), [look, "To zebra."])
    await with_gateway.turn(await with_gateway.session(), QUESTION)

    assert during == [["/memories/search"]]
    assert gateway.paths == ["/memories/search", "/memories/add", "/memories/flush"]


async def test_tool_system_and_reasoning_content_is_absent_from_the_add_payload(
    with_gateway: TurnBench, gateway: ScriptedGateway
) -> None:
    async def note(text: str) -> str:
        """Note something."""
        return f"RESULT {text}"

    with_gateway.tools = [AgentTool(name="note", kind="other", function=note)]
    with_gateway.model = ScriptedChatModel(
        [Thought("REASONING"), ScriptedCall("note", {"text": "ARGUMENT"})], [Thought("REASONING"), "To zebra."]
    )
    await with_gateway.turn(await with_gateway.session(), QUESTION)

    (body,) = [body for path, body in gateway.requests if path == "/memories/add"]
    contents = [(message["role"], message["content"]) for message in body["messages"]]
    assert contents == [("user", QUESTION), ("assistant", "To zebra.")]
    for word in ("REASONING", "ARGUMENT", "RESULT", "RAW", FACT, RULE):
        assert word not in repr(body)


@pytest.mark.parametrize("path", ["/memories/search", "/memories/add", "/memories/flush"])
@pytest.mark.parametrize("fault", [Reply(status=0), Reply(body={}, status=401), Reply(body="{")])
async def test_recall_add_and_flush_failures_do_not_change_the_returned_agent_run_result(
    with_gateway: TurnBench, gateway: ScriptedGateway, path: str, fault: Reply
) -> None:
    gateway.replies[path] = fault
    with_gateway.model = ScriptedChatModel("To zebra.")

    events = await with_gateway.turn(await with_gateway.session(), QUESTION)

    assert reply(events) == ("To zebra.", "end_turn")


async def test_hidden_success_and_failure_audit_events_contain_no_credentials(
    with_gateway: TurnBench, gateway: ScriptedGateway
) -> None:
    with_gateway.model = ScriptedChatModel(then="To zebra.")
    session = await with_gateway.session()
    await with_gateway.turn(session, QUESTION)
    for path in ("/memories/flush", "/memories/add", "/memories/search"):
        gateway.replies[path] = Reply(body={"error": KEY}, status=401)
        await with_gateway.turn(session, QUESTION)

    messages = await history(with_gateway, session.id)
    hidden = [message for message in messages if not message.context_visible]
    names = {
        f"memory_gateway_{operation}_{outcome}"
        for operation in ("recall", "add", "flush")
        for outcome in ("succeeded", "failed")
    }
    assert all(any(name in repr(message) for message in hidden) for name in names)
    assert KEY not in repr(messages)


async def test_curated_mode_regression_tests_confirm_frozen_snapshot_injection_and_original_memory_tool_availability(
    bench: TurnBench, tmp_path: Path
) -> None:
    files = CuratedFiles(tmp_path / "home")
    add = CuratedOperation(action="add", content="Tests run with make.")
    files.change("assistant", "local", "memory", [add], now=bench.services.desk.clock.now())
    outfit = _outfit(bench, files)
    bench.equip = outfit.equip
    call = ScriptedCall("memory", {"action": "add", "content": "Deploys go to zebra."})
    model = bench.model = ScriptedChatModel(call, "Noted.", then="Yes.")
    session = await bench.session()
    await bench.turn(session, "Remember where we deploy: zebra.")
    await bench.turn(session, QUESTION)

    first, second, third = (system(request) for request in model.requests)
    assert "Tests run with make." in first
    # What the tool wrote is on the disk, and in the prompt of the next turn.
    assert "Deploys go to zebra." not in first + second
    assert "Deploys go to zebra." in third
    assert "memory" in {tool.name for tool in model.parameters[0].function_tools}


async def test_gateway_mode_confirms_the_original_memory_tool_is_not_registered_or_exposed(
    with_gateway: TurnBench,
) -> None:
    with_gateway.equip = _outfit(with_gateway, None).equip
    model = with_gateway.model = ScriptedChatModel("To zebra.")
    await with_gateway.turn(await with_gateway.session(), QUESTION)

    tools = {tool.name for tool in model.parameters[0].function_tools}
    assert "memory" not in tools
    assert "session_search" in tools


async def _no_scopes(who: Principal) -> tuple[Scope, ...]:
    del who
    return ()


def _outfit(bench: TurnBench, files: CuratedFiles | None) -> Outfit:
    return Outfit(
        EquipmentParts(
            memory_of=lambda _who: bench.memory,
            scopes_of=_no_scopes,
            model_of=lambda *_wishes: "openai:scripted",
            profile_of=bench.services.owners.profile,
            backends=bench.backends if files is None else (CuratedMemoryBackend(files),),
            curated=files,
            recalls=False,
            clock=bench.services.desk.clock,
            tools=ToolOptions(),
        )
    )
