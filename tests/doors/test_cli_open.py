"""`commonplace open`: an address that signs a browser in, once."""

import socket
import webbrowser
from collections.abc import Generator
from typing import Any

import httpx
import pytest

from commonplace.cli.serve import HELLO
from commonplace.testing.daemon import Daemon

pytestmark = pytest.mark.parametrize("cli", ["url"], indirect=True)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the browser of this machine was told to open: the one thing here that is not ours."""
    told: list[str] = []

    def noted(address: str) -> bool:
        told.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", noted)
    return told


@pytest.fixture
def nobody() -> Generator[str]:
    """An address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def entered(daemon: Daemon, address: str) -> httpx.Response:
    begin, _, code = address.strip().partition("/#/enter/")
    assert begin == daemon.url
    return httpx.post(f"{begin}/v1/sign-in", json={"code": code})


def test_the_browser_is_sent_to_an_address_that_signs_it_in(cli: Any, shared_daemon: Daemon, opened: list[str]) -> None:
    ran = cli("open")

    [address] = opened
    assert (ran.code, ran.out) == (0, "")
    assert "#" not in ran.err
    assert entered(shared_daemon, address).json()["operator"] is True
    assert entered(shared_daemon, address).status_code == 401


def test_the_address_may_be_printed_instead(cli: Any, shared_daemon: Daemon, opened: list[str]) -> None:
    ran = cli("open", "--print")

    assert (ran.code, opened) == (0, [])
    assert entered(shared_daemon, ran.out).status_code == 200


def test_a_script_gets_the_address_and_its_end(cli: Any, shared_daemon: Daemon, opened: list[str]) -> None:
    told = cli.json("open")

    assert set(told) == {"url", "expires_at"}
    assert opened == []
    assert entered(shared_daemon, told["url"]).status_code == 200


def test_where_there_is_no_browser_the_address_is_printed(
    cli: Any, shared_daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_browser(address: str) -> bool:
        return not address

    monkeypatch.setattr(webbrowser, "open", no_browser)

    ran = cli("open")

    assert ran.code == 0
    assert entered(shared_daemon, ran.out).status_code == 200


def test_the_daemon_may_be_named(cli: Any, shared_daemon: Daemon, nobody: str, opened: list[str]) -> None:
    right = cli("open", "--url", shared_daemon.url)
    wrong = cli("open", "--url", nobody, "--json")

    assert (right.code, len(opened)) == (0, 1)
    assert (wrong.code, wrong.error) == (5, "daemon_unavailable")


def test_a_daemon_that_starts_says_how_to_look_at_it(cli: Any, shared_daemon: Daemon) -> None:
    told = shared_daemon.log.read_text(encoding="utf-8")

    assert f"open --url {shared_daemon.url}\n" in told
    assert "{place}" in HELLO
