"""
What a hosted agent may have us do: read and write files of the session's folder, and run commands in it, by the same rules as our own tools.

A change that a person has allowed in this turn is not asked about twice: an agent asks for the permission of its call first, and then
has us do it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

from acp import RequestError

from commonplace.agent.acp.host.calls import HostedCall, HostedCalls
from commonplace.agent.acp.host.child import Message
from commonplace.agent.acp.host.terminals import Terminals
from commonplace.agent.acp.host.updates import Fields, entries, text
from commonplace.agent.equipment import ToolOptions
from commonplace.agent.supplies import SessionSupplies
from commonplace.agent.tools.files import FileWriter, text_of
from commonplace.agent.tools.workspace import TextFiles, Workspace, in_thread
from commonplace.errors import Forbidden, InvalidInput, PathNotFound

Permit: TypeAlias = Callable[[HostedCall], Awaitable[bool]]
"""Whether a person allows it: by a rule, or asked now."""
_MOST_LINES: Final = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientParts:
    """`folder` None: there are no files to be had; `may_run`: who speaks may run commands."""

    agent: str
    folder: Path | None
    may_run: bool
    tools: ToolOptions
    supplies: SessionSupplies
    calls: HostedCalls
    permit: Permit


class HostedClient:
    """For one turn. `aclose` ends what is still running."""

    def __init__(self, parts: ClientParts) -> None:
        self._parts = parts
        self._workspace = workspace = (
            None if parts.folder is None else Workspace(parts.folder, closed=parts.tools.closed)
        )
        lend = parts.supplies.files
        self._files = workspace if workspace is None or lend is None else lend(workspace)
        self._terminals = Terminals(parts.tools)

    async def serve(self, method: str, params: Fields) -> Message:
        """
        Raises:
            acp.RequestError: there is no such method.
            CommonplaceError: it cannot be done, or nobody permitted it.
        """
        if method == "fs/read_text_file":
            return await self._read(params)
        if method == "fs/write_text_file":
            return await self._write(params)
        if method == "terminal/create":
            return await self._run(params)
        if method.startswith("terminal/"):
            return await self._terminals.serve(method, params)
        raise RequestError.method_not_found(method)

    async def aclose(self) -> None:
        """End what is still running."""
        await self._terminals.aclose()

    # ---- files

    def _places(self) -> tuple[Workspace, TextFiles]:
        if self._workspace is None or self._files is None:
            raise Forbidden("There is no folder in this session. Work without files.")
        return self._workspace, self._files

    async def _read(self, params: Fields) -> Message:
        (_, files), path = self._places(), text(params.get("path"))
        snapshot = await in_thread(files.read, path)
        content = await in_thread(text_of, snapshot, path)
        line, limit = params.get("line"), params.get("limit")
        if isinstance(line, int) or isinstance(limit, int):
            begin = max(0, line - 1) if isinstance(line, int) else 0
            count = limit if isinstance(limit, int) and limit >= 0 else _MOST_LINES
            content = "".join(content.splitlines(keepends=True)[begin : begin + count])
        return {"content": content}

    async def _write(self, params: Fields) -> Message:
        parts, (workspace, files) = self._parts, self._places()
        writer = FileWriter(workspace, files)
        path, content = text(params.get("path")), params.get("content")
        if not isinstance(content, str):
            raise InvalidInput("content is the text that the file is to hold.")
        names = await in_thread(workspace.parts_of, path)
        whole = str(workspace.root.joinpath(*names))
        if not (parts.calls.permits_writing(path) or parts.calls.permits_writing(whole)):
            before = await in_thread(_before, files, path)
            change = {"type": "diff", "path": whole, "oldText": before, "newText": content}
            # What a person is shown is what is written: a file that changes meanwhile is left as it is.
            await in_thread(writer.diff_of_write, {"path": path, "content": content})
            call = HostedCall(f"write-{uuid4().hex}", parts.agent, workspace.root)
            call.merge({"title": f"Write {'/'.join(names)}", "kind": "edit", "name": "write_file", "content": [change]})
            if not await parts.permit(call):
                raise Forbidden("This change was not permitted. Go on without it.")
        await writer.write_file(path, content)
        return {}

    # ---- commands

    async def _run(self, params: Fields) -> Message:
        parts = self._parts
        if not parts.may_run or parts.folder is None:
            raise Forbidden(
                "Commands are not to be had in this session: only the operator's agent runs them, in the folder of the session."
            )
        words = [text(params.get("command")), *(text(word) for word in params.get("args") or ())]
        if not words[0] or any("\0" in word for word in words):
            raise InvalidInput("A command has a name, and no NUL characters.")
        if not parts.calls.take_command(words):
            call = HostedCall(f"command-{uuid4().hex}", parts.agent, parts.folder)
            call.merge({"kind": "execute", "name": "shell", "rawInput": {"command": words}})
            if not await parts.permit(call):
                raise Forbidden("This command was not permitted. Go on without it.")
        folder = await self._place(text(params.get("cwd")))
        variables = {text(row.get("name")): text(row.get("value")) for row in entries(params.get("env"))}
        return {"terminalId": await self._terminals.create(words, folder, variables, params.get("outputByteLimit"))}

    async def _place(self, cwd: str) -> Path:
        """A folder of the workspace, else its root. Raises PathEscape, PathNotFound."""
        workspace, _ = self._places()
        if not cwd:
            return workspace.root
        folder = workspace.root.joinpath(*await in_thread(workspace.parts_of, cwd))
        if not await asyncio.to_thread(lambda: folder.is_dir() and folder.resolve().is_relative_to(workspace.root)):
            raise PathNotFound("There is no such folder in the workspace.")
        return folder


def _before(files: TextFiles, path: str) -> str | None:
    try:
        return text_of(files.read(path), path)
    except PathNotFound:
        return None
