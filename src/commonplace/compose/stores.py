"""Which store an address means."""

from __future__ import annotations

import re
import shutil
import tempfile
from asyncio import to_thread
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from commonplace.errors import InvalidInput, PathNotFound
from commonplace.values.moment import utc
from commonplace.values.paths import expand_path

if TYPE_CHECKING:
    from commonplace.ports.clock import Clock
    from commonplace.ports.store import Store

_POSTGRES: Final = ("postgresql://", "postgres://")
_IN_MEMORY: Final = (":memory:", "memory:")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class SystemClock:
    def now(self) -> datetime:
        return utc(datetime.now(UTC))


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """
    An open store. `passing` is the folder of a store in memory, removed when it is closed. A store that was not `adopted` was
    made elsewhere: its labels and keys do not count.
    """

    store: Store
    passing: Path | None = None
    adopted: bool = True

    async def aclose(self) -> None:
        await self.store.aclose()
        if self.passing is not None:
            # On Windows something may still hold a file for a moment; the system empties its folder anyway.
            await to_thread(shutil.rmtree, self.passing, ignore_errors=True)


def is_postgres(address: str | Path) -> bool:
    return str(address).startswith(_POSTGRES)


async def open_store(
    address: str | Path,
    clock: Clock,
    *,
    create: bool = True,
    home: Path | None = None,
    from_workspace: bool = False,
) -> Opened:
    """
    Open a PostgreSQL address, or a file, which is made if there is none; so is the `home` folder, but no other. A store that a
    person named counts as theirs; a file that comes `from_workspace` only if this home has made or adopted it.

    Raises:
        InvalidInput: the address is neither, or PostgreSQL's and its driver is not installed.
        PathNotFound: there is no such file and `create` is False, or no folder to make it in.
    """
    text = str(address)
    if is_postgres(text):
        try:
            # The drivers of the other store need not be loaded, and those of this one are an extra.
            from commonplace.stores.postgres.store import PostgresStore  # noqa: PLC0415
        except ImportError as missing:
            raise InvalidInput(
                "The PostgreSQL driver is not installed. Run `pip install 'commonplace[postgres]'`.", extra="postgres"
            ) from missing
        return Opened(store=await PostgresStore.open(text, clock))
    if isinstance(address, str) and _SCHEME.match(text):
        raise InvalidInput(
            f"{text.split('://')[0]}:// is not a kind of store. Give a path, or a postgresql:// address."
        )
    # Nor are they needed for PostgreSQL.
    from commonplace.stores.sqlite.store import SqliteStore  # noqa: PLC0415

    if text in _IN_MEMORY:
        folder = Path(await to_thread(tempfile.mkdtemp, prefix="commonplace-"))
        return Opened(store=await SqliteStore.open(folder / "memory.db", clock), passing=folder)
    if not text:
        raise InvalidInput("The address of the store is empty. Give a path, or a postgresql:// address.")
    path = expand_path(address)
    await to_thread(_check_place, path, create, home)
    if from_workspace and home is not None:
        # Only here, and it loads what few programs need.
        from commonplace.compose.adoption import open_from_workspace  # noqa: PLC0415

        store, adopted = await open_from_workspace(path, clock, home)
        return Opened(store=store, adopted=adopted)
    return Opened(store=await SqliteStore.open(path, clock))


def _check_place(path: Path, create: bool, home: Path | None) -> None:
    if path.is_dir():
        raise PathNotFound(f"{path} is a folder. Name a file in it, for instance {path / 'memory.db'}.", path=str(path))
    if path.exists():
        return
    if not create:
        raise PathNotFound(
            f"There is no store at {path}. The first `put` makes one; or name another with --store.", path=str(path)
        )
    if home is not None and path.parent == home:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.parent.is_dir():
        raise PathNotFound(f"There is no folder {path.parent}. Make it first, or choose another path.", path=str(path))
