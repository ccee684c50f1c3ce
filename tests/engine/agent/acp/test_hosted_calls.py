"""A call of a hosted agent, put together from pieces that come in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.agent.acp.host.calls import HostedCall, HostedCalls

FOLDER = Path("/workspace")
PIECES: list[dict[str, Any]] = [
    {"title": "touch made", "kind": "execute"},
    {"rawInput": {"command": "touch made"}},
    {"status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "made"}}]},
    {"_meta": {"toolName": "shell"}},
    {"title": None, "kind": "switch_mode", "content": None, "locations": None},
    {},
]


@settings(max_examples=40)
@given(st.permutations(PIECES), st.data())
def test_the_pieces_come_to_the_same_call_in_any_order_and_said_twice(
    pieces: list[dict[str, Any]], data: st.DataObject
) -> None:
    calls = HostedCalls("agent", FOLDER)

    for piece in pieces:
        calls.merge({"toolCallId": "c1", **piece})
    call = calls.merge({"toolCallId": "c1", **data.draw(st.sampled_from(PIECES))})

    assert call is not None
    assert (call.tool, call.kind, call.title, call.rule) == ("shell", "execute", "touch made", "shell:touch made")
    assert (call.status, call.result.text, call.arguments) == ("completed", "made", {"command": "touch made"})
    assert len(calls.unfinished) == 1


@pytest.mark.parametrize(
    ("paths", "rule"),
    [
        (["/workspace/a.py"], "edit:*"),
        (["a.py", "/workspace/b/c.py"], "edit:*"),
        (["/workspace/.envrc"], "edit:/workspace/.envrc"),
        (["/workspace/a.py", "/etc/passwd"], "edit:/etc/passwd"),
        (["/workspace/../etc/passwd"], "edit:/workspace/../etc/passwd"),
    ],
)
def test_always_means_the_plain_files_of_the_folder_and_others_by_their_names(paths: list[str], rule: str) -> None:
    call = HostedCall("c1", "agent", FOLDER)

    call.merge({"kind": "edit", "content": [{"type": "diff", "path": path, "newText": "x"} for path in paths]})

    assert call.rule == rule


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git status", "execute:git status"),
        (["/bin/bash", "-lc", "git status"], "execute:git status"),
        (["/tmp/bash-of-mine", "-c", "git status"], "execute:/tmp/bash-of-mine -c git status"),
        (["git", "status"], "execute:git status"),
    ],
)
def test_a_command_is_remembered_as_it_is(command: Any, rule: str) -> None:
    call = HostedCall("c1", "agent", FOLDER)

    call.merge({"kind": "execute", "title": "Shell", "rawInput": {"command": command}})

    assert call.rule == rule
    assert call.is_plain_to_see


def test_a_question_that_says_nothing_of_the_command_can_only_be_answered_once() -> None:
    call = HostedCall("c1", "agent", FOLDER)

    call.merge({"kind": "execute", "title": "Bash"})

    assert not call.is_plain_to_see
