"""
The settings this package needs.

Reading them takes as long as everything else a short command does, so where nothing is set, in the environment or in a
file, nothing is read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.scope import DEFAULT_TENANT


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    home: Path
    store: str | None = None
    store_from_workspace: bool = False
    tenant: str = DEFAULT_TENANT
    actor: str | None = None
    embedder: str | None = None
    api_key: str | None = None
    base_url: str | None = None
    cache_bytes: int = 512 << 20
    token_budget: int = 2000
    url: str | None = None
    token: str | None = None
    limits: FloodLimits = STANDARD

    @property
    def address(self) -> str | Path:
        return self.store or self.home / "memory.db"


def configuration() -> Configuration:
    home = Path(os.environ.get("COMMONPLACE_HOME") or "~/.commonplace").expanduser()
    here = Path.cwd()
    workspace = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    files = [folder / name for folder in (home, workspace / ".commonplace") for name in ("config.toml", "config.json")]
    named = {name for name in os.environ if name.startswith("COMMONPLACE_")} - {"COMMONPLACE_HOME"}
    if not named and not any(map(_may_be_there, files)):
        return Configuration(home=home)
    # pydantic and its settings load slowly.
    from commonplace.settings import load_settings  # noqa: PLC0415

    read = load_settings()
    return Configuration(
        home=read.home,
        store=read.store,
        store_from_workspace="store" in read.from_workspace,
        tenant=read.tenant,
        actor=read.actor,
        embedder=read.embedder,
        api_key=read.openai_api_key.get_secret_value() if read.openai_api_key else None,
        base_url=read.openai_base_url,
        cache_bytes=read.cache_mb << 20,
        token_budget=read.token_budget,
        url=read.url,
        token=read.token.get_secret_value() if read.token else None,
        limits=read.flood_limits,
    )


def _may_be_there(file: Path) -> bool:
    """What cannot be looked at may be there: the settings say better what is wrong."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
