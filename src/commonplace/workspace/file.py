"""Reading settings' files: the home folder's as it is, a workspace's with care."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

FOLDER: Final = ".commonplace"
FILES: Final = ("config.toml", "config.json")
MAX_BYTES: Final = 64 * 1024
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceFile:
    """
    The settings' file of a workspace. `fault` says why it cannot be used; then there are no `settings`. `digest` is of its name and
    its bytes: another file, or other bytes, are another digest.
    """

    folder: Path
    path: Path
    digest: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    fault: str | None = None


def read_workspace_file(folder: Path) -> WorkspaceFile | None:
    """
    The file of the workspace `folder`, None where there is none. It never raises and never waits: a link that leads out, a pipe, a
    device, a file that is too large or cannot be parsed has a `fault`.
    """
    root = Path(os.path.realpath(folder))
    for name in FILES:
        path = root / FOLDER / name
        try:
            content = _content(path, root)
            settings = parse_settings(name, content.decode())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return WorkspaceFile(folder=root, path=path, fault=reason)
        digest = sha256(name.encode() + b"\0" + content).hexdigest()
        return WorkspaceFile(folder=root, path=path, digest=digest, settings=settings)
    return None


def _content(path: Path, root: Path) -> bytes:
    """Raises OSError, ValueError: it cannot be read, or should not be."""
    real = Path(os.path.realpath(path))
    # Looked at before it is opened: opening a device can do something.
    if not stat.S_ISREG(real.stat().st_mode):
        raise ValueError("it is no regular file")
    if not real.is_relative_to(root):
        raise ValueError("it is a link that leads out of the folder")
    with os.fdopen(os.open(real, _FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 10} KiB")
    return content


def parse_settings(name: str, text: str) -> dict[str, object]:
    """The settings in the text of a file of this name, as one flat object. Raises ValueError."""
    try:
        document: object = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
        if not isinstance(document, dict):
            raise ValueError("it is not an object")
        return _flat(cast(dict[str, object], document))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _flat(document: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """`roots` in a table `[import]` is the setting `import_roots`."""
    flat: dict[str, object] = {}
    for name, value in document.items():
        own = prefix + _HUMP.sub("_", name).lower()
        flat |= _flat(cast(Mapping[str, object], value), f"{own}_") if isinstance(value, dict) else {own: value}
    return flat
