"""What DingTalk tells a robot, as JSON documents."""

from __future__ import annotations

import json
from itertools import count
from typing import Any, Final

BOT_USER: Final = "$:LWCP_v1:$robot"
GROUP: Final = "cidReleases+Team=="
OTHER_GROUP: Final = "cidSomebody/Else=="
TALK: Final = "cidTalkOfTwo=="
_NUMBERS: Final = count(1)


def said(words: str, sender: str = "ana", /, *, chat: str = GROUP, mention: bool = True, **more: Any) -> dict[str, Any]:
    """A text message. `mention`: of the robot, whose name DingTalk takes out of the text."""
    content = f" {words}" if mention else words
    return message("text", sender, chat=chat, mention=mention, **{"text": {"content": content}, **more})


def direct(words: str, sender: str = "ana", /, **more: Any) -> dict[str, Any]:
    """A text message in a talk of two."""
    return message(
        "text", sender, chat=TALK, mention=True, **{"text": {"content": words}, "conversationType": "1", **more}
    )


def message(
    kind: str, sender: str = "ana", /, *, chat: str = GROUP, mention: bool = True, **more: Any
) -> dict[str, Any]:
    """A message of any kind. What is None in `more` is left out."""
    document: dict[str, Any] = {
        "conversationId": chat,
        "conversationType": "2",
        "conversationTitle": "Releases" if chat == GROUP else "Elsewhere",
        "atUsers": [{"dingtalkId": BOT_USER}] if mention else [],
        "chatbotCorpId": "ding-corp",
        "chatbotUserId": BOT_USER,
        "msgId": f"msg-{next(_NUMBERS)}",
        "senderNick": sender.title(),
        "senderStaffId": sender,
        "senderId": f"$:LWCP_v1:${sender}",
        "senderCorpId": "ding-corp",
        "isAdmin": False,
        "isInAtList": mention,
        "robotCode": "normal",
        "msgtype": kind,
        **more,
    }
    return {name: value for name, value in document.items() if value is not None}


def pressed(card: str, action: str, sender: str = "ana") -> dict[str, Any]:
    """A button of a card."""
    private = {"actionIds": [action], "params": {"action": action}}
    return {
        "extension": "{}",
        "corpId": "ding-corp",
        "userId": sender,
        "outTrackId": card,
        "content": json.dumps({"cardPrivateData": private}),
    }
