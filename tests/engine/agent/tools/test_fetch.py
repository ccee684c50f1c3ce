from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.tools.fetch import PageFetch, fetch_tool, is_public
from commonplace.agent.tools.page_text import page_text
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, TimedOut

pytestmark = pytest.mark.anyio

Answer = Callable[[str], bytes]
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


class Site:
    """A web server on this machine, the machines that were asked for, and the requests it got."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.names: list[str] = []
        self.requests: list[str] = []

    async def lookup(self, host: str, port: int) -> list[str]:
        del port
        self.names.append(host)
        return {"public.example": ["127.0.0.1"], "mixed.example": ["127.0.0.1", "10.0.0.1"]}.get(host, [host])

    def fetch(self, seconds: float = 5) -> PageFetch:
        """One for which this machine is the public web, and no other is."""
        return PageFetch(
            lookup=self.lookup, permits=lambda address: address == IPv4Address("127.0.0.1"), seconds=seconds
        )

    def url(self, path: str = "/", host: str = "public.example") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def site(answer: Answer) -> AsyncGenerator[Site]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.add(asyncio.ensure_future(talk(reader, writer)))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        here.requests.append(request)
        if data := answer(request.split()[1]):
            writer.write(data)
        else:
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    visitors = set[asyncio.Future[None]]()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    here = Site(server.sockets[0].getsockname()[1])
    async with server:
        yield here
        await asyncio.wait_for(asyncio.gather(*visitors), 5)


def page(kind: str, text: str) -> bytes:
    return OK + f"Content-Type: {kind}\r\n\r\n{text}".encode()


async def test_a_page_is_asked_about_and_told_as_text_behind_a_fence(turn: Desk) -> None:
    html = "<head><title>Tide</title><script>x</script></head><body><p>High <b>at</b> nine.<p># Do as I say</body>"
    async with site(lambda _: page("text/html; charset=utf-8", html)) as here:
        answer = await turn.call(fetch_tool(here.fetch()), url=here.url())

    assert turn.requests[0].rule == "fetch:public.example"
    assert str(answer.content).splitlines()[1:] == ["  | Tide", "  | ", "  | High at nine.", "  | # Do as I say"]


async def test_the_connection_goes_to_the_address_that_was_looked_at() -> None:
    async with site(lambda _: page("text/plain", "here")) as here:
        assert await here.fetch().fetch(here.url()) == "here"

    assert here.names == ["public.example"]
    assert f"Host: public.example:{here.port}\r\n" in here.requests[0]


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "mixed.example", "127.0.0.2", "192.168.1.1"])
async def test_an_address_that_is_not_public_is_not_asked(host: str) -> None:
    async with site(lambda _: page("text/plain", "secret")) as here:
        with pytest.raises(Forbidden):
            await here.fetch().fetch(here.url(host=host))

    assert here.requests == []


@pytest.mark.parametrize("target", ["http://10.0.0.1/", "//127.0.0.2/", "http://mixed.example/"])
async def test_a_redirect_to_an_address_that_is_not_public_is_not_followed(target: str) -> None:
    moved = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    async with site(lambda _: moved) as here:
        with pytest.raises(Forbidden):
            await here.fetch().fetch(here.url())

    assert len(here.requests) == 1


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://public.example/", "javascript:alert(1)"])
async def test_a_redirect_to_something_else_than_the_web_is_not_followed(target: str) -> None:
    moved = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    async with site(lambda _: moved) as here:
        with pytest.raises(InvalidInput):
            await here.fetch().fetch(here.url())


async def test_redirects_that_never_end_end() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with site(lambda _: moved) as here:
        with pytest.raises(InvalidInput):
            await here.fetch().fetch(here.url())

    assert len(here.requests) == 6


async def test_a_page_that_moved_on_the_public_web_is_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with site(lambda path: page("text/plain", "new") if path == "/new" else moved) as here:
        assert await here.fetch().fetch(here.url()) == "new"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "public.example",
        "file:///etc/passwd",
        "http://",
        "http://a:b@public.example/",
        "http://[::1",
        "h" * 5_000,
        "http://\0",
    ],
)
async def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    async def nobody(host: str, port: int) -> list[str]:
        raise AssertionError("looked up")

    with pytest.raises(InvalidInput):
        await PageFetch(lookup=nobody).fetch(url)


async def test_a_page_that_never_comes_is_given_up() -> None:
    async with site(lambda _: b"") as here:
        with pytest.raises(TimedOut):
            await here.fetch(seconds=0.05).fetch(here.url())


async def test_a_page_that_never_ends_is_cut() -> None:
    async with site(lambda _: page("text/plain", "x" * 5_000_000)) as here:
        text = await here.fetch().fetch(here.url())

    assert len(text) < 2_200_000
    assert "[Cut off" in text


@pytest.mark.parametrize(
    "data", [page("image/png", "x"), b"nonsense\r\n\r\n", OK + b"Content-Encoding: gzip\r\n\r\nno gzip"]
)
async def test_what_is_no_text_is_refused(data: bytes) -> None:
    async with site(lambda _: data) as here:
        with pytest.raises(InvalidInput):
            await here.fetch().fetch(here.url())


async def test_a_name_that_means_nothing_is_told() -> None:
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError

    with pytest.raises(InvalidInput):
        await PageFetch(lookup=unknown).fetch("http://nowhere.example/")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fec0::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1",
        "64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "192.0.2.1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.text(alphabet=st.sampled_from(list("<>/abp \n&;!-\"'=#x")), max_size=60))
def test_the_text_of_any_page_is_a_text(html: str) -> None:
    assert isinstance(page_text(html), str)


def test_a_page_nested_to_be_slow_is_not() -> None:
    assert page_text("<div>" * 100_000 + "end").endswith("end")


async def test_the_tool_gives_no_error_but_ours() -> None:
    with pytest.raises(CommonplaceError):
        await PageFetch(permits=lambda _: False).fetch("http://127.0.0.1/")
