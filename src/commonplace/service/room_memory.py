"""
What rooms remember: a file a room, which is the truth, and a record a line, by which it is found.

What is said in a room comes from outside: it is labelled so, with who said it, and nothing that looks like an order to an agent is kept. Whoever
reaches the room's scope reads it; nobody else does.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from commonplace.errors import Forbidden, ManagedMemoryUnavailable, SecretRefused
from commonplace.governance.access import require_role
from commonplace.guard.caution import is_planted
from commonplace.guard.quarantine import signs
from commonplace.guard.wishes import is_order
from commonplace.markdown.room_file import RoomChange, RoomFile, check_room_text
from commonplace.markdown.roots import channel_root, own_folder_name
from commonplace.markdown.watch import Following
from commonplace.ports.journal import Entries
from commonplace.service.account import Account, Journaled
from commonplace.service.desk import Desk
from commonplace.text.scrub import Scrubbed, scrub
from commonplace.values.agent_errors import CuratedEntryRefused
from commonplace.values.channel import ChatRoom
from commonplace.values.json import Json
from commonplace.values.principal import CHANNEL_SUBJECT, Principal
from commonplace.values.room_memory import RoomMemoryChange
from commonplace.values.scope import Scope

_ACTOR: Final = f"{CHANNEL_SUBJECT}memory"
_SYNCS: Final = 64
_JUDGED_WHOLE: Final = 20_000
"""Characters of a text that is looked at as closely as we can, which takes seconds for long ones. No prompt has a line that was not."""


class RoomMemories:
    """`home` None: there are no files here. `tenant` is the one whose rooms have the home folder itself."""

    def __init__(self, desk: Desk, home: Path | None, tenant: str) -> None:
        self._desk = desk
        self._home = home
        self._tenant = tenant
        self._followed: OrderedDict[str, Following] = OrderedDict()
        self._lock = asyncio.Lock()
        self._revisions: Counter[tuple[str, Scope]] = Counter()

    def file(self, tenant: str, room: ChatRoom) -> RoomFile:
        """Raises ManagedMemoryUnavailable."""
        if self._home is None:
            raise ManagedMemoryUnavailable
        home = self._home if tenant == self._tenant else self._home / "tenants" / own_folder_name(tenant)
        root = channel_root(home, room.channel, room.chat)
        return RoomFile(root=root, channel=room.channel, chat=room.chat, title=room.title)

    async def lines(self, who: Principal, room: ChatRoom) -> tuple[str, ...]:
        """Raises Forbidden: out of reach."""
        async with self._desk.account(who, "room.recall", scope=room.scope):
            require_role(who, "reader")
            await self._desk.require(who, room.scope)
            return await asyncio.to_thread(self.file(who.tenant, room).lines)

    async def remember(self, who: Principal, room: ChatRoom, text: str, *, by: str = "") -> RoomMemoryChange:
        """
        Keep a line more.

        Raises:
            SecretRefused, CuratedEntryRefused, ContentTooLarge, InvalidContent: what is wrong with it.
            RoomMemoryFull, Forbidden.
        """
        clean = await asyncio.to_thread(_judged, text)
        file = self.file(who.tenant, room)
        work = partial(file.append, clean.text, by, self._desk.clock.now())
        return _told(await self._change(who, room, "room.remember", work), clean)

    async def forget(self, who: Principal, room: ChatRoom, line: str, *, undoable: bool = True) -> RoomMemoryChange:
        """Drop a line, as `lines` has it. `undoable`: it is one of the `changes` then."""
        file = self.file(who.tenant, room)
        work = partial(file.remove, line, self._desk.clock.now(), undoable=undoable)
        return await self._change(who, room, "room.forget", work)

    async def changes(self, who: Principal, room: ChatRoom) -> list[RoomChange]:
        """What can be undone, the last first; it is kept with the file, and erased with it. Raises Forbidden."""
        require_role(who, "reader")
        await self._desk.require(who, room.scope)
        return await asyncio.to_thread(self.file(who.tenant, room).changes)

    async def note_record(self, who: Principal, room: ChatRoom, record: str, *, line: str | None = None) -> None:
        """That a record of the room was forgotten, or that `line` is in its place: one of the `changes`."""
        await self._desk.require(who, room.scope)
        await asyncio.to_thread(self.file(who.tenant, room).note_record, record, line, self._desk.clock.now())

    async def drop_change(self, who: Principal, room: ChatRoom, change: RoomChange) -> None:
        """It is undone."""
        await self._desk.require(who, room.scope)
        await asyncio.to_thread(self.file(who.tenant, room).drop_change, change.id)

    async def replace(self, who: Principal, room: ChatRoom, text: str, *, by: str = "") -> RoomMemoryChange:
        """All of it at once: to make it shorter. Lines that were not there are those of `by`. Raises as `remember`."""
        clean = await asyncio.to_thread(_judged, text)
        file = self.file(who.tenant, room)
        work = partial(file.replace, clean.text, by, self._desk.clock.now())
        return _told(await self._change(who, room, "room.replace_memory", work), clean)

    async def correct(
        self, who: Principal, room: ChatRoom, line: str, text: str, *, by: str = "", undoable: bool = True
    ) -> RoomMemoryChange:
        """Another text in the place of a line, as `lines` has it. `undoable`: it is one of the `changes` then. Raises as `remember`."""
        clean = await asyncio.to_thread(_judged, text)
        file = self.file(who.tenant, room)
        work = partial(file.correct, line, clean.text, by, self._desk.clock.now(), undoable=undoable)
        return _told(await self._change(who, room, "room.correct", work), clean)

    async def learn(
        self,
        who: Principal,
        room: ChatRoom,
        claims: Sequence[tuple[str, str]],
        over: Collection[str],
        *,
        run: str | None = None,
    ) -> RoomMemoryChange:
        """
        Keep what was overheard in the turn `run`, each claim with who said it, without the lines of `over`, which it makes false. It changes no
        prompt of a session that has begun.
        """
        file = self.file(who.tenant, room)
        work = partial(file.learn, claims, over, self._desk.clock.now())
        return await self._change(who, room, "room.learn", work, on_purpose=False, run=run)

    def revision(self, tenant: str, room: ChatRoom) -> int:
        """Grows with each change that somebody made on purpose."""
        return self._revisions.get((tenant, room.scope), 0)

    async def _change(
        self,
        who: Principal,
        room: ChatRoom,
        action: str,
        work: partial[bool],
        *,
        on_purpose: bool = True,
        run: str | None = None,
    ) -> RoomMemoryChange:
        desk = self._desk
        async with desk.account(who, action, scope=room.scope, run=run) as account:
            require_role(who, "writer")
            await desk.require(who, room.scope)
            if who.scopes is not None and not who.reaches(room.scope):
                raise Forbidden
            file = self.file(who.tenant, room)
            changed = await asyncio.to_thread(work)
            if changed:
                self._revisions[who.tenant, room.scope] += on_purpose
                await self._index(who.tenant, file)
            await self._note(account, room, changed)
            return RoomMemoryChange(changed=changed, lines=await asyncio.to_thread(file.lines))

    async def _note(self, account: Account, room: ChatRoom, changed: bool) -> None:
        """A row in any case; news only of a change."""
        data: dict[str, Json] = {"scope": "channel", "channel": room.channel, "chat": room.chat}
        details: dict[str, Json] = {"channel": room.channel, "chat": room.chat, "sender": account.who.subject}
        row = account.row("ok" if changed else "unchanged", details=details)
        news = account.news("memory_changed", scope=room.scope, data=data)
        await self._desk.store.journal.note(Entries(audit=(row,), events=(news,) if changed else ()))
        account.noted = True

    async def _index(self, tenant: str, file: RoomFile) -> None:
        """The records follow the file."""
        async with self._lock:
            if tenant not in self._followed:
                desk = self._desk
                who = Principal(subject=_ACTOR, tenant=tenant, role="admin", door=_ACTOR)
                store = Journaled(desk.store.records, desk.account(who, "room.follow"))
                writer = desk.room.of(tenant).writer(store)
                self._followed[tenant] = Following(store, writer, desk.clock, tenant, actor=_ACTOR, suspect=is_order)
                while len(self._followed) > _SYNCS:
                    self._followed.popitem(last=False)
            await self._followed[tenant].sync(file.root)


def _judged(text: str) -> Scrubbed:
    """The text without its secrets. Raises ContentTooLarge, InvalidContent, SecretRefused, CuratedEntryRefused."""
    clean = scrub(check_room_text(text))
    if clean.report.status == "blocked":
        raise SecretRefused
    if len(clean.text) > _JUDGED_WHOLE:
        if any(is_planted(line) for line in clean.text.splitlines()):
            raise CuratedEntryRefused
    elif reasons := signs(clean.text):
        raise CuratedEntryRefused(reasons=list(reasons))
    return clean


def _told(change: RoomMemoryChange, clean: Scrubbed) -> RoomMemoryChange:
    return replace(change, text=clean.text, redactions=clean.report.redactions)
