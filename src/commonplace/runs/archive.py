"""
The runs of this home folder: `<home>/context_runs/<run id>/`. Those of other tenants than the default one lie in a folder of their tenant
below it, so that no two tenants share a name.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import ValidationError

from commonplace.errors import Conflict, InvalidInput
from commonplace.files.atomic import make_private, sync_folder, write_new
from commonplace.runs.folder import BLACKBOARD, CREATED, LOCK, STATE, FaultPoint, RunFolder
from commonplace.values.moment import new_id, to_ms
from commonplace.values.run import Blackboard, RunDraft, RunState
from commonplace.values.run_errors import RunNotFound
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.wire.shapes import reader, to_json

FOLDER: Final = "context_runs"
_OPEN_AT_ONCE: Final = 256
_RUN_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_RESERVED: Final = frozenset({"events"})
_TENANT: Final = "@"
_LONGEST: Final = 200
_NEW: Final = ".new-"
_GONE: Final = ".gone-"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCard:
    """What never changes of a run, so that a list need not open it."""

    run_id: str
    owner: str
    session: str | None
    workspace: str
    run_type: str
    created_at_ms: int


class RunArchive:
    """Every method blocks, and may raise OSError."""

    def __init__(self, home: Path, *, fault: FaultPoint | None = None) -> None:
        self._base = home / FOLDER
        self._fault = fault
        self._folders: OrderedDict[Path, RunFolder] = OrderedDict()
        self._cards: dict[Path, RunCard] = {}
        self._guard = threading.Lock()

    def create(self, tenant: str, owner: str, draft: RunDraft, now: datetime) -> RunState:
        """
        Raises:
            InvalidInput: the id is none that a folder may have.
            Conflict: there is such a run.
        """
        run_id = check_run_id(draft.run_id) if draft.run_id is not None else new_id(now)
        state = RunState(
            run_id=run_id,
            tenant=tenant,
            owner=owner,
            session=draft.session,
            run_type=draft.run_type,
            source_client=draft.source_client,
            model_provider=draft.model_provider,
            model_id=draft.model_id,
            mcp_servers=draft.mcp_servers,
            objective=draft.objective,
            workspace=draft.workspace,
            steps=draft.steps,
            why_next_step=draft.why_next_step,
            created_at_ms=to_ms(now),
            updated_at_ms=to_ms(now),
        )
        place = self._place(tenant)
        make_private(place)
        # Made beside, whole, and named in one step: nobody finds half a run.
        new_folder = place / f"{_NEW}{new_id(now)}"
        new_folder.mkdir(mode=0o700)
        try:
            data = to_json(state)
            write_new(new_folder / CREATED, data, durable=True)
            write_new(new_folder / STATE, data, durable=False)
            write_new(new_folder / BLACKBOARD, to_json(Blackboard()), durable=False)
            write_new(new_folder / LOCK, b"", durable=False)
            sync_folder(new_folder)
            new_folder.rename(place / run_id)
        except OSError as error:
            shutil.rmtree(new_folder, ignore_errors=True)
            if (place / run_id).exists():
                raise Conflict(f"There is a run {run_id!r:.80} already. Choose another id.") from error
            raise
        sync_folder(place)
        return state

    def folder(self, tenant: str, run_id: str) -> RunFolder:
        """Raises RunNotFound: there is none of that name, or none can have it."""
        if not _is_run_id(run_id):
            raise RunNotFound
        path = self._place(tenant) / run_id
        with self._guard:
            folder = self._folders.get(path)
            if folder is None:
                folder = RunFolder(path) if self._fault is None else RunFolder(path, fault=self._fault)
                self._folders[path] = folder
            self._folders.move_to_end(path)
            while len(self._folders) > _OPEN_AT_ONCE:
                self._folders.popitem(last=False)
        return folder

    def cards(self, tenant: str) -> list[RunCard]:
        """All runs of the tenant, newest first. Each is read once in the life of this process."""
        place = self._place(tenant)
        cards = [card for name in _names(place) if (card := self._card(place / name))]
        return sorted(cards, key=lambda card: (card.created_at_ms, card.run_id), reverse=True)

    def saved_state(self, tenant: str, run_id: str) -> RunState | None:
        """The run as it was saved last, without waiting for whoever writes to it. None: it has gone, or is being repaired."""
        return _saved(self._place(tenant) / run_id)

    def remove(self, tenant: str, run_id: str) -> None:
        """Raises RunNotFound."""
        folder = self.folder(tenant, run_id)
        trash = folder.path.with_name(f"{_GONE}{run_id}-{os.urandom(4).hex()}")
        folder.remove(trash)
        with self._guard:
            self._folders.pop(folder.path, None)
            self._cards.pop(folder.path, None)
        shutil.rmtree(trash, ignore_errors=True)

    def stale(self, before: datetime) -> list[tuple[str, str]]:
        """Tenant and id of the runs that nobody has written to since."""
        limit = to_ms(before)
        states = [state for place in self._places() for name in _names(place) if (state := _saved(place / name))]
        return [(state.tenant, state.run_id) for state in states if state.updated_at_ms < limit]

    def sweep(self, before: datetime) -> None:
        """Remove what a process left that was killed while it made a run or removed one."""
        for place in self._places():
            for name in _entries(place):
                path = place / name
                with suppress(FileNotFoundError):
                    if name.startswith((_NEW, _GONE)) and path.stat().st_mtime < before.timestamp():
                        shutil.rmtree(path, ignore_errors=True)

    def _places(self) -> list[Path]:
        return [self._base, *(self._base / name for name in _entries(self._base) if name.startswith(_TENANT))]

    def _card(self, path: Path) -> RunCard | None:
        card = self._cards.get(path)
        if card is not None:
            return card
        try:
            state = reader(RunState)((path / CREATED).read_bytes())
        except (OSError, ValidationError):
            return None
        card = RunCard(
            run_id=state.run_id,
            owner=state.owner,
            session=state.session,
            workspace=state.workspace.workspace_id,
            run_type=state.run_type,
            created_at_ms=state.created_at_ms,
        )
        self._cards[path] = card
        return card

    def _place(self, tenant: str) -> Path:
        if tenant == DEFAULT_TENANT:
            return self._base
        name = quote(tenant, safe="")
        return self._base / f"{_TENANT}{name if len(name) <= _LONGEST else sha256(tenant.encode()).hexdigest()}"


def _saved(path: Path) -> RunState | None:
    with suppress(OSError, ValidationError):
        return reader(RunState)((path / STATE).read_bytes())
    return None


def check_run_id(run_id: str) -> str:
    if not _is_run_id(run_id):
        raise InvalidInput(
            "A run's id has 1 to 128 letters, digits, dots, dashes and underscores, and begins with no dot and no dash."
        )
    return run_id


def _is_run_id(run_id: str) -> bool:
    return _RUN_ID.fullmatch(run_id) is not None and run_id not in _RESERVED


def _names(place: Path) -> Iterator[str]:
    return (name for name in _entries(place) if _is_run_id(name))


def _entries(place: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(place)]
    except FileNotFoundError:
        return []
