"""
Memory in Markdown, as a daemon has it: where its files lie, the records that follow them, and `/workspace/memory`.

The files of a person and of a workspace are this machine's, and belong to one tenant. For others, and where it is switched
off, there is none.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from commonplace.errors import CommonplaceError, ManagedMemoryUnavailable
from commonplace.governance.access import require_role, require_scope
from commonplace.guard.wishes import is_order
from commonplace.markdown.memory_file import MemoryFileWrite, Survey, add, survey
from commonplace.markdown.places import Places
from commonplace.markdown.roots import Root, local_root, person_home, user_root, workspace_name, workspace_root
from commonplace.markdown.watch import EVERY, Following, SyncSummary
from commonplace.ports.journal import Entries
from commonplace.service.account import Journaled
from commonplace.service.desk import Desk
from commonplace.values.file_ref import RootKind
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT, Scope

ACTOR: Final = "managed"
MOST_FORGOTTEN: Final = 100
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """`person`: whose own files are meant. `local`: the files of the workspace lie in it, not in the home folder."""

    home: Path
    workspace: Path
    tenant: str = DEFAULT_TENANT
    enabled: bool = True
    local: bool = False
    person: str = LOCAL

    @property
    def person_home(self) -> Path:
        return person_home(self.home, self.person)

    @property
    def name(self) -> str:
        """As everywhere, a workspace goes by the name of its folder."""
        return self.workspace.name or "workspace"

    @property
    def places(self) -> Places:
        """Also where it is switched off: what lies there can still be erased."""
        return Places(home=self.home, workspace=self.workspace, tenant=self.tenant, local=self.local)

    @property
    def line(self) -> str:
        """What tells this workspace from every other, also from one in a folder of the same name."""
        return f"managed {workspace_name(self.workspace)}"

    @property
    def roots(self) -> tuple[Root, Root]:
        own = local_root(self.workspace, self.name) if self.local else None
        return user_root(self.home, self.person), own or workspace_root(self.home, self.workspace, self.name)

    def of(self, kinds: Sequence[RootKind]) -> tuple[Root, ...]:
        return tuple(root for root in self.roots if root.kind in kinds)


class Managed:
    def __init__(self, desk: Desk, ground: Ground) -> None:
        self._desk = desk
        self.ground = ground
        who = Principal(subject=ACTOR, tenant=ground.tenant, role="admin", door=ACTOR)
        store = Journaled(desk.store.records, desk.account(who, "managed.follow"))
        writer = desk.room.of(ground.tenant).writer(store)
        self._following = Following(store, writer, desk.clock, ground.tenant, actor=ACTOR, suspect=is_order)
        self._looking = asyncio.Lock()
        self._forgotten: OrderedDict[str, list[Json]] = OrderedDict()

    def ground_of(self, who: Principal) -> Ground:
        """Where the caller's own files lie, and those of the workspace."""
        return replace(self.ground, person=who.subject)

    def is_on(self, who: Principal) -> bool:
        return self.ground.enabled and who.tenant == self.ground.tenant

    async def require(self, who: Principal) -> None:
        """
        Make sure that there are folders to work in.

        Raises:
            ManagedMemoryUnavailable: it is switched off, or is somebody else's.
            FileError, PathEscape, OSError: it should be there, and is not.
        """
        if not self.is_on(who) or not await asyncio.to_thread(self.ground.workspace.is_dir):
            raise ManagedMemoryUnavailable
        for root in self.ground_of(who).roots:
            await asyncio.to_thread(root.folder.make)

    # ---- what was forgotten

    def recall_forgotten(self, task: str) -> list[Json] | None:
        """What a task of this process has erased, for whoever asked for it: nothing but its number is kept anywhere."""
        return self._forgotten.get(task)

    def note_forgotten(self, task: str, entries: list[Json]) -> None:
        self._forgotten[task] = entries
        while len(self._forgotten) > MOST_FORGOTTEN:
            self._forgotten.popitem(last=False)

    # ---- the records follow

    async def follow(self, roots: Sequence[Root]) -> None:
        """Bring the records up to the files. Where that fails, the next look brings them."""
        async with self._looking:
            for root in roots:
                try:
                    self._told(root, await self._following.sync(root))
                except CommonplaceError as error:
                    self._told(root, error)

    async def watch(self) -> None:
        """What people edit is noticed, until this is cancelled."""
        while self.ground.enabled:
            with suppress(ManagedMemoryUnavailable):
                await self.follow([*self.ground.roots, *await self._others()])
            await asyncio.sleep(EVERY)

    async def _others(self) -> list[Root]:
        """The folders of other persons than the owner: those that a key speaks for and that have any."""
        keys = await self._desk.store.keys.list_keys(self.ground.tenant)
        roots = [user_root(self.ground.home, person) for person in {key.subject for key in keys}]
        return [root for root in roots if await asyncio.to_thread(root.path.is_dir)]

    @staticmethod
    def _told(root: Root, outcome: SyncSummary | CommonplaceError) -> None:
        if isinstance(outcome, CommonplaceError):
            log.warning("the records of %s memory have to wait: %s", root.kind, outcome.code)
        elif outcome.changed:
            log.debug("records of %s memory: %s written, %s gone", root.kind, outcome.writes, outcome.deleted)

    # ---- MEMORY.md of the workspace and of the home folder

    async def survey(self, who: Principal) -> Survey:
        """Which files there are, of those that the caller may read."""
        async with self._desk.account(who, "managed.survey"):
            require_role(who, "reader")
            if not self.is_on(who):
                raise ManagedMemoryUnavailable
            ground = self.ground_of(who)
            whole_survey = await asyncio.to_thread(survey, ground.workspace, ground.person_home)
            files = tuple(file for file in whole_survey.files if who.reaches(_scope(ground, file.scope)))
            return replace(whole_survey, files=files, errors=whole_survey.errors if who.scopes is None else ())

    async def add(self, who: Principal, *, scope: object, content: object, mode: object = None) -> MemoryFileWrite:
        """Add to a file or replace it. Raises what `managed.added.add` raises, and ManagedMemoryUnavailable."""
        desk, ground = self._desk, self.ground_of(who)
        async with desk.account(who, "managed.add") as account:
            require_role(who, "writer")
            if not self.is_on(who):
                raise ManagedMemoryUnavailable
            account.scope = _scope(ground, scope)
            require_scope(who, account.scope)
            await asyncio.to_thread(ground.person_home.mkdir, mode=0o700, parents=True, exist_ok=True)
            work = partial(add, ground.workspace, ground.person_home, scope=scope, content=content, mode=mode)
            added = await asyncio.to_thread(work)
            data: dict[str, Json] = {
                "scope": str(scope),
                "filePath": added.path,
                "mode": added.mode,
                "bytesWritten": added.bytes_written,
            }
            news = account.news("memory_changed", scope=account.scope, data=data)
            row = account.row("ok" if added.changed else "unchanged")
            await desk.store.journal.note(Entries(audit=(row,), events=(news,) if added.changed else ()))
            return added


def _scope(ground: Ground, scope: object) -> Scope:
    user, project = ground.roots
    return user.scope if scope == "global" else project.scope
