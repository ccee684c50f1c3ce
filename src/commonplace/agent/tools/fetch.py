"""
A page of the public web.

An address is looked up once, every answer must be public, and the connection goes to the address that was looked at: a name that
means another machine a moment later leads nowhere. Each redirect is an address like the first.
"""

from __future__ import annotations

import asyncio
import codecs
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Annotated, Final

import httpx
from pydantic import Field

from commonplace.agent.tools.page_text import page_text
from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import Forbidden, InvalidInput, TimedOut

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

FETCH_SECONDS: Final = 30.0
LARGEST_PAGE: Final = 2 * 1024 * 1024
MOST_REDIRECTS: Final = 5
_LONGEST_ADDRESS: Final = 2_000
_AGENT: Final = "commonplace"
# Addresses of the other version inside: the one inside decides.
_NAT64: Final = ip_network("64:ff9b::/96")
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")


def is_public(address: Address) -> bool:
    """Whether it is a machine of the internet: not this one, not one of this network, not a group of machines."""
    if isinstance(address, IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in _NAT64:
            inside = IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is not None:
            return is_public(inside)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified


async def resolve(host: str, port: int) -> list[str]:
    """Raises OSError: the name means nothing."""
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in answers]


def fetch_tool(fetch: PageFetch | None = None) -> AgentTool:
    """Only given to an agent if the operator's settings allow it."""
    return AgentTool(
        name="fetch",
        kind="fetch",
        function=(fetch or PageFetch()).fetch,
        asks=True,
        untrusted=True,
        seconds=FETCH_SECONDS + 5,
        title=lambda arguments: f"Fetch {arguments.get('url')}",
        rule=lambda arguments: _url(str(arguments.get("url"))).host,
    )


class PageFetch:
    """`permits` says which addresses may be asked, `lookup` which addresses a name has."""

    def __init__(
        self,
        *,
        lookup: Resolve = resolve,
        permits: Callable[[Address], bool] = is_public,
        seconds: float = FETCH_SECONDS,
    ) -> None:
        self._lookup = lookup
        self._permits = permits
        self._seconds = seconds

    async def fetch(
        self, url: Annotated[str, Field(description="An address of the public web, http or https.")]
    ) -> str:
        """Fetch a page of the public web, and answer its text."""
        address = _url(url)
        try:
            async with asyncio.timeout(self._seconds):
                async with httpx.AsyncClient(trust_env=False, timeout=self._seconds) as client:
                    for _ in range(MOST_REDIRECTS + 1):
                        answer = await self._get(client, address)
                        if isinstance(answer, str):
                            return answer
                        address = answer
        except TimeoutError:
            raise TimedOut(f"The page did not come within {self._seconds:g} seconds.") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise InvalidInput(f"The page could not be fetched: {type(error).__name__}. Try another address.") from None
        raise InvalidInput(f"The page leads on more than {MOST_REDIRECTS} times. Try another address.")

    async def _get(self, client: httpx.AsyncClient, url: httpx.URL) -> str | httpx.URL:
        """The text of the page, or where it leads."""
        machine = await self._machine(url)
        host = url.netloc.decode("ascii")
        request = client.build_request(
            "GET",
            url.copy_with(host=machine),
            # A small answer could be packed to grow: it is asked for as it is.
            headers={"Host": host, "User-Agent": _AGENT, "Accept": "text/html, text/*", "Accept-Encoding": "identity"},
            extensions={"sni_hostname": url.host},
        )
        response = await client.send(request, stream=True)
        try:
            if response.is_redirect:
                return _url(str(url.join(response.headers["location"])))
            return await _text(response)
        finally:
            await response.aclose()

    async def _machine(self, url: httpx.URL) -> str:
        """
        Raises:
            Forbidden: one of its addresses is not public.
        """
        try:
            addresses = await self._lookup(url.host, url.port or (443 if url.scheme == "https" else 80))
        except OSError:
            raise InvalidInput(f"Nobody knows the name {url.host[:100]!a}.") from None
        if not addresses or not all(self._permits(ip_address(address.partition("%")[0])) for address in addresses):
            raise Forbidden(f"{url.host[:100]!a} is no address of the public web. It is not fetched.")
        return addresses[0]


async def _text(response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if not kind.startswith(_TEXTS) and not kind.endswith(("+json", "+xml")):
        raise InvalidInput(f"The page is no text but {kind[:60]!a}.")
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > LARGEST_PAGE:
            break
    cut = len(data) > LARGEST_PAGE
    text = bytes(data[:LARGEST_PAGE]).decode(_charset(response), "replace")
    if "html" in kind:
        text = await asyncio.to_thread(page_text, text)
    status = "" if response.is_success else f"[Status {response.status_code}]\n"
    return f"{status}{text}{f'{chr(10)}[Cut off at {LARGEST_PAGE >> 20} MiB.]' if cut else ''}"


def _charset(response: httpx.Response) -> str:
    try:
        return codecs.lookup(response.charset_encoding or "utf-8").name
    except LookupError:
        return "utf-8"


def _url(text: str) -> httpx.URL:
    """
    Raises:
        InvalidInput: it is no address of the web.
    """
    try:
        url = httpx.URL(text) if len(text) <= _LONGEST_ADDRESS else httpx.URL("")
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise InvalidInput(
            "This is no address of the web. It begins with http:// or https://, and has no password in it."
        )
    return url
