"""What a person at a wide terminal sees."""

from typing import Any

import pytest


@pytest.fixture
def filled(cli: Any, wide: None) -> Any:
    cli.put("Deploy with make ship", "-s", "workspace:web", "-k", "deploy", "--importance", "80", "--pin")
    cli.put("A text that \x1b[2J clears screens", "-s", "user:ana")
    return cli


def test_tables_are_drawn_with_short_ids_that_other_commands_take(filled: Any) -> None:
    id = filled.json("list", "-s", "workspace:web")["records"][0]["id"]

    shown = filled("list").out

    assert id not in shown
    assert id[:18] in shown
    assert "\x1b[" in shown
    assert filled("show", id[:18]).code == 0


def test_no_memory_can_move_the_cursor(filled: Any) -> None:
    assert "\x1b[2J" not in filled("list").out + filled("search", "screens").out


def test_a_search_shows_a_bar_for_each_part(filled: Any) -> None:
    assert "━" in filled("search", "deploy").out
    assert "passage" in filled("search", "deploy", "--explain").out


@pytest.mark.parametrize("command", [["stats"], ["doctor"], ["rules"], ["tidy"], ["version"]])
def test_every_look_at_the_store_is_drawn(filled: Any, command: list[str]) -> None:
    assert filled(*command).code == 0


def test_a_record_and_its_history_are_drawn(filled: Any) -> None:
    id = filled("list", "-q", "-s", "workspace:web").out.strip()
    filled.json("edit", id, "--text", "Deploy with make release", "--importance", "10")

    assert "make release" in filled("show", id).out
    assert "→" in filled("history", id).out


def test_rules_and_the_log_are_drawn(filled: Any) -> None:
    filled("rules", "user:ana", "--max-records", "0")

    assert "user:ana" in filled("rules").out
    assert "user:ana" in filled("tidy").out + filled("tidy", "--log").out


def test_a_narrow_terminal_gets_plain_lines(filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    assert "\x1b[" not in filled("list").out
