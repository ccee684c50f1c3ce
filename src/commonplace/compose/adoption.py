"""
Stores that a workspace's file names: ours if this home has made or adopted them.

The home remembers the path and the mark that it wrote into the store. Any other store is opened as a foreign one, with a warning.
"""

from __future__ import annotations

import shlex
import warnings
from asyncio import to_thread
from contextlib import suppress
from pathlib import Path

from commonplace.ports.clock import Clock
from commonplace.ports.store import Store
from commonplace.stores.sqlite.foreign import ForeignStore
from commonplace.stores.sqlite.marks import StoreClaims, add_mark, has_mark, read_claims
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.workspace.ledger import TrustLedger
from commonplace.workspace.report import PassedOver

__all__ = ["StoreClaims", "adopt_store", "is_adopted", "open_from_workspace", "read_claims"]


async def open_from_workspace(path: Path, clock: Clock, home: Path) -> tuple[Store, bool]:
    """The store, made where there is none, and whether it is ours. Raises what opening a store does, and InvalidFile."""
    ledger = TrustLedger(home)
    if await to_thread(is_adopted, path, ledger):
        return await SqliteStore.open(path, clock), True
    if not await to_thread(path.exists):
        store = await SqliteStore.open(path, clock)
        # A home that cannot be written keeps nobody from working: the store counts as ours this time.
        with suppress(OSError):
            await to_thread(adopt_store, path, ledger)
        return store, True
    store = await ForeignStore.open(path, clock)
    warnings.warn(
        f"The store {path} was not made here: its trust labels, keys, users and jobs do not count. If you trust whoever made it, "
        f"run `commonplace trust --store {shlex.quote(str(path))}`.",
        PassedOver,
        stacklevel=1,
    )
    return store, False


def is_adopted(path: Path, ledger: TrustLedger) -> bool:
    """Whether this home has made or adopted the store at `path`. Raises InvalidFile: what this home trusts cannot be read."""
    mark = ledger.mark_of(path)
    return mark is not None and path.exists() and has_mark(path, mark)


def adopt_store(path: Path, ledger: TrustLedger) -> None:
    """From now on the store at `path` is ours. Raises NotAStore, StoreTooNew, StoreReadOnly, InvalidFile."""
    ledger.add_store(path, add_mark(path))
