"""Opens a memory inside a program: from settings and an address to a store, its embedders and the engines over them."""

from __future__ import annotations

from asyncio import to_thread
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.compose.async_memory import AsyncMemory
from commonplace.compose.background_loop import BackgroundLoop
from commonplace.compose.configuration import configuration
from commonplace.compose.embedders import MODELS, EmbedderOptions, choose
from commonplace.compose.memory import Memory
from commonplace.compose.stores import SystemClock, is_postgres, open_store
from commonplace.errors import PathNotFound
from commonplace.values.paths import expand_path
from commonplace.values.scope import check_tenant

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path
    from types import TracebackType

    from commonplace.ports.clock import Clock
    from commonplace.ports.embedder import Embedder
    from commonplace.service.local import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenOptions:
    """What a caller said about the memory to open. None: as the settings have it. `agent`: a model writes here."""

    address: str | Path | None = None
    tenant: str | None = None
    embedder: str | Embedder | Sequence[Embedder] | None = None
    create: bool = True
    actor: str | None = None
    agent: bool = False
    clock: Clock | None = None
    reindex: bool = False


class Opening:
    """A memory about to be opened: `await` it, or enter it with `async with`."""

    def __init__(self, options: OpenOptions) -> None:
        self._options = options
        self._memory: AsyncMemory | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemory]:
        return open_with(self._options).__await__()

    async def __aenter__(self) -> AsyncMemory:
        self._memory = await self
        return self._memory

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memory is not None:
            await self._memory.aclose()


def open_memory_async(
    address: str | Path | None = None,
    *,
    tenant: str | None = None,
    embedder: str | Embedder | Sequence[Embedder] | None = None,
    create: bool = True,
    actor: str | None = None,
    clock: Clock | None = None,
    reindex: bool = False,
) -> Opening:
    """
    Open a memory: `async with open_memory_async("team.db") as memory`, or `memory = await open_memory_async("team.db")`.

    As `commonplace.open_memory`, for programs with an event loop.
    """
    return Opening(
        OpenOptions(
            address=address,
            tenant=tenant,
            embedder=embedder,
            create=create,
            actor=actor,
            clock=clock,
            reindex=reindex,
        )
    )


async def open_with(options: OpenOptions) -> AsyncMemory:
    settings = replace(configuration(), is_own_store=options.address is None)
    clock = options.clock or SystemClock()
    tenant = check_tenant(settings.tenant if options.tenant is None else options.tenant)
    address = settings.address if options.address is None else options.address
    from_workspace = options.address is None and settings.store_from_workspace
    embedder_options = EmbedderOptions(
        embedder=settings.embedder if options.embedder is None else options.embedder,
        reindex=options.reindex,
        api_key=settings.api_key,
        base_url=settings.base_url,
        models=settings.home / MODELS,
    )
    async with AsyncExitStack() as stack:
        opened = await open_store(
            address, clock, create=options.create, home=settings.home, from_workspace=from_workspace
        )
        stack.push_async_callback(opened.aclose)
        embedder_options = replace(embedder_options, adopted=opened.adopted)
        choice = await choose(opened.store, embedder_options)
        actor = options.actor or settings.actor
        memory = AsyncMemory(opened, (choice, embedder_options), clock, tenant, actor, settings, agent=options.agent)
        stack.pop_all()
    return memory


async def restore_backup_async(
    source: str | Path, address: str | Path, *, progress: Progress | None = None, clock: Clock | None = None
) -> None:
    """
    Make the store at `address`, which must be new or empty, what the backup `source` holds.

    Raises:
        PathNotFound: there is no such backup, or no folder for the store.
        InvalidFile: the backup is damaged or of another kind of store, or the store is not empty.
    """
    backup = expand_path(source)
    if not await to_thread(backup.is_file):
        raise PathNotFound(f"There is no backup {backup}.", path=str(backup))
    if not is_postgres(address):
        # SQLite is loaded only where it is used.
        from commonplace.stores.sqlite.maintenance import check_backup  # noqa: PLC0415

        # Before the store is made: a file that is no backup must not leave an empty store behind.
        await to_thread(check_backup, backup)
    opened = await open_store(address, clock or SystemClock(), home=configuration().home)
    try:
        await opened.store.maintenance.restore(backup, progress)
    finally:
        await opened.aclose()


# ---- without an event loop


def open_memory(
    address: str | Path | None = None,
    *,
    tenant: str | None = None,
    embedder: str | Embedder | Sequence[Embedder] | None = None,
    create: bool = True,
    actor: str | None = None,
    clock: Clock | None = None,
    reindex: bool = False,
) -> Memory:
    """
    Open a memory: a file, made where there is none unless `create` is False; a `postgresql://` address; or `:memory:`, gone
    when it is closed. Without an address it is the one of the settings, else `memory.db` in the home folder.

    `embedder` is one, several, or how they are written (`static`, `none`, `openai:MODEL@URL`, with commas between). Left
    out, a store keeps those it was made with; a new one takes the static table that comes with the package. `reindex`
    lets a store take other embedders than its own. `actor` is named in every version written here.

    Raises:
        PathNotFound, NotAStore, StoreTooNew, StoreReadOnly, StoreUnavailable: the store cannot be opened.
        EmbedderChanged: the store was made with other embedders.
    """
    loop = BackgroundLoop()
    options = OpenOptions(
        address=address,
        tenant=tenant,
        embedder=embedder,
        create=create,
        actor=actor,
        clock=clock,
        reindex=reindex,
    )
    try:
        return Memory(loop.run(open_with(options)), loop)
    except BaseException:
        loop.stop()
        raise


def restore_backup(
    source: str | Path, address: str | Path, *, progress: Progress | None = None, clock: Clock | None = None
) -> None:
    """
    Make the store at `address`, which must be new or empty, what the backup `source` holds.

    Raises:
        PathNotFound: there is no such backup, or no folder for the store.
        InvalidFile: the backup is damaged or of another kind of store, or the store is not empty.
    """
    loop = BackgroundLoop()
    try:
        loop.run(restore_backup_async(source, address, progress=progress, clock=clock))
    finally:
        loop.stop()
