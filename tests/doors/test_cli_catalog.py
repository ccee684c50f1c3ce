"""The commands for agents, workspaces, documents and the tree."""

import json
from pathlib import Path
from typing import Any

import pytest

BOTH = pytest.mark.parametrize("cli", ["store", "url"], indirect=True)


@BOTH
def test_an_agents_memory_is_switched_and_the_agent_removed(cli: Any) -> None:
    created = cli.json("agents", "create", "Release notes", "--id", "notes")
    switched = cli.json("agents", "set", "notes", "--memory")
    cli.put("make ship", "--scope", "agent:notes")
    removed = cli.json("agents", "remove", "notes", "--yes")

    assert (created["memory_enabled"], switched["memory_enabled"]) == (False, True)
    assert removed == {"id": "notes", "records": 1}
    assert cli.json("agents", "list") == {"agents": []}
    assert cli("agents", "set", "notes", "--json").error == "invalid_input"


@BOTH
def test_a_workspace_is_renamed_and_shown(cli: Any) -> None:
    cli.json("workspace", "create", "Web", "--id", "web")
    cli.json("workspace", "edit", "web", "--name", "Web shop")

    assert cli.json("workspace", "show", "web")["name"] == "Web shop"
    assert "web\tWeb shop" in cli("workspace", "list").out
    assert cli.json("workspace", "remove", "web", "--yes")["records"] == 0
    assert cli("workspace", "show", "web", "--json").error == "not_found"


@BOTH
def test_a_document_is_handed_in_shown_and_removed(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "handbook.md"
    file.write_text("We ship on Fridays.", encoding="utf-8")
    stored = cli.json("resource", "add", str(file), "--title", "Handbook")

    assert (stored["uri"], stored["title"], stored["chunks"]) == ("handbook.md", "Handbook", 1)
    assert "handbook.md" in cli("resource", "list").out
    assert "We ship on Fridays." in cli("resource", "show", "handbook.md").out
    assert cli("resource", "remove", "handbook.md", "--yes").code == 0
    assert cli.json("resource", "list")["resources"] == []
    assert cli("resource", "add", str(tmp_path / "none.md"), "--json").error == "path_not_found"


@BOTH
def test_the_tree_is_shown_level_by_level_and_read_by_its_layers(cli: Any) -> None:
    cli.put("Run make ship.", "--scope", "workspace:web", "--key", "docs/deploy.md")
    file = "commonplace://resources/web/docs/deploy.md"

    shown = cli("tree", "commonplace://resources/web", "--depth", "2").out

    assert shown.splitlines() == ["web/\t1 record", "  docs/\t1 record", "    deploy.md\tRun make ship."]
    assert cli("tree", file, "--layer", "L0").out == "Run make ship.\n"
    assert [layer["name"] for layer in cli.json("tree", file, "--make")["layers"]] == ["L0", "L1"]
    assert cli("tree", "commonplace://resources/web/none", "--json").error == "not_found"


@BOTH
def test_an_agent_is_set_up_by_options_and_by_a_file(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    servers = [{"name": "files", "command": "/bin/files", "args": ["--root", "/srv"]}]
    file.write_text(json.dumps({"persona": "You write.", "mcp_servers": servers}), encoding="utf-8")

    cli.json("agents", "create", "Notes", "--id", "notes", "--profile", str(file))
    options = (
        "--tool",
        "read",
        "--tool",
        "grep",
        "--skill",
        "/srv/skills",
        "--model",
        "librarian",
        "--approval",
        "plan",
    )
    edited = cli.json("agents", "set", "notes", *options)["profile"]
    every = cli.json("agents", "set", "notes", "--tool", "all", "--skill", "", "--model", "")["profile"]

    assert (edited["persona"], edited["mcp_servers"][0]["command"]) == ("You write.", "/bin/files")
    assert (edited["tools"], edited["skills"], edited["model"]) == (["read", "grep"], ["/srv/skills"], "librarian")
    assert (every["tools"], every["skills"], every["model"], every["approval"]) == (None, [], None, "plan")
    assert cli("agents", "show", "notes").out.splitlines()[1:] == [
        "persona\tYou write.",
        "mcp servers\tfiles (/bin/files --root /srv)",
        "approval\tplan",
    ]


@BOTH
@pytest.mark.parametrize("text", ["", "[]", '{"tools": 3}', '{"mcp": []}', '{"skills": ["relative"]}'])
def test_a_profile_that_cannot_be_used_changes_nothing(cli: Any, tmp_path: Path, text: str) -> None:
    file = tmp_path / "profile.json"
    file.write_text(text, encoding="utf-8")
    cli.json("agents", "create", "Notes", "--id", "notes")

    assert cli("agents", "set", "notes", "--profile", str(file), "--json").error == "invalid_input"
    assert cli.json("agents", "show", "notes")["profile"] is None
