"""What people sent into a room, as text. Whoever sent it is outside: the loop fences what is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from commonplace.agent.tools.tool import AgentTool, ToolResult
from commonplace.values.artifact import ARTIFACT_SCHEME, Artifact

MOST_READ: Final = 20_000
ReadRoomFile: TypeAlias = Callable[[str], Awaitable[tuple[Artifact, bytes]]]
"""A file of this room by its id. Raises ArtifactNotFound."""


def attachment_tool(file_of_room: ReadRoomFile) -> AgentTool:
    async def read_attachment(
        file: Annotated[str, Field(max_length=200, description="Its address, as the message says: artifact://…")],
        offset: Annotated[int, Field(ge=0, description="The first character to read, from 0.")] = 0,
    ) -> ToolResult:
        """Read a text file that somebody sent into this room: 20,000 characters from an offset on."""
        artifact, data = await file_of_room(file.strip().removeprefix(ARTIFACT_SCHEME))
        text = await asyncio.to_thread(_text_of, data)
        if text is None:
            size = f"{len(data):,} bytes of {artifact.type}"
            return ToolResult(text=f"{artifact.name} is no text ({size}), so it cannot be read.", failed=True)
        part = text[offset : offset + MOST_READ]
        rest = len(text) - offset - len(part)
        more = f"\n[{rest:,} characters more: read on at offset {offset + len(part)}.]" if rest > 0 else ""
        return ToolResult(text=f"{artifact.name}, {len(text):,} characters:\n{part}{more}")

    return AgentTool(
        name="read_attachment",
        kind="read",
        function=read_attachment,
        untrusted=True,
        title=lambda arguments: f"Read the attachment {arguments.get('file')}",
    )


def _text_of(data: bytes) -> str | None:
    """None: it is no text in UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
