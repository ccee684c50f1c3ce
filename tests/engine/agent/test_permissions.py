from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.permissions import Permissions, WorkspaceRules
from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import Forbidden
from commonplace.values.agent_profile import APPROVAL_MODES, ApprovalMode
from commonplace.values.permission import CHOICES, PermissionAnswer, PermissionChoice

pytestmark = pytest.mark.anyio

READ = AgentTool(name="read_file", kind="read")
STORE = AgentTool(name="memory_store", kind="other", changes=True)
WRITE = AgentTool(name="write_file", kind="edit", asks=True, changes=True, edits=True)
SHELL = AgentTool(name="shell", kind="execute", asks=True, changes=True)
FETCH = AgentTool(name="fetch", kind="fetch", asks=True)


def rules(home: Path, **fields: str) -> WorkspaceRules:
    return WorkspaceRules(**{"tenant": "a/b", "subject": "ann", "workspace": "atlas", **fields}, home=home)


def said(choice: PermissionChoice) -> PermissionAnswer:
    return PermissionAnswer(request="r1", choice=choice, voter="ann")


@pytest.mark.parametrize(
    ("mode", "verdicts"),
    [
        ("default", ["allow", "allow", "ask", "ask", "ask", "ask"]),
        ("auto-edit", ["allow", "allow", "allow", "ask", "ask", "ask"]),
        ("plan", ["allow", "refuse", "refuse", "refuse", "refuse", "ask"]),
        ("yolo", ["allow", "allow", "allow", "allow", "allow", "allow"]),
    ],
)
def test_what_each_mode_allows(mode: ApprovalMode, verdicts: list[str]) -> None:
    permissions = Permissions(mode=mode, allow_all=True)

    assert [
        permissions.verdict(READ, "read_file:*"),
        permissions.verdict(STORE, "memory_store:*"),
        permissions.verdict(WRITE, "write_file:*"),
        permissions.verdict(WRITE, "write_file:.envrc"),
        permissions.verdict(SHELL, "shell:ls"),
        permissions.verdict(FETCH, "fetch:example.org"),
    ] == verdicts


def test_nobody_turns_questions_off_unless_the_operator_allows_it() -> None:
    permissions = Permissions()

    with pytest.raises(Forbidden):
        permissions.mode = "yolo"
    with pytest.raises(Forbidden):
        Permissions(mode="yolo")
    assert permissions.mode == "default"


@pytest.mark.parametrize(
    ("choice", "session", "later"),
    [
        ("allow_once", "ask", "ask"),
        ("reject_once", "ask", "ask"),
        ("allow_session", "allow", "ask"),
        ("allow_workspace", "allow", "allow"),
    ],
)
def test_always_holds_as_long_as_it_was_said_to(
    tmp_path: Path, choice: PermissionChoice, session: str, later: str
) -> None:
    permissions = Permissions(rules(tmp_path))

    permissions.remember("shell:git status", said(choice))

    assert permissions.verdict(SHELL, "shell:git status") == session
    assert permissions.verdict(SHELL, "shell:git status; rm -rf .") == "ask"
    assert Permissions(rules(tmp_path)).verdict(SHELL, "shell:git status") == later


@pytest.mark.parametrize("other", [{"tenant": "x/y"}, {"subject": "bob"}, {"workspace": "zeus"}])
def test_a_rule_holds_for_that_person_in_that_workspace_alone(tmp_path: Path, other: dict[str, str]) -> None:
    Permissions(rules(tmp_path)).remember("shell:ls", said("allow_workspace"))

    assert Permissions(rules(tmp_path, **other)).verdict(SHELL, "shell:ls") == "ask"


def test_every_call_of_a_tool_can_be_meant_but_for_hidden_files(tmp_path: Path) -> None:
    permissions = Permissions(rules(tmp_path))

    for rule in ("shell:*", "write_file:*"):
        permissions.remember(rule, said("allow_session"))

    assert permissions.verdict(SHELL, "shell:anything") == "allow"
    assert permissions.verdict(WRITE, "write_file:*") == "allow"
    assert permissions.verdict(WRITE, "write_file:.envrc") == "ask"


def test_a_plan_stays_a_plan_whatever_was_allowed() -> None:
    permissions = Permissions(mode="plan")
    permissions.remember("shell:ls", said("allow_session"))

    assert permissions.verdict(SHELL, "shell:ls") == "refuse"


def test_what_is_forgotten_is_asked_about_again(tmp_path: Path) -> None:
    permissions = Permissions(rules(tmp_path))
    permissions.remember("shell:ls", said("allow_workspace"))

    assert permissions.forget("shell:ls")
    assert not permissions.forget("shell:ls")
    assert permissions.verdict(SHELL, "shell:ls") == "ask"
    assert Permissions(rules(tmp_path)).verdict(SHELL, "shell:ls") == "ask"


def test_the_rules_are_only_for_their_owner_to_read(tmp_path: Path) -> None:
    rules(tmp_path).add("shell:ls")

    file = next((tmp_path / "agents" / "permissions").iterdir())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"rules": 5}', b"\xff", b'{"tenant": "x", "rules": ["shell:*"]}'])
def test_a_damaged_file_allows_nothing_and_stops_nobody(tmp_path: Path, data: bytes) -> None:
    rules(tmp_path).add("shell:ls")
    next((tmp_path / "agents" / "permissions").iterdir()).write_bytes(data)

    permissions = Permissions(rules(tmp_path))

    assert permissions.verdict(SHELL, "shell:ls") == "ask"


def test_of_many_who_add_a_rule_at_once_none_is_lost(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(rules(tmp_path).add, [f"shell:{number}" for number in range(40)]))

    assert rules(tmp_path).load() == {f"shell:{number}" for number in range(40)}


async def test_a_rule_that_cannot_be_kept_does_not_stop_the_call(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("no folder")

    async def run(word: str) -> str:
        return word

    tool = AgentTool(name="shell", kind="execute", function=run, asks=True)
    answers = await Desk(choice="allow_workspace").turn(
        [tool], [("shell", {"word": "a"})], rules=Permissions(rules(tmp_path))
    )

    assert answers[0].content == "a"


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["remember", "forget"]), st.sampled_from("abc"), st.sampled_from(CHOICES)),
        max_size=20,
    ),
    mode=st.sampled_from(APPROVAL_MODES),
)
def test_what_is_allowed_is_what_was_remembered_and_not_forgotten(
    steps: list[tuple[str, str, PermissionChoice]], mode: ApprovalMode
) -> None:
    permissions, allowed = Permissions(mode=mode, allow_all=True), set[str]()
    for act, name, choice in steps:
        if act == "forget":
            assert permissions.forget(f"shell:{name}") == (name in allowed)
            allowed.discard(name)
        else:
            permissions.remember(f"shell:{name}", said(choice))
            allowed |= {name} if choice in ("allow_session", "allow_workspace") else set()

    for name in "abc":
        expected: Any = {"plan": "refuse", "yolo": "allow"}.get(mode, "allow" if name in allowed else "ask")
        assert permissions.verdict(SHELL, f"shell:{name}") == expected
