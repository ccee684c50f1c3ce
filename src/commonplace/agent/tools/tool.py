"""
A tool of the agent: what the model sees of it, what a person is shown before it runs, and whether a person is asked at all.

Nothing here knows the library that drives the model, so that other doors can offer the same tools.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from commonplace.text.fence import shown
from commonplace.text.scrub import scrub
from commonplace.values.json import Json
from commonplace.values.permission import ToolKind

LONGEST_LINE: Final = 200
CALL: Final[ContextVar[str | None]] = ContextVar("commonplace_call", default=None)
"""The id of the call that runs, for whoever shows how it goes."""

PlanEntry = Mapping[str, str]
"""`text` and `status` (pending, in_progress, completed)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """
    What a call came to, as the model is told it. `failed`: the text is an error. `diff`: what changed in a file. `plan`: the
    plan is this one from now on.
    """

    text: str
    failed: bool = False
    diff: str | None = None
    plan: tuple[PlanEntry, ...] | None = None


ToolArguments = Mapping[str, Json]
ToolFunction = Callable[..., Awaitable[ToolResult | str]]


def one_line(text: str, most: int = LONGEST_LINE) -> str:
    """For a title: one line, without characters that nobody sees or that a terminal obeys."""
    # Only the beginning is looked at: an argument may have megabytes.
    line = shown(" ".join(text[: most * 4].split()))
    line = "".join(character if character.isprintable() else " " for character in line)
    return line if len(line) <= most and len(text) <= most * 4 else f"{line[: most - 1]}…"


def cut_off(text: str, most: int) -> str:
    """Without secrets, and no longer than it may be."""
    # A secret at the cut must be whole when it is looked for.
    clean = scrub(text[: most + 4_096]).text
    if len(text) <= most and len(clean) <= most:
        return clean
    return f"{clean[:most]}\n[Cut off: {most:,} of {max(len(text), len(clean)):,} characters. Ask for less, or for a part.]"


def _no_diff(arguments: ToolArguments) -> str | None:
    del arguments
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentTool:
    """
    `function` is what runs: its typed arguments and its docstring are what the model sees, unless a `schema` of its arguments (which it
    then checks itself) and a `description` are given. None: another server runs it.
    `asks`: a person is asked first. `changes`: it changes something, so that it is not to be had while the agent only plans.
    `edits`: what it changes are plain files of the workspace. `untrusted`: its text was written by somebody outside, and is
    fenced. `seconds` is a time limit of its own. `title` says in one line what a call would do, `rule` which calls are
    alike ("always" holds for these), `diff` how a file would change; it may raise one of our errors, which the model is told.
    """

    name: str
    kind: ToolKind
    function: ToolFunction | None = None
    description: str | None = None
    schema: Mapping[str, object] | None = None
    asks: bool = False
    changes: bool = False
    edits: bool = False
    untrusted: bool = False
    seconds: float | None = None
    title: Callable[[ToolArguments], str] | None = None
    rule: Callable[[ToolArguments], str] | None = None
    diff: Callable[[ToolArguments], str | None] = field(default=_no_diff)

    def title_of(self, arguments: ToolArguments) -> str:
        if self.title is not None:
            return one_line(self.title(arguments))
        details = ", ".join(f"{name}: {_words(value)}" for name, value in arguments.items())
        return one_line(f"{self.name} ({details})" if details else self.name)

    def rule_of(self, arguments: ToolArguments) -> str:
        return f"{self.name}:{self.rule(arguments) if self.rule else '*'}"


def _words(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:LONGEST_LINE]
