"""What the tools need of a memory: the embedded one, the SDK's client and the daemon's own services all have it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from commonplace.values.context import ContextBlock
from commonplace.values.query import Hit, Page
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope, Scopes
from commonplace.values.task import ContextMode, MemoryTask, TargetScope


class MemoryClient(Protocol):
    """
    A memory, as one caller may use it. `scopes` None reads every scope the caller reaches. What goes wrong is a
    `CommonplaceError`.
    """

    async def put(
        self,
        text: str,
        /,
        *,
        scope: Scope | str = ...,
        key: str | None = ...,
        source: str = ...,
        metadata: Mapping[str, Json] | None = ...,
        session: str | None = ...,
    ) -> Record: ...

    async def search(self, text: str, /, *, scopes: Scopes = ..., limit: int = ...) -> builtins.list[Hit]: ...

    async def get(self, id: str, /) -> Record: ...

    async def list(self, *, scopes: Scopes = ..., limit: int = ..., cursor: str | None = ...) -> Page: ...

    async def delete(self, id: str, /, *, expected: int | None = ..., reason: str | None = ...) -> Record: ...

    async def context(
        self, query: str, /, *, scopes: Scopes = ..., session: str | None = ..., budget: int | None = ...
    ) -> ContextBlock: ...


@runtime_checkable
class RememberingClient(Protocol):
    """A memory that also has files: the SDK's client and the daemon's own services."""

    async def remember_workspace_memory(
        self, content: str, /, *, context_mode: ContextMode = ..., scope: TargetScope | None = ...
    ) -> MemoryTask: ...

    async def get_workspace_memory_remember_task(self, id: str, /, *, wait: float = ...) -> MemoryTask: ...
