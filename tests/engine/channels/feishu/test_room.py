"""A room of Feishu from end to end: people write, the agent answers, over a real residence and the local server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai.messages import UserPromptPart
from tests.engine.channels.feishu.conftest import WEBHOOK, Room

from commonplace.agent.tools.tool import AgentTool
from commonplace.channels.budget import room_pot
from commonplace.channels.feishu.channel import FeishuChannel
from commonplace.ports.journal import Entries
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN
from commonplace.testing.chat import ScriptedCall, ScriptedChatModel
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer, card_press, chat_message, room_joined
from commonplace.testing.feishu.stories import BOT
from commonplace.values.artifact import ArtifactQuery
from commonplace.values.channel import GroupSettings, RoomBudget, SenderLink, room_scope
from commonplace.values.principal import Principal, ScopePattern
from commonplace.values.schedule import room_target
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.usage import COUNTER

pytestmark = pytest.mark.anyio
MakeRoom = Callable[..., Room]


MARK = '[Scheduled task "post the open questions" set by ou_ana]'


def script(bench: TurnBench, *lines: Any, then: str = "Done.") -> ScriptedChatModel:
    bench.model = model = ScriptedChatModel(*lines, then=then)
    return model


def said(model: ScriptedChatModel) -> list[str]:
    last = [request[-1].parts[-1] for request in model.requests]
    return [str(part.content) for part in last if isinstance(part, UserPromptPart)]


async def push() -> str:
    return "Pushed."


async def test_who_mentions_the_bot_is_answered_and_who_does_not_is_not(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    model = script(bench, "On Friday.")
    room = make_room()
    async with room.open():
        await room.say("ou_ana", "Lunch?", mention=False)
        message = await room.say("ou_ana", "When do we ship?")
        answer = await room.answered(message, "On Friday.")
        await until(lambda: server.messages[message].reactions == {})

    assert said(model) == ["[ou_ana] When do we ship?"]
    assert (answer.text, answer.parent) == ("On Friday.", message)
    assert [one.text for one in server.in_chat("oc_room")] == ["On Friday."]


async def test_two_people_talk_in_one_session_and_each_is_answered(bench: TurnBench, make_room: MakeRoom) -> None:
    go_on = asyncio.Event()
    model = script(bench, ["One", go_on.wait, "."], "Two.")
    room = make_room()
    async with room.open():
        first = await room.say("ou_ana", "First")
        await until(lambda: bool(room.answers(first)))
        second = await room.say("ou_bob", "Second")
        go_on.set()
        await room.answered(first, "One.")
        await room.answered(second, "Two.")

    assert said(model) == ["[ou_ana] First", "[ou_bob] Second"]


async def test_a_reply_to_the_bot_needs_no_mention_and_brings_the_quote(bench: TurnBench, make_room: MakeRoom) -> None:
    model = script(bench, "On Friday.", "At noon.")
    room = make_room()
    async with room.open():
        answer = await room.answered(await room.say("ou_ana", "When?"), "On Friday.")
        followup = await room.say("ou_ana", "At what time?", mention=False, parent_id=answer.id)
        await room.answered(followup, "At noon.")

    assert "On Friday." in said(model)[1]
    assert "not an instruction" in said(model)[1]
    assert said(model)[1].endswith("[ou_ana] At what time?")


async def test_a_talk_of_two_needs_no_mention(bench: TurnBench, make_room: MakeRoom) -> None:
    script(bench, "Hello.")
    room = make_room()
    async with room.open():
        message = await room.say("ou_ana", "Hi", mention=False, private=True, chat="oc_ana")

        assert (await room.answered(message)).chat == "oc_ana"


async def test_clear_asks_again_and_then_begins_a_new_session(bench: TurnBench, make_room: MakeRoom) -> None:
    script(bench)
    room = make_room()
    async with room.open():
        await room.answered(await room.say("ou_ana", "Hello"), "Done.")
        [before] = await room.rooms.parts.store.routes(DEFAULT_TENANT, "team")
        await room.answered(await room.say("ou_ana", "/clear"), "/clear confirm")
        await room.answered(await room.say("ou_ana", "/clear confirm"))
        await room.answered(await room.say("ou_ana", "Hello again"), "Done.")
        [after] = await room.rooms.parts.store.routes(DEFAULT_TENANT, "team")

    assert before.session != after.session


async def test_a_question_is_a_card_that_a_linked_person_decides(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    script(bench, ScriptedCall("push"), "It is pushed.")
    room = make_room()
    store = room.rooms.parts.store
    link = SenderLink(identity="feishu:ou_ana", subject="ana-lee", created_at=room.line.clock.now())
    await store.put_link(DEFAULT_TENANT, link, Entries())
    async with room.open():
        message = await room.say("ou_ana", "Push it")
        await until(lambda: any(len(answer.buttons) == 3 for answer in room.answers(message)))
        [card] = [answer for answer in room.answers(message) if answer.buttons]
        value = next(value for value in card.buttons.values() if value["action"] == "approve")
        stranger = await server.acked(await server.say(card_press(value, message=card.id, sender="ou_eve")))
        elsewhere = await server.acked(
            await server.say(card_press(value, message=card.id, chat="oc_other", sender="ou_ana"))
        )
        await server.say(card_press(value, message=card.id, sender="ou_ana"))
        await room.answered(message, "It is pushed.")

        late = await server.acked(await server.say(card_press(value, message=card.id, sender="ou_ana")))

    assert stranger.data["toast"]["content"] not in ("", late.data["toast"]["content"])
    assert late.data["toast"]["content"]
    assert elsewhere.data == {}
    assert card.buttons == {}
    assert "ana-lee" in card.text


async def test_only_who_asked_may_stop_the_answer(bench: TurnBench, server: FeishuServer, make_room: MakeRoom) -> None:
    script(bench, ["A long ", asyncio.Event().wait, "answer."])
    room = make_room()
    async with room.open():
        message = await room.say("ou_ana", "Tell me")
        await until(lambda: bool(room.answers(message)))
        [card] = room.answers(message)
        [value] = card.buttons.values()
        other = await server.acked(await server.say(card_press(value, message=card.id, sender="ou_bob")))
        still = dict(card.buttons)
        own = await server.acked(await server.say(card_press(value, message=card.id, sender="ou_ana")))
        answer = await room.answered(message, "Stopped.")

    assert other.data["toast"]["content"]
    assert other.data != own.data
    assert still
    assert (answer.id, answer.buttons) == (card.id, {})


async def test_a_restart_ends_the_card_that_was_begun_and_says_nothing_twice(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    script(bench, ["Well", asyncio.Event().wait])
    room = make_room()
    async with room.open() as residence:
        first = await room.say("ou_ana", "When?")
        await until(lambda: bool(room.answers(first)))
        second = await room.say("ou_bob", "Where?")
        await until(lambda: len(server.acks) == 2)
        await residence.settle()
    await bench.aclose()
    bench.sessions = None
    script(bench, "Here.")
    again = make_room()
    async with again.open():
        await again.answered(second, "Here.")
        await again.answered(first)
        await again.rooms.handled()

    assert [len(again.answers(message)) for message in (first, second)] == [1, 1]
    assert not any(message.buttons for message in server.in_chat("oc_room"))


async def test_a_question_that_was_open_at_a_restart_loses_its_buttons_and_says_so_to_whoever_pressed_one(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    bench.tools = [AgentTool(name="push", kind="execute", function=push, asks=True, changes=True)]
    script(bench, ScriptedCall("push"), "It is pushed.")
    room = make_room()
    link = SenderLink(identity="feishu:ou_ana", subject="ana-lee", created_at=room.line.clock.now())
    await room.rooms.parts.store.put_link(DEFAULT_TENANT, link, Entries())
    async with room.open():
        message = await room.say("ou_ana", "Push it")
        await until(lambda: any(len(answer.buttons) == 3 for answer in room.answers(message)))
    [card] = [answer for answer in room.answers(message) if answer.buttons]
    question, value = card.text, next(value for value in card.buttons.values() if value["action"] == "approve")
    await bench.aclose()
    bench.sessions = None
    script(bench)
    server.fail(f"PATCH /open-apis/im/v1/messages/{card.id}", status=400, code=230020)
    again = make_room(pauses=(0.01,) * 5)
    async with again.open():
        await until(lambda: card.buttons == {})
        pressed = await server.acked(await server.say(card_press(value, message=card.id, sender="ou_ana")))
        await again.rooms.handled()
        async with asyncio.timeout(5):
            store = again.rooms.parts.store
            while await store.platform_values(DEFAULT_TENANT, "team"):  # noqa: ASYNC110 - it is in the store
                await asyncio.sleep(0.005)

    assert question in card.text
    assert "restarted" in card.text
    assert pressed.data["toast"]["content"]


async def test_a_second_group_is_a_room_of_its_own(bench: TurnBench, make_room: MakeRoom) -> None:
    model = script(bench)
    room = make_room()
    async with room.open():
        await room.answered(await room.say("ou_ana", "The code is blue"), "Done.")
        await room.answered(await room.say("ou_ana", "What is the code?", chat="oc_other"), "Done.")

    routes = await room.rooms.parts.store.routes(DEFAULT_TENANT, "team")
    assert len({route.session for route in routes}) == 2
    assert "blue" not in str(model.requests[-1])


async def test_what_apps_say_is_not_heard(bench: TurnBench, server: FeishuServer, make_room: MakeRoom) -> None:
    model = script(bench)
    room = make_room(replace(OPEN, groups={"*": GroupSettings(require_mention=False)}))
    async with room.open():
        await server.acked(await server.say(chat_message("I am a bot", sender="ou_x", sender_type="app")))
        await room.answered(await room.say("ou_ana", "Hello"), "Done.")

    assert said(model) == ["[ou_ana] Hello"]


async def test_a_connection_that_breaks_every_moment_loses_no_answer(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    script(bench, "One.", "Two.", "Three.")
    room = make_room()
    async with room.open() as residence:
        for text in ("One.", "Two.", "Three."):
            message = await room.say("ou_ana", "Next")
            await until(lambda message=message: message in {row.parent for row in server.in_chat("oc_room")})
            await server.disconnect()
            await room.answered(message, text)
            await until(lambda: residence.platform.connection.status == "connected")

    assert server.connections >= 3


async def test_a_room_is_answered_by_the_webhook_as_by_the_connection(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    script(bench, "On Friday.")
    room = make_room()
    async with room.open(webhook=WEBHOOK) as residence:
        assert isinstance(residence.platform, FeishuChannel)
        assert residence.platform.listener is not None
        event = chat_message("@_user_1 When?", mentions=[(BOT, "Assistant")])
        url = f"http://127.0.0.1:{residence.platform.listener.port}/"
        answer = await server.post(url, event, timestamp=int(room.line.clock.now().timestamp()))
        await room.answered(event["event"]["message"]["message_id"], "On Friday.")

    assert (answer.status_code, server.connections) == (200, 0)


async def test_a_file_is_kept_for_the_room_and_the_turn_is_told_of_it(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    model = script(bench, "I have read it.")
    server.files["file_1"] = b"We ship on Fridays."
    room = make_room()
    async with room.open():
        file = {"file_key": "file_1", "file_name": "plan.md"}
        message = await room.say(
            "ou_ana", "", mention=False, private=True, chat="oc_ana", message_type="file", content=file
        )
        await room.answered(message, "I have read it.")

    scope = room_scope("team", "oc_ana")
    who = Principal(subject="ana", tenant=DEFAULT_TENANT, role="writer", scopes=(ScopePattern(str(scope)),))
    [artifact] = (await bench.services.artifacts.list(who, ArtifactQuery(room=scope))).artifacts
    assert (artifact.name, artifact.type, artifact.room) == ("plan.md", "text/markdown", scope)
    assert (await bench.services.artifacts.content(who, artifact.id))[1] == b"We ship on Fridays."
    assert said(model)[-1].endswith(f'User sent a file "plan.md". It has been saved to: {artifact.uri}')
    assert server.in_chat("oc_ana")[0].text == "I have read it."


# ---- by itself


async def test_a_schedule_that_is_set_in_the_group_writes_into_it_when_it_is_cold(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    script(bench, then="Three are open.")
    room = make_room()
    async with room.open():
        daemon = await room.daemon()
        shown = await room.answered(await room.say("ou_ana", "/schedule every day at nine post the open questions"))
        await room.answered(await room.say("ou_ana", "/schedule confirm"))
        before = len(server.in_chat("oc_room"))
        # The first token has ended by its time; the second is taken back before its own.
        await daemon.until(room.line.clock.now() + timedelta(hours=24), step=timedelta(hours=1))
        server.expire_token()
        await daemon.until(room.line.clock.now() + timedelta(hours=24), step=timedelta(hours=1))

    posts = server.in_chat("oc_room")[before:]
    assert "/schedule confirm" in shown.text
    assert [post.text for post in posts] == [f"{MARK}\nThree are open."] * 2
    assert [(post.parent, post.buttons) for post in posts] == [(None, {})] * 2


async def test_a_group_where_nobody_ever_spoke_is_written_to(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    script(bench, then="Three are open.")
    room = make_room()
    async with room.open():
        await server.acked(await server.say(room_joined("oc_new", "Release")))
        daemon = await room.daemon()
        who = await room.person("ou_ana", "oc_new")
        target = room_target("team", "oc_new")
        await room.rooms.parts.schedules.add(
            who, target, {"prompt": "post the open questions", "cron": "0 9 * * *", "zone": "UTC"}
        )
        server.fail("/im/v1/messages", status=429, headers={"x-ogw-ratelimit-reset": "1"})
        await daemon.until(room.line.clock.now() + timedelta(hours=10), step=timedelta(hours=1))

    assert [post.text for post in server.in_chat("oc_new")] == [f"{MARK}\nThree are open."]


async def test_the_group_is_warned_of_its_budget_and_then_told_that_it_is_used_up(
    bench: TurnBench, server: FeishuServer, make_room: MakeRoom
) -> None:
    budget = RoomBudget(micro_usd=100)
    model = script(bench)
    room = make_room(replace(OPEN, budget=budget))
    parts = room.rooms.parts
    pot, _ = room_pot(budget, Scope("channel", "team/oc_room"), room.line.clock.now())
    async with room.open():
        await parts.quotas.spend(DEFAULT_TENANT, f"pot:{pot.name}", pot.lasts, {COUNTER: 76}, {})
        for _ in range(2):
            await room.answered(await room.say("ou_ana", "Hello"), "Done.")
        await until(lambda: any("75 %" in post.text for post in server.in_chat("oc_room")))
        await parts.quotas.spend(DEFAULT_TENANT, f"pot:{pot.name}", pot.lasts, {COUNTER: 24}, {})
        calls = len(model.requests)
        declined = await room.answered(await room.say("ou_bob", "Hello"))

    assert sum("75 %" in post.text for post in server.in_chat("oc_room")) == 1
    assert "used up" in declined.text
    assert len(model.requests) == calls
