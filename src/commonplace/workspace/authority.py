"""
Which settings the file of a workspace may set.

`free` settings always count. `trust` ones count after `commonplace trust` in that folder, until the file changes. `never` ones
count only in the environment and in the home folder: whatever names an address, a key, a model, a price, a limit or a folder
outside, and whatever concerns a daemon. A setting that is not in the table is `never`, and a test fails until it is added.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Authority = Literal["free", "trust", "never"]

AUTHORITY: Final[Mapping[str, Authority]] = {
    "token_budget": "free",
    "memory_mode": "free",
    "store": "trust",
    "embedder": "trust",
    "tenant": "trust",
    "actor": "trust",
    "cache_mb": "trust",
    "agent_recall": "trust",
    "agent_learn": "trust",
    "agent_capture": "trust",
    # Where everything else is looked for, this table's own answers included.
    "home": "never",
    # Whom texts are sent to, what shows them who we are, and what is paid for it.
    "openai_api_key": "never",
    "openai_base_url": "never",
    "llm_model": "never",
    "llm_base_url": "never",
    "llm_api_key": "never",
    "llm_timeout": "never",
    "llm_daily_budget_usd": "never",
    "llm_models": "never",
    "llm_chat_budget_usd": "never",
    "llm_dream_budget_usd": "never",
    "llm_prices": "never",
    "llm_price": "never",
    "memory_gateway_base_url": "never",
    "memory_gateway_user_id": "never",
    "memory_gateway_user_key": "never",
    "memory_gateway_app_id": "never",
    "memory_gateway_project_id": "never",
    "memory_gateway_scope": "never",
    "memory_gateway_top_k": "never",
    "memory_gateway_timeout_seconds": "never",
    # How much a stranger may bring is not for the stranger to say.
    "learning_alike": "never",
    "learning_notes": "never",
    "learning_files_alike": "never",
    "learning_files": "never",
    # What an agent may do with this machine, who is asked, and what it may take.
    "agent_command": "never",
    "agent_environment": "never",
    "agent_command_users": "never",
    "agent_start_seconds": "never",
    "agent_price": "never",
    "agent_sessions": "never",
    "agent_shared_sessions": "never",
    "agent_lease_seconds": "never",
    "public_url": "never",
    "schedule_zone": "never",
    "schedule_quiet": "never",
    "agent_requests": "never",
    "agent_seconds": "never",
    "agent_window": "never",
    "agent_output_tokens": "never",
    "agent_turn_budget_usd": "never",
    "runs_days": "never",
    "artifacts_days": "never",
    "max_artifact_mb": "never",
    "agent_fetch": "never",
    "agent_roots": "never",
    "agent_shell_sandbox": "never",
    "agent_tool_seconds": "never",
    "agent_permission_seconds": "never",
    "agent_permission_policy": "never",
    "agent_permission_quorum": "never",
    "agent_allow_all": "never",
    # What is written into the home folder and into the workspace.
    "managed_memory": "never",
    "managed_dream": "never",
    "managed_local": "never",
    # A daemon: where it is, who may reach it, what it lets in, what it logs and how long it keeps that.
    "url": "never",
    "token": "never",
    "host": "never",
    "port": "never",
    "workers": "never",
    "workspace": "never",
    "no_auth": "never",
    "allowed_hosts": "never",
    "allowed_origins": "never",
    "trusted_proxies": "never",
    "import_roots": "never",
    "max_body_mb": "never",
    "max_anonymous_body_kb": "never",
    "max_connections": "never",
    "max_in_flight_mb": "never",
    "request_timeout": "never",
    "audit_kept_days": "never",
    "session_days": "never",
    "history_days": "never",
    "room_days": "never",
    "rate_limit_read": "never",
    "rate_limit_mutation": "never",
    "rate_limit_prompt": "never",
    "rate_limit_query_cost": "never",
    "events_kept": "never",
    "events_kept_days": "never",
    "job_lease_seconds": "never",
    "mcp_allow_delete": "never",
    "otlp_endpoint": "never",
    "log_format": "never",
}

# A model from another folder or from the network can run code, and an address is told texts and a key.
_EMBEDDER: Final = re.compile(r"static|none|openai:(?:(?!://)[^\s@])+|sentence-transformers(?::all-MiniLM-L6-v2)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class SortedSettings:
    """
    The settings of a file by what becomes of them. `free` and `trust` hold values as they are used, `never` why each does not count;
    `unknown` is how many names are no settings.
    """

    free: Mapping[str, object] = field(default_factory=dict[str, object])
    trust: Mapping[str, object] = field(default_factory=dict[str, object])
    never: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: int = 0


def sort_settings(settings: Mapping[str, object], folder: Path) -> SortedSettings:
    """What the file of the workspace `folder` may set. A path in it is meant from that folder."""
    free: dict[str, object] = {}
    trust: dict[str, object] = {}
    never: dict[str, str] = {}
    for name, value in settings.items():
        match AUTHORITY.get(name):
            case "free":
                free[name] = value
            case "trust":
                try:
                    trust[name] = _CHECKS[name](value, folder) if name in _CHECKS else value
                except ValueError as reason:
                    never[name] = str(reason)
            case "never":
                never[name] = ""
            case None:
                pass
    unknown = sum(name not in AUTHORITY for name in settings)
    return SortedSettings(free=free, trust=trust, never=never, unknown=unknown)


def _store(value: object, folder: Path) -> str:
    """The path, without links. Raises ValueError: it is no path to a file in the folder."""
    if not isinstance(value, str) or not value or "\0" in value or "://" in value:
        raise ValueError("a workspace's file names a path in its folder, no address")
    root = Path(os.path.realpath(folder))
    # A link inside the folder may lead out of it, and nobody would see the file change.
    path = Path(os.path.realpath(root / value))
    if value.startswith("~") or not path.is_relative_to(root) or path == root:
        raise ValueError("the path leads out of the folder")
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - these raise no errors of their own
        raise ValueError("there is something else than a file")
    return str(path)


def _embedder(value: object, folder: Path) -> str:
    del folder
    if not isinstance(value, str) or not all(_EMBEDDER.fullmatch(part.strip()) for part in value.split(",")):
        raise ValueError("a workspace's file names neither an address nor a model to load")
    return value


_CHECKS: Final[Mapping[str, Callable[[object, Path], str]]] = {"store": _store, "embedder": _embedder}
