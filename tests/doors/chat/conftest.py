"""A chat with an agent that plays a script, over a memory that is real."""

import io
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commonplace import open_memory_async
from commonplace.cli.agent_line import AgentLine, Partner
from commonplace.cli.chat import Chat, ChatOptions
from commonplace.cli.exits import Exit
from commonplace.cli.line_reader import LineReader
from commonplace.cli.live_paper import LivePaper
from commonplace.cli.permission_policy import PermissionPolicy
from commonplace.cli.talk_sessions import TalkPlace
from commonplace.cli.turn_view import Paper, PlainPaper
from commonplace.testing.agent_client import ScriptedAgentClient


class Typist:
    """Types lines, and then is at the end. What is typed may be a function, which is called first."""

    def __init__(self, *lines: str | Callable[[], str]) -> None:
        self._lines = list(lines)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        return line if isinstance(line, str) else line()


class Room:
    """Where chats of a test take place: one memory, one agent."""

    def __init__(self, store: Path, agent: ScriptedAgentClient) -> None:
        self._store = store
        self.agent = agent
        self.options: dict[str, Any] = {}

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Partner]:
        async with open_memory_async(self._store, embedder="none") as memory:
            yield Partner(agent=self.agent, memory=memory, model="scripted", place="here")

    def talk(self, *lines: str | Callable[[], str], paper: Paper | None = None, **options: Any) -> tuple[Exit, str]:
        """How the chat ended, and what was shown."""
        shown: list[str] = []
        typist = Typist(*lines)
        place = TalkPlace(source="chat", folder="/work", model=options.pop("model", None))
        policy = options.pop("policy", PermissionPolicy())
        with AgentLine(options.pop("opened", self.open)) as line:
            resumes = options.pop("resumes", False)
            reader = LineReader(interactive=True, read_line=typist)
            chat = Chat(
                line, ChatOptions(place=place, policy=policy, **options), paper or PlainPaper(shown.append), reader
            )
            chat.greet()
            if resumes:
                chat.enter(line.ask(place.last(line.partner.memory)))
            code = chat.take_turns()
            chat.farewell()
        return code, "".join(shown)


@pytest.fixture
def room(tmp_path: Path) -> Callable[..., Room]:
    def make(*script: Sequence[Any]) -> Room:
        return Room(tmp_path / "memory.db", ScriptedAgentClient(*script))

    return make


class Terminal:
    """What a terminal of 80 × 24 would be sent."""

    def __init__(self) -> None:
        self._file = io.StringIO()
        console = Console(
            file=self._file, force_terminal=True, width=80, height=24, highlight=False, emoji=False, markup=False
        )
        self.paper = LivePaper(console)

    @property
    def bytes(self) -> str:
        return self._file.getvalue()


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()
