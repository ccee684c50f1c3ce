"""What DingTalk sends us, as it comes in: fields that we do not use are left out, and those that are absent are empty."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

BOT_TOPIC: Final = "/v1.0/im/bot/messages/get"
CARD_TOPIC: Final = "/v1.0/card/instances/callback"
PING: Final = "ping"
DISCONNECT: Final = "disconnect"

ModelT = TypeVar("ModelT", bound=BaseModel)


def _text(value: object) -> object:
    return "" if value is None else str(value) if isinstance(value, int) else value


Text = Annotated[str, BeforeValidator(_text)]
"""A text that may be missing, null or a number."""


def _flag(value: object) -> object:
    return False if value is None else value


Flag = Annotated[bool, BeforeValidator(_flag)]


class _Incoming(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)


class GatewayAnswer(_Incoming):
    endpoint: str = Field(min_length=1)
    ticket: str = Field(min_length=1)


class TokenAnswer(_Incoming):
    access_token: str = Field(min_length=1)
    expire_in: int = 7_200


class FrameHeaders(_Incoming):
    message_id: Text = ""
    topic: Text = ""
    event_type: Text = ""


class StreamFrame(_Incoming):
    """`data` is a JSON document, as text."""

    type: Text = ""
    headers: FrameHeaders = FrameHeaders()
    data: Text = ""


class AtUser(_Incoming):
    dingtalk_id: Text = ""


class QuotedMessage(_Incoming):
    """A message that another one answers. What it says has its own shape for each of its kinds."""

    sender_id: Text = ""
    content: Any = None
    text: Any = None


class TextPart(_Incoming):
    content: Text = ""
    is_reply_msg: Flag = False
    replied_msg: QuotedMessage | None = None


class RichPart(_Incoming):
    type: Text = ""
    text: Text = ""
    download_code: Text = ""
    at_name: Text = ""


class MediaPart(_Incoming):
    download_code: Text = ""
    file_name: Text = ""
    recognition: Text = ""
    rich_text: list[RichPart] = []


class RobotMessage(_Incoming):
    msg_id: Text = ""
    msgtype: Text = ""
    conversation_type: Text = ""
    conversation_id: Text = ""
    conversation_title: Text = ""
    session_webhook: Text = ""
    session_webhook_expired_time: int | None = None
    sender_id: Text = ""
    sender_staff_id: Text = ""
    sender_nick: Text = ""
    chatbot_user_id: Text = ""
    create_at: int | None = None
    is_in_at_list: Flag = False
    at_users: list[AtUser] | None = None
    text: TextPart | None = None
    content: MediaPart | None = None
    quote_message: QuotedMessage | None = None

    @property
    def is_group(self) -> bool:
        return self.conversation_type == "2"

    @property
    def sender(self) -> str:
        """Whom the organisation knows by this id; for strangers, what DingTalk calls them."""
        return self.sender_staff_id or self.sender_id


class _PrivateData(_Incoming):
    action_ids: list[str] = []
    params: dict[str, Any] = {}


class _PressContent(_Incoming):
    card_private_data: _PrivateData = _PrivateData()


class CardPress(_Incoming):
    """Somebody did something in a card. `content` is a JSON document, as text."""

    out_track_id: Text = ""
    user_id: Text = ""
    content: Text = ""

    @property
    def action(self) -> str:
        """The id of the button; else what a template of ours says it is."""
        content = read_as(_PressContent, self.content)
        if content is None:
            return ""
        action = content.card_private_data.params.get("action")
        return action if isinstance(action, str) and action else next(iter(content.card_private_data.action_ids), "")


class GroupEvent(_Incoming):
    open_conversation_id: Text = ""
    title: Text = ""
    robot_code: Text = ""


def read_as(model: type[ModelT], text: str | bytes) -> ModelT | None:
    """None: it is no such thing."""
    try:
        return model.model_validate_json(text)
    except (ValidationError, RecursionError):
        return None
