"""
DingTalk's interface: one call, its errors as PlatformErrors, and the one access token that all calls share.

A token is fetched anew before it ends, and once when DingTalk does not take it; whoever needs one meanwhile waits for the same
answer. A call that DingTalk turned away since there were too many is made again after a pause; one of which nobody knows whether it was
done is not.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

import httpx

from commonplace.channels.dingtalk.options import DingTalkOptions, DingTalkTimes
from commonplace.channels.dingtalk.wire import TokenAnswer, read_as
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError, PlatformRefused
from commonplace.values.json import Json

_SUCCESS: Final = 200
_BAD_REQUEST: Final = 400
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_TOO_MANY: Final = 429
_FAULT: Final = 500
_MARGIN: Final = 300
"""Seconds before its end at which a token is fetched anew."""
_MOST: Final = 1 << 20
_SHOWN: Final = 300
_THROTTLES: Final = ("throttling", "qpslimit", "flowcontrol", "too fast", "toomanyrequests")
_TOO_FAST: Final = frozenset({"90018", "130101", "88"})
"""Codes by which a webhook says that too much was sent."""


class InvalidConversation(PlatformError):
    """DingTalk does not know the group by this id."""

    untaken = True


class DingTalkThrottled(PlatformError):
    """Throttling: DingTalk takes nothing for a while. It was certainly not done."""

    untaken = True


class _Unavailable(PlatformError):
    """DingTalk can do nothing for the moment. The call did not get there, or may be made twice."""

    untaken = True


class DingTalkTurnedAway(PlatformError):
    """DingTalk refused it: it was certainly not done."""

    untaken = True


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    status: int
    document: dict[str, Any]
    is_garbage: bool = False
    retry_after: float | None = None

    @property
    def code(self) -> str:
        return str(self.document.get("code") or self.document.get("errcode") or "")

    @property
    def words(self) -> str:
        return str(self.document.get("message") or self.document.get("errmsg") or "")

    @property
    def is_throttled(self) -> bool:
        if self.status == _TOO_MANY or self.code in _TOO_FAST:
            return True
        reason = f"{self.code} {self.words}".lower()
        return not self.is_done and any(sign in reason for sign in _THROTTLES)

    @property
    def is_done(self) -> bool:
        return self.status < _BAD_REQUEST and str(self.document.get("errcode") or 0) == "0"


@dataclass(kw_only=True, slots=True)
class _Token:
    text: str
    ends: datetime
    """When it is fetched anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DingTalkCall:
    """`is_keyed`: made twice it is one, so that it is made again whatever became of it. `pauses` lie before each further try."""

    what: str
    method: str
    address: str
    body: dict[str, Json] = field(default_factory=dict[str, Json])
    is_keyed: bool = False
    pauses: tuple[float, ...] = ()


class DingTalkApi:
    def __init__(
        self,
        options: DingTalkOptions,
        clock: Clock,
        *,
        times: DingTalkTimes | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.options = options
        self.times = times or DingTalkTimes()
        self._clock = clock
        self._sleep = sleep
        self._http = httpx.AsyncClient(timeout=self.times.timeout, follow_redirects=False)
        self._token: _Token | None = None
        self._fetching = asyncio.Lock()
        self._quiet_until = 0.0
        self.is_refused = False
        """The last time we asked for a token, our credentials were not accepted."""

    async def aclose(self) -> None:
        await self._http.aclose()

    async def call(self, what: str, method: str, path: str, body: dict[str, Json]) -> dict[str, Any]:
        """A call with the token, under a path of the interface. Raises PlatformError."""
        call = self._call(what, method, path, body)
        return await self._patient(replace(call, pauses=self.times.retries), self._with_token)

    async def keyed_call(
        self, what: str, method: str, path: str, body: dict[str, Json], *, pauses: tuple[float, ...] | None = None
    ) -> dict[str, Any]:
        """The same, of one that may be made twice: what the platform could not do for the moment is tried again, too."""
        pauses = self.times.retries if pauses is None else pauses
        call = replace(self._call(what, method, path, body), is_keyed=True, pauses=pauses)
        return await self._patient(call, self._with_token)

    def _call(self, what: str, method: str, path: str, body: dict[str, Json]) -> DingTalkCall:
        return DingTalkCall(what=what, method=method, address=f"{self.options.endpoint}{path}", body=body)

    async def reply(self, webhook: str, body: dict[str, Json]) -> None:
        """Answer by the webhook of a message. Raises PlatformError."""
        pauses = self.times.retries
        call = DingTalkCall(what="sessionWebhook", method="POST", address=webhook, body=body, pauses=pauses)
        await self._patient(call, self._plain)

    async def open(self, path: str, body: dict[str, Json]) -> dict[str, Any]:
        """A call that shows the credentials in its body. Raises PlatformRefused: they are not accepted."""
        call = self._call(path.removeprefix("/v1.0/"), "POST", path, body)
        answer = await self._ask(call, {})
        if answer.status in (_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN) and not answer.is_throttled:
            raise PlatformRefused(self._told(call, answer))
        return self._checked(call, answer)

    async def token(self) -> str:
        """Raises PlatformRefused: the credentials are not accepted; PlatformError: there is none now."""
        async with self._fetching:
            now = self._clock.now()
            if self._token is None or now >= self._token.ends:
                self._token = await self._fetch(now)
            return self._token.text

    async def download(self, address: str, most: int) -> bytes:
        """A file that DingTalk named. Raises PlatformError: it is not there, or too large."""
        content = bytearray()
        try:
            async with self._http.stream("GET", address) as response:
                if response.status_code != _SUCCESS:
                    raise PlatformError(f"The file could not be fetched: HTTP {response.status_code}.")
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > most:
                        raise PlatformError(f"The file is larger than {most >> 20} MiB, which is the most.")
        except httpx.InvalidURL as error:
            raise PlatformError("DingTalk named no address for the file.") from error
        except httpx.HTTPError as error:
            raise PlatformError(_failure("The file", error)) from error
        return bytes(content)

    # ---- the token

    async def _fetch(self, now: datetime) -> _Token:
        body: dict[str, Json] = {"appKey": self.options.client_id, "appSecret": self.options.client_secret}
        try:
            document = await self.open("/v1.0/oauth2/accessToken", body)
        except PlatformRefused:
            self.is_refused = True
            raise
        except PlatformError as error:
            # What needs the token was not asked for.
            raise error if error.untaken else _Unavailable(error.message) from error
        answer = read_as(TokenAnswer, json.dumps(document))
        if answer is None:
            raise _Unavailable("DingTalk answered without an access token.")
        self.is_refused = False
        # Of one that is shorter than the margin at least half is used.
        seconds = max(answer.expire_in - _MARGIN, answer.expire_in / 2)
        return _Token(text=answer.access_token, ends=now + timedelta(seconds=seconds))

    def _forget(self, token: str) -> None:
        """DingTalk does not take it. Somebody else may have fetched another one meanwhile."""
        if self._token is not None and self._token.text == token:
            self._token = None

    # ---- calls

    async def _patient(
        self, call: DingTalkCall, ask: Callable[[DingTalkCall], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Again after a pause, as long as it was certainly not done."""
        for pause in (*call.pauses, None):
            await self._wait_for_quiet()
            try:
                return await ask(call)
            except DingTalkThrottled as error:
                seconds = error.retry_after or pause
                if seconds is not None:
                    self._quiet_until = time.monotonic() + seconds
                if pause is None or (seconds or 0) > self.times.longest_wait:
                    raise
            except _Unavailable:
                if pause is None:
                    raise
                await self._sleep(pause)
        raise PlatformError(f"{call.what} was not done.")

    async def _wait_for_quiet(self) -> None:
        """After DingTalk turned something away, nothing else is sent for that long either."""
        wait = self._quiet_until - time.monotonic()
        if wait > self.times.longest_wait:
            raise DingTalkThrottled(f"Throttling: DingTalk takes nothing for {wait:.0f} seconds.", retry_after=wait)
        if wait > 0:
            await self._sleep(wait)

    async def _with_token(self, call: DingTalkCall) -> dict[str, Any]:
        for is_last in (False, True):
            token = await self.token()
            answer = await self._ask(call, {"x-acs-dingtalk-access-token": token})
            if answer.status != _UNAUTHORIZED or is_last:
                return self._checked(call, answer)
            self._forget(token)
        raise PlatformError(f"{call.what} was not done.")

    async def _plain(self, call: DingTalkCall) -> dict[str, Any]:
        return self._checked(call, await self._ask(call, {}))

    async def _ask(self, call: DingTalkCall, headers: dict[str, str]) -> _Answer:
        try:
            async with self._http.stream(call.method, call.address, json=call.body, headers=headers) as response:
                content = bytearray()
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > _MOST:
                        raise PlatformError(f"{call.what}: DingTalk answered more than we read.")
        except httpx.InvalidURL as error:
            raise DingTalkTurnedAway(f"{call.what}: this is no address.") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise _Unavailable(_failure(call.what, error)) from error
        except httpx.HTTPError as error:
            raise PlatformError(_failure(call.what, error)) from error
        document = _document(bytes(content))
        return _Answer(
            status=response.status_code,
            document=document or {},
            is_garbage=document is None,
            retry_after=_seconds(response.headers.get("retry-after")),
        )

    def _checked(self, call: DingTalkCall, answer: _Answer) -> dict[str, Any]:
        if answer.is_done and not answer.is_garbage:
            return answer.document
        text = self._told(call, answer)
        if answer.is_throttled:
            raise DingTalkThrottled(f"Throttling: {text}", retry_after=answer.retry_after)
        if answer.code.lower() == "invalid.openconversationid":
            raise InvalidConversation(text)
        if answer.status == _UNAUTHORIZED:
            raise PlatformRefused(text)
        if answer.status >= _FAULT or answer.is_done:
            text += " It is a fault of DingTalk."
            if call.is_keyed:
                raise _Unavailable(text)
            raise PlatformError(text)
        raise DingTalkTurnedAway(text)

    def _told(self, call: DingTalkCall, answer: _Answer) -> str:
        """What DingTalk said, without what only we and it may know."""
        reason = "no answer that we can read" if answer.is_garbage else f"{answer.code} {answer.words}"
        reason = " ".join(reason.split())
        for secret in (self.options.client_secret, self._token.text if self._token else "", call.address):
            reason = reason.replace(secret, "•••") if secret else reason
        reason = "".join(character if character.isprintable() else " " for character in reason)[:_SHOWN]
        return f"{call.what}: HTTP {answer.status} {reason}".strip() + "."


def _document(content: bytes) -> dict[str, Any] | None:
    """None: it is no answer of DingTalk."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdigit() else None


def _failure(what: str, error: httpx.HTTPError) -> str:
    """Never the words of the error: it may quote an address that is a secret."""
    if isinstance(error, httpx.TimeoutException):
        return f"{what}: DingTalk did not answer, the request timed out."
    if isinstance(error, httpx.ConnectError):
        cause = str(error)
        for sign in ("Name or service not known", "refused", "certificate"):
            if sign.lower() in cause.lower():
                return f"{what}: no connection to DingTalk ({sign})."
        return f"{what}: no connection to DingTalk."
    return f"{what}: the connection to DingTalk broke off ({type(error).__name__})."
