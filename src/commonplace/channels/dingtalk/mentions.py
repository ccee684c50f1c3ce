"""
Which `@…` in a text is the robot.

DingTalk leaves the names of those who are mentioned out of a text, and says who they are beside it. If a name is there all the same, nothing says where it
ends, nor whose it is: only what is known to be the robot's is taken out, so that no word of anybody is lost.
"""

from __future__ import annotations

import re
from typing import Final

from commonplace.channels.command_line import parse_command
from commonplace.channels.dingtalk.wire import RobotMessage
from commonplace.ports.channel_store import ChannelStore

_VALUE: Final = "robot_name"
_LONGEST: Final = 64
# Chat programs end a mention by a space of its own kind.
_ENDED: Final = re.compile(r"@([^@\n\u2005]{1,64})\u2005")
_COMMAND: Final = re.compile(r"@[^\s@/]{1,64}\s+(/.*)", re.DOTALL)
_BEHIND: Final = re.compile(r"(?:\s*+[,，:：])?(?:\s|(?=/)|$)")
"""What ends a mention, and is taken away with it."""
_IN_WORD: Final = re.compile(r"[A-Za-z0-9._+-]")


class RobotName:
    """What people call the robot: as the operator says, else as a message showed beyond doubt, which is kept."""

    def __init__(self, tenant: str, channel: str, store: ChannelStore, configured: str) -> None:
        self._place = tenant, channel
        self._store = store
        self._configured = configured
        self.text = configured

    async def load(self) -> None:
        values = await self._store.platform_values(*self._place, _VALUE)
        self.text = self._configured or values.get(_VALUE, "")

    async def learn(self, message: RobotMessage) -> None:
        name = shown_name(message)
        if name and name != self.text and not self._configured:
            self.text = name
            await self._store.put_platform_value(*self._place, _VALUE, name)


def shown_name(message: RobotMessage) -> str:
    """The robot's name, if only the robot is mentioned, and it is plain where its name begins and ends. Empty: it is not."""
    if not _is_alone(message):
        return ""
    if message.msgtype == "richText" and message.content is not None:
        names = [part.at_name for part in message.content.rich_text if part.at_name and not part.text]
    else:
        names = _ENDED.findall(message.text.content if message.text is not None else "")
    name = names[0].removeprefix("@").strip() if len(names) == 1 else ""
    return name if 0 < len(name) <= _LONGEST and name.isprintable() else ""


def without_robot(message: RobotMessage, text: str, name: str) -> str:
    """The text without the robot's name. A command behind a single word that can only be the robot is one, too."""
    if name:
        return _without(text, f"@{name}")
    match = _COMMAND.fullmatch(text.strip()) if _is_alone(message) else None
    return match[1] if match is not None and parse_command(match[1]) is not None else text


def _without(text: str, mention: str) -> str:
    """The text without the first place where the mention stands by itself."""
    start = text.find(mention)
    while start >= 0:
        behind = _BEHIND.match(text, start + len(mention))
        if behind is not None and not _IN_WORD.match(text[start - 1 : start]):
            return text[:start] + text[behind.end() :]
        start = text.find(mention, start + 1)
    return text


def _is_alone(message: RobotMessage) -> bool:
    """Whether the robot is mentioned, and nobody else."""
    ids = {user.dingtalk_id for user in message.at_users or ()}
    return message.is_group and bool(message.chatbot_user_id) and ids == {message.chatbot_user_id}
