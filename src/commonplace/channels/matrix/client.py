"""
The requests of a Matrix account: JSON over HTTP, answers of a bounded size, faults as PlatformErrors that say what the server said.

A server that wants fewer requests is given fewer: all of them wait until it takes some again. What is asked with a key of ours (a transaction
id) is done once, however often it is asked, so it is asked again if nothing came back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Self, cast
from urllib.parse import quote

import httpx

from commonplace.errors import InvalidInput, NotFound
from commonplace.values.channel import PlatformError, PlatformRefused

API: Final = "/_matrix/client/v3"
MEDIA: Final = "/_matrix/client/v1/media/download"
ANSWER_BYTES: Final = 32 << 20
_TIMEOUT: Final = 20.0
_LONGEST_LIMIT: Final = 300.0
_PAUSES: Final = (0.5, 2.0)
_REFUSALS: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED"})
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})

JsonMap = dict[str, Any]


class AnswerTooLong(PlatformError):
    """The answer of the platform is too long."""


class ServerBroken(PlatformError):
    """The server answered, but not as it should: it may be this request that it cannot do, or all of them."""


class RequestDenied(PlatformError):
    """The server understood what was asked, and does not do it: asked again, it answers the same."""

    def __init__(self, message: str, *, errcode: str = "") -> None:
        super().__init__(message)
        self.errcode = errcode


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """`patience`: seconds in which it is tried again, if the server wants us to wait, or breaks; 0: once. `seconds`: how long each try may take.
    `most`: bytes of the answer, if not as many as of any."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str] | None = None
    patience: float = 0.0
    seconds: float = _TIMEOUT
    most: int | None = None


class MatrixClient:
    """`token` gives the access token each time: a new one may have been put in its place. `sleep` waits."""

    def __init__(
        self,
        homeserver: str,
        token: Callable[[], str],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        self.address = checked_address(homeserver)
        self._token = token
        self.pause = sleep
        self._answer_bytes = answer_bytes
        self._limited_until = 0.0
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        # No proxy stands between two programs of one machine, and no redirection takes the token elsewhere.
        is_local = httpx.URL(self.address).host in _LOOPBACK
        self._http = httpx.AsyncClient(trust_env=not is_local, follow_redirects=False)
        return self

    async def __aexit__(self, *error: object) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    @property
    def is_limited(self) -> bool:
        """Whether the server takes nothing just now."""
        return self._limited_until > _now()

    async def ask(self, request: Request) -> JsonMap:
        """
        The server's answer.

        Raises:
            PlatformRefused: it does not know the token. RequestDenied: it does not do this. ServerBroken: it did not answer as it should.
            PlatformError: it did not answer, or wants us to wait.
        """
        content = await self._patiently(request)
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ServerBroken("The server answered something that is no JSON.") from error
        if not isinstance(answer, dict):
            raise ServerBroken("The server answered JSON of another shape.")
        return cast("JsonMap", answer)

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, seconds: float = _TIMEOUT, patience: float = 0.0
    ) -> JsonMap:
        return await self.ask(Request(method="GET", path=API + path, params=params, seconds=seconds, patience=patience))

    async def post(self, path: str, body: JsonMap | None = None, *, patience: float = 0.0) -> JsonMap:
        return await self.ask(Request(method="POST", path=API + path, body=body or {}, patience=patience))

    async def put(self, path: str, body: JsonMap, *, patience: float = 0.0) -> JsonMap:
        return await self.ask(Request(method="PUT", path=API + path, body=body, patience=patience))

    async def fetch(self, path: str, most: int) -> bytes:
        """The bytes behind a path. Raises AnswerTooLong."""
        return await self._patiently(Request(method="GET", path=path, most=most, seconds=60.0, patience=10.0))

    async def _patiently(self, request: Request) -> bytes:
        deadline, pauses = _now() + request.patience, iter(_PAUSES)
        while True:
            if (pause := self._limited_until - _now()) > 0:
                if _now() + pause > deadline:
                    raise PlatformError("The server slows us down (M_LIMIT_EXCEEDED).", retry_after=pause)
                await self.pause(pause)
            try:
                return await self._once(request)
            except (PlatformRefused, RequestDenied, AnswerTooLong):
                raise
            except PlatformError as error:
                if error.retry_after is not None:
                    # The next round waits.
                    continue
                pause = next(pauses, None)
                if pause is None or _now() + pause > deadline:
                    raise
                await self.pause(pause)

    async def _once(self, request: Request) -> bytes:
        http = self._http
        if http is None:
            raise PlatformError("The channel is not connected.")
        headers = {"Authorization": f"Bearer {self._token()}"}
        most = self._answer_bytes if request.most is None else request.most
        content = None
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = encoded(request.body)
        try:
            async with http.stream(
                request.method,
                self.address + request.path,
                params=None if request.params is None else dict(request.params),
                content=content,
                headers=headers,
                timeout=httpx.Timeout(request.seconds, connect=10.0),
            ) as response:
                answer = await _read(response, most if response.is_success else 1 << 16)
        except httpx.TimeoutException as error:
            raise PlatformError("The request to the server timed out.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The words of httpx name the address at most.
            raise PlatformError(f"Cannot reach the server: {str(error) or type(error).__name__}"[:300]) from error
        if not response.is_success:
            raise self._fault(response, answer)
        return answer

    def _fault(self, response: httpx.Response, content: bytes) -> PlatformError:
        try:
            answer: Any = json.loads(content)
        except (ValueError, RecursionError):
            answer = {}
        body = cast("JsonMap", answer) if isinstance(answer, dict) else {}
        errcode = str(body.get("errcode", ""))[:60]
        reason = str(body.get("error", ""))[:200].replace(self._token(), "•••")
        text = f"The server answered {response.status_code} {errcode}: {reason}".rstrip(": ")
        if response.status_code == 429:
            pause = _pause_of(body.get("retry_after_ms"), response.headers.get("Retry-After"))
            self._limited_until = max(self._limited_until, _now() + pause)
            return PlatformError(text, retry_after=pause)
        if errcode in _REFUSALS:
            return PlatformRefused(text)
        # A proxy in front of a server that is away answers 404 without a word of Matrix.
        if response.is_client_error and errcode:
            return RequestDenied(text, errcode=errcode)
        return ServerBroken(text)


async def _read(response: httpx.Response, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > most:
            raise AnswerTooLong(f"The answer of the server is longer than {most >> 10:,} KiB.")
        parts.append(part)
    return b"".join(parts)


def _pause_of(milliseconds: Any, seconds: str | None) -> float:
    """Whatever number it says, NaN too: a pause that is neither nothing nor for ever."""
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    if is_number and milliseconds == milliseconds:
        return min(max(milliseconds, 50), int(_LONGEST_LIMIT * 1000)) / 1000
    return min(float(seconds), _LONGEST_LIMIT) if seconds is not None and seconds.isdecimal() else 1.0


def checked_address(text: str) -> str:
    """The address of a server, without a slash at its end. Raises InvalidInput."""
    try:
        address = httpx.URL(text.strip().rstrip("/"))
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidInput(f"{text!r:.100} is no address of a server.") from error
    if (
        address.scheme not in ("http", "https")
        or not address.host
        or "%" in address.host
        or address.query
        or address.userinfo
    ):
        raise InvalidInput(
            f"{text!r:.100} is no address of a server. It looks like https://matrix.example.org, without a user or a query."
        )
    if address.scheme == "http" and address.host not in _LOOPBACK:
        raise InvalidInput("The access token would go over the network in the clear. Use an address with https.")
    return str(address)


def encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def transaction(*parts: str) -> str:
    """The same id for the same message of ours, also after a restart."""
    return "cp" + sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:40]


def room_path(chat: str, *rest: str) -> str:
    return "/".join(("/rooms", quote(chat, safe=""), *(quote(part, safe="") for part in rest)))


def join_path(chat: str, via: str = "") -> str:
    """`via`: a server that is in the room."""
    return f"/join/{quote(chat, safe='')}" + (f"?via={quote(via, safe='')}" if via else "")


def media_path(reference: str) -> str:
    """Of `mxc://server/id`. Raises NotFound: it is no such reference."""
    server, _, id = reference.removeprefix("mxc://").partition("/")
    if not reference.startswith("mxc://") or not server or not id or {server, id} & {".", ".."}:
        raise NotFound(f"{reference!r:.80} is no file of a Matrix server.")
    return f"{MEDIA}/{quote(server, safe=':')}/{quote(id, safe='')}"


def _now() -> float:
    return asyncio.get_running_loop().time()
