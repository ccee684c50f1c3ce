"""The three calls of a memory gateway, against a server on this machine that fails in every way."""

import asyncio
import socket
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.agent.memory.gateway_client import (
    MOST_TEXT,
    GatewayError,
    GatewayMessage,
    GatewayOptions,
    MemoryGatewayClient,
)
from commonplace.errors import InvalidInput
from commonplace.testing.gateway import ScriptedGateway
from commonplace.testing.vendor import Reply

pytestmark = pytest.mark.anyio

KEY = "uk_the-key-that-nobody-may-see"
MESSAGES = [
    GatewayMessage(sender_id="ana", role="user", timestamp=1_780_000_000_000, content="Hello"),
    GatewayMessage(sender_id="commonplace", role="assistant", timestamp=1_780_000_001_000, content="Hello, Ana"),
]
Call = Callable[[MemoryGatewayClient], Awaitable[object]]
CALLS: dict[str, Call] = {
    "search": lambda client: client.search("s1", "where?"),
    "add": lambda client: client.add("chat:s1", MESSAGES),
    "flush": lambda client: client.flush("chat:s1"),
}
FAULTS = [
    (Reply(body={"error": KEY}, status=401), "http_status", 401),
    (Reply(body={"error": KEY}, status=404), "http_status", 404),
    (Reply(body=KEY, status=500), "http_status", 500),
    (Reply(body="", status=307, headers={"Location": "/memories/flush"}), "http_status", 307),
    (Reply(status=0), "connection", None),
    (Reply(body=f"<html>{KEY}"), "invalid_json", None),
    (Reply(body=""), "invalid_json", None),
    (Reply(body="[" * 100_000), "invalid_json", None),
    (Reply(body=[KEY]), "invalid_response", None),
    (Reply(body='"text"'), "invalid_response", None),
    (Reply(body="null"), "invalid_response", None),
    (Reply(body="{}", headers={"Content-Encoding": "gzip"}), "invalid_response", None),
]


async def test_search_add_and_flush_use_the_exact_paths_and_payload_shapes_above(
    gateway: ScriptedGateway, client: MemoryGatewayClient
) -> None:
    for call in CALLS.values():
        await call(client)

    who = {"user_id": "ana", "user_key": KEY, "app_id": "default", "project_id": "default"}
    search = {"conversation_id": "s1", "query": "where?", "scope": ["current_chat", "resources"], "top_k": 8}
    messages = [
        {"sender_id": "ana", "role": "user", "timestamp": 1_780_000_000_000, "content": "Hello"},
        {"sender_id": "commonplace", "role": "assistant", "timestamp": 1_780_000_001_000, "content": "Hello, Ana"},
    ]
    assert gateway.requests == [
        ("/memories/search", {**who, **search}),
        ("/memories/add", {**who, "session_id": "chat:s1", "messages": messages}),
        ("/memories/flush", {**who, "session_id": "chat:s1"}),
    ]


@pytest.mark.parametrize("operation", CALLS)
async def test_configured_timeout_is_applied(gateway: ScriptedGateway, operation: str) -> None:
    gateway.replies[f"/memories/{operation}"] = Reply(hang=True)
    client = MemoryGatewayClient(
        GatewayOptions(base_url=gateway.url, user_id="ana", user_key=KEY, timeout_seconds=0.05)
    )

    async with asyncio.timeout(5):
        with pytest.raises(GatewayError) as error:
            await CALLS[operation](client)

    assert (error.value.operation, error.value.fault) == (operation, "timeout")
    await client.aclose()


async def test_the_timeout_counts_for_the_whole_answer_and_not_for_each_byte_of_it() -> None:
    over = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not over.is_set():
            writer.write(b" ")
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), 0.005)
        writer.transport.abort()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    options = GatewayOptions(base_url=f"http://127.0.0.1:{port}", user_id="ana", user_key=KEY, timeout_seconds=0.2)
    client = MemoryGatewayClient(options)

    async with asyncio.timeout(5):
        with pytest.raises(GatewayError) as error:
            await client.search("s1", "where?")

    assert error.value.fault == "timeout"
    over.set()
    await client.aclose()
    server.close()


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize(("reply", "fault", "status"), FAULTS)
async def test_non_2xx_network_invalid_json_and_invalid_response_shapes_produce_sanitized_client_exceptions(
    gateway: ScriptedGateway, client: MemoryGatewayClient, operation: str, reply: Reply, fault: str, status: int | None
) -> None:
    gateway.replies[f"/memories/{operation}"] = reply

    with pytest.raises(GatewayError) as error:
        await CALLS[operation](client)

    assert (error.value.path, error.value.fault, error.value.http_status) == (f"/memories/{operation}", fault, status)
    # Asked once: what was lost on the way back may have been done.
    assert len(gateway.requests) == 1


@pytest.mark.parametrize("body", [{}, {"results": None}, {"results": {}}, {"results": "none"}, {"data": []}])
async def test_a_search_that_answers_no_list_of_results_has_failed(
    gateway: ScriptedGateway, client: MemoryGatewayClient, body: Any
) -> None:
    gateway.replies["/memories/search"] = Reply(body=body)

    with pytest.raises(GatewayError) as error:
        await client.search("s1", "where?")

    assert error.value.fault == "invalid_response"


async def test_a_gateway_that_nobody_runs_is_a_fault_of_the_connection() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    client = MemoryGatewayClient(GatewayOptions(base_url=f"http://127.0.0.1:{port}", user_id="a", user_key=KEY))

    with pytest.raises(GatewayError) as error:
        await client.flush("chat:s1")

    assert error.value.fault == "connection"
    await client.aclose()


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize("reply", [reply for reply, _, _ in FAULTS])
async def test_exception_strings_never_contain_the_configured_key(
    gateway: ScriptedGateway, client: MemoryGatewayClient, operation: str, reply: Reply
) -> None:
    gateway.replies[f"/memories/{operation}"] = reply

    with pytest.raises(GatewayError) as error:
        await CALLS[operation](client)

    shown = "".join(traceback.format_exception(error.value)) + repr(error.value) + repr(error.value.data)
    assert KEY not in shown
    # Nor does anything hang on it that has the request.
    assert (error.value.__cause__, error.value.__context__) == (None, None)


async def test_a_result_is_reduced_to_six_fields_of_their_types_and_one_without_text_is_none(
    gateway: ScriptedGateway, client: MemoryGatewayClient
) -> None:
    gateway.find(
        {"id": 7, "text": "a", "score": "high", "session_id": None, "source_scope": [], "raw": {"text": "secret"}},
        {
            "id": "m",
            "text": "b",
            "score": 0.5,
            "session_id": "chat:s",
            "source_scope": "resources",
            "resource_uri": "u",
        },
        {"id": "blank", "text": " \n"},
        {"id": "none"},
        {"text": None},
    )
    gateway.replies["/memories/search"].body["results"] += ["text", 5, None, []]

    first, second = await client.search("s1", "where?")

    assert (first.text, first.id, first.score, first.session_id, first.source_scope) == ("a", None, None, None, None)
    assert (second.id, second.score, second.session_id) == ("m", 0.5, "chat:s")
    assert (second.source_scope, second.resource_uri) == ("resources", "u")


async def test_what_a_gateway_sends_beyond_what_was_asked_for_is_cut(
    gateway: ScriptedGateway, client: MemoryGatewayClient
) -> None:
    gateway.find(*({"text": "x" * 50_000} for _ in range(30)))

    results = await client.search("s1", "where?")

    assert len(results) == 8
    assert max(len(result.text) for result in results) <= MOST_TEXT + 2


async def test_a_gateway_that_says_the_key_back_does_not_bring_it_into_a_prompt(
    gateway: ScriptedGateway, client: MemoryGatewayClient
) -> None:
    gateway.find({"text": f"my key is {KEY}.", "id": KEY, "resource_uri": f"x?key={KEY}"})

    assert KEY not in repr(await client.search("s1", "where?"))


async def test_half_a_character_in_an_answer_can_be_sent_on(
    gateway: ScriptedGateway, client: MemoryGatewayClient
) -> None:
    gateway.replies["/memories/search"] = Reply(body='{"results": [{"text": "a\\ud800b", "score": 1e999}]}')

    (result,) = await client.search("s1", "where?")

    assert result.text.encode() == b"a?b"
    assert result.score is None


async def test_an_answer_that_never_ends_is_given_up(gateway: ScriptedGateway, client: MemoryGatewayClient) -> None:
    gateway.replies["/memories/add"] = Reply(body=" " * (9 << 20))

    with pytest.raises(GatewayError) as error:
        await client.add("chat:s1", MESSAGES)

    assert error.value.fault == "invalid_response"


@given(st.text() | st.text(alphabet="htps:/@.#?[]%aé ", max_size=20).map(lambda text: "http://" + text))
def test_whatever_is_given_as_an_address_is_one_or_is_refused(text: str) -> None:
    with suppress(InvalidInput):
        client = MemoryGatewayClient(GatewayOptions(base_url=text, user_id="ana", user_key=KEY))

        assert client.options.base_url.strip().lower().startswith(("http://", "https://"))
