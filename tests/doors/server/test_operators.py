"""What operators look at."""

import re
from html.parser import HTMLParser

import pytest

from commonplace import __version__
from commonplace.testing.daemon import TOKEN, InProcess, Opened

pytestmark = pytest.mark.anyio


async def test_health_needs_no_key(running: InProcess) -> None:
    answer = await running.stranger.get("/health")

    assert answer.json() == {"status": "ok", "version": __version__}


async def test_ready_asks_the_store_and_tells_strangers_no_more_than_that(running: InProcess) -> None:
    ready = await running.stranger.get("/ready")
    await running.services.desk.store.aclose()
    away = await running.stranger.get("/ready")
    told = await running.client.get("/ready")

    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    assert (away.status_code, away.json()) == (503, {"status": "unavailable"})
    # Who it is cannot be looked up either.
    assert told.status_code == 503


@pytest.mark.parametrize("path", ["/ready", "/docs", "/openapi.json"])
async def test_where_others_can_reach_us_only_health_is_for_everybody(opened: Opened, path: str) -> None:
    async with opened(host="0.0.0.0") as running:
        stranger = await running.stranger.get(path)
        known = await running.client.get(path)
        health = await running.stranger.get("/health")

    assert (stranger.status_code, known.status_code, health.status_code) == (401, 200, 200)


async def test_metrics_count_without_telling_whose(running: InProcess) -> None:
    stranger = await running.stranger.get("/metrics")
    await running.client.post("/v1/trial/search", json={"text": "a private question"})
    await running.client.get("/v1/trial/missing?q=private")
    await running.client.get("/v1/nowhere/private")

    text = (await running.client.get("/metrics")).text

    assert stranger.status_code == 401
    assert re.search(r'requests_total\{door="native",method="POST",route="/v1/trial/search",status="200"\} 1', text)
    assert re.search(r'requests_total\{.*route="unmatched",status="404"\} 1', text)
    assert 'commonplace_searches_total{outcome="ok"} 1.0' in text
    assert 'commonplace_calls_total{outcome="ok",use_case="recall.search"} 1.0' in text
    assert "commonplace_store_up 1.0" in text
    assert "commonplace_event_subscribers" in text
    assert not any(told in text for told in ("private", TOKEN, 'operator"', "default/default"))


async def test_the_page_explains_every_route_without_a_script_or_a_stranger(running: InProcess) -> None:
    answer = await running.stranger.get("/docs")

    class Reader(HTMLParser):
        tags: list[str] = []  # noqa: RUF012 - filled once

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.append(tag)
            assert not any(value and "//" in value for name, value in attrs if name in ("src", "href"))

    Reader().feed(answer.text)
    assert not {"script", "img", "iframe", "link"} & set(Reader.tags)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "/v1/trial/echo" in answer.text
    assert "commonplace token" in answer.text
    assert TOKEN not in answer.text


async def test_the_document_tells_how_each_door_refuses(running: InProcess) -> None:
    document = (await running.stranger.get("/openapi.json")).json()

    echo = document["paths"]["/v1/trial/echo"]["post"]
    keyed = document["paths"]["/api/trial/echo"]["post"]
    assert echo["security"] == [{"key": []}]
    assert "422" not in echo["responses"]
    assert echo["responses"]["4XX"]["content"]["application/json"]["schema"]["$ref"].endswith("/Error")
    assert keyed["responses"]["5XX"]["content"]["application/json"]["schema"]["$ref"].endswith("/KeyedError")
