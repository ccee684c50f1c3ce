"""
Who asks, as a dependency of every route.

A route declares how it is entered: `Caller` (a key, or nobody where the operator opened the daemon), `KeyedCaller` (a key in any
case), `Local` (nobody on a loopback address, else a key) or `Pairing` (a user's id and key in the body). One that declares
none of them keeps the server from starting, unless it is named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from inspect import signature
from typing import Annotated, Any, Final, get_args

from fastapi import Depends, Header, Request, Security, params
from fastapi.routing import iter_route_contexts
from fastapi.security import HTTPBearer
from starlette.routing import BaseRoute
from starlette.types import Scope

from commonplace.errors import InvalidClientId, InvalidInput, TooManyRequests, Unauthenticated
from commonplace.governance.limits import RateLimits, RequestTier, caller_name
from commonplace.server.errors import RENAMED
from commonplace.server.exchange import exchange_of
from commonplace.server.metrics import Metrics
from commonplace.server.options import Options
from commonplace.server.request_checks import require_own_page, session_of
from commonplace.service.account import Idempotency
from commonplace.service.identity import Visit
from commonplace.service.services import Services
from commonplace.values.principal import Principal

PUBLIC: Final = frozenset({"/health", "/", "/console/{build}/{path:path}", "/v1/sign-in"})
"""Routes for everybody: they tell nothing but that we are here, and let in whoever shows a key in the body."""

CONSOLE: Final = "/console/"
"""Where the console's files are: the same for everybody."""

LOCAL: Final = frozenset({"/ready", "/docs", "/openapi.json"})
"""Without anybody's data; for everybody who is on this machine, where only this machine can ask."""

PAIRED: Final = ("/memories/", "/resources")
"""Where the gateway's users come in, with their id and key in the body."""

_CLIENT: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]{1,255}")
_READS: Final = frozenset({"search", "context", "resolve", "tree", "preflight", "recall"})
_PROMPTS: Final = frozenset({"distill", "extract", "flush", "generate", "remember", "forget", "dream"})

key = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="The operator's token (`commonplace token` prints it) or a key (`commonplace key create`).",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AppState:
    """What the routes of an app share; `app.state.shared`."""

    services: Services
    options: Options
    metrics: Metrics
    limits: RateLimits
    version: str
    routes: Sequence[BaseRoute]
    use_cases: Mapping[type, Any] = field(default_factory=dict[type, Any])
    """Those of the doors, by their classes."""

    @classmethod
    def of(cls, app: Any) -> AppState:
        state: AppState = app.state.shared
        return state


def app_state(request: Request) -> AppState:
    return AppState.of(request.app)


def services(request: Request) -> Services:
    return app_state(request).services


def options(request: Request) -> Options:
    return app_state(request).options


async def _served(request: Request) -> Services:
    # A dependency that is not a coroutine function costs each request a way to a thread and back.
    return services(request)


async def _told(request: Request) -> Options:
    return options(request)


Served = Annotated[Services, Depends(_served)]
Told = Annotated[Options, Depends(_told)]


def use_case(kind: type) -> Any:
    """As a dependency: what a door brought along (`Door.use_cases`)."""

    async def brought(request: Request) -> Any:
        return app_state(request).use_cases[kind]

    return Depends(brought)


# ---- who asks


async def caller(request: Request, _: Annotated[object, Security(key)]) -> Principal:
    return await principal(request, strict=False)


async def keyed_caller(request: Request, _: Annotated[object, Security(key)]) -> Principal:
    return await principal(request, strict=True)


async def local(request: Request, _: Annotated[object, Security(key)]) -> Principal | None:
    if options(request).is_local and "authorization" not in request.headers:
        return None
    return await principal(request, strict=True)


class Pair:
    """Call it with what the body says: the tenant, the user's id and their key."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def __call__(self, tenant: str, user: str, secret: str) -> Principal:
        who = await services(self._request).identity.person(visit(self._request), tenant, user, secret)
        return admitted(self._request, who)


async def pairing(request: Request) -> Pair:
    return Pair(request)


Caller = Annotated[Principal, Depends(caller)]
KeyedCaller = Annotated[Principal, Depends(keyed_caller)]
Local = Annotated[Principal | None, Depends(local)]
Pairing = Annotated[Pair, Depends(pairing)]
ACCESS: Final = frozenset({caller, keyed_caller, local, pairing})


async def principal(request: Request, *, strict: bool) -> Principal:
    """
    Raises:
        Unauthenticated, Forbidden, TooManyRequests: as `service.identity` says.
        OriginNotAllowed: it came with a session, and not from a page of ours.
        InvalidClientId: the client's id is not one.
    """
    secret = bearer(request)
    session = session_of(request.scope) if secret is None else None
    if session is not None:
        require_own_page(request.scope)
    who = await services(request).identity.principal(visit(request, strict=strict), secret, session=session)
    return admitted(request, who)


async def identify(scope: Scope) -> bool:
    """
    Before a large body is read: whether the request shows a credential that counts, or comes to a daemon that asks for none.

    Raises:
        Unauthenticated, Forbidden, TooManyRequests, OriginNotAllowed, InvalidClientId: it shows one, and it is refused.
    """
    request = Request(scope)
    secret = bearer(request)
    session = session_of(scope) if secret is None else None
    if session is not None:
        require_own_page(scope)
    if secret is None and session is None and not options(request).open_to_all:
        return False
    await services(request).identity.principal(visit(request), secret, session=session)
    return True


def visit(request: Request, *, strict: bool = False) -> Visit:
    exchange, headers = exchange_of(request.scope), request.headers
    client = headers.get("x-client-id", headers.get("x-qwen-client-id"))
    if client is not None and not _CLIENT.fullmatch(client):
        raise InvalidClientId
    return Visit(
        door=exchange.door,
        address=request.client.host if request.client else None,
        forwarded="forwarded" in headers or "x-forwarded-for" in headers,
        client=client,
        request=exchange.id,
        tenant=headers.get("x-tenant"),
        strict=strict,
    )


def admitted(request: Request, who: Principal) -> Principal:
    """Note who it is and whose hand, and refuse whoever asks too often."""
    exchange = exchange_of(request.scope)
    if (hand := request.headers.get("x-hand")) is not None:
        who = handed(who, hand)
    exchange.who = who
    state = app_state(request)
    tier = tier_of(request.method, request.url.path)
    wait = state.limits.check(caller_name(who), tier, state.services.desk.clock.now().timestamp())
    if wait is not None:
        raise TooManyRequests(tier=tier, retry_after=wait)
    return who


def handed(who: Principal, hand: str) -> Principal:
    """The caller as an agent, if the request says so. A person's hand is what a key has or has not: it cannot be claimed."""
    if hand.strip().casefold() != "agent":
        raise InvalidInput("X-Hand: agent, or leave it out.")
    return replace(who, agent=True)


def tier_of(method: str, path: str) -> RequestTier:
    """Which limit counts a request: one that only reads, one that writes, one that sets a model to work."""
    last = path.rstrip("/").rpartition("/")[2]
    if method in ("GET", "HEAD") or last in _READS:
        return "read"
    is_talk = (last == "turns" and path.startswith("/v1/sessions/")) or (
        last == "prompt" and path.startswith("/session/")
    )
    return "prompt" if last in _PROMPTS or is_talk else "mutation"


def bearer(request: Request) -> str | None:
    """The key in the header, None where there is no such header."""
    headers = request.headers.getlist("authorization")
    if not headers:
        return None
    scheme, _, secret = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer" or not secret.strip():
        # Whoever shows something is not taken for somebody who shows nothing.
        raise Unauthenticated
    return secret.strip()


# ---- requests that come twice


async def idempotency(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=255,
            description="The same key again, within a day, answers as before and writes nothing twice.",
        ),
    ] = None,
) -> Idempotency | None:
    if idempotency_key is None:
        return None
    if not _PRINTABLE.fullmatch(idempotency_key):
        raise InvalidInput("An idempotency key has 1 to 255 printable characters.")
    query: bytes = request.scope["query_string"]
    hashed = sha256()
    for part in (request.method.encode(), request.url.path.encode(), query, await request.body()):
        hashed.update(len(part).to_bytes(8, "big") + part)
    return Idempotency(key=idempotency_key, fingerprint=hashed.digest())


Idempotent = Annotated[Idempotency | None, Depends(idempotency)]


# ---- no way in that nobody thought of


def require_access(routes: Sequence[BaseRoute]) -> None:
    """
    Raises:
        RuntimeError: a route does not say how it is entered.
    """
    open_routes = [path for path, is_guarded in entrances(routes) if not is_guarded and path not in PUBLIC]
    if open_routes:
        raise RuntimeError(f"These routes do not say who may enter (see server/auth.py): {', '.join(open_routes)}")


def entrances(routes: Sequence[BaseRoute]) -> Iterator[tuple[str, bool]]:
    """Every route, and whether it says how it is entered."""
    for context in iter_route_contexts(routes):
        # A mount or a plain route has no dependencies, and so no way to say it.
        endpoint = context.endpoint
        is_guarded = endpoint is not None and not ACCESS.isdisjoint(_dependencies(endpoint))
        yield context.path or str(context.route), is_guarded


def _dependencies(call: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """What is called before it, as its parameters say, and before those."""
    for parameter in signature(call, eval_str=True).parameters.values():
        for mark in (*get_args(parameter.annotation), parameter.default):
            if isinstance(mark, params.Depends) and mark.dependency is not None:
                yield mark.dependency
                yield from _dependencies(mark.dependency)


def is_open(options: Options, path: str) -> bool:
    """Whether a request for this path may come without a key."""
    is_public = path in PUBLIC or path in RENAMED or path.startswith((CONSOLE, *PAIRED))
    return is_public or (options.is_local and path in LOCAL)
