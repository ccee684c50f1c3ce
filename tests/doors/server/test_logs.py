"""The log: a line a request, and never a secret or a memory in it."""

import io
import json
import logging
from collections.abc import Generator
from typing import Any

import pytest

from commonplace.server.logs import LogFormat, configure_logs, log
from commonplace.testing.daemon import TOKEN, InProcess

SECRET = "the capital is Windhoek"


@pytest.fixture(params=["json", "plain"])
def written(request: pytest.FixtureRequest) -> Generator[io.StringIO]:
    """What the process logs, in either form."""
    root, ours = logging.getLogger(), logging.getLogger("commonplace")
    before = (list(root.handlers), root.level, ours.level)
    stream = io.StringIO()
    form: LogFormat = request.param
    configure_logs(form, stream)
    yield stream
    root.handlers[:], root.level, ours.level = before[0], before[1], before[2]
    ours.setLevel(before[2])


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.anyio
async def test_no_line_holds_a_key_a_query_a_body_or_the_words_of_an_error(
    running: InProcess, written: io.StringIO
) -> None:
    await running.client.post(f"/v1/trial/echo?q={SECRET}", json={"text": SECRET, "importance": SECRET})
    await running.client.post("/v1/trial/search", json={"text": SECRET})
    await running.client.get("/v1/trial/mistake")
    await running.stranger.get("/v1/trial/whoami", headers={"Authorization": "Bearer cp_of_somebody_else"})

    told = written.getvalue()
    assert told.count("request") >= 4
    assert not any(one in told for one in (SECRET, "Windhoek", TOKEN, "cp_of_somebody", "the text of a memory"))


@pytest.mark.anyio
@pytest.mark.parametrize("written", ["json"], indirect=True)
async def test_a_line_tells_who_asked_for_what_and_how_it_ended(running: InProcess, written: io.StringIO) -> None:
    await running.client.get("/v1/trial/missing", headers={"X-Request-Id": "r-9"})

    [line] = lines(written)
    del line["time"], line["ms"]
    assert line == {
        "level": "info",
        "event": "request",
        "request": "r-9",
        "method": "GET",
        "route": "/v1/trial/missing",
        "status": 404,
        "door": "native",
        "tenant": "default/default",
        "subject": "operator",
        "code": "record_not_found",
    }


@pytest.mark.parametrize("written", ["json"], indirect=True)
def test_an_error_is_told_by_its_kind_and_place_and_a_library_is_scrubbed(written: io.StringIO) -> None:
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        log(logging.ERROR, "unexpected", error)
        logging.getLogger("a.library").exception("It sent Authorization: Bearer %s", "abcdefghijklmnop0123456789")

    first, second = lines(written)
    assert first["raised"] == second["raised"] == "ValueError"
    assert "test_an_error_is_told" in first["at"][0]
    assert second["event"] == "a.library"
    assert not any(one in written.getvalue() for one in (SECRET, "abcdefghijklmnop"))
