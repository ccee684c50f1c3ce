"""
Skills: folders with a `SKILL.md` that says how something is done here.

    ---
    name: release-notes
    description: How we write release notes. Use it before you write any.
    ---
    Begin with what changed for people who use it. …

The system prompt names each skill in one line. The model reads one only when it needs it, by the tool `use_skill`; from the next turn
on its text stands at the head of the messages, whatever was left out of the history. Folders come from the agent's row, which
only an admin may change; what lies in them is read by `markdown/confine`, so that no link leads out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from commonplace.agent.tools.tool import AgentTool, one_line
from commonplace.errors import CommonplaceError, InvalidInput, PathNotFound
from commonplace.markdown.confine import Folder, Parts
from commonplace.markdown.entries import EntryProblem, split
from commonplace.values.paths import expand_path
from commonplace.values.session import SessionMessage

TOOL: Final = "use_skill"
FILE: Final = "SKILL.md"
LARGEST: Final = 64 * 1024
MOST_SKILLS: Final = 100
MOST_ACTIVE: Final = 8
"""So many skills stand at the head of the messages, those that were used last."""

_MOST_FILES: Final = 50
_DEEPEST: Final = 3
_LONGEST_DESCRIPTION: Final = 1_024
_NAME: Final = re.compile(r"\w[\w.-]{0,63}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """`files` are others in its folder, as paths from there."""

    name: str
    description: str
    body: str
    folder: Folder
    inside: Parts = ()
    files: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """For the system prompt."""
        return f"{self.name}: {self.description}"

    @property
    def text(self) -> str:
        """What the model is told that uses it."""
        files = f"\n\nFiles of this skill, for `{TOOL}` with `file`: {', '.join(self.files)}" if self.files else ""
        return f"The skill {self.name}:\n\n{self.body}{files}"


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A folder or a file that cannot be a skill, and what to do about it."""

    path: str
    reason: str


class SkillShelf:
    """
    The skills in these folders, each with a `SKILL.md` in it or a few levels below, by name; of two that have the same the first
    counts. Make it in a thread: it reads files. What cannot be read is one of the `problems`, for the person who set the agent up, and
    costs no other skill.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self.skills, self.problems = _load(folders)

    @property
    def lines(self) -> tuple[str, ...]:
        """One for each, by name."""
        return tuple(self.skills[name].line for name in sorted(self.skills))

    def active(self, messages: Sequence[SessionMessage]) -> dict[str, str]:
        """
        What the skills say that the session has used, by name, in the order in which it did: they stand at the head of the messages.
        """
        results = {message.call: message for message in messages if message.kind == "tool_result"}
        names: dict[str, None] = {}
        for message in messages:
            name = _name_in(message)
            result = results.get(message.call)
            if name in self.skills and result is not None and not result.data.get("failed"):
                # Used again, it is the latest.
                names.pop(name, None)
                names[name] = None
        return {name: self.skills[name].text for name in list(names)[-MOST_ACTIVE:]}

    def tools(self, active: dict[str, str]) -> list[AgentTool]:
        """The tool by which a skill becomes one of the `active` ones; none if there is no skill."""

        async def use_skill(
            name: Annotated[str, Field(max_length=100, description="The skill, as the list of skills names it.")],
            file: Annotated[
                str | None,
                Field(max_length=500, description="A file that the skill mentions; without it, the skill itself."),
            ] = None,
        ) -> str:
            """Read how something is done here, before you do it: a skill of the list, and then follow it."""
            text = await self.read(name, file)
            if file is None:
                # Used again, it is the latest.
                active.pop(name, None)
                active[name] = text
                while len(active) > MOST_ACTIVE:
                    del active[next(iter(active))]
            return text

        tool = AgentTool(
            name=TOOL, kind="read", function=use_skill, title=lambda arguments: f"Use the skill {arguments.get('name')}"
        )
        return [tool] if self.skills else []

    async def read(self, name: str, file: str | None = None) -> str:
        """
        What a skill says, or a file of it.

        Raises:
            InvalidInput: there is no such skill.
            PathNotFound: it has no such file.
        """
        skill = self.skills.get(name)
        if skill is None:
            names = ", ".join(sorted(self.skills)) or "none"
            raise InvalidInput(f"There is no skill {one_line(name, 80)!r}. The skills are: {names}.")
        if file is None:
            return skill.text
        if file not in skill.files:
            files = ", ".join(skill.files) or "none"
            raise PathNotFound(f"The skill {name} has no file {one_line(file, 80)!r}. Its files are: {files}.")
        data = await asyncio.to_thread(skill.folder.read, (*skill.inside, *file.split("/")), LARGEST)
        return data.data.decode("utf-8", "replace")


def _load(folders: Sequence[str]) -> tuple[dict[str, Skill], tuple[SkillProblem, ...]]:
    skills: dict[str, Skill] = {}
    problems: list[SkillProblem] = []
    for path in folders:
        try:
            entries = _skills_in(path)
        except CommonplaceError as error:
            problems.append(SkillProblem(path, error.message))
            continue
        for skill in entries:
            if isinstance(skill, SkillProblem):
                problems.append(skill)
            elif skill.name in skills:
                problems.append(
                    SkillProblem(path, f"There is a skill {skill.name} already. Give this one another name.")
                )
            elif len(skills) == MOST_SKILLS:
                problems.append(
                    SkillProblem(path, f"An agent has at most {MOST_SKILLS} skills. Leave some folders out.")
                )
                return skills, tuple(problems)
            else:
                skills[skill.name] = skill
    return skills, tuple(problems)


def _skills_in(path: str) -> list[Skill | SkillProblem]:
    root = expand_path(Path(path))
    folder = Folder(root)
    if not root.is_dir():
        raise PathNotFound("There is no such folder. Correct the agent's skills.")
    listing = folder.walk("")
    homes = [info.parts[:-1] for info in listing if info.parts[-1] == FILE and len(info.parts) <= _DEEPEST]
    if not homes:
        raise PathNotFound(f"There is no {FILE} in it, nor a few levels below.")
    entries: list[Skill | SkillProblem] = []
    for home in homes:
        others = [info.parts for info in listing if info.parts[: len(home)] == home and info.parts != (*home, FILE)]
        # What lies in the folder of a skill inside this one is that one's.
        nested = [other for other in homes if len(other) > len(home) and other[: len(home)] == home]
        files = [parts for parts in others if not any(parts[: len(other)] == other for other in nested)]
        names = ("/".join(parts[len(home) :]) for parts in files[:_MOST_FILES])
        entries.append(_skill(folder, home, path, tuple(name for name in names if name.isprintable())))
    return entries


def _skill(folder: Folder, home: Parts, root: str, files: tuple[str, ...]) -> Skill | SkillProblem:
    path = "/".join((root.rstrip("/"), *home, FILE))
    try:
        text = folder.read((*home, FILE), LARGEST).data.decode("utf-8-sig")
    except CommonplaceError as error:
        return SkillProblem(path, error.message)
    except UnicodeDecodeError:
        return SkillProblem(path, "It is not UTF-8 text.")
    parted = split(text, path)
    if isinstance(parted, EntryProblem):
        return SkillProblem(path, parted.reason)
    name = parted.fields.get("name", "").strip()
    description = one_line(parted.fields.get("description", ""), _LONGEST_DESCRIPTION).strip()
    if not _NAME.fullmatch(name):
        return SkillProblem(path, "Its frontmatter needs a name of letters, digits, dots, dashes and underscores.")
    if not description:
        return SkillProblem(path, "Its frontmatter needs a description that says when to use the skill.")
    if not parted.body.strip() or "\0" in parted.body:
        return SkillProblem(path, "There is no text below its frontmatter, or one with a NUL character.")
    return Skill(name=name, description=description, body=parted.body, folder=folder, inside=home, files=files)


def _name_in(message: SessionMessage) -> str:
    """The skill that a call asks for; empty if it is no such call, or asks for a file of one."""
    arguments = message.data.get("arguments")
    if message.kind != "tool_call" or message.data.get("tool") != TOOL or not isinstance(arguments, dict):
        return ""
    return "" if arguments.get("file") else str(arguments.get("name") or "")
