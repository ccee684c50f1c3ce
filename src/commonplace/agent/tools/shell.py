"""
A command of the shell, in the workspace.

It has the rights of whoever runs Commonplace, unless it runs inside `bwrap`: there the whole disk can be read and only the workspace
written, the home folder of Commonplace is not to be seen, and there is no network.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol

from pydantic import Field

from commonplace.agent.tools.process import ProcessOutput, run_process
from commonplace.agent.tools.tool import AgentTool, ToolResult
from commonplace.agent.tools.workspace import Workspace
from commonplace.errors import InvalidInput

Sandbox = Literal["none", "bwrap"]
LONGEST_COMMAND: Final = 16_000
_SHELL: Final = "/bin/sh"
_MOST_OUTPUT: Final = 60_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellOptions:
    """`closed` are folders that a command inside `bwrap` does not see."""

    seconds: float = 120.0
    sandbox: Sandbox = "none"
    closed: Sequence[Path] = ()


class RunCommand(Protocol):
    """Runs a program to its end: here (`run_process`), or where somebody watches it."""

    async def __call__(self, command: Sequence[str], *, folder: Path, seconds: float, most: int) -> ProcessOutput:
        """After so many seconds it is stopped. Of what it writes about `most` bytes are kept. Raises PathNotFound, FileError."""
        ...


def shell_tool(workspace: Workspace, options: ShellOptions, run: RunCommand = run_process) -> AgentTool:
    shell = WorkspaceShell(workspace, options, run)
    return AgentTool(
        name="shell",
        kind="execute",
        function=shell.shell,
        asks=True,
        changes=True,
        # The command stops at its own limit and says what it wrote until then; only after that would the call be stopped.
        seconds=options.seconds + 10,
        title=lambda arguments: f"Run {arguments.get('command')}",
        # Just this command: a command with something behind it is another one.
        rule=lambda arguments: str(arguments.get("command")).strip(),
    )


class WorkspaceShell:
    def __init__(self, workspace: Workspace, options: ShellOptions, run: RunCommand) -> None:
        self._workspace = workspace
        self._options = options
        self._run = run

    async def shell(
        self,
        command: Annotated[str, Field(min_length=1, max_length=LONGEST_COMMAND, description="A command for sh.")],
    ) -> ToolResult:
        """
        Run a command of the shell in the root of the workspace, and answer what it wrote. Nothing can be typed into it, and
        nothing it starts is left running: a server cannot be started so.
        """
        if "\0" in command:
            raise InvalidInput("A command has no NUL characters.")
        output = await self._run(
            self._command(command), folder=self._workspace.root, seconds=self._options.seconds, most=_MOST_OUTPUT
        )
        if output.late:
            end = f"[Stopped after {self._options.seconds:g} seconds.]"
        elif output.flood:
            end = "[Stopped: it wrote too much.]"
        else:
            end = "" if output.code == 0 else f"[Exit code {output.code}.]"
        text = "\n".join(part for part in (output.text.rstrip("\n"), end) if part)
        return ToolResult(text=text or "[It wrote nothing.]", failed=output.code != 0)

    def _command(self, command: str) -> list[str]:
        plain = [_SHELL, "-c", command]
        if self._options.sandbox == "none":
            return plain
        if (bwrap := shutil.which("bwrap")) is None:
            raise InvalidInput(
                "Commands are to run inside bwrap, which is not installed. The operator has to install bubblewrap, or to set "
                "agent_shell_sandbox to none."
            )
        return [bwrap, *sandbox_arguments(self._workspace.root, self._options.closed), "--", *plain]


def sandbox_arguments(root: Path, closed: Sequence[Path]) -> list[str]:
    """What is mounted later covers what is mounted before: the workspace wins over /tmp, a closed folder over the workspace."""
    arguments = ["--die-with-parent", "--new-session", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev"]
    arguments += ["--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(root), str(root)]
    for folder in closed:
        if folder.is_dir():
            arguments += ["--tmpfs", str(folder.resolve())]
    return [*arguments, "--chdir", str(root)]
