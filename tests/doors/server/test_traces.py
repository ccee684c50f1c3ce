"""Traces, as a collector receives them."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import anyio
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from commonplace.compose.daemon import running as daemon
from commonplace.settings import load_settings

pytestmark = pytest.mark.anyio


class Collector:
    """Keeps the spans it is sent."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        spans = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = ExportTraceServiceRequest()
                sent.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
                spans.extend(span for one in sent.resource_spans for kept in one.scope_spans for span in kept.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
                del format, args

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def collector() -> Generator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    yield collector
    collector.server.shutdown()
    thread.join(timeout=5)
    collector.server.server_close()


async def test_a_request_is_a_span_below_its_callers_with_its_use_cases_below_it(
    collector: Collector, home: Path
) -> None:
    settings = load_settings(home=home, embedder="none", otlp_endpoint=collector.url, token="a-token-of-this-test")
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with anyio.fail_after(5):
        async with (
            daemon(settings) as app,
            httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client,
        ):
            await client.get(
                "/metrics?q=private", headers={"Authorization": "Bearer a-token-of-this-test", "traceparent": parent}
            )

    spans = {span.name: span for span in collector.spans}
    request, call = spans["GET /metrics"], spans["identity.principal"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (parent[3:35], parent[36:52])
    assert call.parent_span_id == request.span_id
    assert "private" not in str(collector.spans)
