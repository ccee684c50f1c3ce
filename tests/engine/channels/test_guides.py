"""Whatever a client says of what went wrong, its guide says what it means and what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from commonplace.channels import dingtalk, feishu
from commonplace.channels.guides.dingtalk import DINGTALK
from commonplace.channels.guides.feishu import FEISHU
from commonplace.values.platform import PlatformGuide

ERRORS = {
    "PlatformError", "PlatformRefused", "InvalidInput", "DingTalkTurnedAway", "DingTalkThrottled", "InvalidConversation", "_Unavailable",
}  # fmt: skip
NO_ERRORS = {"Feishu has asked for the webhook."}
FILLED = {
    "A request to the webhook is not Feishu's: x.",
    "There are too many long connections: code x.",
    "x Name the group's chatId in the option chat_ids, as x=chat…: the right id is made of it.",
    "x DingTalk made no id of the chatId that is configured.",
}
"""Whose meaning is that of what is filled in, at which the tests of each platform look."""


def written(package: ModuleType) -> Iterator[str]:
    """What stands in the errors of a client and in its log, as its code has it: with an `x` in place of whatever is filled in."""
    for path in Path(str(package.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                place = 0 if name in ERRORS else 1 if name == "note" else len(node.args)
                yield from texts(node.args[place : place + 1])


def texts(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)


@pytest.mark.parametrize(("package", "guide"), [(dingtalk, DINGTALK), (feishu, FEISHU)])
def test_no_sentence_of_a_client_is_without_a_meaning(package: ModuleType, guide: PlatformGuide) -> None:
    sentences = {text for text in written(package) if len(re.findall(r"\w+", text)) > 2} - NO_ERRORS - FILLED

    assert len(sentences) > 20
    assert sorted(text for text in sentences if guide.meaning(text) is None) == []
