"""Every command says what it does and shows an example."""

import re
import shlex
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from commonplace.cli import app
from commonplace.cli.exits import MEANING

COMMANDS = (
    "put remember consolidate move extract search list show edit pin unpin delete undo history promote demote supersede import export load backup restore "
    "reindex context stats doctor purge rollback budgets tidy rules serve token open mcp acp tour chat run trust tree members share unshare version approve approvals check"
).split()


def names() -> list[str]:
    return [info.name or "" for info in app.registered_commands]


def test_the_commands_are_those_we_promise() -> None:
    assert sorted(names()) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_an_example_that_names_it(name: str) -> None:
    info = next(info for info in app.registered_commands if info.name == name)

    assert info.callback is not None
    assert info.callback.__doc__
    assert f"Example: commonplace {name}" in (info.epilog or "")


def built(name: str) -> Any:
    """The command as typer builds it; its classes are not for others to name."""
    group: Any = get_command(app)
    return group.commands[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_command_are_well_formed(name: str) -> None:
    info = next(info for info in app.registered_commands if info.name == name)
    commands = re.findall(rf"commonplace {name}\b([^|\n]*)", info.epilog or "")

    for words in commands:
        # Parsed, not run: an option that is gone, or a word too many, fails here.
        built(name).make_context(name, shlex.split(words.partition(" > ")[0]))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_described(name: str) -> None:
    undescribed = [param.name for param in built(name).params if not param.help]

    assert undescribed == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_global_options_stand_with_every_command(name: str) -> None:
    options = {option for param in built(name).params for option in param.opts}

    assert {"--store", "--tenant", "--json", "--quiet", "--debug"} <= options


def test_the_help_lists_every_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")

    shown = CliRunner().invoke(app, ["--help"]).stdout

    assert all(f"{code.value} {meaning}" in shown for code, meaning in MEANING.items())


def test_no_command_at_all_shows_the_help() -> None:
    assert "Usage" in CliRunner().invoke(app, []).output
