"""
Every operation of a memory × every face: the client over HTTP, the embedded memory, the command, the tools of MCP.

`FACES` has a row for each operation of `ports/memory_client`. Where the command or MCP does not offer it, the row says why.
"""

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from commonplace import AsyncClient, AsyncMemory, Client, Memory
from commonplace.agent.local_agent import LocalAgent
from commonplace.cli import app
from commonplace.compose.memory_runs import MemoryArtifacts, MemoryRuns
from commonplace.doors.mcp.tools import OFFERS
from commonplace.ports.agent_client import AgentClient
from commonplace.ports.memory_client import MemoryClient
from commonplace.ports.run_client import ArtifactClient, RunClient
from commonplace.ports.schedule_client import ScheduleClient
from commonplace.sdk.agent import DaemonAgent
from commonplace.sdk.async_agent import AsyncAgent
from commonplace.sdk.async_runs import AsyncDaemonArtifacts, AsyncDaemonRuns
from commonplace.sdk.async_schedules import AsyncDaemonSchedules
from commonplace.sdk.runs import DaemonArtifacts, DaemonRuns
from commonplace.sdk.schedules import DaemonSchedules
from commonplace.service.local import LocalMemory
from commonplace.service.local_runs import LocalArtifacts, LocalRuns
from commonplace.service.local_schedules import LocalSchedules

# The type checker refuses a memory here whose methods do not fit.
MEMORIES: tuple[type[MemoryClient], ...] = (AsyncMemory, AsyncClient, LocalMemory)
SYNC = (Memory, Client)

# Why a face leaves an operation out.
PROGRAMS = "programs call it in a loop; a person uses the command beside it"
PERSON = "a person decides this, not a model"
OPERATOR = "only the operator may"
OTHERS = "the console and the API show it"
RUN = "tells what a run of an agent was given; such a program uses the client"
CHANGES = "a model stores again under the same key, and the older version is kept"
HISTORY = "the history is of our own agent, which has `session_search`; what another agent was told, it keeps itself"
POLLED = "the tool waits for the end itself"


class Face(NamedTuple):
    """The command and the tool that offer an operation, or why there is none. `no_…` is the reason."""

    command: str = ""
    tool: str = ""
    no_command: str = ""
    no_tool: str = ""


FACES: dict[str, Face] = {
    "put": Face("put", "memory_store"),
    "put_many": Face(no_command=PROGRAMS, no_tool="a model stores one thing at a time"),
    "add_turns": Face(no_command=PROGRAMS, no_tool="the program around a model hands over its talk"),
    "edit": Face("edit", no_tool=CHANGES),
    "get": Face("show", no_tool="resources read one record"),
    "list": Face("list", "memory_list"),
    "history": Face("history", no_tool=PERSON),
    "pin": Face("pin", no_tool=PERSON),
    "delete": Face("delete", "memory_delete"),
    "undo": Face("undo", no_tool=PERSON),
    "promote": Face("promote", no_tool=PERSON),
    "demote": Face("demote", no_tool=PERSON),
    "supersede": Face("supersede", "memory_correct"),
    "expire": Face(no_command="`edit --expires` and `delete` do it", no_tool=PERSON),
    "purge": Face("purge", no_tool=PERSON),
    "search": Face("search", "memory_search"),
    "context": Face("context", "memory_context"),
    "sections": Face("context", no_tool="a resource has the same"),
    "agents": Face("agents list", no_tool=PERSON),
    "agent": Face("agents show", no_tool=PERSON),
    "create_agent": Face("agents create", no_tool=PERSON),
    "edit_agent": Face("agents set", no_tool=PERSON),
    "remove_agent": Face("agents remove", no_tool=PERSON),
    "workspaces": Face("workspace list", no_tool=PERSON),
    "workspace": Face("workspace show", no_tool=PERSON),
    "create_workspace": Face("workspace create", no_tool=PERSON),
    "edit_workspace": Face("workspace edit", no_tool=PERSON),
    "remove_workspace": Face("workspace remove", no_tool=PERSON),
    "put_resource": Face("resource add", no_tool="the program around a model hands over its documents"),
    "resources": Face("resource list", no_tool="`memory_tree` lists them"),
    "resource": Face("resource show", no_tool="`memory_tree` reads them"),
    "remove_resource": Face("resource remove", no_tool=PERSON),
    "tree": Face("tree", "memory_tree"),
    "resolve": Face(no_command="`tree` shows what an address names", no_tool="`memory_tree` shows it"),
    "layer": Face("tree", "memory_tree"),
    "make_layers": Face("tree", no_tool="a model's own words are not what a memory is told by"),
    "distill": Face(
        no_command="`extract` learns from a talk", no_tool="the program around a model hands over its talk"
    ),
    "extract": Face("extract", no_tool="the program around a model hands over its talk"),
    "learn": Face(no_command=PROGRAMS, no_tool="`memory_store` does it"),
    "learnings": Face(no_command=RUN, no_tool=RUN),
    "remember_workspace_memory": Face("remember", "memory_remember"),
    "get_workspace_memory_remember_task": Face("remember", "memory_remember"),
    "forget_workspace_memory": Face(no_command=OTHERS, no_tool=PERSON),
    "get_workspace_memory_forget_task": Face(no_command=OTHERS, no_tool=PERSON),
    "dream_workspace_memory": Face("consolidate", no_tool=PERSON),
    "get_workspace_memory_dream_task": Face("consolidate", no_tool=PERSON),
    "managed_files": Face(
        no_command="they are Markdown files: any editor shows them", no_tool="an agent reads files itself"
    ),
    "recall_managed": Face(no_command="`search` finds their records", no_tool="`memory_search` finds their records"),
    "managed_file": Face(
        no_command="they are Markdown files: any editor shows them", no_tool="an agent reads files itself"
    ),
    "write_managed_file": Face(
        no_command="they are Markdown files: any editor writes them", no_tool="`memory_remember` files what is true"
    ),
    "move_managed_file": Face("move", no_tool=PERSON),
    "delete_managed_file": Face(no_command="they are files: `rm` removes them", no_tool=PERSON),
    "managed_changes": Face(no_command=OTHERS, no_tool=PERSON),
    "undo_managed_change": Face(no_command=OTHERS, no_tool=PERSON),
    "review": Face("review list", no_tool=PERSON),
    "release": Face("review release", no_tool=PERSON),
    "reject": Face("review reject", no_tool=PERSON),
    "restore_rejected": Face("review restore", no_tool=PERSON),
    "purge_reviewed": Face("review purge", no_tool=PERSON),
    "release_finding": Face("review release", no_tool=PERSON),
    "purge_finding": Face("review purge", no_tool=PERSON),
    "approve": Face("approve", no_tool=PERSON),
    "approvals": Face("approvals", no_tool=PERSON),
    "withdraw_approval": Face("approvals", no_tool=PERSON),
    "promote_finding": Face("knowledge promote", no_tool=PERSON),
    "deprecate_finding": Face("knowledge deprecate", no_tool=PERSON),
    "create_space": Face("knowledge add", "knowledge_record"),
    "spaces": Face("knowledge spaces", "knowledge_list"),
    "record_finding": Face("knowledge add", "knowledge_record"),
    "findings": Face("knowledge list", "knowledge_list"),
    "finding": Face("knowledge show", no_tool="`knowledge_list` has all of it"),
    "refresh_finding": Face("knowledge refresh", no_tool=PERSON),
    "preflight": Face("knowledge check", "knowledge_preflight"),
    "rollback": Face("rollback", no_tool=PERSON),
    "import_folder": Face("import", no_tool=PERSON),
    "import_files": Face("import", no_tool=PERSON),
    "export": Face("export", no_tool=PERSON),
    "load": Face("load", no_tool=PERSON),
    "backup": Face("backup", no_tool=OPERATOR),
    "stats": Face("stats", no_tool=PERSON),
    "scopes": Face(no_command=OTHERS, no_tool="a model's place says which scopes it means"),
    "counts": Face("stats", no_tool=PERSON),
    "recalls": Face(no_command=OTHERS, no_tool=PERSON),
    "weights": Face("search", no_tool="weights are for who compares rankings"),
    "audit": Face(no_command=OTHERS, no_tool=PERSON),
    "audit_seals": Face("check", no_tool=OPERATOR),
    "events": Face(no_command=OTHERS, no_tool="MCP has its own notifications"),
    "me": Face(no_command=OTHERS, no_tool="a model's place says who it is"),
    "check": Face("check", no_tool=OPERATOR),
    "reindex": Face("reindex", no_tool=OPERATOR),
    "use_embedder": Face("embedder use", no_tool=OPERATOR),
    "embedder_status": Face("embedder status", no_tool=OPERATOR),
    "rules": Face("rules", no_tool=OPERATOR),
    "set_rule": Face("rules", no_tool=OPERATOR),
    "tidy": Face("tidy", no_tool=OPERATOR),
    "upkeep_log": Face("tidy", no_tool=OPERATOR),
    "create_session": Face(no_command="`chat` begins one", no_tool=HISTORY),
    "sessions": Face("sessions list", no_tool=HISTORY),
    "session": Face("sessions show", no_tool=HISTORY),
    "change_session": Face("sessions rename", no_tool=PERSON),
    "delete_session": Face("sessions delete", no_tool=PERSON),
    "session_messages": Face("sessions show", no_tool=HISTORY),
    "search_sessions": Face("sessions search", no_tool=HISTORY),
    "create_key": Face("key create", no_tool=OPERATOR),
    "keys": Face("key list", no_tool=OPERATOR),
    "revoke_key": Face("key revoke", no_tool=OPERATOR),
    "create_capability": Face("capability create", no_tool=PERSON),
    "members": Face("members", no_tool=PERSON),
    "share": Face("share", no_tool=PERSON),
    "unshare": Face("unshare", no_tool=PERSON),
    "create_user": Face(no_command=OTHERS, no_tool=OPERATOR),
    "users": Face(no_command=OTHERS, no_tool=OPERATOR),
    "rotate_user": Face(no_command=OTHERS, no_tool=OPERATOR),
    "remove_user": Face(no_command=OTHERS, no_tool=OPERATOR),
    "budgets": Face("budgets", no_tool=OPERATOR),
    "set_budget": Face("budgets", no_tool=OPERATOR),
}
# `memory.runs` and `memory.artifacts` have operations of their own.
PARTS: dict[type, tuple[type, ...]] = {
    RunClient: (LocalRuns, AsyncDaemonRuns, MemoryRuns, DaemonRuns),
    ArtifactClient: (LocalArtifacts, AsyncDaemonArtifacts, MemoryArtifacts, DaemonArtifacts),
    AgentClient: (LocalAgent, AsyncAgent, DaemonAgent),
    ScheduleClient: (LocalSchedules, AsyncDaemonSchedules, DaemonSchedules),
}
TALK = "a person or a program talks to the agent; an agent that talks to itself is none of its tools"
OWN_AGENT = "our own agent has `schedule_task`, `schedule_list` and `schedule_cancel`; another one does not set what ours does by itself"
HOW = "tells how work unfolded, for people; a model is in the middle of it"
PART_FACES: dict[str, Face] = {
    "RunClient.list": Face("runs list", no_tool=HOW),
    "RunClient.get": Face("runs show", no_tool=HOW),
    "RunClient.events": Face("runs tail", no_tool=HOW),
    "RunClient.blackboard": Face("runs show", no_tool=HOW),
    "RunClient.replay": Face("runs replay", no_tool=HOW),
    "RunClient.checkpoints": Face(no_command=OTHERS, no_tool=HOW),
    "RunClient.checkpoint": Face(no_command="the program that runs makes them", no_tool=HOW),
    "RunClient.delete": Face(no_command="`runs_days` ends them; the API deletes one before", no_tool=PERSON),
    "ArtifactClient.add": Face("artifacts add", no_tool="the program around a model hands over its files"),
    "ArtifactClient.list": Face("artifacts list", no_tool=HOW),
    "ArtifactClient.get": Face("artifacts get", no_tool=HOW),
    "ArtifactClient.content": Face("artifacts get", no_tool=HOW),
    "ArtifactClient.promote": Face("artifacts promote", no_tool=PERSON),
    "ArtifactClient.delete": Face("artifacts delete", no_tool=PERSON),
    "AgentClient.say": Face("chat", no_tool=TALK),
    "AgentClient.hear": Face("run", no_tool=TALK),
    "AgentClient.cancel_turn": Face("chat", no_tool=TALK),
    "AgentClient.withdraw_turn": Face("chat", no_tool=TALK),
    "AgentClient.live_sessions": Face("sessions list", no_tool=TALK),
    "AgentClient.session_state": Face("chat", no_tool=TALK),
    "AgentClient.configure_session": Face("chat", no_tool=PERSON),
    "AgentClient.permission_requests": Face("chat", no_tool=TALK),
    "AgentClient.answer_permission": Face("chat", no_tool=PERSON),
    "ScheduleClient.propose": Face("schedule add", no_tool=OWN_AGENT),
    "ScheduleClient.add": Face("schedule add", no_tool=OWN_AGENT),
    "ScheduleClient.list": Face("schedule list", no_tool=OWN_AGENT),
    "ScheduleClient.get": Face("schedule show", no_tool=OWN_AGENT),
    "ScheduleClient.enable": Face("schedule enable", no_tool=PERSON),
    "ScheduleClient.disable": Face("schedule disable", no_tool=PERSON),
    "ScheduleClient.run": Face("schedule run", no_tool=PERSON),
    "ScheduleClient.cancel": Face("schedule cancel", no_tool=OWN_AGENT),
    "ScheduleClient.pause": Face("schedule pause", no_tool=PERSON),
    "ScheduleClient.resume": Face("schedule resume", no_tool=PERSON),
    "ScheduleClient.pauses": Face("schedule list", no_tool=PERSON),
}
# What a face has beyond the operations of a memory, and why.
OF_ITS_OWN = {
    "aclose": "opening and closing are a face's own",
    "close": "opening and closing are a face's own",
    "latency": "of the requests that a daemon answered",
    "sign_in_url": "of the console that a daemon serves",
    "supply": "of the process that an editor starts, whose folder, files and terminals a session works with",
    "let_go": "as `supply`",
    "settle": "of a process that ends, and waits for what its turns leave",
}
NOT_MEMORY = {
    *("restore", "version", "trust", "serve", "token", "open", "mcp", "tour", "unpin", "doctor"),
    *("chat", "run", "acp"),
    *(f"channel {name}" for name in ("list", "show", "add", "configure", "start", "stop", "remove")),
    *(f"channel {name}" for name in ("guide", "test", "pair", "link", "memory", "logs", "chat")),
    *(f"embedder {name}" for name in ("list", "add", "remove")),
    *(f"sessions {name}" for name in ("archive", "unarchive", "share", "unshare", "export")),
    *(f"sessions {name}" for name in ("attach", "cancel")),
}
"""Commands about this machine, those that talk to an agent, and those that do an operation in another way: `unpin` is `pin` with False, `sessions archive` a change."""


def operations(face: type) -> dict[str, Any]:
    return {name: method for name, method in inspect.getmembers(face, inspect.isfunction) if not name.startswith("_")}


def commands(group: Any, before: str = "") -> Iterator[str]:
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{before}{name} ") if hasattr(command, "commands") else (f"{before}{name}",)


def test_the_table_has_every_operation() -> None:
    assert FACES.keys() == operations(MemoryClient).keys()


@pytest.mark.parametrize("face", [*MEMORIES, *SYNC], ids=lambda face: face.__name__)
def test_a_face_has_every_operation_of_its_own(face: type) -> None:
    # One that it only inherits from the port would do nothing.
    own = {name: method for name, method in operations(face).items() if "ports." not in method.__module__}

    # A client of a daemon talks to its agents, too.
    of_agents = operations(AgentClient).keys() if issubclass(face, AsyncAgent | DaemonAgent) else set[str]()
    assert own.keys() - OF_ITS_OWN.keys() - of_agents == FACES.keys()
    assert of_agents <= own.keys()


@pytest.mark.parametrize("face", [*MEMORIES, *SYNC], ids=lambda face: face.__name__)
@pytest.mark.parametrize("name", FACES)
def test_an_operation_takes_the_same_everywhere(face: type, name: str) -> None:
    expected = inspect.signature(getattr(MemoryClient, name)).parameters
    actual = inspect.signature(getattr(face, name)).parameters

    assert [str(parameter) for parameter in actual.values()] == [str(parameter) for parameter in expected.values()]


def test_every_command_and_tool_in_the_table_is_there_and_none_is_missing() -> None:
    there = {face.command for face in (*FACES.values(), *PART_FACES.values()) if face.command}
    tools = {face.tool for face in FACES.values() if face.tool}

    assert there <= set(commands(get_command(app)))
    assert set(commands(get_command(app))) - there <= NOT_MEMORY
    assert tools == set(OFFERS)


@pytest.mark.parametrize("name", [*FACES, *PART_FACES])
def test_a_gap_has_a_reason(name: str) -> None:
    face = {**FACES, **PART_FACES}[name]

    assert bool(face.command) != bool(face.no_command)
    assert bool(face.tool) != bool(face.no_tool)


def test_the_table_has_every_operation_of_a_part() -> None:
    assert PART_FACES.keys() == {f"{port.__name__}.{name}" for port in PARTS for name in operations(port)}


@pytest.mark.parametrize(("port", "part"), [(port, part) for port, parts in PARTS.items() for part in parts])
def test_a_part_has_every_operation_of_its_own_and_takes_the_same(port: type, part: type) -> None:
    own = {name: method for name, method in operations(part).items() if "ports." not in method.__module__}

    assert own.keys() - OF_ITS_OWN.keys() == operations(port).keys()
    for name, method in operations(port).items():
        expected = inspect.signature(method).parameters
        actual = inspect.signature(own[name]).parameters
        assert [str(parameter) for parameter in actual.values()] == [
            str(parameter) for parameter in expected.values()
        ], name


@pytest.mark.parametrize("name", ["runs", "artifacts"])
@pytest.mark.parametrize("face", [*MEMORIES, *SYNC], ids=lambda face: face.__name__)
def test_every_memory_has_its_parts(face: type, name: str) -> None:
    assert isinstance(inspect.getattr_static(face, name), property)
