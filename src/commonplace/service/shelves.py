"""The files of managed memory, looked at and edited by people."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from commonplace.errors import ManagedMemoryUnavailable, NothingToUndo, PreconditionRequired
from commonplace.governance.access import require_role, require_scope
from commonplace.managed import editing
from commonplace.managed.roots import Root
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.managed import Managed
from commonplace.values.principal import Principal
from commonplace.values.record import Json
from commonplace.values.shelf import ShelfChange, ShelfFiles, ShelfName, ShelfText, ShelfUndone, ShelfWritten

NEW: Final = "*"
"""What is expected where there must be no file yet."""


class Shelves:
    """Whoever reaches the scope of a folder reads its files, and a writer writes them; the records follow at once."""

    def __init__(self, desk: Desk, managed: Managed) -> None:
        self._desk = desk
        self._managed = managed

    async def survey(self, who: Principal) -> list[ShelfFiles]:
        """Every folder in reach, with its files. Raises ManagedMemoryUnavailable."""
        async with self._desk.account(who, "managed.list"):
            require_role(who, "reader")
            now = self._desk.clock.now()
            return [await asyncio.to_thread(editing.listed, root, now) for root in self._reached(who)]

    async def read(self, who: Principal, name: ShelfName, path: str) -> ShelfText:
        """Raises PathNotFound, PathEscape, InvalidContent, ManagedMemoryUnavailable, Forbidden."""
        async with self._desk.account(who, "managed.read") as account:
            require_role(who, "reader")
            return await asyncio.to_thread(editing.read, self._root(who, account, name), path)

    async def write(
        self, who: Principal, name: ShelfName, path: str, text: str, *, expected: str | None
    ) -> ShelfWritten:
        """
        Make a file (`expected` is `NEW`), or change the one whose content `expected` names.

        Raises:
            PreconditionRequired: nothing is expected.
            FilePreconditionFailed, PathEscape and others: what `managed.editing.write` raises.
        """
        async with self._desk.account(who, "managed.write") as account:
            root = await self._writable(who, account, name)
            if expected is None:
                raise PreconditionRequired
            seen = None if expected == NEW else expected
            work = partial(editing.write, root, path, text, expected=seen, now=self._desk.clock.now())
            return await self._done(account, root, path, await asyncio.to_thread(work))

    async def remove(self, who: Principal, name: ShelfName, path: str, *, expected: str | None) -> ShelfWritten:
        """Remove the file whose content `expected` names. Raises PreconditionRequired, and what `managed.editing.remove` raises."""
        async with self._desk.account(who, "managed.delete") as account:
            root = await self._writable(who, account, name)
            if expected is None:
                raise PreconditionRequired
            work = partial(editing.remove, root, path, expected=expected, now=self._desk.clock.now())
            return await self._done(account, root, path, await asyncio.to_thread(work))

    async def changes(self, who: Principal) -> list[ShelfChange]:
        """Those of the folders in reach that can be taken back, newest first."""
        async with self._desk.account(who, "managed.changes"):
            require_role(who, "reader")
            found = [one for root in self._reached(who) for one in await asyncio.to_thread(editing.changes, root)]
            return sorted(found, key=lambda one: one.at, reverse=True)

    async def undo(self, who: Principal, id: str) -> ShelfUndone:
        """Take a change back. Raises NothingToUndo: there is none of that id, or none in reach."""
        async with self._desk.account(who, "managed.undo") as account:
            require_role(who, "writer")
            for root in self._reached(who):
                if any(one.id == id for one in await asyncio.to_thread(editing.changes, root)):
                    account.scope = root.scope
                    done = await asyncio.to_thread(editing.take_back, root, id, self._desk.clock.now())
                    files: list[Json] = list(done.restored)
                    await self._told(account, root, changed=bool(files), change=id, files=files)
                    return done
            raise NothingToUndo("There is no such change to take back, or it is too long ago.")

    # ---- whose files

    def _reached(self, who: Principal) -> Sequence[Root]:
        if not self._managed.is_on(who):
            raise ManagedMemoryUnavailable
        return [root for root in self._managed.ground.roots if who.reaches(root.scope)]

    def _root(self, who: Principal, account: Account, name: ShelfName) -> Root:
        if not self._managed.is_on(who):
            raise ManagedMemoryUnavailable
        [root] = self._managed.ground.of([name])
        account.scope = root.scope
        require_scope(who, root.scope)
        return root

    async def _writable(self, who: Principal, account: Account, name: ShelfName) -> Root:
        require_role(who, "writer")
        root = self._root(who, account, name)
        await self._managed.require(who)
        return root

    # ---- what follows a change

    async def _done(self, account: Account, root: Root, path: str, done: ShelfWritten) -> ShelfWritten:
        size = done.file.bytes if done.file else None
        await self._told(account, root, changed=done.change is not None, change=done.change, files=[path], bytes=size)
        return done

    async def _told(self, account: Account, root: Root, *, changed: bool, **details: Json) -> None:
        if changed:
            await self._managed.follow([root])
        data: dict[str, Json] = {
            "scope": "managed",
            "source": "workspace_memory_edit",
            "touchedScopes": [root.kind],
            "files": details["files"],
        }
        news = account.news("memory_changed", scope=root.scope, data=data)
        row = account.row("ok" if changed else "unchanged", details=details)
        await self._desk.store.note(Entries(audit=(row,), events=(news,) if changed else ()))
        account.noted = True
