"""What a channel of Feishu is given, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from commonplace.channels.secrets import has_secret, read_secret
from commonplace.errors import InvalidInput
from commonplace.values.channel import ChannelSettings

FEISHU: Final = "https://open.feishu.cn"
WEBHOOK_HOST: Final = "127.0.0.1"
TITLE: Final = "Commonplace"
_MOST_TITLE: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookOptions:
    """`port` 0: one that is free, for tests."""

    port: int
    verification_token: str = field(repr=False)
    encrypt_key: str = field(repr=False)
    host: str = WEBHOOK_HOST


@dataclass(frozen=True, kw_only=True, slots=True)
class FeishuOptions:
    """`webhook` None: events come by the long connection. `title` stands above every card."""

    app_id: str
    app_secret: str = field(repr=False)
    server: str = FEISHU
    title: str = TITLE
    webhook: WebhookOptions | None = None

    def without_secrets(self, text: str) -> str:
        webhook = self.webhook
        secrets = (self.app_secret, *(() if webhook is None else (webhook.verification_token, webhook.encrypt_key)))
        for secret in secrets:
            text = text.replace(secret, "•••")
        return text


def read_options(settings: ChannelSettings) -> FeishuOptions:
    """Raises InvalidInput: something is missing, or cannot be used."""
    options = settings.options
    return FeishuOptions(
        app_id=options.get("app_id", ""),
        app_secret=read_secret(settings, "app_secret"),
        server=_server(options.get("domain") or FEISHU),
        title=(options.get("title") or TITLE)[:_MOST_TITLE],
        webhook=_webhook(settings) if options.get("mode") == "webhook" else None,
    )


def _server(address: str) -> str:
    host = ""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))
        is_plain = not (parts.query or parts.fragment or parts.username) and parts.path in ("", "/")
    except ValueError:
        is_safe = is_plain = False
    if not (is_safe and is_plain and host):
        raise InvalidInput(
            f"The service of Feishu is an address as {FEISHU}: https, without a path. It gets the app's secret."
        )
    return address.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _webhook(settings: ChannelSettings) -> WebhookOptions:
    for name in ("verification_token", "encrypt_key"):
        if not has_secret(settings, name):
            raise InvalidInput(
                f"The webhook needs the secret {name!r}: without it anybody could write to it as Feishu. It is on the page "
                "Events and callbacks (加密策略)."
            )
    port = settings.options.get("webhook_port", "")
    if not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65_536):
        raise InvalidInput(
            "The webhook needs the option 'webhook_port': a free port of this machine, for instance 4180."
        )
    return WebhookOptions(
        port=int(port),
        host=settings.options.get("webhook_host") or WEBHOOK_HOST,
        verification_token=read_secret(settings, "verification_token"),
        encrypt_key=read_secret(settings, "encrypt_key"),
    )
