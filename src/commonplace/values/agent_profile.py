"""How an agent is set up: who it is, which model speaks for it, and what it may use."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypedDict

from commonplace.errors import InvalidInput
from commonplace.values.json import JsonObject

ApprovalMode = Literal["plan", "default", "auto-edit", "yolo"]
"""
`plan`: it reads and changes nothing; `default`: it asks; `auto-edit`: it edits plain files of the workspace unasked; `yolo`: it asks
nothing, which only an operator's setting makes possible.
"""

APPROVAL_MODES: Final[tuple[ApprovalMode, ...]] = ("plan", "default", "auto-edit", "yolo")
"""The strictest first."""


def approval_mode(name: str) -> ApprovalMode | None:
    """The mode of this name; None if there is none."""
    return next((mode for mode in APPROVAL_MODES if mode == name), None)


MAX_PERSONA: Final = 20_000
MAX_ENTRIES: Final = 100
MAX_PATH: Final = 4_096
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_URL: Final = re.compile(r"https?://[^\s/]\S*")


@dataclass(frozen=True, kw_only=True, slots=True)
class McpServerRow(JsonObject):
    """
    A server of tools: a `command` with its arguments, which runs on the daemon's machine, or the `url` of one that runs somewhere.
    A row has no secrets: `env` are names of variables of the daemon that the command is given, `token_env` is the name of the one
    whose value is sent to the `url` as a bearer token. `asks`: each call needs permission.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    url: str | None = None
    env: tuple[str, ...] = ()
    token_env: str | None = None
    asks: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentProfile(JsonObject):
    """
    `skills` are folders, each with a `SKILL.md` in it or in the folders inside; `resources` are files and addresses whose text
    stands in the prompt. `tools` None: all that there are.
    """

    persona: str = ""
    model: str | None = None
    skills: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    mcp_servers: tuple[McpServerRow, ...] = ()
    approval: ApprovalMode = "default"

    def to_text(self) -> str:
        """As a store keeps it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> AgentProfile:
        """What `to_text` wrote."""
        document: dict[str, Any] = _with_tuples(json.loads(text))
        document["mcp_servers"] = tuple(map(server_row_of, document["mcp_servers"]))
        return cls(**document)


def server_row_of(document: dict[str, Any]) -> McpServerRow:
    """What a store kept of it."""
    return McpServerRow(**_with_tuples(document))


def _with_tuples(document: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - whatever JSON has


class AgentFields(TypedDict, total=False):
    """What can be changed of an agent; what is absent stays."""

    name: str | None
    memory_enabled: bool | None
    profile: AgentProfile | None


class NewAgentFields(TypedDict, total=False):
    """What an agent can have from the beginning beside its name."""

    id: str | None
    memory_enabled: bool
    profile: AgentProfile | None


def check_profile(profile: AgentProfile) -> AgentProfile:
    """Raises InvalidInput: it cannot be used, and why."""
    if len(profile.persona) > MAX_PERSONA or not _is_storable(profile.persona):
        raise InvalidInput(f"A persona has at most {MAX_PERSONA:,} characters, without NUL and lone surrogates.")
    if profile.approval not in APPROVAL_MODES:
        raise InvalidInput(f"approval is one of: {', '.join(APPROVAL_MODES)}.")
    lists = (profile.skills, profile.resources, profile.tools or (), profile.mcp_servers)
    if any(len(entries) > MAX_ENTRIES for entries in lists):
        raise InvalidInput(f"A profile names at most {MAX_ENTRIES} skills, resources, tools and servers of each kind.")
    if not all(map(_NAME.fullmatch, profile.tools or ())):
        raise InvalidInput("The name of a tool has 1 to 64 letters, digits, dashes and underscores.")
    for folder in profile.skills:
        _check_path("skills", folder)
    for resource in profile.resources:
        _check_path("resources", resource, or_url=True)
    for server in profile.mcp_servers:
        _check_server(server)
    if len({server.name for server in profile.mcp_servers}) < len(profile.mcp_servers):
        raise InvalidInput("Two MCP servers have the same name. Their tools could not be told apart.")
    return profile


def _check_path(what: str, path: str, *, or_url: bool = False) -> None:
    if or_url and len(path) <= MAX_PATH and _URL.fullmatch(path):
        return
    if not path.startswith(("/", "~/")) or len(path) > MAX_PATH or not path.isprintable():
        raise InvalidInput(
            f"{path!r:.80} cannot be one of the {what}: write a path from the root of the daemon's machine on.",
            path=path[:200],
        )


def _check_server(server: McpServerRow) -> None:
    if not _NAME.fullmatch(server.name):
        raise InvalidInput("The name of an MCP server has 1 to 64 letters, digits, dashes and underscores.")
    about = f"The MCP server {server.name}"
    if (server.command is None) == (server.url is None):
        raise InvalidInput(f"{about} has either a command or a url.")
    if server.url is not None and (not _URL.fullmatch(server.url) or server.args or server.env):
        raise InvalidInput(f"{about} has a url of http or https, and neither args nor env.")
    if server.command is not None and server.token_env is not None:
        raise InvalidInput(f"{about} is a command: name the variables that it is given in env.")
    texts = (server.command or "", *server.args)
    if server.url is None and (
        not server.command or any(len(text) > MAX_PATH or not text.isprintable() for text in texts)
    ):
        raise InvalidInput(f"{about} has a command and arguments of printable characters.")
    if len(server.args) > MAX_ENTRIES or len(server.env) > MAX_ENTRIES:
        raise InvalidInput(f"{about} has at most {MAX_ENTRIES} arguments and variables.")
    for variable in _variables(server):
        if not _VARIABLE.fullmatch(variable):
            raise InvalidInput(f"{about} names the variables of its environment; their values stay with the daemon.")


def _variables(server: McpServerRow) -> Sequence[str]:
    return server.env if server.token_env is None else (*server.env, server.token_env)


def _is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def needs_admin(before: AgentProfile, after: AgentProfile) -> str | None:
    """
    What of the change only an admin may do, if anything: all that runs or reads on the daemon's machine, and whatever lets the
    agent do more than it did.
    """
    if after.mcp_servers != before.mcp_servers:
        return "mcp_servers"
    if after.skills != before.skills:
        return "skills"
    if after.resources != before.resources:
        return "resources"
    if before.tools is not None and (after.tools is None or not set(after.tools) <= set(before.tools)):
        return "tools"
    if APPROVAL_MODES.index(after.approval) > APPROVAL_MODES.index(before.approval):
        return "approval"
    return None
