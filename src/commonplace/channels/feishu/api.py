"""
Calls of Feishu's HTTP interface: a token that is renewed by itself, what went wrong for now tried again, ids checked.

What Feishu does not take (a card that is too large, a right that is missing) is an answer with a `problem`; only what may be otherwise in a while is
raised.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, cast

import httpx

from commonplace.channels.feishu.options import FeishuOptions
from commonplace.channels.feishu.token import TenantToken
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError, PlatformRefused
from commonplace.values.json import Json

SECONDS: Final = 15.0
ATTEMPTS: Final = 3
_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 10.0
_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]+")
_LONGEST_TEXT: Final = 300
_TOKEN_CODES: Final = frozenset({99991661, 99991663, 99991664, 99991668, 99991677})
_BUSY_CODES: Final = frozenset({99991400, 230020, 11232, 11233, 1000004, 1000005})
_NO_TOKEN: Final = "Feishu does not take the app's token, nor a new one (HTTP 401)."
_RESET: Final = "x-ogw-ratelimit-reset"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeishuAnswer:
    """`problem`: what Feishu did not do, and its code; None: it did it."""

    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    code: int = 0
    problem: str | None = None

    def checked(self) -> Mapping[str, Json]:
        """Raises PlatformError: it did not do it."""
        if self.problem is not None:
            raise PlatformError(self.problem)
        return self.data


class FeishuApi:
    """`sleep` waits and `chance` gives numbers from 0 to 1, for the jitter."""

    def __init__(
        self,
        options: FeishuOptions,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._options = options
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._client: httpx.AsyncClient | None = None
        self._token: TenantToken | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        async with httpx.AsyncClient(base_url=self._options.server, timeout=SECONDS) as client:
            self._client = client
            self._token = token = TenantToken(self._options, client, self._clock)
            try:
                yield
            finally:
                await token.aclose()
                self._client = self._token = None

    async def endpoint(self) -> FeishuAnswer:
        """Where the long connection is, which takes the app's secret and no token."""
        body = {"AppID": self._options.app_id, "AppSecret": self._options.app_secret}
        response = await self._sent("POST", "/callback/ws/endpoint", json=body, headers={"locale": "zh"})
        return self._answer(response)

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Json] | None = None,
        attempts: int = ATTEMPTS,
    ) -> FeishuAnswer:
        """
        Raises:
            PlatformRefused: the app is not accepted.
            PlatformError: Feishu cannot be reached, or takes nothing now.
        """
        pause = _PAUSE
        for attempt in range(1, attempts + 1):
            try:
                return await self._called(method, path, query, body)
            except PlatformRefused:
                raise
            except PlatformError as error:
                wait = max(error.retry_after or 0.0, pause * (0.5 + 0.5 * self._chance()))
                if attempt == attempts or wait > _LONGEST_PAUSE:
                    raise
            await self._sleep(wait)
            pause *= 2
        raise PlatformError

    async def content(self, path: str, query: Mapping[str, str], *, most: int, seconds: float) -> bytes:
        """
        The bytes of a file.

        Raises:
            PlatformError: it is not there, or has more than `most` bytes.
        """
        client = self._opened()
        try:
            async with asyncio.timeout(seconds):
                for _ in range(2):
                    token = await self._tenant_token().value()
                    async with client.stream(
                        "GET", f"/open-apis{path}", params=dict(query), headers=_authorised(token)
                    ) as response:
                        if response.status_code == HTTPStatus.UNAUTHORIZED:
                            self._tenant_token().refuse(token)
                            continue
                        return await self._file(response, most)
        except TimeoutError as error:
            raise PlatformError("The file did not come in time: the request timed out.") from error
        except httpx.HTTPError as error:
            raise PlatformError(_trouble(error)) from error
        raise PlatformRefused(_NO_TOKEN)

    async def _file(self, response: httpx.Response, most: int) -> bytes:
        if response.status_code != HTTPStatus.OK:
            await response.aread()
            raise PlatformError(self._answer(response).problem or f"HTTP {response.status_code}")
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > most:
                raise PlatformError(f"The file has more than {most >> 20} MB, which is the most that is fetched.")
        return bytes(content)

    async def _called(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Mapping[str, Json] | None
    ) -> FeishuAnswer:
        for _ in range(2):
            token = await self._tenant_token().value()
            response = await self._sent(
                method,
                f"/open-apis{path}",
                params=None if query is None else dict(query),
                json=None if body is None else dict(body),
                headers=_authorised(token),
            )
            answer = self._answer(response)
            if response.status_code != HTTPStatus.UNAUTHORIZED and answer.code not in _TOKEN_CODES:
                return answer
            # Another token, once: it may have been taken back before its time.
            self._tenant_token().refuse(token)
        raise PlatformRefused(_NO_TOKEN)

    async def _sent(self, method: str, path: str, **parts: Any) -> httpx.Response:
        try:
            response = await self._opened().request(method, path, **parts)
        except httpx.HTTPError as error:
            raise PlatformError(_trouble(error)) from error
        status = response.status_code
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise PlatformError(self._answer(response).problem or f"HTTP {status}", retry_after=_retry_after(response))
        return response

    def _answer(self, response: httpx.Response) -> FeishuAnswer:
        """Raises PlatformError: it takes nothing now, or this is no answer of Feishu."""
        status = response.status_code
        try:
            content = response.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            if status < HTTPStatus.BAD_REQUEST:
                raise PlatformError(
                    "The answer is not one of Feishu. Look at the address of the service, and at proxies."
                )
            return FeishuAnswer(code=status, problem=f"Feishu answered with HTTP {status}.")
        document = cast("dict[str, Json]", content)
        number = document.get("code")
        code = number if isinstance(number, int) else status
        if code == 0 and status < HTTPStatus.BAD_REQUEST:
            data = document.get("data", document)
            return FeishuAnswer(data=data if isinstance(data, dict) else {})
        text = self._options.without_secrets(f"{document.get('msg') or ''}")[:_LONGEST_TEXT]
        problem = f"Feishu did not do it: code {code}, {text or f'HTTP {status}'}"
        if code in _BUSY_CODES:
            raise PlatformError(problem, retry_after=_retry_after(response))
        return FeishuAnswer(code=code or status, problem=problem)

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            raise PlatformError("The channel is not connected.")
        return self._client

    def _tenant_token(self) -> TenantToken:
        if self._token is None:
            raise PlatformError("The channel is not connected.")
        return self._token


def safe_id(id: str) -> str:
    """
    An id as it may stand in an address.

    Raises:
        PlatformError: it would lead somewhere else.
    """
    if len(id) > 255 or not _ID.fullmatch(id) or set(id) == {"."} or ".." in id:
        raise PlatformError(f"{id!r:.80} is no id of Feishu.")
    return id


def _authorised(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _retry_after(response: httpx.Response) -> float | None:
    for name in ("retry-after", _RESET):
        value = response.headers.get(name, "")
        if value.isascii() and value.isdigit():
            return min(float(value), 3_600.0)
    return None


def _trouble(error: httpx.HTTPError) -> str:
    """What went wrong on the way, without addresses and what was sent."""
    if isinstance(error, httpx.TimeoutException):
        return "Feishu did not answer: the request timed out."
    if isinstance(error, httpx.ConnectError):
        return f"Feishu cannot be reached: {error}"[:_LONGEST_TEXT]
    return f"The connection to Feishu broke ({type(error).__name__})."
