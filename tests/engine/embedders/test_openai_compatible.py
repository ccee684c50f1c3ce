"""Against a server on this machine that speaks the protocol, and fails when it is told to."""

import base64
import json
import math
import socket
import struct
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from commonplace.embedders.openai_compatible import OpenAICompatibleEmbedder
from commonplace.errors import EmbedderUnavailable, InvalidInput, WrongDimension

pytestmark = pytest.mark.anyio

KEY = "sk-" + "a1b2c3d4e5f6g7h8i9"


@dataclass
class Fault:
    status: int = 500
    body: str = '{"error": {"message": "out of order"}}'
    headers: dict[str, str] = field(default_factory=dict[str, str])


def length_and_first_letter(text: str) -> list[float]:
    return [float(len(text)), float(ord(text[0])), 1.0]


@dataclass
class EmbeddingService:
    """Answers the faults in `faults` first, one a request, then with `vector` of each text."""

    url: str
    faults: list[Fault] = field(default_factory=list[Fault])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    authorizations: list[str | None] = field(default_factory=list[str | None])
    vector: Callable[[str], list[float]] = length_and_first_letter
    as_base64: bool = False

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The last text first: a client must go by the index."""
        data = [
            {"object": "embedding", "index": place, "embedding": self._encoded(self.vector(text))}
            for place, text in enumerate(body["input"])
        ]
        return {"object": "list", "model": body["model"], "data": data[::-1]}

    def _encoded(self, vector: list[float]) -> list[float] | str:
        if not self.as_base64:
            return vector
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.requests.append(body | {"path": self.path})
            told.authorizations.append(self.headers.get("Authorization"))
            fault = told.faults.pop(0) if told.faults else None
            if fault and not fault.status:
                self.close_connection = True
                return
            payload = (fault.body if fault else json.dumps(told.answer(body))).encode()
            self.send_response(fault.status if fault else 200)
            for name, value in (fault.headers if fault else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library calls it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told = EmbeddingService(url=f"http://127.0.0.1:{server.server_port}/v1")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield told
    server.shutdown()
    server.server_close()
    thread.join(5)


class Pauses(list[float]):
    """Instead of waiting, write down how long."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@asynccontextmanager
async def asking(
    service: EmbeddingService, pauses: Pauses, **settings: Any
) -> AsyncGenerator[OpenAICompatibleEmbedder]:
    embedder = OpenAICompatibleEmbedder("tiny", service.url, api_key=KEY, pause=pauses, **settings)
    try:
        yield embedder
    finally:
        await embedder.aclose()


async def test_rows_come_in_the_order_of_the_texts_and_have_length_one(
    service: EmbeddingService, pauses: Pauses
) -> None:
    async with asking(service, pauses) as embedder:
        rows = await embedder.embed(["a", "bb", "ccc"])

    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows[:, 0] / rows[:, 2], [1, 2, 3])
    assert embedder.dimension == 3


async def test_the_request_is_what_the_protocol_asks_for(service: EmbeddingService, pauses: Pauses) -> None:
    async with asking(service, pauses, dimensions=3) as embedder:
        await embedder.embed(["a"])

    assert service.requests == [
        {"model": "tiny", "input": ["a"], "encoding_format": "float", "dimensions": 3, "path": "/v1/embeddings"}
    ]
    assert service.authorizations == [f"Bearer {KEY}"]


async def test_an_answer_in_base64_is_read_too(service: EmbeddingService, pauses: Pauses) -> None:
    service.as_base64 = True

    async with asking(service, pauses) as embedder:
        rows = await embedder.embed(["a", "bb"])

    assert np.allclose(rows[:, 0] / rows[:, 2], [1, 2])


async def test_blank_texts_are_zeros_and_are_not_sent(service: EmbeddingService, pauses: Pauses) -> None:
    async with asking(service, pauses) as embedder:
        rows = await embedder.embed(["", "a", " \n"])

    assert rows.any(axis=1).tolist() == [False, True, False]
    assert service.requests[0]["input"] == ["a"]


async def test_the_size_is_asked_for_once(service: EmbeddingService, pauses: Pauses) -> None:
    async with asking(service, pauses) as embedder:
        assert (embedder.dimension, embedder.dimension) == (3, 3)
        assert (await embedder.embed([])).shape == (0, 3)

    assert len(service.requests) == 1


async def test_blank_texts_alone_have_the_size_of_all_others(service: EmbeddingService, pauses: Pauses) -> None:
    async with asking(service, pauses) as embedder:
        rows = await embedder.embed([" ", ""])

    assert rows.shape == (2, 3)
    assert not rows.any()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 307])
async def test_a_refusal_that_will_not_change_is_not_tried_again(
    service: EmbeddingService, pauses: Pauses, status: int
) -> None:
    service.faults = [Fault(status=status, headers={"Location": "http://127.0.0.1:1/"})]

    async with asking(service, pauses) as embedder:
        with pytest.raises(EmbedderUnavailable) as refused:
            await embedder.embed(["a"])

    assert refused.value.details["status"] == status
    assert len(service.requests) == 1
    assert pauses == []


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 0])
async def test_a_failure_that_may_pass_is_tried_again(service: EmbeddingService, pauses: Pauses, status: int) -> None:
    service.faults = [Fault(status=status), Fault(status=status)]

    async with asking(service, pauses) as embedder:
        rows = await embedder.embed(["a"])

    assert rows.shape == (1, 3)
    assert len(service.requests) == 3
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1.0


@pytest.mark.parametrize("retries", [0, 2])
async def test_it_gives_up_after_as_many_retries_as_it_was_given(
    service: EmbeddingService, pauses: Pauses, retries: int
) -> None:
    service.faults = [Fault(status=503) for _ in range(10)]

    async with asking(service, pauses, retries=retries) as embedder:
        with pytest.raises(EmbedderUnavailable) as refused:
            await embedder.embed(["a"])

    assert refused.value.details["status"] == 503
    assert len(service.requests) == retries + 1
    assert len(pauses) == retries


async def test_it_waits_as_long_as_the_service_asks_but_not_for_ever(service: EmbeddingService, pauses: Pauses) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    values = ["7", "0", "86400", soon, "whenever"]
    service.faults = [Fault(status=429, headers={"Retry-After": value}) for value in values]

    async with asking(service, pauses, retries=5) as embedder:
        await embedder.embed(["a"])

    assert pauses[:3] == [7, 0, 60]
    assert 20 < pauses[3] <= 30
    assert 4 <= pauses[4] <= 8


async def test_a_service_that_is_not_there_is_unavailable(pauses: Pauses) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    embedder = OpenAICompatibleEmbedder("tiny", f"http://127.0.0.1:{port}/v1", retries=1, pause=pauses)

    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a"])
    await embedder.aclose()

    assert len(pauses) == 1


async def test_a_service_that_does_not_answer_in_time_is_unavailable(pauses: Pauses) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        embedder = OpenAICompatibleEmbedder("tiny", url, retries=0, timeout=0.05, pause=pauses)

        with pytest.raises(EmbedderUnavailable):
            await embedder.embed(["a"])
        await embedder.aclose()


async def test_vectors_of_another_size_than_asked_for_are_refused(service: EmbeddingService, pauses: Pauses) -> None:
    async with asking(service, pauses, dimensions=4) as embedder:
        with pytest.raises(WrongDimension) as refused:
            await embedder.embed(["a"])

    assert refused.value.details == {"expected": 4, "received": [3]}


async def test_a_service_that_changes_its_size_is_refused(service: EmbeddingService, pauses: Pauses) -> None:
    async with asking(service, pauses) as embedder:
        await embedder.embed(["a"])
        service.vector = lambda text: [1.0] * len(text)

        with pytest.raises(WrongDimension):
            await embedder.embed(["abcd"])
        with pytest.raises(WrongDimension):
            await embedder.embed(["abc", "ab"])


@pytest.mark.parametrize(
    "body",
    [
        "<html>",
        "[]",
        "{}",
        '{"data": []}',
        '{"data": [{"index": 1, "embedding": [1.0]}]}',
        '{"data": [{"index": 0, "embedding": []}]}',
        '{"data": [{"index": 0, "embedding": ["x"]}]}',
        '{"data": [{"index": 0, "embedding": "not base64!"}]}',
        '{"data": [{"index": 0, "embedding": [NaN]}]}',
        '{"data": [{"index": 0, "embedding": [[1.0]]}]}',
        '{"data": [{"index": 0, "embedding": null}]}',
        '{"data": ["x"]}',
    ],
)
async def test_an_answer_that_is_not_embeddings_is_refused(
    service: EmbeddingService, pauses: Pauses, body: str
) -> None:
    service.faults = [Fault(status=200, body=body)]

    async with asking(service, pauses) as embedder:
        with pytest.raises(EmbedderUnavailable):
            await embedder.embed(["a"])


async def test_the_key_is_in_no_message_and_no_representation(service: EmbeddingService, pauses: Pauses) -> None:
    service.faults = [Fault(status=401, body=f"Incorrect API key provided: {KEY}")]

    async with asking(service, pauses) as embedder:
        with pytest.raises(EmbedderUnavailable) as refused:
            await embedder.embed(["a"])

    assert KEY not in f"{refused.value} {refused.value!r} {refused.value.details} {embedder!r} {embedder}"


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://x/v1", "http://", "http://[::1"])
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        OpenAICompatibleEmbedder("tiny", url)


@pytest.mark.parametrize("settings", [{"retries": -1}, {"dimensions": 0}, {"api_key": "a\nb"}, {"api_key": "ключ"}])
async def test_settings_that_cannot_be_right_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAICompatibleEmbedder("tiny", "http://localhost/v1", **settings)


async def test_a_vector_of_zeros_stays_one(service: EmbeddingService, pauses: Pauses) -> None:
    service.vector = lambda _: [0.0, 0.0]

    async with asking(service, pauses) as embedder:
        rows = await embedder.embed(["a"])

    assert math.isclose(float(np.abs(rows).sum()), 0)
