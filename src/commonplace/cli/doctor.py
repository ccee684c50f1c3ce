"""`commonplace doctor`: what is wrong with a store, and what to do. It reports; it never crashes and never changes."""

import importlib.util
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.exits import Exit
from commonplace.cli.lines import address, counted, size
from commonplace.errors import (
    CommonplaceError,
    EmbedderError,
    InvalidInput,
    NotAStore,
    PathNotFound,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from commonplace.values.paths import expand_path
from commonplace.values.upkeep import Finding

if TYPE_CHECKING:
    from commonplace.settings import Settings

_SCARCE = 256 * 1024 * 1024
_NONE_LEFT = 16 * 1024 * 1024
_PARTS = {"apsw": "the SQLite driver", "sqlite_vec": "vectors in SQLite"}
_DAMAGE = "Restore a backup: `commonplace restore`."

_ADVICE: dict[type[CommonplaceError], str] = {
    NotAStore: f"Choose another path with --store. If it was a store, its beginning is damaged. {_DAMAGE}",
    PathNotFound: "Look at the path. `commonplace put` makes a store where there is none.",
    StoreBusy: "Another process holds the write lock. Wait for it, or end it.",
    StoreCorrupt: f"{_DAMAGE} Without one, save what can be read: `commonplace export`.",
    StoreFull: "Make room on the disk; nothing that was acknowledged is lost. `commonplace purge` and `delete` still work.",
    StoreReadOnly: "Give yourself write permission on the file and on the folder around it.",
    StoreTooNew: "Upgrade Commonplace: pip install --upgrade commonplace.",
    StoreUnavailable: "Check the address, that the server runs and that it lets you in; then try again.",
    EmbedderError: "Run `commonplace reindex`, or open the store with the embedder it knows.",
}


def doctor(door: Door) -> None:
    """Look for faults and say what to do about each. Exits with 1 where there is an error."""
    before, inside = list(_before(door.address)), list(_inside(door))
    # What the store has looked at itself is told once.
    seen = {finding.check for finding in inside}
    findings = [*(finding for finding in before if finding.check not in seen), *inside]
    errors = sum(finding.severity == "error" for finding in findings)
    answer = {"store": address(door.address), "ok": not errors, "findings": findings}
    door.answer(answer, lambda: door.screen.findings(findings))
    if errors:
        door.say(f"{counted(errors, 'error')}. {address(door.address)}")
        raise typer.Exit(Exit.ERROR)
    warnings = sum(finding.severity == "warning" for finding in findings)
    told = f"No error, {counted(warnings, 'warning')}." if warnings else "All is well."
    door.say(f"{told} {address(door.address)}")


def check(door: Door) -> None:
    """Let the store look at itself: damage, rows that cannot be read, the seals of the audit. Exits with 1 if there is an error."""
    with door.open() as memory:
        findings = memory.check()
    errors = sum(finding.severity == "error" for finding in findings)
    door.answer({"ok": not errors, "findings": findings}, lambda: door.screen.findings(findings))
    if errors:
        door.say(f"{counted(errors, 'error')}. {address(door.address)}")
        raise typer.Exit(Exit.ERROR)


def _before(store: str) -> Iterator[Finding]:
    """What can be seen without opening the store."""
    yield from _parts()
    yield from _of_settings()
    if "://" in store:
        yield Finding("address", "ok", address(store))
        return
    try:
        path = expand_path(store)
    except InvalidInput as error:
        yield Finding("path", "error", error.message, "Name another with --store.")
        return
    try:
        yield from _file(path)
        yield _disk(path)
    except OSError as error:
        yield Finding("path", "error", f"{path}: {error.strerror}", "Check the path and its permissions.")


def _parts() -> Iterator[Finding]:
    for name, role in _PARTS.items():
        if importlib.util.find_spec(name) is None:
            advice = "Install Commonplace anew: pip install --force-reinstall commonplace."
            yield Finding("installation", "error", f"{role} ({name}) is missing.", advice)


def _of_settings() -> Iterator[Finding]:
    # pydantic and its settings load slowly.
    from commonplace.settings import load_settings

    try:
        settings = load_settings()
    except CommonplaceError as error:
        yield Finding("settings", "error", error.message, "Mend it; what the settings say is not known until then.")
        return
    yield from _language_model(settings)
    yield from _hosted_agent(settings)


def _language_model(settings: "Settings") -> Iterator[Finding]:
    """Which language model learns, and whether anybody knows what it costs."""
    # The vendors' libraries load slowly.
    from commonplace.compose.services import is_model_priced

    name = settings.llm_model
    if name in (None, "none"):
        yield Finding("model", "ok", "No language model is set: rules learn, and the librarian answers.")
        return
    try:
        priced = is_model_priced(settings)
    except ImportError:
        yield Finding("model", "error", f"What {name} needs is not installed.", "pip install 'commonplace[agent]'")
        return
    except CommonplaceError as error:
        yield Finding("model", "error", error.message, "Correct [llm] model. Until then rules learn instead.")
        return
    if priced:
        yield Finding("model", "ok", f"The language model is {name}.")
        return
    advice = 'Set its price, or nothing for a model of your own: [llm] prices = ["MODEL=INPUT/OUTPUT"], in US dollars per million tokens.'
    yield Finding(
        "model", "warning", f"Nobody knows what {name} costs. It is used, and budgets count an estimate.", advice
    )


def _hosted_agent(settings: "Settings") -> Iterator[Finding]:
    """Whether the program that the operator set as the agent is found, and given the variables that are named."""
    if not settings.agent_command:
        return
    program = shutil.which(settings.agent_command[0])
    if program is None:
        advice = "Install it, or write its whole path as the first word of agent_command."
        yield Finding(
            "agent", "error", f"There is no program {settings.agent_command[0]!r:.200} to be the agent.", advice
        )
        return
    yield Finding("agent", "ok", f"The agent is {program}.")
    for name in settings.agent_environment:
        if name not in os.environ:
            advice = "Set it where the daemon is started, or take it out of agent_environment."
            yield Finding("agent", "warning", f"The agent is to be given {name}, which is not set here.", advice)


def _file(path: Path) -> Iterator[Finding]:
    if path.is_dir():
        yield Finding("path", "error", f"{path} is a folder.", "Name a file in it with --store.")
        return
    if path.exists():
        yield Finding("path", "ok", f"{path}, {size(path.stat().st_size)}")
    else:
        yield Finding("path", "warning", f"There is no store at {path} yet.", "`commonplace put` makes one.")
    yield from _permissions(path)
    yield from _openness(path)


def _openness(path: Path) -> Iterator[Finding]:
    """A store of an earlier release may be open to everybody on the machine."""
    files = [file for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")) if file.exists()]
    if os.name != "nt" and any(file.stat().st_mode & 0o077 for file in files):
        names = " ".join(shlex.quote(str(file)) for file in files)
        yield Finding("privacy", "warning", f"Others on this machine may open {path}.", f"Run `chmod 600 {names}`.")


def _permissions(path: Path) -> Iterator[Finding]:
    folder = _nearest(path.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        advice = "Give yourself write permission on the folder: SQLite writes its log beside the file."
        yield Finding("folder", "error", f"{folder} cannot be written.", advice)
    elif path.exists() and not os.access(path, os.W_OK):
        yield Finding("file", "error", f"{path} cannot be written.", _ADVICE[StoreReadOnly])
    else:
        yield Finding("folder", "ok", f"{folder} can be written.")


def _disk(path: Path) -> Finding:
    free = shutil.disk_usage(_nearest(path.parent)).free
    if free < _NONE_LEFT:
        return Finding("disk", "error", f"The disk is full: {size(free)} left.", _ADVICE[StoreFull])
    if free < _SCARCE:
        return Finding("disk", "warning", f"The disk is nearly full: {size(free)} left.", "Make room soon.")
    return Finding("disk", "ok", f"{size(free)} left.")


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((place for place in (folder, *folder.parents) if place.exists()), Path.cwd())


def _inside(door: Door) -> Iterator[Finding]:
    """What the store itself finds, or why it does not open."""
    if "://" not in door.address and not _is_there(door.address):
        return
    try:
        with door.open() as memory:
            found = memory.check()
            yield Finding("open", "ok", "The store opens.")
            yield from found
    except CommonplaceError as error:
        yield Finding(error.code, "error", error.message, _advice(error, door.address))


def _is_there(store: str) -> bool:
    try:
        return expand_path(store).exists()
    except InvalidInput:
        return False


def _advice(error: CommonplaceError, store: str) -> str:
    if isinstance(error, StoreUnavailable) and "://" not in store:
        return _ADVICE[StoreReadOnly]
    return next((advice for kind, advice in _ADVICE.items() if isinstance(error, kind)), "")


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace check", "commonplace check --json", panel="Look after")(check)
    command(app, "commonplace doctor", "commonplace doctor --store team.db --json", panel="Look after")(doctor)
