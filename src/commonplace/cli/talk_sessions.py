"""Which session a talk goes on in: a new one, one that is named, or the last one of a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.cli.lines import clipped, oneline, visible
from commonplace.cli.moments import age
from commonplace.errors import NotFound

if TYPE_CHECKING:
    from commonplace.ports.memory_client import MemoryClient
    from commonplace.values.session import Session, SessionFields, SessionFilters, SessionMessage

AGENT = "assistant"
_PAGE = 100
_PAGES = 20
_TITLE = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class TalkPlace:
    """Where a talk takes place. `source` is the way in that a new session keeps."""

    source: str
    agent: str | None = None
    folder: str | None = None
    workspace: str | None = None
    model: str | None = None

    async def begin(self, memory: "MemoryClient") -> "Session":
        """A new session."""
        fields: SessionFields = {"source": self.source}
        if self.folder is not None:
            fields["folder"] = self.folder
        if self.workspace is not None:
            fields["workspace"] = self.workspace
        if self.model is not None:
            fields["model"] = self.model
        return await memory.create_session(self.agent or AGENT, **fields)

    async def last(self, memory: "MemoryClient") -> "Session":
        """
        One's own session of this folder that was used last.

        Raises:
            NotFound: there is none.
        """
        mine = await self.sessions(memory, 1)
        if not mine:
            raise NotFound(
                f"There is no session in {self.folder or 'this place'} to continue. Leave --continue out to begin one."
            )
        return mine[0]

    async def sessions(self, memory: "MemoryClient", most: int) -> "list[Session]":
        """One's own sessions of this folder, the one used last first."""
        filters: SessionFilters = {}
        if self.agent is not None:
            filters["agent"] = self.agent
        if self.workspace is not None:
            filters["workspace"] = self.workspace
        subject = (await memory.me()).subject
        mine: list[Session] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await memory.sessions(limit=_PAGE, cursor=cursor, **filters)
            mine += [talk for talk in page.sessions if talk.folder == self.folder and talk.owner == subject]
            cursor = page.cursor
            if cursor is None or len(mine) >= most:
                break
        return mine[:most]


def heading(session: "Session") -> str:
    """A session in one line."""
    title = clipped(visible(session.title or "without a title"), _TITLE)
    return oneline(f"{session.id}  {age(session.updated_at)}  {session.messages} messages  {title}")


def is_unanswered(messages: "Sequence[SessionMessage]") -> bool:
    """Whether the last thing that a person said was never answered."""
    for message in reversed(messages):
        if message.role == "assistant" and message.kind == "text":
            return bool(message.data.get("partial"))
        if message.role == "user":
            return True
    return False
