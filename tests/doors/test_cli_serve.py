"""Keys, made and taken back at the command."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import app
from commonplace.compose.daemon import check_settings, environment
from commonplace.errors import InvalidInput
from commonplace.settings import Settings, load_settings
from commonplace.testing.daemon import served
from commonplace.workspace.report import PassedOver


def opens(store: str, secret: str) -> bool:
    async def asked() -> int:
        async with served(Path(store).parent, store=store) as running:
            shown = {"Authorization": f"Bearer {secret}"}
            return (await running.stranger.get("/metrics", headers=shown)).status_code

    return asyncio.run(asked()) == 200


def test_a_key_is_shown_once_opens_and_can_be_taken_back(cli: Any) -> None:
    made = cli.json("key", "create", "ci", "--role", "reader", "--scope", "workspace:web", "--expires", "90d")
    opened = opens(cli.store, made["secret"])
    listed = cli.json("key", "list")["keys"]

    revoked = cli.json("key", "revoke", made["id"])

    assert (made["role"], made["scopes"], opened) == ("reader", ["workspace:web"], True)
    assert [key["id"] for key in listed] == [made["id"]]
    assert "secret" not in listed[0]
    assert revoked["revoked_at"]
    assert not opens(cli.store, made["secret"])


@pytest.mark.parametrize("cli", ["store", "url"], indirect=True)
def test_keys_are_looked_after_at_the_store_and_through_a_daemon(cli: Any) -> None:
    made = cli.json("key", "create", "ci", "--role", "reader")

    revoked = cli.json("key", "revoke", made["id"])

    assert made["secret"].startswith("cp_")
    assert revoked["revoked_at"]
    assert made["id"] in [key["id"] for key in cli.json("key", "list")["keys"]]


def test_only_the_secret_goes_to_stdout(cli: Any) -> None:
    made = cli("key", "create", "ci")

    assert made.code == 0
    assert made.out.startswith("cp_")
    assert len(made.out.split()) == 1


@pytest.mark.parametrize(
    "args", [["create", "x", "--role", "king"], ["create", "x", "--scope", "nowhere"], ["revoke", "none-of-ours"]]
)
def test_what_cannot_be_a_key_is_refused(cli: Any, args: list[str]) -> None:
    refused = cli("key", *args, "--json")

    assert refused.code in (2, 3)
    assert refused.error


def test_the_commands_of_keys_are_described() -> None:
    [group] = [group for group in app.registered_groups if group.name == "key"]
    assert group.typer_instance is not None
    commands = {info.name or "": info for info in group.typer_instance.registered_commands}

    assert sorted(commands) == ["create", "list", "revoke"]
    assert all(info.callback and info.callback.__doc__ for info in commands.values())
    assert all(f"commonplace key {name}" in (info.epilog or "") for name, info in commands.items())


@pytest.mark.parametrize(
    "flags",
    [
        ["--host", "0.0.0.0", "--no-auth"],
        ["--host", "localhost:4170"],
        ["--workers", "0"],
        ["--log-format", "loud"],
    ],
)
def test_what_cannot_be_served_so_is_refused(cli: Any, flags: list[str]) -> None:
    refused = cli("serve", "--port", "0", "--json", *flags)

    assert (refused.code, refused.error) == (2, "invalid_input")


def test_workers_are_told_what_this_process_was_told_but_no_secret(home: Path) -> None:
    settings = load_settings(
        store="a.db", allowed_hosts="a,b", no_auth=True, token="my-secret", llm_api_key="my-secret"
    )

    told = environment(settings)

    expected = {"STORE": "a.db", "ALLOWED_HOSTS": "a,b", "NO_AUTH": "True", "HOME": str(home), "FROM_WORKSPACE": ""}
    assert told == {f"COMMONPLACE_{name}": value for name, value in expected.items()}


@pytest.mark.parametrize("given", [{"host": "0.0.0.0"}, {"host": "memory.example"}, {"allowed_origins": "*"}])
def test_without_keys_a_daemon_is_for_this_machine_only(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        check_settings(load_settings(no_auth=True, **given))


@pytest.mark.parametrize(
    "name", ["token", "host", "port", "no_auth", "import_roots", "url", "otlp_endpoint", "allowed_hosts"]
)
def test_the_file_of_a_workspace_says_nothing_about_a_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / ".commonplace").mkdir()
    (tmp_path / ".commonplace" / "config.toml").write_text(f'{name} = "x"\n')
    monkeypatch.chdir(tmp_path)

    with pytest.warns(PassedOver, match=name):
        settings = load_settings()

    assert getattr(settings, name) == Settings.model_fields[name].default


def test_lists_are_written_with_commas_or_in_a_table(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "config.toml").write_text('[import]\nroots = ["/srv/notes"]\n')
    monkeypatch.setenv("COMMONPLACE_ALLOWED_HOSTS", "a.example, b.example")

    settings = load_settings()

    assert settings.import_roots == (Path("/srv/notes"),)
    assert settings.allowed_hosts == ("a.example", "b.example")
