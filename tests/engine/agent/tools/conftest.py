from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.tools.files import file_tools
from commonplace.agent.tools.search import search_tools
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.tools.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace, with something beside it that nobody may reach."""
    (tmp_path / "secret.txt").write_text("outside")
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "readme.md").write_text("one\ntwo\nthree\n")
    (root / "src" / "main.py").write_text("def main() -> None:\n    print('hello')\n")
    return root


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


@pytest.fixture
def tools(workspace: Workspace) -> dict[str, AgentTool]:
    return {tool.name: tool for tool in (*file_tools(workspace), *search_tools(workspace))}


@pytest.fixture
def turn() -> Desk:
    return Desk()
