"""What a channel of DingTalk is given, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from commonplace.channels.secrets import read_secret
from commonplace.errors import InvalidInput
from commonplace.values.channel import ChannelSettings

ENDPOINT: Final = "https://api.dingtalk.com"


@dataclass(frozen=True, kw_only=True, slots=True)
class DingTalkTimes:
    """
    Seconds. `retries` lie before each further try of a call that was certainly not done; `longest_wait` is how long a message waits for one. No chat gets more than
    `burst` messages in `burst_seconds`.
    """

    timeout: float = 15.0
    ping: float = 20.0
    silence: float = 40.0
    """A connection that does not answer a ping for so long is none any more."""
    settled: float = 5.0
    """Told to disconnect after so long, it connects again at once; before, after a pause."""
    retries: tuple[float, ...] = (1.0, 3.0)
    longest_wait: float = 8.0
    mark_retries: tuple[float, ...] = (0.25, 0.5)
    card_edit: float = 1.5
    burst: int = 18
    burst_seconds: float = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class DingTalkOptions:
    """`chat_ids` has the chatId of groups by their conversationId, for DingTalk to tell us the id that it takes."""

    client_id: str
    client_secret: str = field(repr=False)
    robot_code: str
    robot_name: str = ""
    endpoint: str = ENDPOINT
    is_proactive: bool = True
    card_template: str = ""
    answer_template: str = ""
    answer_field: str = "content"
    chat_ids: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, settings: ChannelSettings) -> DingTalkOptions:
        """Raises InvalidInput: something is missing, or is not what it should be."""
        options = settings.options
        client_id = options["client_id"].strip()
        return cls(
            client_id=client_id,
            client_secret=read_secret(settings, "client_secret"),
            robot_code=options.get("robot_code", "").strip() or client_id,
            robot_name=options.get("robot_name", "").strip().removeprefix("@"),
            endpoint=_endpoint(options.get("endpoint", "").strip() or ENDPOINT),
            is_proactive=options.get("proactive", "yes") != "no",
            card_template=options.get("card_template", "").strip(),
            answer_template=options.get("answer_template", "").strip(),
            answer_field=options.get("answer_field", "").strip() or "content",
            chat_ids=_chat_ids(options.get("chat_ids", "")),
        )

    def reads(self, address: str) -> bool:
        """Whether a file may be fetched from an address that DingTalk names: it may be any server, as nothing is told there."""
        parts = _split(address)
        return parts is not None and parts.scheme in ("https", urlsplit(self.endpoint).scheme) and bool(parts.hostname)

    def trusts(self, address: str) -> bool:
        """Whether an address that DingTalk names is one of the servers that the operator named: it is told what only they may know."""
        own, other = urlsplit(self.endpoint), _split(address)
        if other is None:
            return False
        host, home = (other.hostname or "").lower(), (own.hostname or "").lower()
        if other.scheme not in (("https", "wss") if own.scheme == "https" else ("https", "wss", "http", "ws")):
            return False
        family = home.partition(".")[2]
        is_name = not home.replace(".", "").isdigit() and ":" not in home
        return host == home or (is_name and "." in family and host.endswith(f".{family}"))


def _split(address: str) -> SplitResult | None:
    """None: it is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _endpoint(address: str) -> str:
    parts = _split(address)
    if parts is None or parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.username:
        raise InvalidInput("The endpoint is the address of DingTalk's interface, such as https://api.dingtalk.com.")
    return address.rstrip("/")


def _chat_ids(text: str) -> dict[str, str]:
    """`cid…=chat…` for each group. The id of a conversation may itself end with equals signs."""
    pairs: dict[str, str] = {}
    for entry in text.replace(",", " ").split():
        conversation, _, chat = entry.rpartition("=")
        if not conversation or not chat or not chat.isalnum():
            raise InvalidInput(
                "The chat ids are pairs such as cidAbc==chat123: the group's conversationId, =, its chatId."
            )
        pairs[conversation] = chat
    return pairs
