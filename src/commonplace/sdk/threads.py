"""
Blocking work on files: in a thread for `AsyncClient`, in place for `Client`.

These are the only steps that `tools/sync_client.py` cannot translate, so both versions are written here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def async_call(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(work, *args, **kwargs)


def plain_call(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return work(*args, **kwargs)


async def async_parts(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    while part := await asyncio.to_thread(next, parts, b""):
        yield part


def plain_parts(parts: Iterator[bytes]) -> Iterator[bytes]:
    return parts
