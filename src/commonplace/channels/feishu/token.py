"""The app's token, by which it acts in its organisation."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

import httpx
from pydantic import BaseModel, ValidationError

from commonplace.channels.feishu.options import FeishuOptions
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError, PlatformRefused

_PATH: Final = "/open-apis/auth/v3/tenant_access_token/internal"
_SHORTEST: Final = 300
_EARLY: Final = 60
_WRONG: Final = frozenset({10003, 10014, 10015, 10005, 10019})
"""The app is not known, its secret is another, or it is switched off."""


class _Token(BaseModel):
    code: int
    msg: str = ""
    tenant_access_token: str = ""
    expire: int = 0


class TenantToken:
    """The one owner of the token. Whoever needs it while it is fetched waits for the same answer."""

    def __init__(self, options: FeishuOptions, client: httpx.AsyncClient, clock: Clock) -> None:
        self._options = options
        self._client = client
        self._clock = clock
        self._token = ""
        self._until: datetime | None = None
        self._task: asyncio.Task[str] | None = None

    async def value(self) -> str:
        """
        Raises:
            PlatformRefused: Feishu does not accept the app's secret.
            PlatformError: it gave none for another reason.
        """
        if self._token and self._until is not None and self._clock.now() < self._until:
            return self._token
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._fetch())
        return await asyncio.shield(self._task)

    def refuse(self, token: str) -> None:
        """Feishu takes this one no longer."""
        if token == self._token:
            self._token = ""

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _fetch(self) -> str:
        asked_at = self._clock.now()
        body = {"app_id": self._options.app_id, "app_secret": self._options.app_secret}
        try:
            response = await self._client.post(_PATH, json=body)
            answer = _Token.model_validate_json(response.content)
        except httpx.TimeoutException as error:
            raise PlatformError("Feishu gave no token: the request timed out.") from error
        except httpx.HTTPError as error:
            raise PlatformError(f"Feishu gave no token: {error}"[:300]) from error
        except ValidationError as error:
            # `response` is there: only its content is none.
            raise PlatformError("Feishu gave no token, and no reason that can be read.") from error
        if answer.code in _WRONG or response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise PlatformRefused(f"Feishu does not accept the app: code {answer.code}.")
        if answer.code != 0 or not answer.tenant_access_token:
            raise PlatformError(
                self._options.without_secrets(f"Feishu gave no token: code {answer.code}, {answer.msg}")[:300]
            )
        self._token = answer.tenant_access_token
        self._until = asked_at + timedelta(seconds=max(answer.expire, _SHORTEST) - _EARLY)
        return self._token
