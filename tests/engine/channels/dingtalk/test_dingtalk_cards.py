"""Cards of DingTalk: a question whose buttons are votes, an answer that grows, and text where there is no card."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from commonplace.agent.mediator import MediatorOptions
from commonplace.agent.tools.tool import AgentTool
from commonplace.ports.channel import CardOutcome, Outgoing
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.dingtalk.bench import QUICK, DingTalkRoom, open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, direct, pressed, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault, ServerCard
from commonplace.testing.events import until
from commonplace.values.channel import SenderLink
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

UNDELIVERED = Fault(
    status=200, body={"success": True, "result": {"deliverResults": [{"success": False, "errorMsg": "no such space"}]}}
)


SLOW = replace(QUICK, timeout=10.0, card_edit=60.0)
"""A call that hangs outlives the channel, and only the end of an answer is told behind its beginning."""


async def push() -> str:
    return "Pushed."


def script(bench: TurnBench, *lines: Any) -> None:
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    bench.model = ScriptedChatModel(*lines, then="Done.")


async def link(room: DingTalkRoom, sender: str, subject: str) -> None:
    entry = SenderLink(identity=f"dingtalk:{sender}", subject=subject, created_at=room.parts.clock.now())
    await room.parts.store.put_link(DEFAULT_TENANT, entry, Entries())


async def card(server: DingTalkServer) -> tuple[str, ServerCard]:
    await until(lambda: bool(server.cards))
    return next(iter(server.cards.items()))


def notice(answer: dict[str, Any]) -> str:
    """What only the presser of a button is shown."""
    return answer["response"].get("userPrivateData", {"cardParamMap": {"notice": ""}})["cardParamMap"]["notice"]


async def test_a_tool_asks_the_room_by_a_card_and_a_button_is_a_vote(bench: TurnBench, server: DingTalkServer) -> None:
    script(bench, ScriptedCall("push"), "It is pushed.")
    bench.mediator = MediatorOptions(policy="first-responder")
    async with open_dingtalk(bench, server, card_template="asks.schema") as room:
        await link(room, "bob", "bob-lee")
        await room.connected()
        await server.push(said("Push it"))
        key, question = await card(server)
        before = dict(question.data)
        stranger = await server.press(pressed(key, "approve", "eve"))
        nonsense = await server.press(pressed(key, "format-disk", "bob"))
        unknown = await server.press(pressed("another-card", "approve", "bob"))
        vote = await server.press(pressed(key, "approve", "bob"))
        answers = await room.texts(1)
        await until(lambda: question.data["status"] != "open")
        late = await server.press(pressed(key, "approve", "bob"))
        await room.forgotten()

    assert (question.template, question.space) == ("asks.schema", f"dtv1.card//IM_GROUP.{GROUP}")
    assert (before["status"], before["asker"], before["tool"]) == ("open", "Ana", "push")
    assert before["approve_label"]
    assert notice(stranger) not in ("", notice(unknown))
    assert nonsense == vote == {"response": {}}
    assert notice(late) == notice(unknown) != ""
    assert answers == ["It is pushed."]
    assert (question.data["status"], "bob-lee" in question.data["outcome"]) == ("allowed", True)


@pytest.mark.parametrize("fault", [Fault(status=400, body={"code": "param.templateNotExist"}), UNDELIVERED])
async def test_a_card_that_is_not_there_is_a_question_in_text(
    bench: TurnBench, server: DingTalkServer, fault: Fault
) -> None:
    script(bench, ScriptedCall("push"), "It is pushed.")
    server.fail("/createAndDeliver", fault)
    async with open_dingtalk(bench, server, card_template="asks.schema") as room:
        await link(room, "ana", "ana-lee")
        await room.connected()
        await server.push(said("Push it"))
        question = (await room.texts(1))[0]
        await server.push(said("/approve"))
        answers = await room.texts(3)

    assert "/approve" in question
    assert min(answers[1:], key=len) == "It is pushed."
    assert any("ana-lee" in answer for answer in answers)
    assert "card_failed" in room.events


async def test_without_a_template_a_command_decides_and_the_room_is_told(
    bench: TurnBench, server: DingTalkServer
) -> None:
    script(bench, ScriptedCall("push"), "Then not.")
    async with open_dingtalk(bench, server) as room:
        await link(room, "ana", "ana-lee")
        await room.connected()
        await server.push(said("Push it"))
        await room.texts(1)
        await server.push(said("/deny", "bob"))
        stranger = (await room.texts(2))[1]
        await server.push(said("/deny"))
        answers = await room.texts(4)

    assert not room.platform.limits.buttons
    assert stranger != answers[2]
    assert any("ana-lee" in answer for answer in answers[2:])
    assert "Then not." in answers[2:]


async def test_an_answer_grows_in_a_card_and_is_finished(bench: TurnBench, server: DingTalkServer) -> None:
    go_on = asyncio.Event()
    script(bench, ["It ", "grows", go_on.wait, "."])
    async with open_dingtalk(bench, server, answer_template="answers.schema", answer_field="body") as room:
        await room.connected()
        await server.push(said("Tell me"))
        _, answer = await card(server)
        await until(lambda: bool(answer.contents))
        writing = answer.data["flowStatus"]
        go_on.set()
        await until(lambda: answer.data["flowStatus"] == "3")

    assert writing == "2"
    assert answer.is_final
    assert answer.contents[-1] == answer.data["body"] == "It grows."
    assert all("It grows.".startswith(text.removesuffix(" …")) for text in answer.contents)
    assert not server.rooms[GROUP]
    assert len({body["guid"] for body in server.made("/card/streaming")}) == len(server.made("/card/streaming"))


async def test_a_long_answer_ends_in_messages_behind_its_card(bench: TurnBench, server: DingTalkServer) -> None:
    long = "\n".join(f"{number} " + "word " * 100 for number in range(20))
    script(bench, [long[:5_000], long[5_000:]])
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        await server.push(said("Tell me"))
        _, answer = await card(server)
        await until(lambda: answer.data["flowStatus"] == "3")
        rest = await room.texts(2)

    assert max(map(len, answer.contents)) <= 3_800
    assert "".join(" ".join([answer.contents[-1], *rest]).split()) == "".join(long.split())
    assert all(words.title.endswith("(cont.)") for words in server.rooms[GROUP])


@pytest.mark.parametrize(
    ("path", "faults"),
    [
        ("/createAndDeliver", [Fault(status=500)]),
        ("/createAndDeliver", [UNDELIVERED]),
        ("/card/streaming", [Fault(status=400, body={"code": "param.error"})] * 30),
        ("/card/streaming", [Fault(status=500)] * 30),
    ],
)
async def test_an_answer_that_a_card_does_not_show_comes_as_text(
    bench: TurnBench, server: DingTalkServer, path: str, faults: list[Fault]
) -> None:
    go_on = asyncio.Event()
    script(bench, ["It ", go_on.wait, "grows."])
    server.fail(path, *faults)
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        await server.push(said("Tell me"))
        await until(lambda: bool(server.made("/createAndDeliver")))
        go_on.set()
        answers = await room.texts(1)

    assert answers == ["It grows."]
    assert [card.data["flowStatus"] for card in server.cards.values()] in ([], ["5"])


async def test_a_talk_of_two_has_its_cards_with_the_person(bench: TurnBench, server: DingTalkServer) -> None:
    script(bench, ["It ", "grows."])
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        await server.push(direct("Tell me"))
        _, answer = await card(server)
        await until(lambda: answer.is_final)

    assert (answer.space, answer.is_delivered) == ("dtv1.card//IM_ROBOT.ana", True)


@pytest.mark.parametrize(("message", "place"), [(said, "Group"), (direct, "Robot")])
async def test_a_card_says_all_that_the_vendors_own_client_says(
    bench: TurnBench, server: DingTalkServer, message: Any, place: str
) -> None:
    script(bench, ["It ", "grows."])
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        await server.push(message("Tell me"))
        _, answer = await card(server)
        await until(lambda: answer.is_final)

    # As the SDK's `create_and_deliver_card` does, which runs against the same server in `tests/published`.
    shared = {"cardTemplateId", "outTrackId", "cardData", "callbackType", "openSpaceId"}
    shared |= {"imGroupOpenSpaceModel", "imRobotOpenSpaceModel", f"im{place}OpenDeliverModel"}
    assert server.made("/createAndDeliver")[0].keys() - {"userIdType"} == shared


async def test_an_answer_is_stopped_by_the_button_of_whoever_asked(bench: TurnBench, server: DingTalkServer) -> None:
    script(bench, ["A long ", asyncio.Event().wait])
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        await server.push(said("Tell me"))
        key, answer = await card(server)
        await until(lambda: bool(answer.contents))
        other = await server.press(pressed(key, "stop", "bob"))
        own = await server.press(pressed(key, "stop", "ana"))
        await until(lambda: answer.is_final)

    assert other != own
    assert "Stopped." in answer.contents[-1]


# ---- over a restart


async def end_process(bench: TurnBench) -> None:
    await bench.aclose()
    bench.sessions = None


async def test_a_restart_ends_the_card_that_was_begun_and_says_nothing_twice(
    bench: TurnBench, server: DingTalkServer
) -> None:
    script(bench, ["Well", asyncio.Event().wait])
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        await server.push(said("When?"))
        _, first = await card(server)
        await until(lambda: bool(first.contents))
        await server.push(said("Where?", "bob"))
        await room.residence.settle()
    await end_process(bench)
    script(bench, "Here.")
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await until(lambda: [card.is_final for card in server.cards.values()] == [True, True])
        await room.handled()
        await room.forgotten()

    assert first.contents[-1] == "Well"
    assert [card.data["flowStatus"] for card in server.cards.values()] == ["3", "3"]
    assert sorted(card.contents[-1] == "Here." for card in server.cards.values()) == [False, True]
    assert server.rooms[GROUP] == []


async def test_the_end_of_an_answer_that_may_have_been_told_is_put_into_the_card_that_is_still_open(
    bench: TurnBench, server: DingTalkServer
) -> None:
    go_on = asyncio.Event()
    script(bench, ["It ", go_on.wait, "grows."])
    async with open_dingtalk(bench, server, answer_template="answers.schema", times=SLOW) as room:
        await room.connected()
        await server.push(said("Tell me"))
        _, answer = await card(server)
        await until(lambda: bool(answer.contents))
        server.fail("/card/streaming", Fault(hang=True))
        go_on.set()
        # The process ends while the last call is under way.
        await until(lambda: server.made("/card/streaming")[-1]["isFinalize"])
    await end_process(bench)
    script(bench)
    server.forgive()
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await until(lambda: answer.is_final)
        await room.handled()

    assert answer.contents[-1] == answer.data["content"] == "It grows."
    assert server.rooms[GROUP] == []


async def test_a_card_that_could_not_be_ended_is_ended_by_the_next_process(
    bench: TurnBench, server: DingTalkServer
) -> None:
    script(bench, ["It ", "grows."])
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await room.connected()
        server.fail("/card/streaming", *[Fault(status=500)] * 30)
        server.fail("/card/instances", *[Fault(status=500)] * 30)
        await server.push(said("Tell me"))
        texts = await room.texts(1)
        await room.handled()
        [answer] = server.cards.values()
        before = answer.data["flowStatus"]
    server.forgive()
    async with open_dingtalk(bench, server, answer_template="answers.schema") as room:
        await until(lambda: answer.data["flowStatus"] == "5")
        await room.forgotten()

    assert (texts, before) == (["It grows."], "1")
    assert len(server.rooms[GROUP]) == 1


async def test_a_question_that_was_open_at_a_restart_is_closed_and_says_so_to_whoever_presses(
    bench: TurnBench, server: DingTalkServer
) -> None:
    script(bench, ScriptedCall("push"), "It is pushed.")
    async with open_dingtalk(bench, server, card_template="asks.schema") as room:
        await link(room, "ana", "ana-lee")
        await room.connected()
        await server.push(said("Push it"))
        key, question = await card(server)
    await end_process(bench)
    script(bench)
    server.fail("/card/instances", *[Fault(status=503)] * 4)
    async with open_dingtalk(bench, server, card_template="asks.schema") as room:
        await room.connected()
        early = await server.press(pressed(key, "approve"))
        await until(lambda: question.data["status"] == "refused")
        late = await server.press(pressed(key, "approve"))
        await room.handled()
        await room.forgotten()

    assert "restarted" in question.data["outcome"]
    assert notice(early) == notice(late) != ""


async def test_a_question_that_still_waits_is_answered_after_the_channel_was_stopped_and_started(
    bench: TurnBench, server: DingTalkServer
) -> None:
    script(bench, ScriptedCall("push"), "It is pushed.")
    async with open_dingtalk(bench, server, card_template="asks.schema") as room:
        await link(room, "ana", "ana-lee")
        await room.connected()
        await server.push(said("Push it"))
        key, question = await card(server)
    async with open_dingtalk(bench, server, card_template="asks.schema") as room:
        await room.connected()
        before = question.data["status"]
        await server.press(pressed(key, "approve"))
        await until(lambda: question.data["status"] != "open")

    assert (before, question.data["status"]) == ("open", "allowed")
    assert "ana-lee" in question.data["outcome"]


async def test_what_was_decided_is_told_if_the_question_was_text(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(Outgoing(chat=GROUP, text="May it?", key="k"))
        await room.platform.settle_card(GROUP, "k", CardOutcome(text="Ana allowed it.", allowed=True))

    assert [words.text for words in server.rooms[GROUP]] == ["May it?", "Ana allowed it."]
