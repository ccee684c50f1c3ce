"""A browser that signs in, as the tests of sessions have it."""

from functools import partial
from http.cookies import Morsel, SimpleCookie
from typing import Any

import httpx

from commonplace.doors.native import audit, people, records
from commonplace.doors.native import sign_in as session
from commonplace.doors.native import transfer as moving
from commonplace.server.door import ApiDoor
from commonplace.testing.daemon import TOKEN, InProcess, served

OURS = {"X-Commonplace": "console"}
NAME = "commonplace-4170"


opened = partial(
    served, doors=[ApiDoor(routers=(session.router, audit.router, moving.router, people.router, records.router))]
)
"""As little as these tests need: a server with every route takes a while to begin."""


def cookie_of(answer: httpx.Response) -> "Morsel[str]":
    return SimpleCookie(answer.headers["set-cookie"])[NAME]


async def key(running: InProcess, role: str = "writer", **more: Any) -> dict[str, Any]:
    answer = await running.client.post("/v1/keys", json={"name": "ana", "role": role, **more})
    return answer.raise_for_status().json()


async def signed_in(running: InProcess, secret: str = TOKEN, **more: Any) -> httpx.Response:
    """From now on `running.stranger` shows the cookie."""
    return (await running.stranger.post("/v1/sign-in", json={"key": secret, **more})).raise_for_status()
