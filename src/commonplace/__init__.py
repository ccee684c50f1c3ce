"""
Commonplace: a memory for AI agents and the teams they work with.

    from commonplace import open_memory

    with open_memory("team.db") as memory:
        memory.put("We ship on Fridays", scope="workspace:web")
        print(memory.search("when do we deploy?")[0].record.text)

The names here load what they need when they are first used, so that importing the package is cheap. The errors, of which
only the root is here, are in `commonplace.errors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.compose.async_memory import AsyncMemory
    from commonplace.compose.memory import Memory
    from commonplace.compose.open_memory import open_memory, open_memory_async, restore_backup
    from commonplace.errors import CommonplaceError
    from commonplace.sdk.async_client import AsyncClient
    from commonplace.sdk.client import Client
    from commonplace.values.context import ContextBlock
    from commonplace.values.note import Note
    from commonplace.values.query import Filter, Hit, Page, Why
    from commonplace.values.record import Provenance, Record, Turn
    from commonplace.values.scope import Scope
    from commonplace.values.upkeep import Rule

    __version__: str

__all__ = [
    "AsyncClient",
    "AsyncMemory",
    "Client",
    "CommonplaceError",
    "ContextBlock",
    "Filter",
    "Hit",
    "Memory",
    "Note",
    "Page",
    "Provenance",
    "Record",
    "Rule",
    "Scope",
    "Turn",
    "Why",
    "__version__",
    "open_memory",
    "open_memory_async",
    "restore_backup",
]

_HOMES = {
    "AsyncClient": "sdk.async_client",
    "AsyncMemory": "compose.async_memory",
    "Client": "sdk.client",
    "CommonplaceError": "errors",
    "ContextBlock": "values.context",
    "Filter": "values.query",
    "Hit": "values.query",
    "Memory": "compose.memory",
    "Note": "values.note",
    "Page": "values.query",
    "Provenance": "values.record",
    "Record": "values.record",
    "Rule": "values.upkeep",
    "Scope": "values.scope",
    "Turn": "values.record",
    "Why": "values.query",
    "open_memory": "compose.open_memory",
    "open_memory_async": "compose.open_memory",
    "restore_backup": "compose.open_memory",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        # Reading the metadata of an installation takes a while.
        from importlib.metadata import PackageNotFoundError, version

        try:
            found: object = version("commonplace")
        except PackageNotFoundError:
            found = "0+unknown"
    elif name in _HOMES:
        found = getattr(import_module(f"commonplace.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'commonplace' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
