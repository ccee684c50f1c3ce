"""Find files of the workspace by their names and by what is in them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from commonplace.agent.tools import grep_process
from commonplace.agent.tools.process import run_process
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.tools.wildcard import PathPattern
from commonplace.agent.tools.workspace import Workspace, in_thread
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.markdown.confine import FileInfo

MOST_PATHS: Final = 1_000
MOST_LINES_FOUND: Final = 200
GREP_SECONDS: Final = 20.0
_LARGEST_SEARCHED: Final = 2 * 1024 * 1024
_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_OUTPUT: Final = 1024 * 1024
_LONGEST_PATTERN: Final = 1_000

Below = Annotated[str, Field(description="The folder to look in, from the root of the workspace.")]


def search_tools(workspace: Workspace) -> list[AgentTool]:
    search = WorkspaceSearch(workspace)
    return [
        AgentTool(
            name="glob",
            kind="search",
            function=search.glob,
            title=lambda arguments: f"Find files {arguments.get('pattern')}",
        ),
        AgentTool(
            name="grep",
            kind="search",
            function=search.grep,
            title=lambda arguments: f"Search for {arguments.get('pattern')}",
        ),
    ]


class WorkspaceSearch:
    def __init__(self, workspace: Workspace, *, seconds: float = GREP_SECONDS) -> None:
        self._workspace = workspace
        self._seconds = seconds

    async def glob(
        self,
        pattern: Annotated[str, Field(description="For instance **/*.py, docs/*.md or *.{js,ts}.")],
        path: Below = ".",
    ) -> str:
        """Find files of the workspace by their names. Hidden files and folders of installed packages are left out."""
        files = await in_thread(self._files, path, pattern)
        lines = [file.path for file in files[:MOST_PATHS]]
        if len(files) > MOST_PATHS:
            lines.append(f"[and {len(files) - MOST_PATHS:,} more: use a narrower pattern]")
        return "\n".join(lines) or "[No file fits.]"

    async def grep(
        self,
        pattern: Annotated[
            str,
            Field(
                min_length=1,
                max_length=_LONGEST_PATTERN,
                description="A regular expression of Python, looked for in each line.",
            ),
        ],
        path: Below = ".",
        files: Annotated[str | None, Field(description="Only in files whose names fit, for instance *.py.")] = None,
        literal: Annotated[bool, Field(description="Whether the pattern is plain text.")] = False,
        ignore_case: bool = False,
    ) -> str:
        """Find lines in text files of the workspace, each with its file and its number."""
        order = {
            "pattern": re.escape(pattern) if literal else pattern,
            "flags": int(re.IGNORECASE) if ignore_case else 0,
            "most": MOST_LINES_FOUND,
        }
        texts = await in_thread(self._contents, path, files)
        output = await run_process(
            [sys.executable, "-I", "-S", str(Path(grep_process.__file__))],
            folder=self._workspace.root,
            seconds=self._seconds,
            most=_MOST_OUTPUT,
            stdin=b"".join([json.dumps(order).encode() + b"\n", *texts]),
        )
        if output.code == grep_process.NO_PATTERN:
            fault = json.loads(output.text)["fault"]
            raise InvalidInput(f"The pattern is no regular expression: {fault}. Or set `literal`.")
        if output.code not in (None, 0):
            raise InvalidInput("The pattern could not be searched for. Use a simpler one.")
        lines = [f"{name}:{number}: {line}" for name, number, line in _rows(output.text)]
        if output.late:
            lines.append(f"[Stopped after {self._seconds:g} seconds: the pattern takes too long. Use a simpler one.]")
        elif len(lines) >= MOST_LINES_FOUND:
            lines.append("[There may be more: use a narrower pattern.]")
        return "\n".join(lines) or "[Nothing found.]"

    def _files(self, path: str, pattern: str | None) -> list[FileInfo]:
        matcher = None if pattern is None else PathPattern(pattern)
        above = len(self._workspace.parts_of(path))
        files = self._workspace.walk(path)
        return files if matcher is None else [file for file in files if matcher.matches(file.parts[above:])]

    def _contents(self, path: str, pattern: str | None) -> list[bytes]:
        """Each file with a line that says its name and size. What is no text, or too large, is left out."""
        contents: list[bytes] = []
        room = _MOST_BYTES
        for file in self._searched(path, pattern):
            if file.size > min(room, _LARGEST_SEARCHED):
                continue
            try:
                data = self._workspace.read(file.path).data
            except CommonplaceError:
                # It has gone, or become a link, since it was listed.
                continue
            if b"\0" not in data[:8192]:
                room -= len(data)
                contents.append(json.dumps([file.path, len(data)]).encode() + b"\n" + data)
        return contents

    def _searched(self, path: str, pattern: str | None) -> Iterable[FileInfo]:
        parts = self._workspace.parts_of(path)
        try:
            return self._files(path, pattern)
        except CommonplaceError:
            if not parts:
                raise
            # Perhaps it names a file.
            size = len(self._workspace.read(path).data)
            return [FileInfo(parts=parts, size=size, mtime=0, mark=())]


def _rows(text: str) -> Iterable[tuple[str, int, str]]:
    for line in text.splitlines():
        try:
            name, number, content = json.loads(line)
        except ValueError:
            # The last line of a search that was stopped may be cut off.
            continue
        yield name, number, content
