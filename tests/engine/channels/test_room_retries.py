"""A platform that fails once: what the room has to know, or is asked, gets there all the same, and once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from commonplace.agent.tools.tool import AgentTool
from commonplace.ports.channel import ChannelLimits, Outgoing
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import FakeChannel, RoomBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.events import until
from commonplace.values.channel import PlatformError, SenderLink
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER, SpendingDay

pytestmark = pytest.mark.anyio

PAUSES = (0.01,) * 4
CENT = 10_000


class Untaken(PlatformError):
    """It was not sent."""

    untaken = True


@dataclass
class FailingOnce(FakeChannel):
    """Fails at the first message of a kind; `refusals` are those messages."""

    kind: Callable[[Outgoing], bool] = lambda _: True
    error: type[PlatformError] = PlatformError
    refusals: list[str] = field(default_factory=list[str])

    async def send(self, message: Outgoing) -> str:
        if self.kind(message) and not self.refusals:
            self.refusals.append(message.key)
            raise self.error
        return await super().send(message)


def is_warning(message: Outgoing) -> bool:
    return message.key.endswith(("-75", "-95"))


def is_card(message: Outgoing) -> bool:
    return message.card is not None


FAILURES = pytest.mark.parametrize(
    ("keys", "error"), [(True, PlatformError), (False, Untaken)], ids=["with keys", "certainly not taken"]
)


async def spent(room: RoomBench, amount: int) -> None:
    day = SpendingDay.of(room.now, "chat")
    await room.parts.quotas.spend(DEFAULT_TENANT, day.name, day.window, {COUNTER: amount}, {})


@FAILURES
async def test_a_budgets_warning_that_the_platform_did_not_take_is_told_after_all(
    bench: TurnBench, keys: bool, error: type[PlatformError]
) -> None:
    bench.model = ScriptedChatModel(then="Done.")
    platform = FailingOnce(limits=ChannelLimits(send_keys=keys), kind=is_warning, error=error)
    room = RoomBench(bench, platform=platform, pauses=PAUSES, chat_micro_usd=100 * CENT)
    await spent(room, 80 * CENT)
    async with room.residence.open():
        await room.answered(await room.say("Ana", "Hello"))
        await room.answered(await room.say("Ana", "And now?"))
        await until(lambda: any(map(is_warning, platform.messages.values())))

    assert len(platform.refusals) == 1
    assert [message.key for message in platform.messages.values() if is_warning(message)] == platform.refusals


async def asking(bench: TurnBench, platform: FailingOnce, pauses: tuple[float, ...] = PAUSES) -> RoomBench:
    """A room whose tool asks, and where Bob may vote."""

    async def push() -> str:
        return "Pushed."

    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    bench.model = ScriptedChatModel(ScriptedCall("push"), "It is pushed.", then="Done.")
    room = RoomBench(bench, platform=platform, pauses=pauses)
    link = SenderLink(identity="terminal:bob", subject="bob.person", created_at=room.now)
    await room.parts.store.put_link(DEFAULT_TENANT, link, Entries())
    return room


@FAILURES
async def test_a_question_that_the_platform_did_not_take_is_asked_after_all(
    bench: TurnBench, keys: bool, error: type[PlatformError]
) -> None:
    platform = FailingOnce(limits=ChannelLimits(send_keys=keys), kind=is_card, error=error)
    room = await asking(bench, platform)
    async with room.residence.open():
        wish = await room.say("Ana", "Push it")
        await until(lambda: any(map(is_card, platform.messages.values())))
        await room.say("Bob", "/approve")
        await until(lambda: room.reply(wish) == "It is pushed.")

    assert len(platform.refusals) == 1
    assert [message.key for message in platform.messages.values() if is_card(message)] == platform.refusals
    assert list(platform.outcomes) == platform.refusals


async def test_a_question_that_was_decided_meanwhile_is_not_asked_any_more(bench: TurnBench) -> None:
    platform = FailingOnce(limits=ChannelLimits(send_keys=True), kind=is_card)
    room = await asking(bench, platform, pauses=(0.2, 0.01))
    async with room.residence.open():
        wish = await room.say("Ana", "Push it")
        await until(lambda: bool(platform.refusals))
        await room.say("Bob", "/approve")
        await until(lambda: room.reply(wish) == "It is pushed.")
        await until(lambda: not room.residence.is_telling)

    assert not any(map(is_card, platform.messages.values()))
