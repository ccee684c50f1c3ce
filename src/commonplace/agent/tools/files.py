"""Files of the workspace: read, list, write, edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from pydantic import Field

from commonplace.agent.tools.difference import unified
from commonplace.agent.tools.tool import AgentTool, ToolArguments, ToolResult
from commonplace.agent.tools.workspace import LARGEST_FILE, TextFiles, Workspace, in_thread
from commonplace.errors import FileChanged, InvalidInput, PathNotFound
from commonplace.markdown.confine import FileSnapshot, Stamp

MOST_LINES: Final = 2_000
MOST_ENTRIES: Final = 1_000
_LONGEST_LINE: Final = 2_000

FilePath = Annotated[str, Field(description="The file's path from the root of the workspace.")]


def file_tools(workspace: Workspace, files: TextFiles | None = None) -> list[AgentTool]:
    """What reads asks nobody; what writes asks, and shows how the file would change. `files` None: those on the disk."""
    files = files or workspace
    reader, writer = FileReader(workspace, files), FileWriter(workspace, files)
    return [
        AgentTool(
            name="read_file",
            kind="read",
            function=reader.read_file,
            title=lambda arguments: f"Read {arguments.get('path')}",
        ),
        AgentTool(
            name="list_folder",
            kind="read",
            function=reader.list_folder,
            title=lambda arguments: f"List {arguments.get('path', '.')}",
        ),
        AgentTool(
            name="write_file",
            kind="edit",
            function=writer.write_file,
            asks=True,
            changes=True,
            edits=True,
            title=lambda arguments: f"Write {arguments.get('path')}",
            rule=writer.rule,
            diff=writer.diff_of_write,
        ),
        AgentTool(
            name="edit_file",
            kind="edit",
            function=writer.edit_file,
            asks=True,
            changes=True,
            edits=True,
            title=lambda arguments: f"Edit {arguments.get('path')}",
            rule=writer.rule,
            diff=writer.diff_of_edit,
        ),
    ]


class FileReader:
    def __init__(self, workspace: Workspace, files: TextFiles) -> None:
        self._workspace = workspace
        self._files = files

    async def read_file(
        self,
        path: FilePath,
        offset: Annotated[int, Field(ge=1, description="The first line to read, from 1.")] = 1,
        limit: Annotated[int, Field(ge=1, le=MOST_LINES, description="How many lines.")] = MOST_LINES,
    ) -> str:
        """Read a text file of the workspace, or a part of it."""
        return await in_thread(self._read, path, offset, limit)

    def _read(self, path: str, offset: int, limit: int) -> str:
        # Only at line feeds: a form feed in a line does not end it for whoever counts lines.
        lines = text_of(self._files.read(path), path).split("\n")
        if lines[-1] == "":
            lines.pop()
        if offset > max(1, len(lines)):
            raise InvalidInput(f"The file has {len(lines):,} lines. Begin at one of them.")
        part = lines[offset - 1 : offset - 1 + limit]
        text = "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… [cut off]" for line in part)
        last = offset - 1 + len(part)
        if offset == 1 and last == len(lines):
            return text or "[The file is empty.]"
        more = f" Go on with offset {last + 1}." if last < len(lines) else ""
        return f"{text}\n[Lines {offset:,} to {last:,} of {len(lines):,}.{more}]"

    async def list_folder(
        self, path: Annotated[str, Field(description="The folder's path from the root of the workspace.")] = "."
    ) -> str:
        """List the files and folders of a folder of the workspace. Hidden ones and links are left out."""
        entries = await in_thread(self._workspace.listing, path)
        lines = [f"{entry.name}/" if entry.is_folder else f"{entry.name} ({entry.size:,} bytes)" for entry in entries]
        more = [f"[and {len(lines) - MOST_ENTRIES:,} more]"] if len(lines) > MOST_ENTRIES else []
        return "\n".join([*lines[:MOST_ENTRIES], *more]) or "[The folder is empty.]"


class FileWriter:
    """What a person was shown is what is written: a file that changed since it was shown is left as it is."""

    def __init__(self, workspace: Workspace, files: TextFiles) -> None:
        self._workspace = workspace
        self._files = files
        self._stamps: dict[str, Stamp | None] = {}

    def rule(self, arguments: ToolArguments) -> str:
        """An answer for longer holds for all plain files, and for a hidden one alone."""
        path = str(arguments.get("path"))
        return "/".join(self._workspace.parts_of(path)) if self._workspace.is_hidden(path) else "*"

    def diff_of_write(self, arguments: ToolArguments) -> str:
        path, content = str(arguments["path"]), str(arguments["content"])
        snapshot = self._shown(path)
        return unified(path, None if snapshot is None else text_of(snapshot, path), content)

    def diff_of_edit(self, arguments: ToolArguments) -> str:
        path = str(arguments["path"])
        snapshot = self._shown(path)
        if snapshot is None:
            raise PathNotFound(f"There is no {path[:80]!a}. Use write_file to make it.")
        before = text_of(snapshot, path)
        old, new = str(arguments["old_text"]), str(arguments["new_text"])
        return unified(path, before, replaced(before, old, new, everywhere=bool(arguments.get("replace_all"))))

    async def write_file(
        self, path: FilePath, content: Annotated[str, Field(description="All that the file is to hold.")]
    ) -> ToolResult:
        """Write a text file of the workspace: make it, or replace all it holds. To change a part, use edit_file."""

        def compose(snapshot: FileSnapshot | None) -> tuple[str | None, str]:
            return None if snapshot is None else text_of(snapshot, path), content

        return await in_thread(self._changed, path, compose)

    async def edit_file(
        self,
        path: FilePath,
        old_text: Annotated[
            str, Field(description="The text to replace, exactly as it is in the file, line ends included.")
        ],
        new_text: Annotated[str, Field(description="What stands there instead.")],
        replace_all: Annotated[bool, Field(description="Whether every place is meant, not just one.")] = False,
    ) -> ToolResult:
        """Replace a text in a file of the workspace. The old text must be there exactly once, unless all places are meant."""

        def compose(snapshot: FileSnapshot | None) -> tuple[str | None, str]:
            if snapshot is None:
                raise PathNotFound(f"There is no {path[:80]!a}. Use write_file to make it.")
            before = text_of(snapshot, path)
            return before, replaced(before, old_text, new_text, everywhere=replace_all)

        return await in_thread(self._changed, path, compose)

    def _shown(self, path: str) -> FileSnapshot | None:
        """The file as a person is about to see it."""
        key = "/".join(self._workspace.parts_of(path))
        try:
            snapshot = self._files.read(path)
        except PathNotFound:
            snapshot = None
        self._stamps[key] = snapshot.stamp if snapshot else None
        return snapshot

    def _changed(self, path: str, compose: Callable[[FileSnapshot | None], tuple[str | None, str]]) -> ToolResult:
        key = "/".join(self._workspace.parts_of(path))
        is_stamped, stamp = key in self._stamps, self._stamps.pop(key, None)
        texts: list[tuple[str | None, str]] = []

        def content(snapshot: FileSnapshot | None) -> bytes:
            if is_stamped and stamp != (snapshot.stamp if snapshot else None):
                raise FileChanged
            texts[:] = [compose(snapshot)]
            return _encoded(texts[0][1])

        self._files.change(path, content)
        before, after = texts[0]
        if before == after:
            return ToolResult(text=f"{key} is just so already.")
        verb = "Made" if before is None else "Changed"
        return ToolResult(text=f"{verb} {key}.", diff=unified(key, before, after))


def text_of(snapshot: FileSnapshot, path: str) -> str:
    """
    Raises:
        InvalidInput: it is no text.
    """
    if b"\0" in snapshot.data[:8192]:
        raise InvalidInput(f"{path[:80]!a} is no text file.")
    try:
        return snapshot.data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path[:80]!a} is no text file in UTF-8.") from None


def replaced(text: str, old: str, new: str, *, everywhere: bool) -> str:
    """
    The text with `new` for `old`. A file with the line ends of Windows keeps them, however the model writes them.

    Raises:
        InvalidInput: `old` is not there, or is there more than once.
    """
    if not old:
        raise InvalidInput("old_text is empty. To make a file, use write_file.")
    if old == new:
        raise InvalidInput("old_text and new_text are the same. Nothing would change.")
    if old not in text and "\r\n" in text:
        old, new = _windows(old), _windows(new)
    count = text.count(old)
    if count == 0:
        raise InvalidInput("old_text is not in the file. Read the file, and copy the text exactly.")
    if count > 1 and not everywhere:
        raise InvalidInput(f"old_text is there {count:,} times. Give more lines around it, or set replace_all.")
    if len(text) + count * (len(new) - len(old)) > LARGEST_FILE:
        raise InvalidInput(f"The file would be larger than {LARGEST_FILE >> 20} MiB.")
    return text.replace(old, new)


def _windows(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("The text has halves of characters (lone surrogates). Write it without them.") from None
