"""The server inside the test, with a few routes of its own beside the operators'."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from commonplace.errors import RecordNotFound, StoreUnavailable
from commonplace.server.auth import Caller, Idempotent, KeyedCaller, Pairing, Served
from commonplace.server.door import ApiDoor
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, Opened, served
from commonplace.values.query import Query as Question


class Body(BaseModel):
    text: str
    importance: int = Field(default=0, ge=0, le=100)


trial = APIRouter()


@trial.post("/v1/trial/echo")
@trial.post("/api/trial/echo")
@trial.post("/memory/trial/echo")
async def echo(who: Caller, body: Body, once: Idempotent) -> dict[str, Any]:
    fingerprint = once.fingerprint.hex() if once else None
    return {"length": len(body.text), "who": who.subject, "client": who.client, "once": fingerprint}


@trial.get("/v1/trial/whoami")
async def whoami(who: Caller) -> dict[str, Any]:
    return {"subject": who.subject, "tenant": who.tenant, "door": who.door, "request": who.request, "at": who.address}


@trial.get("/v1/trial/strict")
async def strict(who: KeyedCaller) -> dict[str, str]:
    return {"subject": who.subject}


@trial.post("/memories/trial")
async def pair(known: Pairing, body: Body) -> dict[str, str]:
    return {"subject": (await known("default/default", "ana", body.text)).subject}


@trial.get("/v1/trial/slow")
async def slow(who: Caller, seconds: Annotated[float, Query()] = 30.0) -> dict[str, str]:
    await asyncio.sleep(seconds)
    return {"subject": who.subject}


@trial.get("/v1/trial/stream")
async def stream(who: Caller) -> StreamingResponse:
    async def frames() -> AsyncGenerator[bytes]:
        for _ in range(4):
            await asyncio.sleep(0.1)
            yield b"data: x\n\n"

    return StreamingResponse(frames(), media_type="text/event-stream")


@trial.get("/v1/trial/missing")
@trial.get("/api/trial/missing")
@trial.get("/memory/trial/missing")
@trial.get("/users/trial/missing")
async def missing(who: Caller) -> None:
    raise RecordNotFound(ids=["1"])


@trial.get("/v1/trial/down")
async def down(who: Caller) -> None:
    raise StoreUnavailable


@trial.get("/v1/trial/mistake")
async def mistake(who: Caller) -> None:
    raise ValueError("the text of a memory")


@trial.post("/v1/trial/search")
async def search(who: Caller, services: Served, body: Body) -> int:
    return len(await services.recall.search(who, Question(text=body.text)))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def opened(home: Path) -> Opened:
    """`async with opened(max_body_mb=1) as running`: a server with other settings than the usual."""
    return partial(served, home, doors=[ApiDoor(routers=(trial,))])


@pytest.fixture
async def running(opened: Opened, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with opened(clock=clock) as begun:
        yield begun
