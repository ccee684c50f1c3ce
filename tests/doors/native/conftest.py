"""The native door inside the test: somebody with the operator's token, and others with keys of their own."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import InProcess, served


@pytest.fixture
async def running(home: Path) -> AsyncGenerator[InProcess]:
    async with served(home) as begun:
        yield begun


@pytest.fixture
def http(running: InProcess) -> httpx.AsyncClient:
    """The operator."""
    return running.client


Keyed = Callable[..., Awaitable[dict[str, str]]]


@pytest.fixture
def keyed(http: httpx.AsyncClient) -> Keyed:
    """`headers=await keyed("reader", "workspace:web")`: the headers of a new key of that role, reaching those scopes."""

    async def made(role: str, *scopes: str) -> dict[str, str]:
        body = {"name": role, "role": role, "scopes": list(scopes) or None}
        answer = await http.post("/v1/keys", json=body)
        return {"Authorization": f"Bearer {answer.json()['secret']}"}

    return made


@pytest.fixture
def put(http: httpx.AsyncClient) -> Callable[..., Awaitable[dict[str, Any]]]:
    """A record just stored."""

    async def stored(text: str, **fields: Any) -> dict[str, Any]:
        answer = await http.post("/v1/records", json={"text": text, **fields})
        assert answer.is_success, answer.text
        return answer.json()["record"]

    return stored
