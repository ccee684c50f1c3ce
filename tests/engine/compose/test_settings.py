"""Where a setting comes from, and which source wins."""

from pathlib import Path

import pytest

from commonplace.compose.configuration import configuration
from commonplace.errors import InvalidInput
from commonplace.settings import Settings, load_settings


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository, and us in a folder of it."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / ".commonplace").mkdir()
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src")
    return root / ".commonplace"


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_flags_win_over_the_environment_over_the_workspace_over_the_home_folder(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "config.toml").write_text('store = "h"\ntenant = "h/h"\nembedder = "none"\nactor = "h"\n')
    (workspace / "config.toml").write_text('store = "w"\ntenant = "w/w"\nembedder = "static"\n')
    monkeypatch.setenv("COMMONPLACE_STORE", "e")
    monkeypatch.setenv("COMMONPLACE_TENANT", "e/e")

    settings = load_settings(store="f", embedder=None)

    assert (settings.store, settings.tenant, settings.embedder, settings.actor) == ("f", "e/e", "static", "h")


def test_a_json_file_may_be_in_camel_case(workspace: Path) -> None:
    (workspace / "config.json").write_text('{"tokenBudget": 500}')

    assert load_settings().token_budget == 500
    assert configuration().token_budget == 500


@pytest.mark.parametrize(
    "text",
    [
        'openai_api_key = "k"',
        'openai_base_url = "http://h"',
        'home = "/"',
        'embedder = "openai:m@http://h"',
        'store = "postgresql://somebody.example/theirs"',
        'embedder = "static, sentence-transformers:./model"',
    ],
)
def test_the_file_of_a_workspace_cannot_say_where_texts_are_sent_or_what_code_is_run(
    workspace: Path, text: str
) -> None:
    (workspace / "config.toml").write_text(text)

    with pytest.raises(InvalidInput):
        load_settings()


@pytest.mark.parametrize(
    "text", ["store = [", "token_budget = 0", "tenant = 'acme'", "colour = 'red'", "cache_mb = 'x'"]
)
def test_a_file_that_cannot_be_used_is_refused(home: Path, text: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(text)

    with pytest.raises(InvalidInput) as refused:
        load_settings()

    assert refused.value.code == "invalid_input"


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_OPENAI_API_KEY", "very-secret")

    settings = load_settings()

    assert "very-secret" not in repr(settings)
    assert configuration().api_key == "very-secret"


def test_the_home_folder_is_below_that_of_the_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("COMMONPLACE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert load_settings().home == configuration().home == tmp_path / ".commonplace"


def test_an_empty_variable_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_STORE", "")

    assert load_settings().store is None
