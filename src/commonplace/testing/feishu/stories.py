"""Events as Feishu tells them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

APP: Final = "cli_test"
BOT: Final = "ou_bot"
_NUMBERS: Final = count(1)


def story(kind: str, event: dict[str, Any], *, token: str = "") -> dict[str, Any]:
    """An event of version 2.0."""
    number = next(_NUMBERS)
    header = {
        "event_id": f"ev_{number}",
        "event_type": kind,
        "create_time": _now(),
        "token": token,
        "app_id": APP,
        "tenant_key": "tenant",
    }
    return {"schema": "2.0", "header": header, "event": event}


def chat_message(
    text: str = "",
    *,
    id: str | None = None,
    chat: str = "oc_room",
    sender: str = "ou_ana",
    mentions: Sequence[tuple[str, str]] = (),
    private: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """
    Somebody writes. `mentions` are the ids and names of whom they mean, in the text by `@_user_1` and so on. `more` are other fields of the
    message, of which `content` is given as an object; `sender_type` is one of the sender.
    """
    sender_type = more.pop("sender_type", "user")
    content = more.pop("content", {"text": text})
    message = {
        "message_id": id or f"om_in_{next(_NUMBERS)}",
        "chat_id": chat,
        "chat_type": "p2p" if private else "group",
        "message_type": "text",
        "content": json.dumps(content, ensure_ascii=False),
        "create_time": _now(),
        "mentions": [
            {"key": f"@_user_{number}", "id": {"open_id": open_id}, "name": name}
            for number, (open_id, name) in enumerate(mentions, 1)
        ],
        **more,
    }
    who = {"sender_id": {"open_id": sender}, "sender_type": sender_type, "tenant_key": "tenant"}
    return story("im.message.receive_v1", {"message": message, "sender": who})


def card_press(
    value: dict[str, Any], *, message: str = "om_1", chat: str = "oc_room", sender: str = "ou_ana"
) -> dict[str, Any]:
    """Somebody presses a button."""
    event = {
        "operator": {"open_id": sender, "tenant_key": "tenant"},
        "token": "c-1",
        "action": {"tag": "button", "value": value},
        "host": "im_message",
        "context": {"open_message_id": message, "open_chat_id": chat},
    }
    return story("card.action.trigger", event)


def room_joined(chat: str, name: str = "") -> dict[str, Any]:
    """The bot is let into a group."""
    return story("im.chat.member.bot.added_v1", {"chat_id": chat, "name": name, "external": False})


def _now() -> str:
    return str(int(datetime.now(UTC).timestamp() * 1_000))
