"""A hosted agent for tests: a real program that plays a script, in the place of our own loop, over a real store."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from commonplace.agent.acp.host.child import HostedCommand
from commonplace.agent.acp.host.hosted_agent import HostedUsers, HostParts, ServeMemory, no_memory
from commonplace.agent.acp.host.player import AcpHost
from commonplace.agent.equipment import ToolOptions
from commonplace.agent.live_session import LiveSession, Player
from commonplace.llms.hosted_purse import ChatHostedPurse
from commonplace.ports.chat import ChatTask
from commonplace.testing.agents import TurnBench
from commonplace.values.principal import Principal
from commonplace.values.session import Session

CHILD: Final = Path(__file__).with_name("acp_child.py")


@dataclass
class HostBench(TurnBench):
    """A session whose agent plays `script` (`acp_child.py`). Change what it has before the first turn."""

    folder: Path = Path()
    script: dict[str, Any] = field(default_factory=dict[str, Any])
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    start_seconds: float = 20.0
    users: HostedUsers = "operator"
    serve_memory: ServeMemory = no_memory
    chat_micro_usd: int = 5_000_000
    price: str | None = None
    options: ToolOptions = field(default_factory=ToolOptions)
    allow_all: bool = False

    def play(self, *turns: list[dict[str, Any]], **more: Any) -> None:
        """Have it play these steps, a list for each prompt."""
        self.script = {"turns": list(turns), "log": str(self.folder / "heard.jsonl"), **more}
        path = self.folder / "script.json"
        path.write_text(json.dumps(self.script))
        self.command = (sys.executable, "-I", "-S", str(CHILD), str(path))

    def heard(self, method: str | None = None) -> list[dict[str, Any]]:
        """What the agent was sent, or what it was sent by one method."""
        lines = (self.folder / "heard.jsonl").read_text().splitlines()
        messages: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return [message for message in messages if method is None or message.get("method") == method]

    def blocks(self, prompt: int = -1) -> list[str]:
        """The texts of a prompt."""
        return [block["text"] for block in self.heard("session/prompt")[prompt]["params"]["prompt"]]

    @property
    def pids(self) -> list[int]:
        """Of the programs so far, and of what they started."""
        return [message[name] for message in self.heard() for name in ("pid", "grandchild") if name in message]

    async def load(self) -> Player:
        desk = self.services.desk
        return AcpHost(
            HostParts(
                log=self.history,
                clock=desk.clock,
                equip=self.equip,
                open_run=self.run,
                limits=self.limits,
                command=HostedCommand(
                    command=self.command, environment=self.environment, start_seconds=self.start_seconds
                ),
                version="0",
                scratch=self.folder / "scratch",
                purse=ChatHostedPurse(desk.store, desk.clock, self.chat_micro_usd, self.price),
                task=_task,
                profile_of=self.services.owners.profile,
                folder_of=self._folder_of,
                serve_memory=self.serve_memory,
                users=self.users,
                allow_all=self.allow_all,
                tools=self.options,
            )
        )

    async def session(self, **fields: Any) -> Session:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        return await self.memory.create_session("assistant", folder=str(work), **fields)

    async def _folder_of(self, live: LiveSession, who: Principal) -> Path | None:
        return Path(live.session.folder) if live.session.folder and who.operator else None


def said_by(kind: str, text: str, **more: Any) -> dict[str, Any]:
    """A step: a piece of a message."""
    return {"update": {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}}


def call_step(id_: str, **fields: Any) -> dict[str, Any]:
    """A step: a call is announced."""
    return {"update": {"sessionUpdate": "tool_call", "toolCallId": id_, **fields}}


def call_change(id_: str, **fields: Any) -> dict[str, Any]:
    """A step: something is said of a call."""
    return {"update": {"sessionUpdate": "tool_call_update", "toolCallId": id_, **fields}}


def options(*pairs: tuple[str, str]) -> list[Mapping[str, str]]:
    """What a permission offers, as pairs of id and kind."""
    return [{"optionId": id_, "name": id_, "kind": kind} for id_, kind in pairs]


def is_running(pid: int) -> bool:
    """Whether the process is there; one that only waits to be noticed is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _task(live: LiveSession, who: Principal) -> ChatTask:
    return ChatTask(tenant=who.tenant, session=live.session.id)
