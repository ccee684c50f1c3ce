"""`commonplace mcp install`: the entry of an editor that gives its model this memory."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from commonplace.cli.commented_json import with_entry
from commonplace.cli.door import Door
from commonplace.cli.lines import clean
from commonplace.errors import InvalidFile, InvalidInput

NAME = "commonplace"
MCP_SERVERS = "mcpServers"


@dataclass(frozen=True, kw_only=True, slots=True)
class Editor:
    """Where an editor keeps its MCP servers for all projects: a file, and the object in it."""

    title: str
    path: Callable[[], Path]
    section: str = MCP_SERVERS
    kind: str | None = None


def _claude() -> Path:
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else Path.home()) / ".claude.json"


def _claude_desktop() -> Path:
    if sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        folder = _config()
    return folder / "Claude" / "claude_desktop_config.json"


def _zed() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Zed" / "settings.json"
    return (Path.home() / ".config" if sys.platform == "darwin" else _config()) / "zed" / "settings.json"


def _config() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME")
    return Path(folder) if folder else Path.home() / ".config"


EDITORS: Mapping[str, Editor] = {
    "claude": Editor(title="Claude Code", path=_claude, kind="stdio"),
    "claude-desktop": Editor(title="Claude Desktop", path=_claude_desktop),
    "cursor": Editor(title="Cursor", path=lambda: Path.home() / ".cursor" / "mcp.json"),
    "zed": Editor(title="Zed", path=_zed, section="context_servers"),
    "qwen": Editor(title="Qwen Code", path=lambda: Path.home() / ".qwen" / "settings.json"),
}


def install(door: Door, editor_name: str | None, options: Sequence[str], *, yes: bool, only_show: bool) -> None:
    """
    Show the entry, ask, and write it. What else is in the file stays as it is, byte by byte, and a copy of it is kept.

    Raises:
        InvalidInput: there is no such editor, or MCP is not installed.
        InvalidFile: the file cannot be changed safely; the message has the entry to paste.
    """
    editor = EDITORS.get(editor_name or "")
    if editor is None:
        raise InvalidInput(f"Name an editor: {', '.join(EDITORS)}.")
    if importlib.util.find_spec("mcp") is None:
        raise InvalidInput("MCP is not installed. Run `pip install 'commonplace[mcp]'`.")
    # A person's file of settings is often a link into a folder that they keep in version control.
    path = Path(os.path.realpath(editor.path()))
    entry = _entry(editor, options)
    sample = json.dumps({editor.section: {NAME: entry}}, indent=2, ensure_ascii=False)
    answer: dict[str, Any] = {"editor": editor_name, "file": str(path), "entry": entry, "written": False}
    if only_show:
        door.answer(answer, lambda: typer.echo(sample))
        return
    before = _read(path, sample)
    after = _with_entry(before or "", editor, entry, path, sample)
    if after == before:
        door.answer(answer, lambda: typer.echo(f"Unchanged: {clean(str(path))} has this entry already."))
        return
    door.say(f"For {clean(str(path))}:\n{clean(sample)}")
    door.confirm("Write it?", yes=yes, final=False)
    backup = _write(path, before, after)
    answer |= {"written": True, "backup": str(backup) if backup else None}
    copy = f" The file as it was: {clean(str(backup))}." if backup else ""
    door.answer(answer, lambda: typer.echo(f"Written: {clean(str(path))}.{copy} Start {editor.title} again."))


def _entry(editor: Editor, options: Sequence[str]) -> dict[str, Any]:
    """With the whole path of the command: an editor has a search path of its own."""
    program = Path(sys.argv[0]).absolute()
    is_command = program.name.startswith(NAME) and program.is_file() and os.access(program, os.X_OK)
    words = [str(program)] if is_command else [sys.executable, "-m", NAME]
    # No key: a file of settings is no place for one.
    variables = {name: value for name in ("COMMONPLACE_HOME", "COMMONPLACE_URL") if (value := os.environ.get(name))}
    return {
        **({"type": editor.kind} if editor.kind else {}),
        "command": words[0],
        "args": [*words[1:], "mcp", *options],
        **({"env": variables} if variables else {}),
    }


def _read(path: Path, sample: str) -> str | None:
    try:
        # With its own line ends: what is not ours is written as it was.
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidFile(_by_hand(path, sample)) from None


def _with_entry(text: str, editor: Editor, entry: Mapping[str, Any], path: Path, sample: str) -> str:
    try:
        return with_entry(text, editor.section, NAME, entry)
    except InvalidFile as error:
        raise InvalidFile(_by_hand(path, sample)) from error


def _by_hand(path: Path, sample: str) -> str:
    return f"{path} is not what it should be, and was left as it is. Put this into it by hand:\n{sample}\n"


def _write(path: Path, before: str | None, after: str) -> Path | None:
    """In one step; answers where the copy of the old file is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if before is not None else 0o600
    backup = None
    if before is not None:
        backup = path.with_name(f"{path.name}.{datetime.now().astimezone():%Y%m%d-%H%M%S}.bak")
        _new(backup, before, mode)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _new(draft, after, mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return backup


def _new(path: Path, text: str, mode: int) -> None:
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8", newline=""
    ) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
