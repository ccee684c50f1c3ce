"""From a message of DingTalk to an Envelope."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, cast

from commonplace.channels.dingtalk.mentions import without_robot
from commonplace.channels.dingtalk.wire import MediaPart, QuotedMessage, RobotMessage
from commonplace.values.envelope import AttachmentKind, ChatAttachment, Envelope

_UNKNOWN: Final = "Unknown"
_MEDIA: Final[dict[str, tuple[AttachmentKind, str]]] = {
    "picture": ("image", "picture.png"),
    "file": ("file", "file"),
    "audio": ("audio", "audio.amr"),
    "video": ("video", "video.mp4"),
}
_DEPTH: Final = 4


def envelope_of(channel: str, message: RobotMessage, now: datetime, robot: str = "") -> Envelope:
    """What somebody said, and what came with it. `robot`: what people call ours, if that is known."""
    text, attachments = _content(message)
    quote = _quoted(message)
    mentions = not message.is_group or _mentions(message)
    return Envelope(
        id=message.msg_id,
        channel=channel,
        chat=message.conversation_id,
        sender=message.sender,
        sender_name=message.sender_nick or _UNKNOWN,
        text=(without_robot(message, text, robot) if message.is_group and mentions else text).strip(),
        at=_moment(message.create_at, now),
        is_group=message.is_group,
        mentions_bot=mentions,
        replies_to_bot=quote is not None and bool(quote.sender_id) and quote.sender_id == message.chatbot_user_id,
        quote=(_words(quote.content) or _words(quote.text) or None) if quote is not None else None,
        attachments=attachments,
    )


def _mentions(message: RobotMessage) -> bool:
    """By the robot's own id: DingTalk says it itself, and lists who was mentioned."""
    ids = [user.dingtalk_id for user in message.at_users or ()]
    return message.is_in_at_list or (bool(message.chatbot_user_id) and message.chatbot_user_id in ids)


def _content(message: RobotMessage) -> tuple[str, tuple[ChatAttachment, ...]]:
    part = message.content or MediaPart()
    if message.msgtype == "text":
        return (message.text.content if message.text else ""), ()
    if message.msgtype == "richText":
        return _rich(part)
    kind, name = _MEDIA.get(message.msgtype, (None, ""))
    if kind is None or not part.download_code:
        return part.recognition, ()
    return part.recognition, (ChatAttachment(kind=kind, name=part.file_name or name, reference=part.download_code),)


def _rich(part: MediaPart) -> tuple[str, tuple[ChatAttachment, ...]]:
    texts: list[str] = []
    pictures: list[ChatAttachment] = []
    for entry in part.rich_text:
        if entry.download_code:
            name = f"picture-{len(pictures) + 1}.png"
            pictures.append(ChatAttachment(kind="image", name=name, reference=entry.download_code))
        elif entry.at_name and not entry.text:
            texts.append(f" @{entry.at_name.removeprefix('@')} ")
        else:
            texts.append(entry.text)
    return "".join(texts), tuple(pictures)


def _quoted(message: RobotMessage) -> QuotedMessage | None:
    if message.text is not None and message.text.is_reply_msg and message.text.replied_msg is not None:
        return message.text.replied_msg
    return message.quote_message


def _words(content: Any, depth: int = 0) -> str:
    """The text of a message that is quoted: it has another shape for each of its kinds."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, dict) or depth >= _DEPTH:
        return ""
    entry = cast("dict[str, Any]", content)
    if isinstance(parts := entry.get("richText"), list):
        return " ".join(filter(None, (_words(part, depth + 1) for part in cast("list[Any]", parts))))
    return next(filter(None, (_words(entry.get(name), depth + 1) for name in ("text", "content", "recognition"))), "")


def _moment(milliseconds: int | None, now: datetime) -> datetime:
    try:
        return now if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return now
