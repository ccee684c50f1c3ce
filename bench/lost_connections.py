"""
A channel of somebody else's platform whose connection is lost again and again, with the librarian, in this process.

The platform is the server of `commonplace.testing`, which speaks the vendor's protocol; the channel is made as a daemon makes it, with its own pauses. As
vendors do, it brings a message again that was not acknowledged, and after each loss one that was, too.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from bench.machine import percentile
from commonplace.channels.admin import ChannelAdmin
from commonplace.compose.channels import talk
from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import load_settings
from commonplace.testing.dingtalk.bench import dingtalk_settings
from commonplace.testing.dingtalk.pushes import said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault, dingtalk_server
from commonplace.testing.feishu.server import SECRET, FeishuServer
from commonplace.testing.feishu.stories import APP, BOT, chat_message
from commonplace.testing.homeserver import HomeFault, Homeserver, homeserver
from commonplace.values.channel import ChannelKind, ChannelSettings
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.scope import DEFAULT_TENANT

LOSSES: Final = 50
WAYS: Final = ("brought", "acknowledged", "half a frame", "reply in doubt")
"""When it is lost: just as a message was brought, once it was acknowledged, within a frame, and after a reply that was taken, and said not to be."""
PLATFORMS: Final = ("feishu", "dingtalk", "matrix")
_NAME: Final = "lossy"
_SECRET: Final = "COMMONPLACE_BENCH_PLATFORM_SECRET"
_CHATS: Final = 5
_PATIENCE: Final = 60.0
_ACKNOWLEDGED: Final = 2.0
_STEP: Final = 0.002
_NOTICED: Final = 0.05
_HALF: Final = '{"next_batch": "s9", "rooms": {"join": {"!room'
_OPERATOR: Final = Principal(subject=LOCAL, tenant=DEFAULT_TENANT, role="admin", operator=True, loopback=True)


class LossyPlatform(Protocol):
    """A vendor's server, and what people write there: messages by their numbers."""

    kind: ChannelKind
    has_keys: bool

    @property
    def settings(self) -> ChannelSettings: ...

    @property
    def is_connected(self) -> bool: ...

    async def bring(self, number: int) -> None:
        """Bring a message to the channel, or bring it again, and wait until it is acknowledged."""
        ...

    async def lose(self, *, half_frame: bool) -> None: ...

    def doubt_reply(self) -> Callable[[], bool]:
        """The next reply is taken, and the platform says that it was not. Whether that has happened."""
        ...

    def answers(self, number: int) -> int: ...


class LossyFeishu:
    kind: ChannelKind = "feishu"
    has_keys = True

    def __init__(self, server: FeishuServer) -> None:
        self._server = server
        self._events: dict[int, dict[str, Any]] = {}

    @property
    def settings(self) -> ChannelSettings:
        options = {"app_id": APP, "domain": self._server.url}
        return ChannelSettings(
            group_policy="open", senders="open", options=options, secrets={"app_secret": _SECRET}, learn=False
        )

    @property
    def is_connected(self) -> bool:
        return self._server.is_connected

    async def bring(self, number: int) -> None:
        if number not in self._events:
            text, chat = f"@_user_1 {_question(number)}", f"oc_room_{number % _CHATS}"
            mentions = [(BOT, "Assistant")]
            self._events[number] = chat_message(text, chat=chat, sender=f"ou_person_{number}", mentions=mentions)
        await self._server.acked(await self._server.say(self._events[number]))

    async def lose(self, *, half_frame: bool) -> None:
        if half_frame:
            await self._server.push_bytes(b"\x08\x01\x10\x01\x1a\x7f")
        await self._server.disconnect()

    def doubt_reply(self) -> Callable[[], bool]:
        fault = self._server.fail("/reply", status=500, after=True)
        return lambda: fault.times == 0

    def answers(self, number: int) -> int:
        id = self._events[number]["event"]["message"]["message_id"]
        chat = self._events[number]["event"]["message"]["chat_id"]
        return sum(message.parent == id for message in self._server.in_chat(chat))


class LossyDingTalk:
    """Each message is in a chat of its own: replies do not say what they answer."""

    kind: ChannelKind = "dingtalk"
    has_keys = False

    def __init__(self, server: DingTalkServer) -> None:
        self._server = server
        self._documents: dict[int, dict[str, Any]] = {}

    @property
    def settings(self) -> ChannelSettings:
        settings = ChannelSettings(group_policy="open", senders="open", learn=False)
        return replace(dingtalk_settings(self._server, settings), secrets={"client_secret": _SECRET})

    @property
    def is_connected(self) -> bool:
        return bool(self._server.links)

    async def bring(self, number: int) -> None:
        if number not in self._documents:
            self._documents[number] = said(_question(number), f"person{number}", chat=_chat(number))
        await self._server.push(self._documents[number])

    async def lose(self, *, half_frame: bool) -> None:
        if half_frame:
            self._server.break_off()
        else:
            await self._server.links[-1].close()

    def doubt_reply(self) -> Callable[[], bool]:
        calls = len(self._server.made("/robot/sendBySession"))
        self._server.fail("/robot/sendBySession", Fault(status=500, is_done=True))
        return lambda: len(self._server.made("/robot/sendBySession")) > calls

    def answers(self, number: int) -> int:
        return len(self._server.rooms[_chat(number)])


class LossyMatrix:
    """
    A connection is a call for what is new (`sync`): it is lost by breaking off the answer, or by refusing the next call. What stands in a room and was not
    kept is told by the next one; that everything is told again is a server which forgot how far we were.
    """

    kind: ChannelKind = "matrix"
    has_keys = True

    def __init__(self, server: Homeserver) -> None:
        self._server = server
        self._events: dict[int, str] = {}

    @property
    def settings(self) -> ChannelSettings:
        options = {"homeserver": self._server.url}
        return ChannelSettings(
            group_policy="open", senders="open", options=options, secrets={"token": _SECRET}, learn=False
        )

    @property
    def is_connected(self) -> bool:
        """It waits for what happens next."""
        return self._server.waiting > 0

    async def bring(self, number: int) -> None:
        chat = _matrix_chat(number)
        if number not in self._events:
            self._events[number] = self._server.say(_question(number), f"@person{number}:home", chat=chat)
        else:
            self._server.repeat(self._events[number], chat=chat)
        place = self._server.place
        await _until(lambda: self._server.acknowledged >= place, "Nobody asked for what is new.")

    async def lose(self, *, half_frame: bool) -> None:
        self._server.lose(HomeFault(status=200, body=_HALF) if half_frame else HomeFault(status=502))

    def doubt_reply(self) -> Callable[[], bool]:
        calls = len(self._server.made("send"))
        self._server.fail("send", HomeFault(status=500, is_done=True))
        return lambda: len(self._server.made("send")) > calls

    def answers(self, number: int) -> int:
        event = self._events[number]
        return sum(
            content.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id") == event
            for content in self._server.said(_matrix_chat(number))
        )


# ---- what is measured


def measure(folder: Path, platform: str, losses: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """`tell` hears how far it is."""
    return asyncio.run(_measured(folder, platform, losses, tell))


async def _measured(folder: Path, platform: str, losses: int, tell: Callable[[str], None]) -> dict[str, Any]:
    gone: list[float] = []
    async with _vendor(platform) as vendor, _channel(folder, vendor) as admin:
        for number in range(losses):
            await _until(lambda: vendor.is_connected, "The channel is not connected.")
            lost_at = await _lose(vendor, number)
            await _until(lambda: vendor.is_connected, "The channel did not connect again.")
            gone.append(time.perf_counter() - lost_at)
            await _bring_again(vendor, number)
            tell(f"{platform}: lost {number + 1} of {losses} times")
        with suppress(TimeoutError):
            await _until(lambda: all(map(vendor.answers, range(losses))), "")
            await _nothing_left(admin)
        left = len(await admin.host.parts.store.unhandled(DEFAULT_TENANT, _NAME))
        answers = [vendor.answers(number) for number in range(losses)]
    return {
        "platform": platform,
        "keys": "yes" if vendor.has_keys else "no",
        "losses": losses,
        "messages": len(answers),
        "not_answered": answers.count(0),
        "answered_twice": sum(count > 1 for count in answers),
        "left_in_the_inbox": left,
        "connected_again_p95_s": round(percentile(gone, 0.95), 2),
    }


async def _lose(vendor: LossyPlatform, number: int) -> float:
    """Bring a message, and lose the connection around it. When that was."""
    way = WAYS[number % len(WAYS)]
    in_doubt = vendor.doubt_reply() if way == "reply in doubt" else None
    bringing = asyncio.create_task(vendor.bring(number))
    if way == "brought":
        # Each time a little later in what is done about a message before it is acknowledged.
        await asyncio.sleep(number // len(WAYS) * _STEP)
    else:
        await bringing
    if in_doubt is not None:
        await _until(in_doubt, "There was no reply.")
    await vendor.lose(half_frame=way == "half a frame")
    lost_at = time.perf_counter()
    bringing.cancel()
    await asyncio.wait({bringing})
    # What lasts as long as the vendor needs to notice.
    await asyncio.sleep(_NOTICED)
    return lost_at


async def _bring_again(vendor: LossyPlatform, number: int) -> None:
    """Until it is acknowledged: one that was is brought once more, too."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            with suppress(TimeoutError, AssertionError, IndexError, ConnectionError):
                async with asyncio.timeout(_ACKNOWLEDGED):
                    await vendor.bring(number)
                return


async def _nothing_left(admin: ChannelAdmin) -> None:
    async with asyncio.timeout(_PATIENCE):
        # What is waited for is in the store.
        while await admin.host.parts.store.unhandled(DEFAULT_TENANT, _NAME):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _until(holds: Callable[[], bool], what: str) -> None:
    """Raises TimeoutError."""
    deadline = time.perf_counter() + _PATIENCE
    while not holds():
        if time.perf_counter() > deadline:
            raise TimeoutError(what)
        await asyncio.sleep(0.01)


@asynccontextmanager
async def _vendor(platform: str) -> AsyncGenerator[LossyPlatform]:
    try:
        if platform == "feishu":
            async with FeishuServer().open() as server:
                os.environ[_SECRET] = SECRET
                yield LossyFeishu(server)
        elif platform == "matrix":
            async with homeserver() as server:
                for number in range(_CHATS):
                    server.room(_matrix_chat(number))
                os.environ[_SECRET] = server.token
                yield LossyMatrix(server)
        else:
            async with dingtalk_server() as server:
                os.environ[_SECRET] = server.client_secret
                yield LossyDingTalk(server)
    finally:
        os.environ.pop(_SECRET, None)


@asynccontextmanager
async def _channel(folder: Path, vendor: LossyPlatform) -> AsyncGenerator[ChannelAdmin]:
    """The channel, connected, of a daemon without its doors."""
    settings = load_settings(home=folder, workspace=folder, agent_learn=False)
    async with composed(settings, ComposeOptions()) as services, talk(settings, services) as use_cases:
        admin = next(one for one in use_cases if isinstance(one, ChannelAdmin))
        await admin.add(_OPERATOR, _NAME, vendor.kind, vendor.settings)
        await _until(lambda: vendor.is_connected, "The channel did not connect.")
        yield admin


def _question(number: int) -> str:
    return f"What do we know about the release of part {number}?"


def _chat(number: int) -> str:
    return f"cidPart{number}=="


def _matrix_chat(number: int) -> str:
    return f"!room-{number % _CHATS}:home"
