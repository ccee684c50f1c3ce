"""What the server is told by whoever puts it together. It reads no settings itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.governance.limits import RequestTier
from commonplace.server.telemetry import Tracing

if TYPE_CHECKING:
    from commonplace.server.siblings import Siblings


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """
    `allowed_hosts` and `allowed_origins` come on top of our own. `max_import` is for bodies that are read as a stream.
    `max_anonymous_body` is for bodies whose sender is not known yet, `max_in_flight` for all bodies together. `rate_limits` are requests a minute and key, by tier; a tier that is not named is free. `url` is where others reach the daemon. `siblings` are its other workers, if there are several.
    """

    host: str = "127.0.0.1"
    port: int = 4170
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body: int = 10 << 20
    max_anonymous_body: int = 1 << 20
    max_in_flight: int = 256 << 20
    max_import: int = 1 << 30
    request_timeout: float = 60.0
    body_timeout: float = 30.0
    rate_limits: Mapping[RequestTier, int] = field(default_factory=dict[RequestTier, int])
    open_to_all: bool = False
    import_roots: tuple[Path, ...] = ()
    workspace: Path | None = None
    token_budget: int = 2000
    mcp_allow_delete: bool = False
    tracing: Tracing | None = None
    url: str | None = None
    siblings: Siblings | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach us."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def our_version() -> str:
    try:
        return version("commonplace")
    except PackageNotFoundError:
        return "0+unknown"
