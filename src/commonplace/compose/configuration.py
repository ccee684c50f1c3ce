"""
The settings that a memory inside a program needs.

Loading settings takes as long as everything else a short command does, so if nothing is set, in the environment or in a
file, none are loaded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from commonplace.values.flood import STANDARD, FloodLimits
from commonplace.values.paths import expand_path
from commonplace.values.scope import DEFAULT_TENANT


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    home: Path
    store: str | None = None
    store_from_workspace: bool = False
    is_own_store: bool = True
    """Whether the memory that is opened is the one that the settings name."""
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
    session_days: int = 30
    history_days: int = 0
    runs_days: int = 30
    artifacts_days: int = 90
    max_artifact_mb: int = 8

    @property
    def curated(self) -> tuple[Path, str] | None:
        """Home and tenant whose agents keep files beside the memory; None if it is another than theirs."""
        return (self.home, self.tenant) if self.is_own_store else None

    @property
    def address(self) -> str | Path:
        return self.store or self.home / "memory.db"


def configuration() -> Configuration:
    home = expand_path(os.environ.get("COMMONPLACE_HOME") or "~/.commonplace")
    here = Path.cwd()
    workspace = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    files = [folder / name for folder in (home, workspace / ".commonplace") for name in ("config.toml", "config.json")]
    variables = {name for name in os.environ if name.startswith("COMMONPLACE_")} - {"COMMONPLACE_HOME"}
    if not variables and not any(map(_may_be_there, files)):
        return Configuration(home=home)
    # pydantic and its settings load slowly.
    from commonplace.settings import load_settings  # noqa: PLC0415

    settings = load_settings()
    return Configuration(
        home=settings.home,
        store=settings.store,
        store_from_workspace="store" in settings.from_workspace,
        tenant=settings.tenant,
        actor=settings.actor,
        embedder=settings.embedder,
        api_key=settings.openai_api_key.get_secret_value() if settings.openai_api_key else None,
        base_url=settings.openai_base_url,
        cache_bytes=settings.cache_mb << 20,
        token_budget=settings.token_budget,
        url=settings.url,
        token=settings.token.get_secret_value() if settings.token else None,
        limits=settings.flood_limits,
        session_days=settings.session_days,
        history_days=settings.history_days,
        runs_days=settings.runs_days,
        artifacts_days=settings.artifacts_days,
        max_artifact_mb=settings.max_artifact_mb,
    )


def _may_be_there(file: Path) -> bool:
    """Whether there may be such a file. If we may not look, loading the settings explains better what is wrong."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
