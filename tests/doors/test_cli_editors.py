"""`commonplace mcp install`: an editor's entry, and nothing else of its file changed."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from commonplace.cli import app
from commonplace.cli.commented_json import plain, with_entry
from commonplace.cli.editors import EDITORS
from commonplace.errors import InvalidFile

ENTRY = {"command": "/bin/commonplace", "args": ["mcp"]}
ZED = """// Zed settings
{
    "theme": "One Dark", // "context_servers": {
    /* keep
       this */
    "languages": { "Python": { "tab_size": 4, }, },
    "url": "http://a//b",
}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "APPDATA", "COMMONPLACE_HOME", "COMMONPLACE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


FILES = {
    "claude": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "qwen": (".qwen/settings.json", "mcpServers"),
}


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["mcp", "install", *words], prog_name="commonplace")


@pytest.mark.parametrize("editor", EDITORS)
def test_each_editors_entry_is_written_where_it_looks_for_it(home: Path, editor: str) -> None:
    result = run(editor, "--yes", "--project", "web", "--allow-delete")

    path, section = FILES[editor]
    entry = json.loads((home / path).read_text())[section]["commonplace"]
    assert result.exit_code == 0
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-4:] == ["mcp", "--project", "web", "--allow-delete"]
    assert stat.S_IMODE((home / path).stat().st_mode) == 0o600


def test_it_is_shown_before_it_is_written_and_nobody_is_passed_over(home: Path) -> None:
    result = run("cursor")

    assert result.exit_code != 0
    assert '"mcpServers"' in result.stderr
    assert not (home / ".cursor").exists()


def test_it_can_be_printed_alone(home: Path) -> None:
    result = run("zed", "--print")

    assert list(json.loads(result.stdout)) == ["context_servers"]
    assert not (home / ".config").exists()


def test_comments_and_all_else_stay_and_a_copy_is_kept(home: Path) -> None:
    file = home / ".config" / "zed" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(ZED)
    file.chmod(0o640)

    result = run("zed", "--yes", "--json")

    answer = json.loads(result.stdout)
    after = file.read_text()
    assert Path(answer["backup"]).read_text() == ZED
    assert all(line in after.splitlines() for line in ZED.splitlines())
    assert json.loads(plain(after))["context_servers"]["commonplace"] == answer["entry"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_second_time_changes_nothing_and_other_options_change_the_entry(home: Path) -> None:
    run("qwen", "--yes")
    before = (home / ".qwen" / "settings.json").read_text()

    again = run("qwen", "--yes", "--json")
    other = run("qwen", "--yes", "--project", "web")

    assert json.loads(again.stdout)["written"] is False
    assert other.exit_code == 0
    assert (home / ".qwen" / "settings.json").read_text() != before
    assert len(list((home / ".qwen").iterdir())) == 2


def test_a_link_is_followed_and_stays_a_link(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}\r\n')
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(home / "dotfiles" / "mcp.json")

    run("cursor", "--yes")

    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert list(json.loads((home / "dotfiles" / "mcp.json").read_text())["mcpServers"]) == ["commonplace", "other"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '"a"',
        '{"mcpServers": []}',
        '{"a": 1, "a": 2}',
        '{"mcpServers": 5}',
        "{" * 10_000,
        "// nothing",
        "{} {}",
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_left_as_it_is_with_the_entry_to_paste(home: Path, text: str) -> None:
    (home / ".claude.json").write_text(text)

    result = run("claude", "--yes")

    assert result.exit_code != 0
    assert '"commonplace"' in result.stderr
    assert (home / ".claude.json").read_text() == text
    assert len(list(home.iterdir())) == 1


@pytest.mark.parametrize("words", [(), ("emacs",)])
def test_an_editor_that_is_not_known_is_refused(words: tuple[str, ...]) -> None:
    assert run(*words).exit_code != 0


def test_nothing_else_than_install_can_be_asked_for() -> None:
    assert CliRunner().invoke(app, ["mcp", "remove"], prog_name="commonplace").exit_code != 0


def test_no_key_gets_into_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_URL", "http://127.0.0.1:4170")
    monkeypatch.setenv("COMMONPLACE_TOKEN", "very-private")

    run("cursor", "--yes")

    text = (home / ".cursor" / "mcp.json").read_text()
    assert "very-private" not in text
    assert json.loads(text)["mcpServers"]["commonplace"]["env"] == {"COMMONPLACE_URL": "http://127.0.0.1:4170"}


NAMES = st.sampled_from(["a", "mcpServers", "commonplace", "//", "/*", '"', "}", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4).map(
    lambda document: (
        {**document, "mcpServers": {}} if not isinstance(document.get("mcpServers", {}), dict) else document
    )
)


@given(
    document=DOCUMENTS,
    indent=st.sampled_from([None, 0, 1, 4, "\t"]),
    comment=st.sampled_from(["", "// {\n", "/* } */"]),
)
def test_whatever_is_in_the_file_one_entry_more_is_in_it_and_nothing_less(
    document: dict[str, Any], indent: int | str | None, comment: str
) -> None:
    text = comment + json.dumps(document, indent=indent)

    after = with_entry(text, "mcpServers", "commonplace", ENTRY)

    expected = {**document, "mcpServers": {**document.get("mcpServers", {}), "commonplace": ENTRY}}
    assert json.loads(plain(after)) == expected
    assert after.startswith(comment)
    assert with_entry(after, "mcpServers", "commonplace", ENTRY) == after


@given(st.text(alphabet='{}[]",:/*\\\n a1', max_size=40))
def test_what_is_no_json_is_refused_and_never_an_error_of_python(text: str) -> None:
    try:
        after = with_entry(text, "s", "n", ENTRY)
    except InvalidFile:
        return
    assert json.loads(plain(after))["s"]["n"] == ENTRY
