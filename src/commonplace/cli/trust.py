"""`commonplace trust`: what a workspace's file may set, and whose store it may name."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, clipped, counted
from commonplace.errors import InvalidFile, InvalidInput, NotFound, PathNotFound
from commonplace.values.paths import expand_path

if TYPE_CHECKING:
    from commonplace.workspace.authority import SortedSettings
    from commonplace.workspace.file import WorkspaceFile
    from commonplace.workspace.ledger import TrustLedger

PANEL = "Look after"


def trust(
    door: Door,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="The workspace. Default: the git root around here.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Show what is trusted.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """
    Trust the settings' file of a workspace, until it changes. Its store and its embedder count from then on; keys and addresses never do.
    With --store PATH: adopt a store that was made elsewhere, so that its trust labels, keys, users and jobs count.
    """
    # pydantic and its settings load slowly.
    from commonplace.settings import home_folder, workspace_folder
    from commonplace.workspace.ledger import TrustLedger

    ledger = TrustLedger(home_folder())
    if (folder is not None) + (door.store is not None) + show > 1 or (show and revoke):
        raise InvalidInput("Name a folder, or a store with --store, or say --list: one of them.")
    if show:
        _list(door, ledger)
    elif door.store is not None:
        (_forget_store if revoke else _adopt)(door, ledger, expand_path(door.store), yes=yes)
    else:
        (_revoke if revoke else _trust)(door, ledger, expand_path(folder or workspace_folder()), yes=yes)


# ---- folders


def _trust(door: Door, ledger: "TrustLedger", folder: Path, *, yes: bool) -> None:
    # As above.
    from commonplace.workspace.authority import sort_settings

    file = _file(ledger, folder)
    settings = sort_settings(file.settings, file.folder)
    if not (door.json or door.quiet):
        _describe(ledger, file, settings)
    if settings.trust:
        door.confirm("Trust this file until it changes?", yes=yes, final=False)
        ledger.add_folder(file)
    else:
        door.say("Nothing in it needs trust.")
    answer = {
        "folder": str(file.folder),
        "file": str(file.path),
        "trusted": bool(settings.trust),
        "settings": {**settings.free, **settings.trust},
        "never": sorted(settings.never),
    }
    door.answer(
        answer, lambda: typer.echo(f"{'Trusted' if settings.trust else 'Unchanged'}: {clean(str(file.folder))}")
    )


def _file(ledger: "TrustLedger", folder: Path) -> "WorkspaceFile":
    # As above.
    from commonplace.workspace.file import FILES, FOLDER, read_workspace_file
    from commonplace.workspace.report import is_home

    if is_home(folder, ledger.home):
        raise InvalidInput(f"{folder / FOLDER} is your own home folder. What its file sets counts already.")
    file = read_workspace_file(folder)
    if file is None:
        raise PathNotFound(
            f"There is no {FOLDER}/{FILES[0]} in {folder}. Name the folder that has one.", path=str(folder)
        )
    if file.fault:
        raise InvalidFile(f"{file.path} cannot be used: {file.fault}.")
    return file


def _describe(ledger: "TrustLedger", file: "WorkspaceFile", settings: "SortedSettings") -> None:
    typer.echo(clean(str(file.path)))
    for name, value in sorted({**settings.free, **settings.trust}.items()):
        typer.echo(f"  {name} = {clipped(json.dumps(value, ensure_ascii=False, default=str), 200)}")
    for name, reason in sorted(settings.never.items()):
        typer.echo(f"  {name}: never{f', {reason}' if reason else ''}")
    if settings.unknown:
        typer.echo(f"  names that are no settings: {settings.unknown}")
    store = settings.trust.get("store")
    if store is None or not Path(str(store)).exists():
        return
    # The engine brings numpy and the stores.
    from commonplace.compose.adoption import is_adopted

    if not is_adopted(Path(str(store)), ledger):
        typer.echo(
            "  The store is there already and was not made here: its trust labels, keys, users and jobs do not count"
        )
        typer.echo(f"  until `commonplace trust --store {shlex.quote(clean(str(store)))}`.")


def _revoke(door: Door, ledger: "TrustLedger", folder: Path, *, yes: bool) -> None:
    del yes
    if not ledger.remove_folder(folder):
        raise NotFound(f"{folder} is not trusted. `commonplace trust --list` shows what is.")
    door.answer(
        {"folder": str(folder), "trusted": False}, lambda: typer.echo(f"No longer trusted: {clean(str(folder))}")
    )


# ---- stores


def _adopt(door: Door, ledger: "TrustLedger", path: Path, *, yes: bool) -> None:
    if "://" in str(door.store):
        raise InvalidInput("A server needs no trust of this kind: whoever names it trusts it. Name a file.")
    if not path.is_file():
        raise PathNotFound(f"There is no store at {path}.", path=str(path))
    # The engine brings numpy and the stores.
    from commonplace.compose.adoption import adopt_store, read_claims

    claims = read_claims(path)
    if not (door.json or door.quiet):
        typer.echo(
            f"{clean(str(path))}: {counted(claims.records, 'record')}, {claims.trusted:,} labelled as trusted; "
            f"{counted(claims.keys, 'key')}, {counted(claims.users, 'user')}, {counted(claims.jobs, 'job')} waiting."
        )
    door.confirm("Let all of that count, as if it had been made here?", yes=yes, final=False)
    adopt_store(path, ledger)
    door.answer(
        {"store": str(path), "adopted": True, **claims._asdict()}, lambda: typer.echo(f"Adopted: {clean(str(path))}")
    )


def _forget_store(door: Door, ledger: "TrustLedger", path: Path, *, yes: bool) -> None:
    del yes
    if not ledger.remove_store(path):
        raise NotFound(f"The store {path} is not adopted. `commonplace trust --list` shows those that are.")
    door.answer({"store": str(path), "adopted": False}, lambda: typer.echo(f"No longer adopted: {clean(str(path))}"))


# ---- list


def _list(door: Door, ledger: "TrustLedger") -> None:
    folders = {name: _state_of_folder(Path(name), digest) for name, digest in sorted(ledger.folders().items())}
    stores = {name: _state_of_store(ledger, Path(name)) for name in sorted(ledger.stores())}

    def lines() -> None:
        for kind, entries in (("folder", folders), ("store", stores)):
            for name, state in entries.items():
                typer.echo(f"{kind:<6}  {state:<7}  {clean(name)}")

    answer = {
        "folders": [{"folder": name, "state": state} for name, state in folders.items()],
        "stores": [{"store": name, "state": state} for name, state in stores.items()],
    }
    door.answer(answer, lines)
    if not folders and not stores:
        door.say("Nothing is trusted. `commonplace trust` in a folder trusts its settings' file.")


def _state_of_folder(folder: Path, digest: str) -> str:
    # As above.
    from commonplace.workspace.file import read_workspace_file

    file = read_workspace_file(folder)
    return "gone" if file is None else "trusted" if file.digest == digest and not file.fault else "changed"


def _state_of_store(ledger: "TrustLedger", path: Path) -> str:
    # The engine brings numpy and the stores.
    from commonplace.compose.adoption import is_adopted

    return "gone" if not path.exists() else "trusted" if is_adopted(path, ledger) else "changed"


def add_to(app: typer.Typer) -> None:
    command(
        app,
        "commonplace trust",
        "commonplace trust ~/projects/web --yes",
        "commonplace trust --store ~/projects/web/.commonplace/memory.db",
        "commonplace trust --list",
        panel=PANEL,
    )(trust)
