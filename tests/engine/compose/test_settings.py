"""Where a setting comes from, and which source wins."""

import os
import warnings
from pathlib import Path

import pytest

from commonplace.compose.configuration import configuration
from commonplace.compose.daemon import environment
from commonplace.errors import InvalidInput
from commonplace.settings import FROM_WORKSPACE, Settings, load_settings
from commonplace.workspace.authority import AUTHORITY
from commonplace.workspace.file import read_workspace_file
from commonplace.workspace.ledger import TrustLedger
from commonplace.workspace.report import PassedOver


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository, and us in a folder of it."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / ".commonplace").mkdir()
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src")
    return root / ".commonplace"


def trust(workspace: Path, home: Path) -> None:
    """As `commonplace trust` does it."""
    file = read_workspace_file(workspace.parent)
    assert file is not None
    TrustLedger(home).add_folder(file)


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_flags_win_over_the_environment_over_a_trusted_workspace_over_the_home_folder(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "config.toml").write_text('store = "h"\ntenant = "h/h"\nembedder = "none"\nactor = "h"\n')
    (workspace / "config.toml").write_text('store = "w"\ntenant = "w/w"\nembedder = "static"\n')
    trust(workspace, home)
    monkeypatch.setenv("COMMONPLACE_STORE", "e")
    monkeypatch.setenv("COMMONPLACE_TENANT", "e/e")

    settings = load_settings(store="f", embedder=None)

    assert (settings.store, settings.tenant, settings.embedder, settings.actor) == ("f", "e/e", "static", "h")
    assert settings.from_workspace == {"embedder"}


def test_a_json_file_may_be_in_camel_case(workspace: Path) -> None:
    (workspace / "config.json").write_text('{"tokenBudget": 500}')

    assert load_settings().token_budget == 500
    assert configuration().token_budget == 500


def test_a_file_that_only_sets_what_is_free_is_no_matter_of_trust(workspace: Path) -> None:
    (workspace / "config.toml").write_text("token_budget = 500")
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        settings = load_settings()

    assert (settings.token_budget, settings.from_workspace) == (500, {"token_budget"})


@pytest.mark.parametrize(
    "text",
    [
        'openai_api_key = "k"',
        'openai_base_url = "http://h"',
        'home = "/"',
        'embedder = "openai:m@http://h"',
        'store = "postgresql://somebody.example/theirs"',
        'store = "../outside.db"',
        'embedder = "static, sentence-transformers:./model"',
        'colour = "red"',
    ],
)
def test_the_file_of_a_workspace_trusted_or_not_cannot_say_where_texts_are_sent_or_what_code_is_run(
    workspace: Path, home: Path, text: str
) -> None:
    plain = load_settings()
    (workspace / "config.toml").write_text(text)

    for _ in ("not trusted", "trusted"):
        with pytest.warns(PassedOver) as passed:
            assert load_settings() == plain
        assert str(workspace / "config.toml") in str(passed[0].message)
        trust(workspace, home)


@pytest.mark.parametrize("name", sorted(name for name, authority in AUTHORITY.items() if authority == "never"))
def test_what_is_never_a_workspaces_is_passed_over_by_name_in_a_trusted_one(
    workspace: Path, home: Path, name: str
) -> None:
    plain = load_settings()
    (workspace / "config.toml").write_text(f'{name} = "very-secret"')
    trust(workspace, home)

    with pytest.warns(PassedOver, match=rf"\b{name}\b") as passed:
        settings = load_settings()

    assert settings == plain
    assert "very-secret" not in str(passed[0].message)


@pytest.mark.parametrize("name", sorted(name for name, authority in AUTHORITY.items() if authority == "trust"))
def test_what_needs_trust_counts_in_a_trusted_workspace_alone(workspace: Path, home: Path, name: str) -> None:
    values = {"store": "m.db", "embedder": "none", "tenant": "w/w", "actor": "w", "cache_mb": "7"}
    values |= {"agent_recall": "True", "agent_learn": "False", "agent_capture": "full"}
    (workspace / "config.toml").write_text(f'{name} = "{values[name]}"')

    with pytest.warns(PassedOver, match=rf"\b{name}\b"):
        before = load_settings()
    trust(workspace, home)
    after = load_settings()

    assert getattr(before, name) == Settings.model_fields[name].default
    assert str(getattr(after, name)).endswith(values[name])
    assert after.from_workspace == {name}


@pytest.mark.parametrize("change", ["bytes", "another file", "another folder"])
def test_trust_ends_when_the_file_changes(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    (workspace / "config.json").write_text('{"tenant": "w/w"}')
    trust(workspace, home)
    assert load_settings().tenant == "w/w"
    if change == "bytes":
        (workspace / "config.json").write_text('{"tenant": "w/w" }')
    elif change == "another file":
        (workspace / "config.toml").write_text('tenant = "w/w"')
    else:
        moved = workspace.parent.rename(workspace.parent.with_name("moved"))
        monkeypatch.chdir(moved)

    with pytest.warns(PassedOver):
        assert load_settings().tenant != "w/w"


def test_a_path_of_a_trusted_workspace_is_the_same_wherever_the_command_runs(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "config.toml").write_text('store = ".commonplace/m.db"')
    trust(workspace, home)
    paths = [load_settings().store]
    monkeypatch.chdir(workspace.parent)
    paths.append(load_settings().store)

    assert paths == [str(workspace / "m.db")] * 2
    assert configuration().store_from_workspace


@pytest.mark.parametrize("text", ["store = [", "\x00", "a" * 100_000])
def test_a_file_of_a_workspace_that_cannot_be_read_is_passed_over_by_name(workspace: Path, text: str) -> None:
    (workspace / "config.toml").write_text(text)

    with pytest.warns(PassedOver) as passed:
        settings = load_settings()

    assert settings.from_workspace == set()
    assert str(workspace / "config.toml") in str(passed[0].message)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_in_place_of_the_file_holds_nobody_up(workspace: Path) -> None:
    os.mkfifo(workspace / "config.toml")

    with pytest.warns(PassedOver):
        assert configuration().token_budget == 2000


@pytest.mark.parametrize(
    "text", ['permission_policy = "everybody"', "permission_quorum = 0", 'permission_quorum = "most"']
)
def test_a_policy_of_permissions_that_there_is_not_refuses_to_start(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[agent]\n{text}")

    with pytest.raises(InvalidInput):
        load_settings()


def test_a_value_of_a_workspace_that_cannot_be_is_an_error_that_names_the_folder(workspace: Path) -> None:
    (workspace / "config.toml").write_text("token_budget = 0")

    with pytest.raises(InvalidInput) as refused:
        load_settings()

    assert str(workspace) in refused.value.message


def test_names_in_a_workspaces_file_that_are_no_settings_are_not_repeated(workspace: Path) -> None:
    (workspace / "config.toml").write_text('"\\u001b[2J" = 1\n"obey me" = 1\n')

    with pytest.warns(PassedOver) as passed:
        load_settings()

    assert "\x1b" not in str(passed[0].message)
    assert "obey" not in str(passed[0].message)


def test_in_the_folder_above_the_home_folder_the_file_is_the_persons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".commonplace").mkdir()
    (tmp_path / ".commonplace" / "config.toml").write_text('store = "/srv/mine.db"\nport = 5000\n')
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "link" / ".commonplace"))
    monkeypatch.chdir(tmp_path)

    settings = load_settings()

    assert (settings.store, settings.port, settings.from_workspace) == ("/srv/mine.db", 5000, frozenset())


def test_a_worker_takes_what_its_starter_read_and_reads_no_file_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "config.toml").write_text('token_budget = 5\nstore = "changed.db"')
    monkeypatch.setenv("COMMONPLACE_STORE", "before.db")
    monkeypatch.setenv(FROM_WORKSPACE, "store")

    settings = load_settings()

    assert (settings.store, settings.token_budget) == ("before.db", 2000)
    assert settings.from_workspace == {"store"}


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


@pytest.mark.parametrize(
    "text", ['qwen --acp "--approval-mode" default', '["qwen", "--acp", "--approval-mode", "default"]']
)
def test_the_command_of_an_agent_is_written_as_at_a_shell_or_as_a_list(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("COMMONPLACE_AGENT_COMMAND", text)

    assert load_settings().agent_command == ("qwen", "--acp", "--approval-mode", "default")


def test_the_command_of_an_agent_stands_in_its_table_of_the_home_folders_file(home: Path) -> None:
    home.mkdir(exist_ok=True)
    text = 'command = ["qwen", "--acp", "--approval-mode", "default"]\nenvironment = ["OPENAI_API_KEY"]'
    (home / "config.toml").write_text(f"[agent]\n{text}")

    settings = load_settings()

    assert settings.agent_command == ("qwen", "--acp", "--approval-mode", "default")
    assert settings.agent_environment == ("OPENAI_API_KEY",)


def test_the_workers_of_a_daemon_have_the_same_command(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("sh", "-c", "agent --with 'a, b'")

    for name, value in environment(Settings(agent_command=command)).items():
        monkeypatch.setenv(name, value)

    assert load_settings().agent_command == command


@pytest.mark.parametrize("text", ["sh -c 'open", "[1", '["a", 7]'])
def test_a_command_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("COMMONPLACE_AGENT_COMMAND", text)

    with pytest.raises(InvalidInput):
        load_settings()


@pytest.mark.parametrize("name", ["COMMONPLACE_TOKEN", "commonplace_token", "A B"])
def test_a_hosted_agent_is_never_given_a_variable_of_ours(name: str) -> None:
    with pytest.raises(InvalidInput):
        load_settings(agent_environment=(name,))


def test_a_workspace_never_says_which_agent_does_the_work(workspace: Path) -> None:
    (workspace / "config.toml").write_text('[agent]\ncommand = ["evil"]\nenvironment = ["HOME"]\n')
    home = Path(os.environ["COMMONPLACE_HOME"])
    trust(workspace, home)

    with pytest.warns(PassedOver, match="agent_command"):
        settings = load_settings()

    assert settings.agent_command == ()
