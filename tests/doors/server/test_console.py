"""The console's page and files, as a browser gets them."""

import gzip
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder
from starlette.types import Message, Scope

from commonplace.server.console import Site, site
from commonplace.testing.daemon import InProcess, served

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
MOST = 300_000
"""Bytes that the whole console may take on its way."""


@pytest.fixture
async def running(home: Path) -> AsyncGenerator[InProcess]:
    async with served(home, doors=[]) as begun:
        yield begun


def place(name: str) -> str:
    return f"/console/{site().build}/{name}"


async def got(running: InProcess, path: str) -> tuple[int, bytes]:
    """Asked as it is written: a client would tidy the path up before it asks."""
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        told.append(message)

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:4170")],
        "scheme": "http",
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 4170),
    }
    await running.app(scope, receive, send)
    return told[0]["status"], b"".join(message.get("body", b"") for message in told)


def policy(answer: httpx.Response) -> dict[str, list[str]]:
    parts = (part.split() for part in answer.headers["content-security-policy"].split(";"))
    return {name: values for name, *values in parts}


async def test_the_page_is_for_everybody_and_names_the_files_of_this_version(running: InProcess) -> None:
    answer = await running.stranger.get("/")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    assert "{{" not in answer.text
    named = re.findall(r'(?:src|href)="(/[^"]*)"', answer.text)
    assert named
    assert {name: (await running.stranger.get(name)).status_code for name in named} == dict.fromkeys(named, 200)


@pytest.mark.parametrize("path", ["/", "file"])
async def test_nothing_but_our_own_files_runs_or_is_loaded(running: InProcess, path: str) -> None:
    answer = await running.stranger.get(place("icon.svg") if path == "file" else path)

    told = policy(answer)
    assert told.pop("img-src") == ["'self'", "data:"]
    assert {name for name, values in told.items() if values == ["'self'"]} == {
        "script-src",
        "style-src",
        "connect-src",
        "font-src",
        "manifest-src",
        "form-action",
    }
    assert {name for name, values in told.items() if values == ["'none'"]} == {
        "default-src",
        "base-uri",
        "frame-ancestors",
    }
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"


async def test_every_file_is_kept_for_good_and_is_of_its_kind(running: InProcess) -> None:
    answers = {name: await running.stranger.get(place(name)) for name in site().assets}

    assert {answer.status_code for answer in answers.values()} == {200}
    assert {answer.headers["cache-control"] for answer in answers.values()} == {"public, max-age=31536000, immutable"}
    assert all(answers[name].content == asset.whole for name, asset in site().assets.items())
    scripts = {answer.headers["content-type"] for name, answer in answers.items() if name.endswith(".js")}
    assert scripts <= {"text/javascript; charset=utf-8"}


async def test_a_file_that_the_browser_has_is_not_sent_again(running: InProcess) -> None:
    first = await running.stranger.get("/")

    again = await running.stranger.get("/", headers={"If-None-Match": first.headers["etag"]})
    weak = await running.stranger.get("/", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    other = await running.stranger.get("/", headers={"If-None-Match": '"other"'})

    assert [answer.status_code for answer in (first, again, weak, other)] == [200, 304, 304, 200]
    assert again.content == b""
    assert "content-security-policy" in again.headers


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("GZIP", True), ("", False), ("identity", False), ("gzip;q=0", False)],
)
async def test_what_is_sent_is_compressed_for_whoever_can_read_that(
    running: InProcess, accepted: str, packed: bool
) -> None:
    answer = await running.stranger.get("/", headers={"Accept-Encoding": accepted})

    assert answer.headers.get("content-encoding") == ("gzip" if packed else None)
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.content == site().page.whole
    assert answer.headers["etag"].endswith('-gzip"') == packed


def test_the_whole_console_is_small_on_its_way() -> None:
    sent = [asset.small or asset.whole for asset in (site().page, *site().assets.values())]

    assert sum(map(len, sent)) < MOST
    assert all(asset.small is None or gzip.decompress(asset.small) == asset.whole for asset in site().assets.values())


@pytest.mark.parametrize(
    "path",
    [
        "nothing.js",
        "",
        "index.html",
        "__init__.py",
        "../server/console.py",
        "..%2f..%2fserver%2fconsole.py",
        "%2e%2e/%2e%2e/settings.py",
        "/etc/passwd",
        "//etc/passwd",
        "icon.svg%00.js",
        "icon.svg/",
        "./icon.svg",
        "..\\..\\settings.py",
        "ICON.SVG",
    ],
)
async def test_no_path_leads_anywhere_else(running: InProcess, path: str) -> None:
    status, body = await got(running, place(path))

    assert (status, json.loads(body)["error"]["code"]) == (404, "route_not_found")


async def test_a_file_of_another_version_is_not_there(running: InProcess) -> None:
    answer = await running.stranger.get("/console/000000000000/icon.svg")

    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_the_page_is_only_for_looking(running: InProcess, method: str) -> None:
    answer = await running.stranger.request(method, "/")

    assert answer.status_code == 405


def test_any_change_to_any_file_changes_the_address_of_all(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "index.html").write_text('<script src="{{base}}/app.js">', encoding="utf-8")
    (tmp_path / "parts" / "list.js").write_text("1", encoding="utf-8")
    (tmp_path / "notes.md").write_text("not for browsers", encoding="utf-8")
    before = Site.read(tmp_path)

    (tmp_path / "parts" / "list.js").write_text("2", encoding="utf-8")
    after = Site.read(tmp_path)

    assert list(before.assets) == ["parts/list.js"]
    assert before.build != after.build
    assert before.page.whole == f'<script src="/console/{before.build}/app.js">'.encode()


def test_the_wheel_has_every_file_of_the_console(tmp_path: Path) -> None:
    [built] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])

    with ZipFile(built) as wheel:
        names = set(wheel.namelist())
    wanted = {f"commonplace/console/{name}" for name in ("index.html", *site().assets)}
    assert wanted <= names
