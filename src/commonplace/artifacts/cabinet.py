"""
The artifacts of this home folder, by their content: `<home>/artifacts/<2 digits>/<SHA-256>/content`, and beside it a card for each artifact
that has this content. Those of other tenants than the default one lie in a folder of their tenant, so that nobody learns from a
file that is there already what others keep.

A card comes after its content and goes before it. So a killed process leaves at worst a content that nobody has a card for, which the next
sweep removes. Everything is for its owner alone.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import ValidationError

from commonplace.errors import FileError
from commonplace.files.atomic import DRAFT, make_private, sync_folder, write_new, write_whole
from commonplace.files.locks import locked_file
from commonplace.values.artifact import Artifact
from commonplace.values.run_errors import ArtifactNotFound
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.wire.shapes import reader, to_json

FOLDER: Final = "artifacts"
CONTENT: Final = "content"
_LOCK: Final = ".lock"
_DRAFTS: Final = ".drafts"
_TENANT: Final = "@"
_LONGEST: Final = 200
_BEGIN: Final = 16
_ID: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def new_artifact_id(digest: str) -> str:
    """It begins as its content's hash does: so it is found without a list of all."""
    return f"{digest[:_BEGIN]}-{os.urandom(8).hex()}"


class Cabinet:
    """Every method blocks, and may raise OSError."""

    def __init__(self, home: Path) -> None:
        self._base = home / FOLDER
        self._cards: dict[Path, tuple[int, Artifact]] = {}

    def add(self, artifact: Artifact, data: bytes) -> None:
        """Keep the content, unless it is there, and then the card."""
        if artifact.sha256 != sha256(data).hexdigest():
            raise FileError("The content is not what the artifact says.")
        place = self._place(artifact.tenant)
        drafts = place / _DRAFTS
        make_private(drafts)
        draft = drafts / f"{artifact.id}{DRAFT}"
        try:
            write_new(draft, data, durable=True)
            with locked_file(place / _LOCK, create=True):
                folder = self._folder(artifact)
                make_private(folder)
                content = folder / CONTENT
                if not content.is_file() or content.stat().st_size != len(data):
                    draft.replace(content)
                write_whole(_card(folder, artifact.id), to_json(artifact), durable=True)
                sync_folder(folder.parent)
        finally:
            draft.unlink(missing_ok=True)

    def change(self, artifact: Artifact) -> None:
        """Write the card anew. Raises ArtifactNotFound: it has gone."""
        with self._locked(artifact.tenant):
            path = self._path(artifact.tenant, artifact.id)
            write_whole(path, to_json(artifact), durable=True)

    def get(self, tenant: str, id: str) -> Artifact:
        """Raises ArtifactNotFound."""
        card = self._read(self._path(tenant, id))
        if card is None:
            raise ArtifactNotFound
        return card

    def content(self, artifact: Artifact) -> bytes:
        """Raises ArtifactNotFound, FileError: it is not what it was."""
        try:
            file = os.open(self._folder(artifact) / CONTENT, _READ)
        except FileNotFoundError as error:
            raise ArtifactNotFound from error
        with os.fdopen(file, "rb") as opened:
            data = opened.read()
        if sha256(data).hexdigest() != artifact.sha256:
            raise FileError("The artifact on the disk is not what was kept. Restore it from a copy, or delete it.")
        return data

    def all(self, tenant: str) -> list[Artifact]:
        """Newest first."""
        cards = [card for path in _cards(self._place(tenant)) if (card := self._read(path))]
        return sorted(cards, key=lambda card: (card.created_at, card.id), reverse=True)

    def remove(self, tenant: str, id: str) -> None:
        """The card, and with the last card the content. Raises ArtifactNotFound."""
        with self._locked(tenant):
            path = self._path(tenant, id)
            path.unlink(missing_ok=True)
            self._cards.pop(path, None)
            if not any(path.parent.glob("*.json")):
                shutil.rmtree(path.parent, ignore_errors=True)

    def over(self, now: datetime) -> list[tuple[str, str]]:
        """Tenant and id of those whose time is over."""
        cards = [card for place in self._places() for path in _cards(place) if (card := self._read(path))]
        return [(card.tenant, card.id) for card in cards if card.expires_at is not None and card.expires_at <= now]

    def sweep(self, before: datetime) -> None:
        """Remove what killed processes left before then: drafts, and contents without a card."""
        for place in self._places():
            with suppress(FileNotFoundError), locked_file(place / _LOCK):
                drafts = (place / _DRAFTS).glob("*")
                orphans = (folder for folder in _contents(place) if not any(folder.glob("*.json")))
                for path in (*drafts, *orphans):
                    if path.stat().st_mtime >= before.timestamp():
                        continue
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)

    def _locked(self, tenant: str) -> _Locked:
        return _Locked(self._place(tenant) / _LOCK)

    def _path(self, tenant: str, id: str) -> Path:
        """Where the card is. Raises ArtifactNotFound."""
        if not _ID.fullmatch(id):
            raise ArtifactNotFound
        shelf = self._place(tenant) / id[:2]
        for name in _names(shelf):
            if name.startswith(id[:_BEGIN]) and _card(shelf / name, id).is_file():
                return _card(shelf / name, id)
        raise ArtifactNotFound

    def _read(self, path: Path) -> Artifact | None:
        """The card, read again only if it was written since."""
        with suppress(OSError, ValidationError):
            written_at = path.stat(follow_symlinks=False).st_mtime_ns
            at, card = self._cards.get(path, (0, None))
            if card is None or at != written_at:
                card = reader(Artifact)(path.read_bytes())
                self._cards[path] = (written_at, card)
            return card
        self._cards.pop(path, None)
        return None

    def _folder(self, artifact: Artifact) -> Path:
        return self._place(artifact.tenant) / artifact.sha256[:2] / artifact.sha256

    def _place(self, tenant: str) -> Path:
        if tenant == DEFAULT_TENANT:
            return self._base
        name = quote(tenant, safe="")
        return self._base / f"{_TENANT}{name if len(name) <= _LONGEST else sha256(tenant.encode()).hexdigest()}"

    def _places(self) -> list[Path]:
        return [self._base, *(self._base / name for name in _names(self._base) if name.startswith(_TENANT))]


class _Locked:
    """The lock of a tenant's artifacts; without any there is nothing to find."""

    def __init__(self, path: Path) -> None:
        self._lock = locked_file(path)

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except FileNotFoundError as error:
            raise ArtifactNotFound from error

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(None, None, None)


def _card(folder: Path, id: str) -> Path:
    return folder / f"{id}.json"


def _contents(place: Path) -> Iterator[Path]:
    for shelf in _names(place):
        if len(shelf) == 2:
            yield from (place / shelf / name for name in _names(place / shelf))


def _cards(place: Path) -> Iterator[Path]:
    for folder in _contents(place):
        yield from (folder / name for name in _names(folder) if name.endswith(".json") and not name.startswith("."))


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder)]
    except (FileNotFoundError, NotADirectoryError):
        return []
