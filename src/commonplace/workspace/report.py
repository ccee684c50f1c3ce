"""What counts of a workspace's file here and now, and what to say about the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from commonplace.workspace.authority import SortedSettings, sort_settings
from commonplace.workspace.file import FOLDER, WorkspaceFile, read_workspace_file
from commonplace.workspace.ledger import TrustLedger

_ELSEWHERE: Final = "Set them in the environment or in the home folder."


class PassedOver(UserWarning):
    """Something that a workspace brought with it does not count. The message says what, and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceReport:
    """`values` are the settings that count, `notice` names the file and what does not; never a value."""

    values: Mapping[str, object] = field(default_factory=dict[str, object])
    notice: str | None = None


def report_workspace(folder: Path, home: Path) -> WorkspaceReport:
    """
    Raises:
        InvalidFile: what this home trusts cannot be read.
    """
    # In the folder above the home folder the two are one file, which is the person's own.
    if is_home(folder, home) or (file := read_workspace_file(folder)) is None:
        return WorkspaceReport()
    if file.fault:
        return WorkspaceReport(notice=f"{file.path} was passed over: {file.fault}.")
    settings, ledger = sort_settings(file.settings, file.folder), TrustLedger(home)
    if not settings.trust:
        return WorkspaceReport(values=settings.free, notice=_notice(file, settings, ()))
    digests = ledger.folders()
    if digests.get(str(file.folder)) == file.digest:
        return WorkspaceReport(values={**settings.free, **settings.trust}, notice=_notice(file, settings, ()))
    notice = _notice(file, settings, settings.trust, changed=str(file.folder) in digests)
    return WorkspaceReport(values=settings.free, notice=notice)


def is_home(folder: Path, home: Path) -> bool:
    """Whether the workspace's file is the home folder's."""
    try:
        return (folder / FOLDER).samefile(home)
    except OSError:
        return folder / FOLDER == home


def _notice(
    file: WorkspaceFile, settings: SortedSettings, waiting: Iterable[str], *, changed: bool = False
) -> str | None:
    """Only names of settings, which we know: other names in the file could be anything, even what a terminal obeys."""
    sentences: list[str] = []
    if names := ", ".join(sorted(waiting)):
        since = "The file has changed since it was trusted. " if changed else ""
        sentences.append(f"{since}Passed over until `commonplace trust` in {file.folder}: {names}.")
    if names := ", ".join(_refusal(name, reason) for name, reason in sorted(settings.never.items())):
        sentences.append(f"Never taken from a workspace: {names}. {_ELSEWHERE}")
    if settings.unknown:
        sentences.append(f"Names that are no settings: {settings.unknown}.")
    return f"{file.path}: {' '.join(sentences)}" if sentences else None


def _refusal(name: str, reason: str) -> str:
    return f"{name} ({reason})" if reason else name
