"""Bodies that are too large, too slow, too deep or no text, and requests that take too long."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from commonplace.errors import InvalidJson
from commonplace.server.bodies import MAX_DEPTH, MAX_VALUES, check_json
from commonplace.testing.daemon import InProcess, Opened

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}


async def parts(*pieces: bytes, pause: float = 0.0) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(pause)


async def test_a_body_that_says_it_is_too_large_is_not_read(opened: Opened) -> None:
    async with opened(max_body_mb=1) as running:
        answer = await running.client.post("/v1/trial/echo", content=b"x" * (1 << 20) + b"x", headers=JSON)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
async def test_a_body_that_grows_too_large_is_cut_off(opened: Opened, kind: str) -> None:
    async with opened(max_body_mb=1) as running:
        answer = await running.client.post(
            "/v1/trial/echo", content=parts(b"x" * 600_000, b"x" * 600_000), headers={"Content-Type": kind}
        )

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


async def test_a_body_that_trickles_is_given_up(opened: Opened) -> None:
    async with opened(request_timeout=0.2) as running:
        answer = await running.client.post("/v1/trial/echo", content=parts(b"{", b"}", pause=2), headers=JSON)

    assert (answer.status_code, answer.json()["error"]["code"]) == (408, "body_timeout")


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "\xff\xfe"}',
        '{"text": "utf-16"}'.encode("utf-16"),
        b"[" * 65 + b"]" * 65,
        b'{"a":' * 100_000,
        b'{"text": "x", "importance": NaN}',
        b"{'text': 1}",
        b'{"text": "x"',
    ],
)
async def test_what_is_no_json_is_refused(running: InProcess, body: bytes) -> None:
    answer = await running.client.post("/v1/trial/echo", content=body, headers=JSON)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")


async def test_brackets_and_words_inside_a_text_are_text(running: InProcess) -> None:
    text = '[{"' * 200 + "NaN \\ Infinity"

    answer = await running.client.post("/v1/trial/echo", json={"text": text})

    assert answer.json()["length"] == len(text)


def test_the_deepest_that_is_allowed_is_allowed() -> None:
    check_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    check_json(b"[[],[]," * 40 + b"1" + b"]" * 40)

    with pytest.raises(InvalidJson):
        check_json(b"[" * (MAX_DEPTH + 1))


async def test_a_request_that_takes_too_long_is_given_up(opened: Opened) -> None:
    async with opened(request_timeout=0.2) as running:
        answer = await running.client.get("/v1/trial/slow")

    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "request_timeout")


async def test_a_stream_has_all_the_time_there_is(opened: Opened) -> None:
    async with opened(request_timeout=0.2) as running:
        answer = await running.client.get("/v1/trial/stream")

    assert answer.text.count("data:") == 4


@pytest.mark.parametrize("value", [b"[]", b"{}", b'""', b"1"])
def test_more_values_than_we_count_are_refused_before_anybody_parses_them(value: bytes) -> None:
    with pytest.raises(InvalidJson):
        check_json(b"[" + (value + b",") * MAX_VALUES + value + b"]")


def test_a_long_text_may_hold_as_many_marks_as_it_likes() -> None:
    check_json(b'{"text": "' + rb"a, [b], \\\"c\", {d}; \\" * MAX_VALUES + b'"}')
