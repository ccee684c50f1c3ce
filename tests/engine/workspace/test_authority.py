"""Which settings the file of a workspace may set."""

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.settings import Settings
from commonplace.workspace.authority import AUTHORITY, sort_settings


def test_every_setting_has_its_place_in_the_table_and_nothing_else_does() -> None:
    assert sorted(AUTHORITY) == sorted(Settings.model_fields)


def test_only_what_can_do_no_harm_is_free() -> None:
    assert [name for name, authority in AUTHORITY.items() if authority == "free"] == ["token_budget", "memory_mode"]


@pytest.mark.parametrize(
    "part", ["key", "url", "token", "host", "port", "llm", "budget_usd", "price", "roots", "proxies", "log", "home"]
)
def test_keys_addresses_models_money_and_folders_outside_are_never_a_workspaces(part: str) -> None:
    about = {name: authority for name, authority in AUTHORITY.items() if part in name and name != "token_budget"}

    assert about
    assert set(about.values()) == {"never"}


def test_a_name_that_is_no_setting_is_counted_and_not_repeated(tmp_path: Path) -> None:
    result = sort_settings({"colour\x1b[2J": "red", "token_budget": 5}, tmp_path)

    assert (result.unknown, dict(result.free)) == (1, {"token_budget": 5})
    assert "colour" not in repr(result)


@pytest.mark.parametrize("value", ["memory.db", ".commonplace/memory.db", "a/../memory.db"])
def test_a_path_of_a_store_is_meant_from_the_root_of_the_workspace(tmp_path: Path, value: str) -> None:
    result = sort_settings({"store": value}, tmp_path)

    assert Path(str(result.trust["store"])) == (tmp_path / value).resolve()


@pytest.mark.parametrize(
    "value",
    [
        "../other.db",
        "/etc/passwd",
        "~/memory.db",
        "link/memory.db",
        "link.db",
        "folder",
        ".",
        "",
        "a\0b",
        "postgresql://somebody.example/theirs",
        "file:///tmp/x",
        5,
        ["memory.db"],
    ],
)
def test_a_store_that_is_no_file_in_the_workspace_never_counts(tmp_path: Path, value: Any) -> None:
    root = tmp_path / "workspace"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "link.db").symlink_to(tmp_path / "outside" / "memory.db")

    result = sort_settings({"store": value}, root)

    assert (dict(result.trust), list(result.never)) == ({}, ["store"])


@pytest.mark.parametrize(
    "value", ["static", "none", "static, openai:m", "openai:org/m:latest#256", "sentence-transformers"]
)
def test_an_embedder_that_names_no_address_and_no_model_to_load_can_be_trusted(tmp_path: Path, value: str) -> None:
    assert sort_settings({"embedder": value}, tmp_path).trust == {"embedder": value}


@pytest.mark.parametrize(
    "value",
    [
        "openai:m@http://h",
        "static,openai:m@http://h",
        "openai:http://h",
        "sentence-transformers:./model",
        "static, sentence-transformers:somebody/model",
        5,
    ],
)
def test_an_embedder_with_an_address_or_a_model_to_load_never_counts(tmp_path: Path, value: Any) -> None:
    result = sort_settings({"embedder": value}, tmp_path)

    assert (dict(result.trust), list(result.never)) == ({}, ["embedder"])


def test_what_never_counts_is_named_without_its_value(tmp_path: Path) -> None:
    result = sort_settings({"openai_api_key": "very-secret", "store": "postgresql://u:very-secret@h/d"}, tmp_path)

    assert sorted(result.never) == ["openai_api_key", "store"]
    assert "very-secret" not in json.dumps(dict(result.never))
