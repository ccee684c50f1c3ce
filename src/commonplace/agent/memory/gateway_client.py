"""
The three calls of a memory gateway over HTTP, as Beaver makes them.

Nothing is tried again: an `add` whose answer was lost may have been done, and a second one would double the turn. What goes wrong
is a `GatewayError`, which says where and how, and neither what was sent nor what came back. The user's key is in the bodies of requests
and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import isfinite
from typing import Final, Literal, cast

import httpx

from commonplace.errors import InvalidInput
from commonplace.values.json import Json

GatewayOperation = Literal["search", "add", "flush"]
GatewayFault = Literal["timeout", "connection", "http_status", "invalid_json", "invalid_response"]

MOST_BYTES: Final = 8 << 20
MOST_TEXT: Final = 4_000
_CUT: Final = " …"
_REDACTED: Final = "[redacted]"


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    """
    Where the gateway is, and as whom it is used.

    Raises:
        InvalidInput: the address, the user or their key is missing, or the address is none.
    """

    base_url: str
    user_id: str
    user_key: str = field(repr=False)
    app_id: str = "default"
    project_id: str = "default"
    scope: tuple[str, ...] = ("current_chat", "resources")
    top_k: int = 8
    timeout_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name in ("base_url", "user_id", "user_key"):
            if not getattr(self, name).strip():
                raise InvalidInput(_needed(name))
        if not _is_address(self.base_url):
            raise InvalidInput(
                "memory.gateway.base_url is no address. Write it as http://host:port or https://host, without a name and a password."
            )


def _needed(name: str) -> str:
    return (
        f"The memory mode memory_gateway needs memory.gateway.{name}. Set it in config.toml of the home folder or as "
        f"COMMONPLACE_MEMORY_GATEWAY_{name.upper()}, or set memory.mode to curated."
    )


def _is_address(text: str) -> bool:
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, ValueError):
        return False
    return (
        url.scheme in ("http", "https") and bool(url.host) and not url.userinfo and not url.query and not url.fragment
    )


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class GatewayError(Exception):
    """The memory gateway did not answer as it should. The turn goes on without it."""

    def __init__(self, operation: GatewayOperation, fault: GatewayFault, http_status: int | None = None) -> None:
        self.operation: GatewayOperation = operation
        self.path = path_of(operation)
        self.fault: GatewayFault = fault
        self.http_status = http_status
        status_text = "" if http_status is None else f" {http_status}"
        super().__init__(f"The memory gateway failed at POST {self.path}: {fault}{status_text}.")

    @property
    def data(self) -> dict[str, Json]:
        """What an event may tell of it."""
        data: dict[str, Json] = {"operation": self.operation, "category": self.fault}
        return data if self.http_status is None else {**data, "http_status": self.http_status}


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayResult:
    """What is taken of a result. Whatever else the gateway tells of it is left where it is."""

    text: str
    id: str | None = None
    session_id: str | None = None
    score: float | None = None
    source_scope: str | None = None
    resource_uri: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayMessage:
    """One thing said, at `timestamp` milliseconds since 1970 (UTC)."""

    sender_id: str
    role: Literal["user", "assistant"]
    timestamp: int
    content: str


def path_of(operation: GatewayOperation) -> str:
    return f"/memories/{operation}"


class MemoryGatewayClient:
    """Every call may raise GatewayError. Close it with `aclose`."""

    def __init__(self, options: GatewayOptions) -> None:
        self.options = options
        self._base = options.base_url.strip().rstrip("/")
        self._http = httpx.AsyncClient(
            timeout=options.timeout_seconds,
            # No proxy stands between two programs of one machine, and no redirection takes the key elsewhere.
            trust_env=not _is_local(httpx.URL(self._base).host),
            follow_redirects=False,
        )

    async def search(self, conversation: str, query: str) -> list[GatewayResult]:
        """What the gateway finds in the scopes of the options, best first; without what has no text."""
        options = self.options
        document = await self._post(
            "search",
            {
                "conversation_id": conversation,
                "query": query,
                "scope": list[Json](options.scope),
                "top_k": options.top_k,
            },
        )
        results = document.get("results")
        if not isinstance(results, list):
            raise GatewayError("search", "invalid_response")
        usable = [self._result(cast(Mapping[str, object], result)) for result in results if isinstance(result, dict)]
        return [result for result in usable if result is not None][: options.top_k]

    async def add(self, session: str, messages: Sequence[GatewayMessage]) -> None:
        """Have the messages kept, in order."""
        bodies: list[Json] = [
            {
                "sender_id": message.sender_id,
                "role": message.role,
                "timestamp": message.timestamp,
                "content": message.content,
            }
            for message in messages
        ]
        await self._post("add", {"session_id": session, "messages": bodies})

    async def flush(self, session: str) -> None:
        """Have the gateway learn from what was added."""
        await self._post("flush", {"session_id": session})

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _post(self, operation: GatewayOperation, fields: Mapping[str, Json]) -> dict[str, Json]:
        options = self.options
        body: dict[str, Json] = {
            "user_id": options.user_id,
            "user_key": options.user_key,
            "app_id": options.app_id,
            "project_id": options.project_id,
            **fields,
        }
        outcome = await self._sent(operation, body)
        if isinstance(outcome, GatewayError):
            # Raised here, where no other error is being handled: an error of the transport has the request, and so the key.
            raise outcome
        try:
            document: object = json.loads(outcome)
        except (ValueError, RecursionError):
            document = None
            fault: GatewayFault = "invalid_json"
        else:
            fault = "invalid_response"
        if not isinstance(document, dict):
            raise GatewayError(operation, fault)
        return cast(dict[str, Json], document)

    async def _sent(self, operation: GatewayOperation, body: Mapping[str, Json]) -> bytes | GatewayError:
        """The body of a good answer, or what went wrong."""
        answer = bytearray()
        try:
            # The transport's own limit is for each step. A gateway that answers a byte at a time must not hold a turn.
            async with (
                asyncio.timeout(self.options.timeout_seconds),
                self._http.stream("POST", self._base + path_of(operation), json=body) as response,
            ):
                if not response.is_success:
                    return GatewayError(operation, "http_status", response.status_code)
                async for part in response.aiter_bytes():
                    answer += part
                    if len(answer) > MOST_BYTES:
                        return GatewayError(operation, "invalid_response", response.status_code)
        except (httpx.TimeoutException, TimeoutError):
            return GatewayError(operation, "timeout")
        except httpx.DecodingError:
            return GatewayError(operation, "invalid_response")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError):
            return GatewayError(operation, "connection")
        return bytes(answer)

    def _result(self, fields: Mapping[str, object]) -> GatewayResult | None:
        text = self._text(fields, "text")
        if text is None or not text.strip():
            return None
        return GatewayResult(
            text=text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + _CUT,
            id=self._text(fields, "id"),
            session_id=self._text(fields, "session_id"),
            score=_number(fields.get("score")),
            source_scope=self._text(fields, "source_scope"),
            resource_uri=self._text(fields, "resource_uri"),
        )

    def _text(self, fields: Mapping[str, object], name: str) -> str | None:
        """As it can be sent on. A gateway that says the key back does not bring it into a prompt."""
        value = fields.get(name)
        if not isinstance(value, str):
            return None
        # Half a character, as JSON can name one, is none in UTF-8.
        return value.encode("utf-8", "replace").decode("utf-8").replace(self.options.user_key, _REDACTED)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None
