"""
What this home trusts: `trusted.json` in the home folder.

A folder is trusted with the file it had then, and no longer when that file changes. A store is trusted by a mark: a random word that
we wrote into it, so that another store at the same path is another store. Whoever reads the store can copy its marks.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from commonplace.errors import InvalidFile
from commonplace.values.paths import expand_path
from commonplace.workspace.file import WorkspaceFile

LEDGER: Final = "trusted.json"
_MAX_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TrustLedger:
    """
    Each method reads the file anew, and writes it in one step. Of two that write at the same moment one may be lost: then something is
    not trusted that should be, or has to be revoked once more.
    """

    home: Path

    @property
    def path(self) -> Path:
        return self.home / LEDGER

    def folders(self) -> Mapping[str, str]:
        """The digest of each trusted folder's file. Raises InvalidFile."""
        return self._load()["folders"]

    def stores(self) -> Mapping[str, str]:
        """The mark of each trusted store, by its path. Raises InvalidFile."""
        return self._load()["stores"]

    def trusts(self, file: WorkspaceFile) -> bool:
        """Whether the folder is trusted with just this file. Raises InvalidFile."""
        return not file.fault and self.folders().get(str(file.folder)) == file.digest

    def add_folder(self, file: WorkspaceFile) -> None:
        self._set("folders", str(file.folder), file.digest)

    def add_store(self, path: Path, mark: str) -> None:
        self._set("stores", _real(path), mark)

    def mark_of(self, path: Path) -> str | None:
        """The mark by which the store at this path is ours, None where it is not."""
        return self.stores().get(_real(path))

    def remove_folder(self, folder: Path) -> bool:
        """Whether it was there."""
        return self._remove("folders", _real(folder))

    def remove_store(self, path: Path) -> bool:
        """Whether it was there."""
        return self._remove("stores", _real(path))

    def _set(self, part: str, name: str, value: str) -> None:
        ledger = self._load()
        ledger[part][name] = value
        self._save(ledger)

    def _remove(self, part: str, name: str) -> bool:
        ledger = self._load()
        if ledger[part].pop(name, None) is None:
            return False
        self._save(ledger)
        return True

    def _load(self) -> dict[str, dict[str, str]]:
        try:
            if self.path.stat().st_size > _MAX_BYTES:
                raise ValueError
            document: Any = json.loads(self.path.read_text(encoding="utf-8"))
            return {part: _texts(document.get(part)) for part in ("folders", "stores")}
        except FileNotFoundError:
            return {"folders": {}, "stores": {}}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise InvalidFile(
                f"{self.path} cannot be read. Repair it, or remove it and run `commonplace trust` again where you need it."
            ) from error

    def _save(self, ledger: Mapping[str, Mapping[str, str]]) -> None:
        """Written beside it first and then renamed, so that nobody ever reads half of it."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path.with_name(f"{LEDGER}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(json.dumps(ledger, indent=2, sort_keys=True) + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)


def _real(path: Path) -> str:
    return os.path.realpath(expand_path(path))


def _texts(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("not an object")
    entries = cast(dict[str, object], value)
    if not all(isinstance(text, str) for text in entries.values()):
        raise ValueError("not texts")
    return cast(dict[str, str], value)
