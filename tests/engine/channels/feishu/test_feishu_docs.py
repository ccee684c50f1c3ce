"""The pages about Feishu say what its guide says, and each command on them is one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from commonplace.channels.guides.feishu import FEISHU
from commonplace.cli import app
from commonplace.wire.channels import ChannelSettingsBody

DOCS = Path(__file__).parents[4] / "docs" / "how-to"
PAGES = [DOCS / "feishu.md", DOCS / "feishu.zh.md"]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(commonplace [^`]+)`")
EVENTS = re.compile(r"`((?:im\.|card\.)[a-z_.0-9]+)`")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def commands(text: str) -> Iterator[list[str]]:
    """The words behind `commonplace` of each call that a page shows."""
    lines = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    for line in [*lines, *INLINE.findall(text)]:
        if line.startswith("commonplace "):
            yield shlex.split(line)[1:]


@each_page
def test_a_page_names_every_permission_field_event_and_error_of_the_guide(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    signs = [problem.sign for problem in FEISHU.problems]
    fields = [field.name for field in FEISHU.fields if field.name != "app_secret"]
    events = [event for step in FEISHU.steps for event in EVENTS.findall(step.en + step.zh)]

    assert len(events) == 8
    for word in (*signs, *fields, *events, *(permission.name for permission in FEISHU.permissions)):
        assert word.lower() in text.lower(), word


@pytest.mark.parametrize(("page", "language"), list(zip(PAGES, ("en", "zh"), strict=True)))
def test_a_page_says_what_each_error_means_and_what_only_the_real_platform_shows(page: Path, language: str) -> None:
    text = page.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", text.partition("heard")[2], re.MULTILINE)
    points = re.findall(r"^- (.*)$", text, re.MULTILINE)

    assert rows == [(problem.sign, getattr(problem.meaning, language)) for problem in FEISHU.problems]
    assert points == [getattr(point, language) for point in FEISHU.open_points]


@each_page
def test_the_settings_that_a_page_shows_are_taken(page: Path) -> None:
    [settings] = re.findall(r"`(\{[^`]+\})`", page.read_text(encoding="utf-8"))

    assert ChannelSettingsBody.model_validate_json(settings).senders == "open"


@each_page
def test_each_command_of_a_page_is_one(page: Path) -> None:
    checked = list(commands(page.read_text(encoding="utf-8")))
    for words in checked:
        command: Any = typer.main.get_command(app)
        context: Any = command.make_context("commonplace", [*words])
        rest = words
        while hasattr(command, "resolve_command"):
            # Each raises an error of usage if a command, an argument or an option is not known, or is missing.
            name, command, rest = command.resolve_command(context, rest)
            context = command.make_context(name, [*rest], parent=context)

    assert len(checked) >= 10


def test_both_pages_show_the_same_commands() -> None:
    english, chinese = (list(commands(page.read_text(encoding="utf-8"))) for page in PAGES)
    chinese = [[word for word in words if word not in ("--language", "zh")] for words in chinese]

    assert sorted(english) == sorted(chinese)
