"""
Whether a tool call runs, waits for a person or is not to be had; and what a person's "always" means later. What waits, and who decides it,
is in `agent/mediator.py`.

"For this session" is kept in memory, "for this workspace" in a file of the home folder, apart for each tenant and person. A
remembered rule is the tool's name, a colon, and what it is about (`shell:git status`); `write_file:*` is every call of a tool.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, cast

from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import CommonplaceError, Forbidden, InvalidFile, NotFound
from commonplace.markdown.confine import FileSnapshot, Folder
from commonplace.values.agent_profile import ApprovalMode
from commonplace.values.permission import PermissionAnswer, PermissionsFull

LOGGER: Final = logging.getLogger("commonplace")
MOST_RULES: Final = 1_000
LONGEST_RULE: Final = 2_000
_FOLDER: Final = "agents"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceRules:
    """
    The rules that hold in one workspace for one person: a file below `<home>/agents/permissions`, that only its owner reads. Its
    name says nothing about whose it is; what is inside does.
    """

    home: Path
    tenant: str
    subject: str
    workspace: str

    def load(self) -> frozenset[str]:
        """
        Raises:
            InvalidFile: the file is damaged. Nothing is allowed by it.
        """
        try:
            return self._rules(self._folder.read(self._parts))
        except NotFound:
            return frozenset()

    def add(self, rule: str) -> None:
        """Keep it durably, whoever else writes at the same moment. Raises InvalidFile, FileError."""
        self._folder.change(self._parts, lambda snapshot: self._document(self._rules(snapshot) | {rule}))

    def remove(self, rule: str) -> bool:
        """Whether it was there."""
        before = self.load()
        self._folder.change(self._parts, lambda snapshot: self._document(self._rules(snapshot) - {rule}))
        return rule in before

    @property
    def _folder(self) -> Folder:
        return Folder(self.home, (_FOLDER, "permissions"))

    @property
    def _parts(self) -> tuple[str, ...]:
        name = f"{self.tenant}\0{self.subject}\0{self.workspace}"
        return (f"{sha256(name.encode()).hexdigest()[:32]}.json",)

    def _rules(self, snapshot: FileSnapshot | None) -> frozenset[str]:
        if snapshot is None:
            return frozenset()
        try:
            document: Any = json.loads(snapshot.data)
            rules: object = document["rules"]
            whose = (document["tenant"], document["subject"], document["workspace"])
            if whose != (self.tenant, self.subject, self.workspace) or not isinstance(rules, list):
                raise ValueError("somebody else's")
            return frozenset(rule for rule in cast(list[object], rules) if isinstance(rule, str))
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            path = self.home.joinpath(_FOLDER, "permissions", *self._parts)
            raise InvalidFile(f"{path} cannot be read. Remove it; then you are asked again.") from error

    def _document(self, rules: frozenset[str]) -> bytes:
        if len(rules) > MOST_RULES:
            raise PermissionsFull(f"There are {MOST_RULES:,} rules for this workspace already. Remove some of them.")
        document = {"tenant": self.tenant, "subject": self.subject, "workspace": self.workspace, "rules": sorted(rules)}
        return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


class Permissions:
    """
    Those of one person in one session. `rules` None: nothing outlives the session. `allow_all`: the operator lets people turn questions off.
    """

    def __init__(
        self,
        rules: WorkspaceRules | None = None,
        *,
        mode: ApprovalMode = "default",
        allow_all: bool = False,
    ) -> None:
        self._workspace = rules
        self._allow_all = allow_all
        self._session: set[str] = set()
        self._durable = _loaded(rules)
        self._mode: ApprovalMode = "default"
        self.mode = mode

    @property
    def mode(self) -> ApprovalMode:
        return self._mode

    @mode.setter
    def mode(self, mode: ApprovalMode) -> None:
        """
        Raises:
            Forbidden: nobody would be asked, and the operator has not allowed that.
        """
        if mode == "yolo" and not self._allow_all:
            raise Forbidden("Only the operator can turn questions off: set agent_allow_all.")
        self._mode = mode

    def follow(self, mode: ApprovalMode) -> None:
        """The mode of the agent's row. People are asked where it would turn questions off and the operator has not allowed that."""
        self.mode = "default" if mode == "yolo" and not self._allow_all else mode

    def verdict(self, tool: AgentTool, rule: str) -> Literal["allow", "ask", "refuse"]:
        if self._mode == "plan" and tool.changes:
            return "refuse"
        if not tool.asks or self._mode == "yolo":
            return "allow"
        if self._mode == "auto-edit" and tool.edits and rule == f"{tool.name}:*":
            return "allow"
        rules = self._session | self._durable
        return "allow" if rule in rules or (f"{tool.name}:*" in rules and _is_plain(tool, rule)) else "ask"

    def remember(self, rule: str, answer: PermissionAnswer) -> None:
        """Raises InvalidFile, FileError: it holds for the session, and could not be kept for longer."""
        if len(rule) > LONGEST_RULE or answer.choice not in ("allow_session", "allow_workspace"):
            return
        self._session.add(rule)
        if answer.choice == "allow_workspace" and self._workspace is not None:
            self._workspace.add(rule)
            self._durable |= {rule}

    @property
    def session_rules(self) -> tuple[str, ...]:
        return tuple(sorted(self._session))

    @property
    def workspace_rules(self) -> tuple[str, ...]:
        return tuple(sorted(self._durable))

    def forget(self, rule: str) -> bool:
        """Whether it was remembered. From now on it is asked about again."""
        is_there = rule in self._session or rule in self._durable
        self._session.discard(rule)
        self._durable -= {rule}
        if self._workspace is not None:
            self._workspace.remove(rule)
        return is_there


def _loaded(rules: WorkspaceRules | None) -> frozenset[str]:
    """A damaged file allows nothing: the person is asked again, and the session goes on."""
    try:
        return rules.load() if rules else frozenset()
    except CommonplaceError as error:
        LOGGER.warning("permissions", extra={"told": {"error": error.message}})
        return frozenset()


def _is_plain(tool: AgentTool, rule: str) -> bool:
    """Whether "every call" means this one, too: a hidden file is asked about by its own name."""
    return not tool.edits or rule == f"{tool.name}:*"
