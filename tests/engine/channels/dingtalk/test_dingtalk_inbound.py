"""What DingTalk says of a message, as rooms take it: whom it means, what it answers, what came with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from commonplace.channels.dingtalk.inbound import envelope_of
from commonplace.channels.dingtalk.mentions import shown_name
from commonplace.channels.dingtalk.wire import CardPress, RobotMessage, read_as
from commonplace.testing.dingtalk.pushes import BOT_USER, direct, message, pressed, said
from commonplace.values.envelope import ChatAttachment, Envelope

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def envelope(document: dict[str, Any], robot: str = "") -> Envelope:
    return envelope_of("ding", robot_message(document), NOW, robot)


def robot_message(document: dict[str, Any]) -> RobotMessage:
    read = read_as(RobotMessage, json.dumps(document))
    assert read is not None
    return read


def text(content: str, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": {"content": content}, **more}
    return said("", **fields)


def people(*ids: str) -> list[dict[str, str]]:
    return [{"dingtalkId": id} for id in ids]


def test_a_message_of_a_group_says_who_and_where() -> None:
    heard = envelope(said("When do we ship?", createAt=1_767_312_000_000))

    assert (heard.text, heard.sender, heard.sender_name) == ("When do we ship?", "ana", "Ana")
    assert (heard.is_group, heard.mentions_bot, heard.replies_to_bot) == (True, True, False)
    assert heard.at == datetime(2026, 1, 2, tzinfo=UTC)


def test_whom_the_organisation_does_not_know_goes_by_what_dingtalk_calls_them() -> None:
    heard = envelope(said("Hi", senderStaffId=None, senderNick=None))

    assert (heard.sender, heard.sender_name) == ("$:LWCP_v1:$ana", "Unknown")


@pytest.mark.parametrize(
    ("document", "mention"),
    [
        (said("Hi"), True),
        (said("Hi", mention=False), False),
        (said("Hi", mention=False, atUsers=people("somebody", BOT_USER)), True),
        (said("Hi", mention=False, atUsers=people("somebody")), False),
        (said("Hi", mention=False, atUsers=None, isInAtList=None), False),
        (direct("Hi", isInAtList=False), True),
    ],
)
def test_the_robot_is_meant_by_its_own_id(document: dict[str, Any], mention: bool) -> None:
    assert envelope(document).mentions_bot is mention


@pytest.mark.parametrize(
    ("document", "robot", "words"),
    [
        (text("@assistant hello"), "assistant", "hello"),
        (text("@assistant @bob hello", atUsers=people(BOT_USER, "bob")), "assistant", "@bob hello"),
        (text("@bob @assistant hello", atUsers=people(BOT_USER, "bob")), "assistant", "@bob hello"),
        (text("hello @assistant again"), "assistant", "hello again"),
        (text("你好@助手 在吗"), "助手", "你好在吗"),
        (text("@assistant: hello"), "assistant", "hello"),
        (text("@assistant\u2005/status"), "assistant", "/status"),
        (text("@Release Bot /status"), "Release Bot", "/status"),
        (text("@Release Bot/status"), "Release Bot", "/status"),
        (text("@assistants hello"), "assistant", "@assistants hello"),
        (text("write to bob@assistant"), "assistant", "write to bob@assistant"),
        (text(" install @types/node and ping me"), "assistant", "install @types/node and ping me"),
        (text("@assistant hello", mention=False, atUsers=[]), "assistant", "@assistant hello"),
        (direct("@assistant is late"), "assistant", "@assistant is late"),
    ],
)
def test_the_name_of_the_robot_is_left_out_and_others_stay(document: dict[str, Any], robot: str, words: str) -> None:
    assert envelope(document, robot).text == words


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (text(" install @types/node and ping me"), "install @types/node and ping me"),
        (text("@types/node /status is broken"), "@types/node /status is broken"),
        (text("@assistant hello"), "@assistant hello"),
        (text("@bob @assistant hello", atUsers=people(BOT_USER, "bob")), "@bob @assistant hello"),
        (text("@bob /status", atUsers=people(BOT_USER, "bob")), "@bob /status"),
        (text("@assistant /status"), "/status"),
        (text("@assistant\u2005/schedule list"), "/schedule list"),
        (text("@assistant /etc is full"), "@assistant /etc is full"),
        (text("@assistant never /approve"), "@assistant never /approve"),
        (text("write to a@b.example"), "write to a@b.example"),
    ],
)
def test_no_word_is_lost_while_nobody_knows_what_the_robot_is_called(document: dict[str, Any], words: str) -> None:
    assert envelope(document).text == words


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (text("@Release Bot\u2005When do we ship?"), "Release Bot"),
        (text("@Release Bot\u2005and @bob\u2005?"), ""),
        (text("@Release Bot When do we ship?"), ""),
        (text("@bob\u2005@Release Bot\u2005hello", atUsers=people(BOT_USER, "bob")), ""),
        (text("@bob\u2005hello", mention=False, atUsers=people("bob")), ""),
        (message("richText", content={"richText": [{"type": "at", "atName": "@Release Bot"}, {"text": "Hi"}]}), "Release Bot"),
        (message("richText", content={"richText": [{"atName": "a"}, {"atName": "b"}]}), ""),
        (text("@\u2005hello"), ""),
        (direct("@bob\u2005is late"), ""),
    ],
)  # fmt: skip
def test_the_name_is_learned_where_it_is_plain_whose_it_is_and_where_it_ends(
    document: dict[str, Any], name: str
) -> None:
    assert shown_name(robot_message(document)) == name


@pytest.mark.parametrize(
    ("more", "quote", "is_ours"),
    [
        ({"repliedMsg": {"senderId": BOT_USER, "msgType": "text", "content": {"text": "On Fridays."}}}, "On Fridays.", True),
        ({"repliedMsg": {"senderId": "bob", "content": {"richText": [{"text": "a"}, {"content": "b"}]}}}, "a b", False),
        ({"repliedMsg": {"senderId": "bob", "content": "plain"}}, "plain", False),
        ({"repliedMsg": {"senderId": BOT_USER}}, None, True),
        ({"repliedMsg": {"senderId": "bob", "content": [1]}}, None, False),
    ],
)  # fmt: skip
def test_what_is_answered_is_quoted(more: dict[str, Any], quote: str | None, is_ours: bool) -> None:
    heard = envelope(said("And then?", text={"content": "And then?", "isReplyMsg": True, **more}))

    assert (heard.quote, heard.replies_to_bot) == (quote, is_ours)


def test_a_quotation_comes_in_another_field_too() -> None:
    heard = envelope(said("And?", quoteMessage={"senderId": BOT_USER, "text": {"content": "On Fridays."}}))

    assert (heard.quote, heard.replies_to_bot) == ("On Fridays.", True)


@pytest.mark.parametrize(
    ("kind", "content", "words", "attachments"),
    [
        ("picture", {"downloadCode": "c1"}, "", [("image", "picture.png", "c1")]),
        ("file", {"downloadCode": "c2", "fileName": "plan.pdf"}, "", [("file", "plan.pdf", "c2")]),
        ("audio", {"downloadCode": "c3", "recognition": "we ship"}, "we ship", [("audio", "audio.amr", "c3")]),
        ("video", {"downloadCode": "c4"}, "", [("video", "video.mp4", "c4")]),
        ("file", {}, "", []),
        ("location", {"address": "here"}, "", []),
        (
            "richText",
            {"richText": [{"text": "See"}, {"type": "at", "atName": "bob"}, {"type": "picture", "downloadCode": "c5"}, {"text": "?"}]},
            "See @bob ?",
            [("image", "picture-1.png", "c5")],
        ),
    ],
)  # fmt: skip
def test_what_comes_with_a_message(
    kind: str, content: Any, words: str, attachments: list[tuple[Any, str, str]]
) -> None:
    heard = envelope(message(kind, content=content, atUsers=people(BOT_USER, "bob")))

    assert heard.text == words
    assert list(heard.attachments) == [
        ChatAttachment(kind=which, name=name, reference=code) for which, name, code in attachments
    ]


@pytest.mark.parametrize("more", [{"atUsers": "x"}, {"text": 1}, {"content": []}, {"conversationId": []}])
def test_what_has_another_shape_is_no_message(more: dict[str, Any]) -> None:
    assert read_as(RobotMessage, json.dumps(said("Hi", **more))) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"cardPrivateData": 1}', '{"cardPrivateData": {"actionIds": []}}'])  # fmt: skip
def test_a_button_without_an_action_has_none(content: str) -> None:
    assert CardPress.model_validate({**pressed("k", "approve"), "content": content}).action == ""


def test_a_button_is_known_by_its_parameter_else_by_its_id() -> None:
    by_id = {**pressed("k", "deny"), "content": '{"cardPrivateData": {"actionIds": ["deny"]}}'}

    assert CardPress.model_validate(pressed("k", "approve")).action == "approve"
    assert CardPress.model_validate(by_id).action == "deny"


def test_a_time_that_cannot_be_is_now() -> None:
    assert envelope(said("Hi", createAt=10**20)).at == NOW
