"""How a message gets into a chat: by its webhook, else by ourselves, never twice, and loudly if it cannot."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.channels.dingtalk.api import DingTalkApi
from commonplace.channels.dingtalk.options import DingTalkOptions
from commonplace.channels.guides.dingtalk import DINGTALK
from commonplace.errors import InvalidInput
from commonplace.ports.channel import Outgoing
from commonplace.testing.agents import TurnBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.dingtalk.bench import QUICK, DingTalkRoom, dingtalk_settings, open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, TALK, direct, message, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault
from commonplace.testing.events import until
from commonplace.values.artifact import ArtifactQuery
from commonplace.values.channel import PlatformError, PlatformRefused, room_scope
from commonplace.values.envelope import ChatAttachment
from commonplace.values.principal import Principal, ScopePattern
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

THROTTLED = Fault(status=403, body={"code": "Forbidden.AccessDenied.QpsLimitForApi", "message": "too many"})
FORBIDDEN = Fault(status=403, body={"code": "Forbidden.AccessDenied.AccessTokenPermissionDenied", "message": "[qyapi]"})


def words(text: str = "Good morning", chat: str = GROUP, key: str = "k") -> Outgoing:
    return Outgoing(chat=chat, text=text, key=key)


def ways(server: DingTalkServer, chat: str = GROUP) -> list[str]:
    return [shown.way for shown in server.rooms[chat]]


async def warm(room: DingTalkRoom, document: dict[str, Any] | None = None) -> None:
    """Somebody wrote, without meaning the robot."""
    await room.connected()
    await room.server.push(document or said("Lunch?", mention=False))


async def failure(room: DingTalkRoom, outgoing: Outgoing) -> PlatformError:
    with pytest.raises(PlatformError) as caught:
        await room.platform.send(outgoing)
    return caught.value


def meaning(error: PlatformError) -> str:
    """What the guide says to it."""
    words = DINGTALK.meaning(error.message)
    assert words is not None
    return words.en


async def test_a_webhook_is_used_as_long_as_it_holds_and_then_we_write_by_ourselves(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    async with open_dingtalk(bench, server) as room:
        await warm(room)
        await room.platform.send(words("one"))
        clock.advance(timedelta(seconds=server.webhook_seconds))
        await room.platform.send(words("two"))

    assert ways(server) == ["webhook", "group"]


async def test_a_test_message_goes_the_way_of_schedules_whoever_has_just_spoken(
    bench: TurnBench, server: DingTalkServer
) -> None:
    async with open_dingtalk(bench, server) as room:
        await warm(room)
        await room.platform.send(replace(words(), cold=True))

    assert ways(server) == ["group"]


async def test_a_webhook_that_ended_before_its_time_costs_nothing(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await warm(room)
        server.end_webhooks()
        await room.platform.send(words())
        await room.platform.send(words())

    assert ways(server) == ["group", "group"]
    assert len(server.made("/robot/sendBySession")) == 1


async def test_a_restart_knows_webhooks_people_and_groups(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await warm(room)
        await warm(room, direct("Hi"))
        await room.texts(1, TALK)
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(words())
        server.end_webhooks()
        await room.platform.send(words(chat=TALK))

    assert ways(server) == ["webhook"]
    assert ways(server, "ana") == ["person"]


async def test_a_token_that_has_ended_is_fetched_anew_before_and_when_it_is_refused(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(words())
        clock.advance(timedelta(seconds=server.token_seconds - 200))
        await room.platform.send(words())
        server.end_tokens()
        await room.platform.send(words())

    assert len(server.made("/oauth2/accessToken")) == 3
    assert len(server.made("/groupMessages/send")) == 4
    assert len(server.rooms[GROUP]) == 3


async def test_a_day_of_messages_needs_a_token_every_two_hours(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    async with open_dingtalk(bench, server) as room:
        for _ in range(96):
            await room.platform.send(words())
            clock.advance(timedelta(minutes=15))

    assert len(server.rooms[GROUP]) == 96
    assert len(server.made("/groupMessages/send")) == 96
    assert len(server.made("/oauth2/accessToken")) == 12


async def test_those_who_need_a_token_at_once_share_one(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await asyncio.gather(*(room.platform.send(words(f"{number}")) for number in range(8)))

    assert len(server.made("/oauth2/accessToken")) == 1
    assert len(server.rooms[GROUP]) == 8


async def test_a_token_that_is_refused_again_is_an_error(bench: TurnBench, server: DingTalkServer) -> None:
    unknown = Fault(status=401, body={"code": "InvalidAuthentication"})
    server.fail("/groupMessages/send", unknown, unknown)
    async with open_dingtalk(bench, server) as room:
        error = await failure(room, words())

    assert isinstance(error, PlatformRefused)
    assert len(server.made("/groupMessages/send")) == 2
    assert meaning(error)


async def test_credentials_that_are_refused_make_cold_sends_impossible_and_say_so(
    bench: TurnBench, server: DingTalkServer
) -> None:
    async with open_dingtalk(bench, server, client_id="ding-other", robot_code="r") as room:
        before = room.platform.can_cold_send
        error = await failure(room, words())

    assert (before, room.platform.can_cold_send) == (True, False)
    assert "Client ID" in meaning(error)


async def test_a_group_that_is_not_known_by_its_id_is_written_to_by_the_id_made_of_its_chat_id(
    bench: TurnBench, server: DingTalkServer
) -> None:
    server.groups["chat123abc"] = "cidOpen=="
    async with open_dingtalk(bench, server, chat_ids=f"cidElse==chat9, {GROUP}=chat123abc") as room:
        await room.platform.send(words("one"))
        await room.platform.send(words("two"))
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(words("three"))
        await room.platform.send(words("four", chat="chat123abc"))

    assert [shown.text for shown in server.rooms["cidOpen=="]] == ["one", "two", "three", "four"]
    assert len(server.made("/convertToOpenConversationId")) == 2


async def test_a_group_whose_chat_id_nobody_named_is_a_loud_failure(bench: TurnBench, server: DingTalkServer) -> None:
    server.groups["chat123abc"] = "cidOpen=="
    async with open_dingtalk(bench, server) as room:
        error = await failure(room, words())
    async with open_dingtalk(bench, server, chat_ids=f"{GROUP}=chat404") as room:
        other = await failure(room, words())

    assert "chat_ids" in meaning(error)
    assert meaning(other) == meaning(error)
    assert not server.rooms[GROUP]


async def test_a_person_is_written_to_and_those_who_get_nothing_are_said(
    bench: TurnBench, server: DingTalkServer
) -> None:
    async with open_dingtalk(bench, server) as room:
        await warm(room, direct("Hi", sessionWebhook=""))
        await room.texts(1, "ana")
        server.strangers.add("ana")
        unknown = await failure(room, words(chat=TALK))
        server.strangers.clear()
        server.held_back.add("ana")
        held_back = await failure(room, words(chat=TALK))

    assert "organisation" in meaning(unknown)
    assert "holds messages to this person back" in meaning(held_back)
    assert held_back.retry_after
    assert (unknown.untaken, held_back.untaken) == (True, True)


@pytest.mark.parametrize("path", ["/groupMessages/send", "/robot/sendBySession"])
async def test_what_was_turned_away_for_too_many_is_sent_after_a_pause(
    bench: TurnBench, server: DingTalkServer, path: str
) -> None:
    server.fail(path, THROTTLED, Fault(status=429, headers={"Retry-After": "5"}))
    async with open_dingtalk(bench, server) as room:
        if path == "/robot/sendBySession":
            await warm(room)
        await room.platform.send(words())

    assert len(server.rooms[GROUP]) == 1
    assert max(room.naps) > 4


async def test_a_robot_that_is_held_back_for_long_says_so_and_leaves_dingtalk_alone(
    bench: TurnBench, server: DingTalkServer
) -> None:
    server.fail("/groupMessages/send", Fault(status=429, headers={"Retry-After": "600"}))
    async with open_dingtalk(bench, server) as room:
        first = await failure(room, words())
        second = await failure(room, words())

    assert "by itself" in meaning(first)
    assert (first.retry_after, len(server.made("/groupMessages/send"))) == (600, 1)
    assert (second.retry_after or 0) > 500
    assert not server.rooms[GROUP]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, is_done=True),
        Fault(cut=True, is_done=True),
        Fault(status=200, body="<html>", is_done=True),
        Fault(hang=True, is_done=True),
    ],
)
@pytest.mark.parametrize("path", ["/groupMessages/send", "/robot/sendBySession"])
async def test_what_may_be_there_is_not_sent_a_second_time(
    bench: TurnBench, server: DingTalkServer, path: str, fault: Fault
) -> None:
    async with open_dingtalk(bench, server) as room:
        if path == "/robot/sendBySession":
            await warm(room)
        server.fail(path, fault)
        error = await failure(room, words())

    assert len(server.rooms[GROUP]) == 1
    assert (error.code, error.untaken) == ("platform_error", False)


@pytest.mark.parametrize(
    ("faults", "answers"),
    [
        ([THROTTLED] * 4, ["Done."]),
        ([FORBIDDEN] * 2, ["Done."]),
        ([Fault(status=500)], []),
        ([Fault(status=500, is_done=True)], ["Done."]),
    ],
)
async def test_an_answer_that_was_certainly_not_taken_comes_later_and_no_answer_twice(
    bench: TurnBench, server: DingTalkServer, faults: list[Fault], answers: list[str]
) -> None:
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        for path in ("/robot/sendBySession", "/groupMessages/send"):
            server.fail(path, *faults)
        await server.push(said("Hello"))
        await until(lambda: bool(server.made("/robot/sendBySession")))
        async with asyncio.timeout(5):
            while await room.parts.store.unhandled(DEFAULT_TENANT, "ding"):  # noqa: ASYNC110 - it is in the store
                await asyncio.sleep(0.005)

    assert [shown.text for shown in server.rooms[GROUP]] == answers


async def test_a_long_answer_that_was_stopped_goes_on_behind_what_is_there(
    bench: TurnBench, server: DingTalkServer
) -> None:
    long = "\n".join(f"{number} " + "word " * 100 for number in range(30))
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(words("one", key="first"))
        server.fail("/groupMessages/send", *[THROTTLED] * 3)
        nothing = await failure(room, words(long))
        server.fail("/groupMessages/send", *(Fault(status=200, body={}, is_done=True),) * 2, *[THROTTLED] * 3)
        half = await failure(room, words(long))
        before = len(server.rooms[GROUP])
        await room.platform.send(words(long))

    assert (nothing.untaken, half.untaken, before) == (True, True, 3)
    assert "".join("".join(shown.text for shown in server.rooms[GROUP][1:]).split()) == "".join(long.split())


async def test_a_chat_gets_no_more_messages_in_a_minute_than_a_robot_may_write(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    async with open_dingtalk(bench, server) as room:
        for _ in range(QUICK.burst):
            await room.platform.send(words())
        await room.platform.send(words(chat="cidElsewhere=="))
        before = list(room.naps)
        clock.advance(timedelta(seconds=20))
        await room.platform.send(words())

    assert (before, room.naps) == ([], [QUICK.burst_seconds - 20])
    assert len(server.rooms[GROUP]) == QUICK.burst + 1


@pytest.mark.parametrize(
    "fault", [Fault(status=500), Fault(status=200, body={}), Fault(status=200, body="<html>"), Fault(cut=True)]
)
async def test_a_token_that_could_not_be_fetched_is_asked_for_again(
    bench: TurnBench, server: DingTalkServer, fault: Fault
) -> None:
    server.fail("/oauth2/accessToken", fault)
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(words())

    assert len(server.rooms[GROUP]) == 1


async def test_what_did_not_get_to_dingtalk_was_not_taken(
    bench: TurnBench, server: DingTalkServer, clock: FakeClock
) -> None:
    options = DingTalkOptions(client_id="a", client_secret="b", robot_code="c", endpoint="http://127.0.0.1:1")
    api = DingTalkApi(options, clock, times=QUICK)
    with pytest.raises(PlatformError) as caught:
        await api.reply("http://127.0.0.1:1/robot/sendBySession", {})
    await api.aclose()

    assert caught.value.untaken
    assert meaning(caught.value)


async def test_after_a_chunk_that_failed_nothing_more_is_sent(bench: TurnBench, server: DingTalkServer) -> None:
    long = "\n".join(f"{number} " + "word " * 100 for number in range(30))
    async with open_dingtalk(bench, server) as room:
        await room.platform.send(words(long))
        whole = [(shown.title, len(shown.text)) for shown in server.rooms[GROUP]]
        server.rooms.clear()
        server.fail("/groupMessages/send", Fault(status=400, body={"code": "param.error"}), Fault(status=500))
        await failure(room, words(long))

    assert [title.endswith("(cont.)") for title, _ in whole] == [False, *[True] * (len(whole) - 1)]
    assert len(whole) >= 4
    assert max(size for _, size in whole) <= 3_800
    assert not server.rooms[GROUP]


async def test_a_permission_that_is_missing_is_named(bench: TurnBench, server: DingTalkServer) -> None:
    server.fail("/groupMessages/send", FORBIDDEN)
    async with open_dingtalk(bench, server) as room:
        error = await failure(room, words())

    assert "permission" in meaning(error)
    assert "[qyapi]" in error.message


async def test_a_channel_that_only_answers_does_and_fails_loudly_beyond_that(
    bench: TurnBench, server: DingTalkServer
) -> None:
    async with open_dingtalk(bench, server, proactive="no") as room:
        cold = await failure(room, words())
        await warm(room)
        await room.platform.send(words())

    assert not room.platform.can_cold_send
    assert "write to the robot first" in cold.message
    assert ways(server) == ["webhook"]


async def test_a_webhook_elsewhere_is_not_written_to(bench: TurnBench, server: DingTalkServer) -> None:
    async with open_dingtalk(bench, server) as room:
        await warm(room, said("Lunch?", mention=False, sessionWebhook="http://elsewhere.example/robot?session=x"))
        await room.platform.send(words())

    assert ways(server) == ["group"]
    assert "webhook_refused" in room.events


async def test_a_message_is_marked_as_seen_and_the_mark_is_taken_away(bench: TurnBench, server: DingTalkServer) -> None:
    server.fail("/emotion/reply", Fault(status=429), Fault(status=500))
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        await server.push(said("Hello", msgId="m1"))
        await until(lambda: server.marks["m1"] == ["👀", ""])
        server.fail("/emotion/reply", FORBIDDEN)
        await server.push(said("Hello", msgId="m2"))
        await until(lambda: "mark_failed" in room.events)
        await room.texts(2)

    (body, *_) = server.made("/emotion/reply")
    assert (body["openConversationId"], body["emotionType"]) == (GROUP, 2)
    assert server.marks["m2"] == []


async def test_a_file_is_fetched_and_one_that_is_gone_or_too_large_is_not(
    bench: TurnBench, server: DingTalkServer
) -> None:
    server.files |= {"code-1": b"plan", "code-2": b"x" * ((50 << 20) + 1)}

    def file(code: str) -> ChatAttachment:
        return ChatAttachment(kind="file", name="plan.pdf", reference=code)

    async with open_dingtalk(bench, server) as room:
        content = await room.platform.download(file("code-1"))
        for code in ("code-2", "code-3"):
            with pytest.raises(PlatformError):
                await room.platform.download(file(code))
        await server_named(server, room, "http://127.0.0.1:1/file", file("code-1"))
        await server_named(server, room, "file:///etc/hostname", file("code-1"))

    assert content == b"plan"


async def server_named(server: DingTalkServer, room: DingTalkRoom, address: str, file: ChatAttachment) -> None:
    """DingTalk names a place that cannot be read."""
    server.fail("/messageFiles/download", Fault(status=200, body={"downloadUrl": address}))
    with pytest.raises(PlatformError):
        await room.platform.download(file)


async def test_a_picture_that_somebody_sends_is_a_file_of_the_room_and_named_to_the_agent(
    bench: TurnBench, server: DingTalkServer
) -> None:
    bench.model = model = ScriptedChatModel(then="Done.")
    server.files["c1"] = b"\x89PNG"
    async with open_dingtalk(bench, server) as room:
        await room.connected()
        ack = await server.push(message("picture", content={"downloadCode": "c1"}))
        answers = await room.texts(1)

    scope = room_scope("ding", GROUP)
    who = Principal(subject="ana", tenant=DEFAULT_TENANT, role="writer", scopes=(ScopePattern(str(scope)),))
    [artifact] = (await bench.services.artifacts.list(who, ArtifactQuery(room=scope))).artifacts
    assert (ack["code"], answers) == (200, ["Done."])
    assert (artifact.name, artifact.type) == ("picture.png", "image/png")
    assert (await bench.services.artifacts.content(who, artifact.id))[1] == b"\x89PNG"
    assert f'User sent a image "picture.png". It has been saved to: {artifact.uri}' in str(model.requests[-1])
    assert server.made("/messageFiles/download") == [{"downloadCode": "c1", "robotCode": server.client_id}]


@pytest.mark.parametrize(
    "options",
    [
        {"endpoint": "ftp://api.dingtalk.com"},
        {"endpoint": "https://"},
        {"endpoint": "https://user:secret@api.dingtalk.com"},
        {"chat_ids": "cidAbc"},
        {"chat_ids": "cidAbc=="},
        {"chat_ids": "cidAbc=../x"},
    ],
)
async def test_options_that_cannot_be_are_refused(server: DingTalkServer, options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        DingTalkOptions.of(dingtalk_settings(server, **options))


@pytest.mark.parametrize(
    ("endpoint", "address", "trusted"),
    [
        ("https://api.dingtalk.com", "https://oapi.dingtalk.com/robot/sendBySession?session=x", True),
        ("https://api.dingtalk.com", "wss://wss-open-connection.dingtalk.com:443/connect", True),
        ("https://api.dingtalk.com", "http://oapi.dingtalk.com/robot", False),
        ("https://api.dingtalk.com", "https://dingtalk.com.evil.example/", False),
        ("https://api.dingtalk.com", "https://evildingtalk.com/", False),
        ("https://ding.example", "https://other.example/", False),
        ("http://127.0.0.1:1", "ws://127.0.0.1:2/connect", True),
        ("http://127.0.0.1:1", "ws://127.0.0.2:2/connect", False),
        ("https://api.dingtalk.com", "https://[", False),
    ],
)
async def test_an_address_is_used_if_it_is_of_the_operators_servers(endpoint: str, address: str, trusted: bool) -> None:
    options = DingTalkOptions(client_id="a", client_secret="b", robot_code="c", endpoint=endpoint)

    assert options.trusts(address) is trusted


async def test_the_secret_is_not_in_what_describes_the_options(server: DingTalkServer, clock: FakeClock) -> None:
    options = DingTalkOptions.of(dingtalk_settings(server))
    api = DingTalkApi(options, clock, times=QUICK)
    await api.token()
    await api.aclose()

    assert server.client_secret not in repr(options)
