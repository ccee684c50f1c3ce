"""The operator's token: given by the settings, or made at the first start and kept in the home folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.governance.keys import new_token
from commonplace.settings import Settings

FILE: Final = "token"
SHORTEST: Final = 20
"""Characters: fewer can be guessed."""


def operator_token(settings: Settings) -> str:
    """
    The token; made where there is none. Processes that start at the same time agree on one.

    Raises:
        InvalidInput: what is given or kept as a token cannot be one.
    """
    if settings.token is not None:
        return _checked(settings.token.get_secret_value(), "COMMONPLACE_TOKEN")
    path = settings.home / FILE
    if not path.exists():
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    # Somebody may have copied it here from elsewhere; on Windows there is no such mode.
    with suppress(OSError):
        path.chmod(0o600)
    return _checked(path.read_text(encoding="utf-8").strip(), str(path))


def _make(path: Path) -> None:
    """Written beside it first, and then given its name, so that nobody ever reads half a token."""
    draft = path.with_name(f"{FILE}.{os.getpid()}.{new_token()[:8]}")
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.write(f"{new_token()}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _checked(token: str, where: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(f"{where} holds no token: printable ASCII without spaces. Correct it, or remove it.")
    if len(token) < SHORTEST:
        raise InvalidInput(
            f"{where} holds a token of {len(token)} characters, which can be guessed. Use at least {SHORTEST}, for instance "
            "what `openssl rand -hex 32` prints; or remove it, and the daemon makes one."
        )
    return token
