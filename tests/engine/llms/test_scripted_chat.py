"""The pydantic-ai model that ships for tests of whatever talks to one."""

import anyio
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage, UsageLimits

from commonplace.testing.chat import ScriptedCall, ScriptedChatModel, Thought

pytestmark = pytest.mark.anyio


def agent(model: ScriptedChatModel) -> Agent[None, str]:
    made: Agent[None, str] = Agent(model)

    @made.tool_plain
    def add(one: int, other: int) -> int:  # pyright: ignore[reportUnusedFunction]
        return one + other

    return made


async def test_it_thinks_calls_tools_and_speaks_as_the_script_says() -> None:
    model = ScriptedChatModel(
        [Thought("Two "), Thought("numbers."), "I add", " them.", ScriptedCall("add", {"one": 2, "other": 3}, id="c1")],
        "Five.",
    )

    result = await agent(model).run("2 + 3?")

    [first] = [message for message in model.requests[1] if isinstance(message, ModelResponse)]
    assert result.output == "Five."
    assert first.parts == [
        ThinkingPart("Two numbers."),
        TextPart("I add them."),
        ToolCallPart("add", '{"one": 2, "other": 3}', tool_call_id="c1"),
    ]
    assert [tool.name for tool in model.parameters[0].function_tools] == ["add"]
    assert (model.left, result.usage.requests, result.usage.tool_calls) == (0, 2, 1)


async def test_a_stream_brings_thoughts_texts_and_arguments_in_pieces() -> None:
    model = ScriptedChatModel(
        [Thought("a"), Thought("b"), "c", "d", ScriptedCall("add", {"one": 2, "other": 3})], "Done."
    )
    starts: list[str] = []
    deltas: list[str] = []

    async with agent(model).run_stream_events("2 + 3?") as events:
        async for event in events:
            if isinstance(event, PartStartEvent):
                starts.append(event.part.part_kind)
            elif isinstance(event, PartDeltaEvent):
                delta = event.delta
                assert isinstance(delta, TextPartDelta | ThinkingPartDelta | ToolCallPartDelta)
                deltas.append(delta.part_delta_kind)

    assert starts == ["thinking", "text", "tool-call", "text"]
    assert deltas[:2] == ["thinking", "text"]
    assert deltas.count("tool_call") >= 2


async def test_two_calls_of_one_tool_are_two_calls() -> None:
    model = ScriptedChatModel(
        [ScriptedCall("add", {"one": 1, "other": 1}), ScriptedCall("add", {"one": 2, "other": 2})], "Done."
    )

    result = await agent(model).run("Twice.")

    assert result.usage.tool_calls == 2


async def test_a_text_goes_on_after_a_wait_and_not_before() -> None:
    gate, heard = anyio.Event(), anyio.Event()
    model = ScriptedChatModel(["Hel", gate.wait, "lo"])
    said: list[str] = []
    before: list[str] = []

    async def listen() -> None:
        async with agent(model).run_stream("Hi") as stream:
            async for text in stream.stream_text(debounce_by=None):
                said.append(text)
                heard.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await heard.wait()
            before += said
            gate.set()

    assert (before, said[-1]) == (["Hel"], "Hello")


@pytest.mark.parametrize("line", [ModelHTTPError(503, "scripted"), ["Half", ModelHTTPError(503, "scripted")]])
async def test_an_error_ends_the_request_where_it_stands(line: ModelHTTPError | list[str | ModelHTTPError]) -> None:
    model = ScriptedChatModel(line, "Again.")  # pyright: ignore[reportArgumentType] - a list of both is a line

    with pytest.raises(ModelHTTPError):
        await agent(model).run("Hi")

    assert (await agent(model).run("Hi")).output == "Again."


async def test_arguments_that_are_no_json_are_sent_as_they_are() -> None:
    model = ScriptedChatModel(then=ScriptedCall("add", '{"one": '))

    with pytest.raises(UnexpectedModelBehavior):
        await agent(model).run("2 + 3?")

    assert len(model.requests) == 2


async def test_a_model_that_loops_is_asked_until_somebody_stops_it() -> None:
    model = ScriptedChatModel(then=ScriptedCall("add", {"one": 1, "other": 1}), usage=RequestUsage(input_tokens=1))

    with pytest.raises(UsageLimitExceeded):
        await agent(model).run("Go on.", usage_limits=UsageLimits(request_limit=7))

    assert len(model.requests) == 7


async def test_a_script_that_is_over_says_so() -> None:
    with pytest.raises(AssertionError):
        await agent(ScriptedChatModel()).run("Hi")
