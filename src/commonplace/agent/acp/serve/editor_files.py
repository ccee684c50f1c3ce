"""
The files of a turn as the editor has them, with what is not saved yet, and written so that the editor shows it.

What may be reached is decided as without an editor: by the workspace, on the disk, before the editor is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from commonplace.agent.acp.connection import RequestRefused, RpcConnection
from commonplace.agent.tools.workspace import LARGEST_FILE, TextFiles, Workspace
from commonplace.errors import FileError, MemoryFileTooLarge, PathNotFound
from commonplace.markdown.confine import Compose, FileSnapshot, Stamp

SECONDS: Final = 10.0
"""How long the editor may take for a file."""
_MODE: Final = 0o644


@dataclass(frozen=True, kw_only=True, slots=True)
class EditorBuffers:
    """How the files of a session are asked for; it has what it `reads` and `writes`, and the disk the rest."""

    connection: RpcConnection
    session: str
    reads: bool
    writes: bool
    seconds: float = SECONDS

    def files(self, workspace: Workspace) -> TextFiles:
        """To be used in threads."""
        return EditorFiles(self, workspace, asyncio.get_running_loop())

    async def read(self, path: str) -> str:
        answer = await self._asked("fs/read_text_file", path)
        content = answer.get("content") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - what an editor says
        if not isinstance(content, str):
            raise FileError("The editor answered without the text of the file.")
        return content

    async def write(self, path: str, content: str) -> None:
        await self._asked("fs/write_text_file", path, content=content)

    async def _asked(self, method: str, path: str, **fields: str) -> Any:
        params = {"sessionId": self.session, "path": path, **fields}
        try:
            return await self.connection.request(method, params, seconds=self.seconds)
        except TimeoutError as error:
            raise FileError(f"The editor did not answer within {self.seconds:g} seconds.") from error
        except ConnectionError as error:
            raise FileError("The editor has gone.") from error
        except RequestRefused as error:
            raise FileError(f"The editor refused: {error.message}") from error


class EditorFiles(TextFiles):
    def __init__(self, buffers: EditorBuffers, workspace: Workspace, loop: asyncio.AbstractEventLoop) -> None:
        self._buffers = buffers
        self._workspace = workspace
        self._loop = loop

    def read(self, path: str) -> FileSnapshot:
        saved = self._saved(path)
        if not self._buffers.reads or (saved is not None and b"\0" in saved.data[:8192]):
            # What is no text is no editor's.
            if saved is None:
                raise PathNotFound(f"There is no {path[:80]!a} in the workspace.", path=path[:80])
            return saved
        try:
            data = self._waited(self._buffers.read(self._whole(path))).encode()
        except FileError as error:
            if saved is None:
                raise PathNotFound(f"There is no {path[:80]!a} in the workspace.", path=path[:80]) from error
            raise
        except UnicodeEncodeError as error:
            raise FileError("The editor answered with halves of characters.") from error
        if len(data) > LARGEST_FILE:
            raise MemoryFileTooLarge(f"{path[:80]!a} is larger than {LARGEST_FILE >> 20} MiB.")
        mode = _MODE if saved is None else saved.mode
        return FileSnapshot(data, Stamp(0, len(data), hashlib.sha256(data).hexdigest()), mode)

    def change(self, path: str, compose: Compose) -> FileSnapshot | None:
        self._workspace.changeable(path)
        try:
            snapshot = self.read(path)
        except PathNotFound:
            snapshot = None
        data = compose(snapshot)
        if not self._buffers.writes:
            return self._workspace.change(path, lambda _: data)
        if data is not None:
            if len(data) > LARGEST_FILE:
                raise MemoryFileTooLarge(f"{path[:80]!a} is larger than {LARGEST_FILE >> 20} MiB.")
            self._waited(self._buffers.write(self._whole(path), data.decode()))
        return snapshot

    def _saved(self, path: str) -> FileSnapshot | None:
        """What the disk has; it refuses links and whatever is closed to tools."""
        try:
            return self._workspace.read(path)
        except PathNotFound:
            return None

    def _whole(self, path: str) -> str:
        return str(self._workspace.root.joinpath(*self._workspace.parts_of(path)))

    def _waited(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def files_of(buffers: EditorBuffers) -> Callable[[Workspace], TextFiles] | None:
    """None: the editor has no part in files."""
    return buffers.files if buffers.reads or buffers.writes else None
