"""The files of managed memory, looked at and edited by people."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Final

from commonplace.errors import InvalidQuery, InvalidScope, ManagedMemoryUnavailable, NothingToUndo, PreconditionRequired
from commonplace.governance.access import require_role, require_scope
from commonplace.guard.caution import STARK, is_planted
from commonplace.guard.quarantine import signs
from commonplace.guard.wishes import is_order, is_wish
from commonplace.learning.filing_judge import judge_for
from commonplace.markdown import edit as editing
from commonplace.markdown.entries import EntryFile, MemoryEntry
from commonplace.markdown.recall import MOST, Fitting, block, cut, fitting_in, staleness
from commonplace.markdown.roots import Root
from commonplace.markdown.watch import key_of, text_of, trust_of
from commonplace.memory.recall import MAX_QUERY
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.markdown import Managed
from commonplace.service.recall import query_hash
from commonplace.text.scrub import scrub
from commonplace.values.file_ref import GONE, file_mark
from commonplace.values.principal import Principal
from commonplace.values.quarantine import is_quarantined
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Json, Record, Trust
from commonplace.values.shelf import (
    ShelfChange,
    ShelfFiles,
    ShelfName,
    ShelfRecall,
    ShelfRecalled,
    ShelfText,
    ShelfUndone,
    ShelfWritten,
)

NEW: Final = "*"
"""What is expected where there must be no file yet."""
DOUBTFUL: Final[Trust] = "external_user_supplied"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Safe:
    """
    An entry without secrets, and its text as its record has it. `suspect`: it reads like an order to an agent, as what is put in
    quarantine does. `doubtful`: it is shown, but its word does not count as ours.
    """

    entry: MemoryEntry
    text: str
    suspect: bool
    doubtful: bool


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

    async def put(self, who: Principal, name: ShelfName, path: str, text: str, *, etag: str | None) -> ShelfWritten:
        """As `write`: without an `etag` a new file."""
        return await self.write(who, name, path, text, expected=NEW if etag is None else etag)

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
            version = None if expected == NEW else expected
            trust = "model_generated" if who.is_model else None
            work = partial(
                editing.write,
                root,
                path,
                text,
                expected=version,
                now=self._desk.clock.now(),
                trust=trust,
                vouches=who.is_at_least("reviewer"),
            )
            return await self._done(account, root, path, await asyncio.to_thread(work))

    async def remove(self, who: Principal, name: ShelfName, path: str, *, expected: str | None) -> ShelfWritten:
        """Remove the file whose content `expected` names. Raises PreconditionRequired, and what `managed.editing.remove` raises."""
        async with self._desk.account(who, "managed.delete") as account:
            root = await self._writable(who, account, name)
            if expected is None:
                raise PreconditionRequired
            work = partial(editing.remove, root, path, expected=expected, now=self._desk.clock.now())
            return await self._done(account, root, path, await asyncio.to_thread(work))

    async def move(self, who: Principal, name: ShelfName, path: str, *, to: ShelfName) -> ShelfWritten:
        """
        File an entry in the other memory. Raises InvalidScope (it is there already), Forbidden, and what `markdown.edit.move` raises.
        """
        async with self._desk.account(who, "managed.move") as account:
            if name == to:
                raise InvalidScope(f"The file is in {to} memory already. Name the other one.")
            source, target = await self._writable(who, account, name), await self._writable(who, account, to)
            refuse = judge_for("model_generated" if who.is_model else None).refuse
            work = partial(editing.move, source, path, target, now=self._desk.clock.now(), refuse=refuse)
            result = await asyncio.to_thread(work)
            await self._managed.follow([source])
            return await self._done(account, target, result.file.path if result.file else path, result)

    async def changes(self, who: Principal) -> list[ShelfChange]:
        """Those of the folders in reach that can be taken back, newest first."""
        async with self._desk.account(who, "managed.changes"):
            require_role(who, "reader")
            changes = [
                change for root in self._reached(who) for change in await asyncio.to_thread(editing.changes, root)
            ]
            return sorted(changes, key=lambda change: change.at, reverse=True)

    async def undo(self, who: Principal, id: str) -> ShelfUndone:
        """Take a change back. Raises NothingToUndo: there is none of that id, or none in reach."""
        async with self._desk.account(who, "managed.undo") as account:
            require_role(who, "writer")
            for root in self._reached(who):
                if any(change.id == id for change in await asyncio.to_thread(editing.changes, root)):
                    account.scope = root.scope
                    result = await asyncio.to_thread(editing.take_back, root, id, self._desk.clock.now())
                    files = [file_mark(root.kind, path) for path in result.restored]
                    await self._told(account, root, changed=bool(files), change=id, files=list[Json](files))
                    return result
            raise NothingToUndo("There is no such change to take back, or it is too long ago.")

    async def recall(
        self, who: Principal, query: str, *, tools: Sequence[str] = (), run: str | None = None
    ) -> ShelfRecall:
        """
        The entries in reach that fit a question, and their block for a prompt; marked as recalled into the run. What waits for a
        reviewer, was deleted, or reads like an order that nobody released, is passed over.
        """
        desk = self._desk
        async with desk.account(who, "managed.recall", run=run) as account:
            require_role(who, "reader")
            fitting = await asyncio.to_thread(fitting_in, self._reached(who), _asked(query), tools)
            entries: list[ShelfRecalled] = []
            ids: list[Json] = []
            for match in fitting:
                if len(entries) == MOST:
                    break
                safe = await asyncio.to_thread(_safe, match)
                record = await self._record(who, match)
                if not _is_deleted(match.file, record) and await self._may_be_shown(who, safe, record):
                    same = record is not None and record.text == safe.text
                    lagging = DOUBTFUL if safe.doubtful else trust_of(match.root, safe.entry)
                    trust = record.trust if record is not None and same else lagging
                    entries.append(_shown(match, safe.entry, trust, desk.clock.now()))
                    ids += [record.id] if record is not None and same else []
            files: list[Json] = [file_mark(entry.root, entry.path) for entry in entries]
            await account.note_read(query=query_hash(query), ids=ids, files=files)
            return ShelfRecall(entries=tuple(entries), text=block(entries))

    async def _record(self, who: Principal, match: Fitting) -> Record | None:
        """What the store has of an entry's file, whatever its state."""
        filter = Filter(scopes=(match.root.scope,), key=key_of(match.root, match.file.path), states=ALL_STATES)
        page = await self._desk.store.records.find(who.tenant, filter, "newest", 1, None)
        return page.records[0] if page.records else None

    async def _may_be_shown(self, who: Principal, safe: _Safe, record: Record | None) -> bool:
        """The record may lag behind its file, or tell of an older text: then only what waits for a reviewer counts."""
        if record is None or record.text != safe.text:
            return not safe.suspect and not (record is not None and is_quarantined(record))
        if record.state(self._desk.clock.now()) != "live" and record.reason != GONE:
            return False
        return not safe.suspect or _is_released(await self._desk.store.records.history(who.tenant, record.id))

    # ---- whose files

    def _reached(self, who: Principal) -> Sequence[Root]:
        if not self._managed.is_on(who):
            raise ManagedMemoryUnavailable
        return [root for root in self._managed.ground_of(who).roots if who.reaches(root.scope)]

    def _root(self, who: Principal, account: Account, name: ShelfName) -> Root:
        if not self._managed.is_on(who):
            raise ManagedMemoryUnavailable
        [root] = self._managed.ground_of(who).of([name])
        account.scope = root.scope
        require_scope(who, root.scope)
        return root

    async def _writable(self, who: Principal, account: Account, name: ShelfName) -> Root:
        require_role(who, "writer")
        root = self._root(who, account, name)
        await self._managed.require(who)
        return root

    # ---- what follows a change

    async def _done(self, account: Account, root: Root, path: str, result: ShelfWritten) -> ShelfWritten:
        size = result.file.bytes if result.file else None
        files: list[Json] = [file_mark(root.kind, path)]
        await self._told(
            account, root, changed=result.change is not None, change=result.change, files=files, bytes=size
        )
        return result

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
        await self._desk.store.journal.note(Entries(audit=(row,), events=(news,) if changed else ()))
        account.noted = True


# ---- what a recall shows


def _asked(query: str) -> str:
    if len(query) > MAX_QUERY:
        raise InvalidQuery(f"The question has more than {MAX_QUERY:,} characters.")
    return query


def _safe(match: Fitting) -> _Safe:
    file, entry, kind = match.file, match.file.entry, match.root.kind
    whole_text = f"{entry.name}\n\n{entry.description}\n\n{entry.body}"
    is_own = kind == "user" and entry.trust is None and is_wish(whole_text)
    name, description, body = (scrub(text).text for text in (entry.name, entry.description, entry.body))
    return _Safe(
        entry=replace(entry, name=name, description=description, body=body),
        text=scrub(text_of(entry)).text,
        suspect=not STARK.isdisjoint((*(() if is_own else signs(whole_text)), *signs(file.path))),
        doubtful=is_order(whole_text, kind) or is_planted(file.path),
    )


def _is_deleted(entry: EntryFile, record: Record | None) -> bool:
    """Whether somebody deleted the record of this very file, whatever the record said by then."""
    if record is None or record.deleted_at is None or record.reason == GONE:
        return False
    return record.metadata.get("sha256") == entry.stamp.sha256


def _shown(match: Fitting, entry: MemoryEntry, trust: Trust, now: datetime) -> ShelfRecalled:
    return ShelfRecalled(
        root=editing.name_of(match.root),
        path=match.file.path,
        type=entry.type,
        name=entry.name,
        description=entry.description,
        body=cut(entry.body),
        score=match.score,
        note=staleness(match.file, now),
        trust=trust,
    )


def _is_released(versions: Sequence[Record]) -> bool:
    """
    Whether a reviewer let this very text out of quarantine. The versions tell, not the metadata, which any writer may write:
    nobody but a reviewer restores a text that is in quarantine.
    """
    history = sorted(versions, key=lambda version: version.version)
    return any(
        is_quarantined(before)
        and after.change == "restored"
        and not after.demoted
        and before.text == after.text == history[-1].text
        for before, after in pairwise(history)
    )
