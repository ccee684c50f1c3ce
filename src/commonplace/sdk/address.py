"""Where the daemon is, and what a client shows it."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from commonplace.errors import InvalidInput, InvalidScope
from commonplace.values.paths import expand_path
from commonplace.values.principal import check_client
from commonplace.values.scope import check_tenant

DEFAULT_URL: Final = "http://127.0.0.1:4170"
TIMEOUT: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """`url` without a slash at its end; `headers` go with every request."""

    url: str
    headers: dict[str, str]
    is_local: bool


def address(
    url: str | None, token: str | None, tenant: str | None, client_id: str | None, *, agent: bool = False
) -> Address:
    """
    What is not given comes from COMMONPLACE_URL and COMMONPLACE_TOKEN. Without either a token is taken from the home folder,
    where a daemon of this machine keeps its own; it is never sent anywhere else. `agent`: what is written is a model's word.

    Raises:
        InvalidInput: the address, the tenant or the client's id is not one.
    """
    where = (url or os.environ.get("COMMONPLACE_URL") or DEFAULT_URL).strip().rstrip("/")
    is_local = _is_local(where)
    bearer_token = token or os.environ.get("COMMONPLACE_TOKEN") or (_own_token() if is_local else None)
    headers = {"User-Agent": "commonplace-sdk"}
    if bearer_token is not None:
        headers["Authorization"] = f"Bearer {_printable('token', bearer_token)}"
    if tenant is not None:
        headers["X-Tenant"] = _tenant(tenant)
    if client_id is not None:
        headers["X-Client-Id"] = check_client(client_id)
    if agent:
        headers["X-Hand"] = "agent"
    return Address(url=where, headers=headers, is_local=is_local)


def _is_local(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"{url!r:.80} is no address of a daemon. Write it as {DEFAULT_URL}.")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _own_token() -> str | None:
    home = expand_path(os.environ.get("COMMONPLACE_HOME") or "~/.commonplace")
    try:
        return (home / "token").read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _tenant(tenant: str) -> str:
    if not tenant.isascii():
        raise InvalidScope("A tenant that is named in a header has plain letters only.")
    return check_tenant(tenant)


def _printable(what: str, text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise InvalidInput(f"The {what} has letters that no header can hold.")
    return text
