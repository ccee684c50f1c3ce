"""The guide of DingTalk: the pages of the documentation say the same, their commands are ours, and it knows what every error of the client means."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from typer.main import get_command

from commonplace.channels.guides.dingtalk import DINGTALK
from commonplace.channels.platforms import PLATFORMS
from commonplace.channels.room_target import ONLY_ANSWERS
from commonplace.cli import app
from commonplace.ports.channel import Outgoing
from commonplace.testing.agents import TurnBench
from commonplace.testing.dingtalk.bench import QUICK, open_dingtalk
from commonplace.testing.dingtalk.pushes import GROUP, TALK, direct, said
from commonplace.testing.dingtalk.server import DingTalkServer, Fault
from commonplace.testing.events import until
from commonplace.values.channel import ChannelSettings, PlatformError
from commonplace.values.envelope import ChatAttachment
from commonplace.wire.channels import ChannelSettingsBody

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[4] / "docs" / "how-to"
PAGES = {"en": DOCS / "dingtalk.md", "zh": DOCS / "dingtalk.zh.md"}


def sentences(value: Any, language: str) -> Iterator[str]:
    if isinstance(value, dict):
        document = cast("dict[str, Any]", value)
        if document.keys() == {"en", "zh"}:
            yield document[language]
        else:
            for child in document.values():
                yield from sentences(child, language)
    elif isinstance(value, list | tuple):
        for child in cast("list[Any]", value):
            yield from sentences(child, language)


@pytest.mark.parametrize("language", PAGES)
def test_a_page_says_all_that_the_guide_says(language: str) -> None:
    page = PAGES[language].read_text(encoding="utf-8")
    parts = (DINGTALK.steps, DINGTALK.permissions, DINGTALK.after, DINGTALK.problems, DINGTALK.open_points)
    texts = list(sentences([[asdict(entry) for entry in part] for part in parts], language))
    texts += [
        text for field in DINGTALK.fields for text in sentences([asdict(field.label), asdict(field.help)], language)
    ]
    names = [f"`{entry.name}`" for entry in (*DINGTALK.permissions, *DINGTALK.fields)]
    names += [f"`{problem.sign}`" for problem in DINGTALK.problems]

    assert [text for text in (*texts, *names) if text not in page] == []


@pytest.mark.parametrize("language", PAGES)
def test_a_page_names_no_error_and_no_permission_that_the_guide_does_not_know(language: str) -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", PAGES[language].read_text(encoding="utf-8"), re.MULTILINE)
    known = [entry.name for entry in (*DINGTALK.permissions, *DINGTALK.fields)]

    assert sorted(rows) == sorted([*known, *(problem.sign for problem in DINGTALK.problems)])


@pytest.mark.parametrize("language", PAGES)
def test_the_commands_of_a_page_are_understood_and_its_settings_are_taken(language: str) -> None:
    page = PAGES[language].read_text(encoding="utf-8")
    settings = [ChannelSettingsBody.model_validate_json(text) for text in re.findall(r"`(\{[^`]+\})`", page)]

    for words in commands(PAGES[language]):
        parse(words)
    assert [body.group_policy for body in settings] == ["open", "allowlist"]


def commands(page: Path) -> list[list[str]]:
    """The words of each command of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("commonplace ")]


def parse(words: list[str]) -> None:
    """Raises an error of usage, as the command itself would."""
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    command.make_context(command.name, list(words))


@pytest.mark.parametrize("language", PAGES)
def test_the_channel_that_a_page_adds_has_all_that_it_needs(language: str) -> None:
    [words] = [words for words in commands(PAGES[language]) if words[:2] == ["channel", "add"]]
    pairs = {
        what: dict(pair.split("=", 1) for flag, pair in pairwise(words) if flag == f"--{what}")
        for what in ("option", "secret")
    }

    PLATFORMS["dingtalk"].check(ChannelSettings(options=pairs["option"], secrets=pairs["secret"]))
    assert words[words.index("--kind") + 1] == "dingtalk"


# ---- errors

DOWN = Fault(status=503, body={"code": "ServiceUnavailable"})
FORBIDDEN = Fault(status=403, body={"code": "Forbidden.AccessDenied.AccessTokenPermissionDenied", "message": "[x]"})
LIMITED = Fault(status=403, body={"code": "Forbidden.AccessDenied.QpsLimitForApi", "message": "too many"})


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (DOWN, "failed"),
        (FORBIDDEN, "permission"),
        (LIMITED, "by itself"),
        (Fault(status=429), "by itself"),
        (Fault(status=400, body={"code": "invalid.openConversationId"}), "chat_ids"),
        (Fault(status=400, body={"code": "robot.notExist"}), "RobotCode"),
        (Fault(status=401, body={"code": "InvalidAuthentication"}), "credentials"),
        (Fault(status=200, body="<html>"), "failed"),
        (Fault(cut=True), "middle of a call"),
        (Fault(hang=True), "in time"),
    ],
)
async def test_why_a_message_was_not_written_is_known_to_the_guide(
    bench: TurnBench, server: DingTalkServer, fault: Fault, words: str
) -> None:
    server.fail("/groupMessages/send", *[fault] * 3)
    async with open_dingtalk(bench, server, times=replace(QUICK, timeout=0.5 if fault.hang else 10.0)) as room:
        with pytest.raises(PlatformError) as caught:
            await room.platform.send(Outgoing(chat=GROUP, text="Good morning", key="k"))

    assert words in meaning(caught.value.message)


async def test_whatever_is_noted_in_the_log_is_known_to_the_guide(bench: TurnBench, server: DingTalkServer) -> None:
    for path in ("/connections/open", "/emotion/reply", "/createAndDeliver"):
        server.fail(path, *[FORBIDDEN if path == "/emotion/reply" else DOWN] * 3)
    templates: dict[str, Any] = {"card_template": "asks.schema", "answer_template": "answers.schema"}
    async with open_dingtalk(bench, server, **templates) as room:
        await room.connected()
        await server.say_raw("[]")
        await server.push(said("Hi", text=7))
        await server.push(said("Hi", conversationId=None, sessionWebhook="http://x.example"))
        await server.push(said("Hi", mention=False, sessionWebhook="http://elsewhere.example/x"))
        server.fail(
            "/robot/sendBySession", Fault(status=200, body={"errcode": 300_001, "errmsg": "token is not exist"})
        )
        await server.push(said("Hello"))
        await room.texts(1)
        server.fail("/emotion/reply", Fault(status=404, body={"code": "robot.notExist"}))
        await server.push(direct("Hello"))
        await room.texts(1, TALK)
        server.break_off()
        await until(lambda: room.events.count("connected") > 1)
        notes = {entry.event: entry.detail for entry in room.platform.log if entry.detail}

    expected = {
        "waiting",
        "malformed",
        "no_conversation",
        "webhook_refused",
        "webhook_ended",
        "mark_failed",
        "card_failed",
    }
    assert expected <= notes.keys()
    assert [detail for detail in notes.values() if DINGTALK.meaning(detail) is None] == []


async def test_a_file_that_is_gone_is_known_to_the_guide(bench: TurnBench, server: DingTalkServer) -> None:
    server.files["code"] = b"plan"
    server.fail("/files/code", Fault(status=404, body="gone"))
    async with open_dingtalk(bench, server) as room:
        with pytest.raises(PlatformError) as caught:
            await room.platform.download(ChatAttachment(kind="file", name="plan.pdf", reference="code"))

    assert "could not be fetched" in meaning(caught.value.message)


@pytest.mark.parametrize(
    "error", [ONLY_ANSWERS, "This platform only answers: somebody has to write in the room first."]
)
def test_that_a_robot_only_answers_is_known_to_the_guide(error: str) -> None:
    assert "proactive" in meaning(error)


def meaning(error: str) -> str:
    words = DINGTALK.meaning(error)
    assert words is not None, error
    return words.en
