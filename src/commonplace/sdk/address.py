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
    """
    `url` without a slash at its end; `headers` go with every request. `owners` are other daemons that may have them, too: those that lead a
    session which this one does not.
    """

    url: str
    headers: dict[str, str]
    is_local: bool
    owners: tuple[str, ...] = ()

    def trusts(self, owner: str) -> bool:
        """Whether a key may be sent there: to a host that the caller named, as safely as to that one."""
        there, here = _origin(owner), _origin(self.url)
        if there is None or here is None:
            return False
        return there[:2] == here[:2] or there in map(_origin, self.owners)


def address(
    url: str | None,
    token: str | None,
    tenant: str | None,
    client_id: str | None,
    *,
    agent: bool = False,
) -> Address:
    """
    What is not given comes from COMMONPLACE_URL and COMMONPLACE_TOKEN. Without either a token is taken from the home folder,
    where a daemon of this machine keeps its own; it is never sent anywhere else. Of several addresses, separated by commas, the first is asked,
    and the others for sessions that they lead. `agent`: what is written is a model's word.

    Raises:
        InvalidInput: the address, the tenant or the client's id is not one.
    """
    addresses = (url or os.environ.get("COMMONPLACE_URL") or DEFAULT_URL).split(",")
    where, *owners = [url.strip().rstrip("/") for url in addresses]
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
    for owner in owners:
        _is_local(owner)
    return Address(url=where, headers=headers, is_local=is_local, owners=tuple(owners))


def _origin(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None: it is no address, or one with a name and a password in it."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            return None
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return None


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
