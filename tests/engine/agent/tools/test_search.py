from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.agent.tools.desk import Desk

from commonplace.agent.tools.search import WorkspaceSearch
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.tools.wildcard import PathPattern
from commonplace.agent.tools.workspace import Workspace
from commonplace.errors import InvalidInput

pytestmark = pytest.mark.anyio
Tools = dict[str, AgentTool]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*", ["readme.md", "src/main.py"]),
        ("*.py", ["src/main.py"]),
        ("**/*.{py,md}", ["readme.md", "src/main.py"]),
        ("src/*", ["src/main.py"]),
        ("./readme.m?", ["readme.md"]),
        ("src/**", ["src/main.py"]),
        ("nothing", ["[No file fits.]"]),
    ],
)
async def test_files_are_found_by_their_names(turn: Desk, tools: Tools, pattern: str, paths: list[str]) -> None:
    answer = await turn.call(tools["glob"], pattern=pattern)

    assert str(answer.content).split("\n") == paths


async def test_installed_packages_and_hidden_files_are_not_searched(turn: Desk, tools: Tools, root: Path) -> None:
    for folder in ("node_modules/a", ".cache"):
        (root / folder).mkdir(parents=True)
        (root / folder / "hello.py").write_text("hello")

    answer = await turn.call(tools["grep"], pattern="hello")

    assert answer.content == "src/main.py:2:     print('hello')"


PARTS = st.lists(st.text(alphabet="ab", min_size=1, max_size=4), min_size=1, max_size=4)
PATTERN = st.lists(st.sampled_from(["**", "*", "a", "b", "a*", "*b*", "?", "*a?b"]), min_size=2, max_size=5)


@given(parts=PARTS, pattern=PATTERN)
def test_a_pattern_fits_what_the_same_regular_expression_fits(parts: list[str], pattern: list[str]) -> None:
    expression = "".join(
        r"(?:[^/]+/)*" if name == "**" else name.replace("*", "[^/]*").replace("?", "[^/]") + "/" for name in pattern
    )

    fits = re.fullmatch(expression, "".join(f"{part}/" for part in parts)) is not None

    assert PathPattern("/".join(pattern)).matches(parts) == fits


def test_a_pattern_made_to_be_slow_is_not() -> None:
    assert not PathPattern("*a" * 200 + "b").matches(["a" * 1000])
    assert not PathPattern("**/" * 100 + "b").matches(["a"] * 32)


@pytest.mark.parametrize("pattern", ["", "a" * 600, "{a", "{a{b}}", "{a,b}" * 20])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput):
        PathPattern(pattern)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "t(wo|hree)"}, ["readme.md:2: two", "readme.md:3: three"]),
        ({"pattern": "TWO"}, ["[Nothing found.]"]),
        ({"pattern": "TWO", "ignore_case": True}, ["readme.md:2: two"]),
        ({"pattern": "main()", "literal": True}, ["src/main.py:1: def main() -> None:"]),
        (
            {"pattern": "o", "files": "*.py"},
            ["src/main.py:1: def main() -> None:", "src/main.py:2:     print('hello')"],
        ),
        ({"pattern": "o", "path": "readme.md"}, ["readme.md:1: one", "readme.md:2: two"]),
        ({"pattern": "hello", "path": "src"}, ["src/main.py:2:     print('hello')"]),
    ],
)
async def test_lines_are_found_by_a_pattern(
    turn: Desk, tools: Tools, arguments: dict[str, str], lines: list[str]
) -> None:
    answer = await turn.call(tools["grep"], **arguments)

    assert str(answer.content).split("\n") == lines


async def test_a_pattern_that_would_never_end_is_stopped_and_what_it_found_is_told(root: Path) -> None:
    (root / "long.txt").write_text("a" * 200 + "!")
    (root / "a.txt").write_text("aaa")
    search = WorkspaceSearch(Workspace(root), seconds=1)

    text = await search.grep(r"^(a+)+$")

    assert text.startswith("a.txt:1: aaa\n[Stopped")


@pytest.mark.parametrize("pattern", ["(", "a{5,2}", "(" * 5_000, "a" * 2_000, "\\"])
async def test_what_is_no_pattern_is_told(turn: Desk, tools: Tools, pattern: str) -> None:
    answers = await turn.turn([tools["grep"]], [("grep", {"pattern": pattern})])

    assert answers[0].outcome in ("failed", "retried")


async def test_a_flood_of_lines_ends(turn: Desk, tools: Tools, root: Path) -> None:
    (root / "many.txt").write_text("x\n" * 10_000)

    answer = await turn.call(tools["grep"], pattern="x")

    assert str(answer.content).count("\n") == 200


async def test_binary_files_and_links_are_left_out(turn: Desk, tools: Tools, root: Path) -> None:
    (root / "b.bin").write_bytes(b"\0hello")
    (root / "link.txt").symlink_to(root.parent / "secret.txt")

    answer = await turn.call(tools["grep"], pattern="hello|outside")

    assert answer.content == "src/main.py:2:     print('hello')"
