"""Signing in, for browsers: a session in a cookie that no script can read, begun with a key or a one-time code."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from commonplace.doors.native.conditions import problems
from commonplace.errors import Forbidden, Unauthenticated
from commonplace.governance.sessions import SESSION_LASTS
from commonplace.server.auth import KeyedCaller, Served, Told, admitted, bearer, principal, visit
from commonplace.server.request_checks import cookie_name, require_own_page, session_of
from commonplace.wire.people import CodeAnswer, MeAnswer, SignInAnswer, SignInBody

router = APIRouter(prefix="/v1", tags=["native"])


@router.post("/codes", status_code=201, summary="Make a one-time code", responses=problems())
async def create_code(request: Request, who: KeyedCaller, served: Served, response: Response) -> CodeAnswer:
    """
    Signs a browser in as the key that asks: once, within a minute. `url` is where to; the code is behind its `#`, which no
    server is told. A session cannot ask for one.
    """
    secret = bearer(request)
    if secret is None:
        raise Forbidden("A code is made with a key, not with a session.")
    code, ends_at = await served.identity.code(who, secret)
    response.headers["Cache-Control"] = "no-store"
    address = f"{request.url.scheme}://{request.url.netloc}"
    return CodeAnswer(code=code, url=f"{address}/#/enter/{code}", expires_at=ends_at)


@router.get("/sign-in", summary="Is anybody signed in?", responses=problems())
async def current(request: Request, response: Response, served: Served, told: Told) -> SignInAnswer:
    """Needs no key, and finds nothing wrong with nobody. A session that is over is taken away."""
    try:
        who = await principal(request, strict=False)
    except Unauthenticated:
        who = None
        if "authorization" not in request.headers and session_of(request.scope) is not None:
            _forget(request, response)
            who = await served.identity.principal(visit(request), None) if told.open_to_all else None
    return SignInAnswer(open=told.open_to_all, me=who and MeAnswer.of(who, open=told.open_to_all))


@router.post("/sign-in", summary="Sign in", responses=problems())
async def sign_in(request: Request, body: SignInBody, served: Served, told: Told, response: Response) -> MeAnswer:
    """With a key or a code. The answer sets a cookie that stands for the key, for twelve hours."""
    came = visit(request, strict=True)
    if body.code is not None:
        begun = await served.identity.redeem(came, body.code.strip())
    else:
        begun = await served.identity.sign_in(came, (body.key or "").strip())
    admitted(request, begun.who)
    response.set_cookie(
        cookie_name(request.scope),
        begun.cookie,
        max_age=int(SESSION_LASTS.total_seconds()) if body.stay else None,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return MeAnswer.of(begun.who, open=told.open_to_all)


@router.delete("/sign-in", status_code=204, summary="Sign out", responses=problems())
async def sign_out(
    request: Request,
    response: Response,
    served: Served,
    everywhere: Annotated[
        bool, Query(description="End every session of the same key, in other browsers, too.")
    ] = False,
) -> None:
    """The session is over, also for whoever copied its cookie, and the cookie is taken away. It is no mistake to have none."""
    session = session_of(request.scope)
    if session is not None:
        require_own_page(request.scope)
        await served.identity.sign_out(visit(request), session, everywhere=everywhere)
        _forget(request, response)


def _forget(request: Request, response: Response) -> None:
    response.delete_cookie(
        cookie_name(request.scope), path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )
