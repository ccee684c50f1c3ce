"""The small composition root: a memory inside a program, without a server."""

from commonplace.embedded.aio import AsyncMemory
from commonplace.embedded.opening import open_memory_async, restore_backup_async
from commonplace.embedded.sync import Memory, open_memory, restore_backup

__all__ = ["AsyncMemory", "Memory", "open_memory", "open_memory_async", "restore_backup", "restore_backup_async"]
