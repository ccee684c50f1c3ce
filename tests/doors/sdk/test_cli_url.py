"""The command over a daemon: what differs from a store of one's own."""

from pathlib import Path
from typing import Any

import pytest

NOBODY = "http://127.0.0.1:1"
over_http = pytest.mark.parametrize("cli", ["url"], indirect=True)


@over_http
def test_a_store_that_is_named_wins_over_the_daemon(cli: Any, tmp_path: Path) -> None:
    cli.put("At the daemon")
    store = str(tmp_path / "own.db")

    own = cli("--store", store, "put", "Here", "--json")

    assert (own.code, Path(store).exists()) == (0, True)
    assert cli.texts() == ["At the daemon"]
    assert cli.texts("--store", store) == ["Here"]


@over_http
def test_an_export_goes_through_a_pipe_and_loads_again(cli: Any, tmp_path: Path) -> None:
    id = cli.put("First")
    cli("edit", id, "--text", "Second")
    target = tmp_path / "memory.jsonl"

    piped = cli("export", "-q")
    told = cli.json("export", str(target))
    cli("purge", id, "--yes")
    loaded = cli.json("load", "-", stdin=piped.out)

    assert piped.out.splitlines()[1:] == target.read_text(encoding="utf-8").splitlines()[1:]
    assert (told["records"], loaded["created"]) == (1, 1)
    assert len(cli.json("history", id)["versions"]) == 2


@over_http
def test_the_doctor_asks_the_daemon(cli: Any) -> None:
    found = cli.json("doctor")

    assert found["ok"]
    assert {"address", "open", "file"} <= {finding["check"] for finding in found["findings"]}


@over_http
def test_an_embedder_is_the_daemons_own(cli: Any) -> None:
    ran = cli("--embedder", "none", "list", "--json")

    assert (ran.code, ran.error) == (2, "invalid_input")


@over_http
def test_what_needs_the_store_itself_says_so(cli: Any, tmp_path: Path) -> None:
    saved = cli("backup", str(tmp_path / "backup.db"), "--json")
    restored = cli("restore", str(tmp_path / "backup.db"), "--yes", "--json")

    assert (saved.code, saved.error) == (2, "invalid_input")
    assert (restored.code, restored.error) == (2, "invalid_input")


@over_http
def test_errors_have_the_same_exit_codes(cli: Any) -> None:
    id = cli.put("A")

    codes = [
        cli("show", "01920000-0000-7000-8000-000000000000").code,
        cli("edit", id, "--text", "B", "--expected", "7").code,
        cli("put", "Key: -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----").code,
        cli("search", " ").code,
    ]

    assert codes == [3, 4, 6, 2]


def test_a_daemon_that_does_not_run_is_unavailable(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_URL", NOBODY)
    there = type(cli)(cli.store, ("--json",))

    listed, looked = there("list"), there("doctor")

    assert (listed.code, listed.error) == (5, "daemon_unavailable")
    assert (looked.code, looked.document["ok"]) == (1, False)
    assert "daemon_unavailable" in {finding["check"] for finding in looked.document["findings"]}


def test_the_home_folder_may_name_the_daemon(cli: Any, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f'url = "{NOBODY}"\n', encoding="utf-8")

    ran = type(cli)(cli.store, ("--json",))("list")

    assert (ran.code, ran.error) == (5, "daemon_unavailable")


@over_http
def test_a_capability_is_issued_for_another_key(cli: Any) -> None:
    key = cli.json("key", "create", "bot", "--role", "reader")
    options = ("--run", "r-7", "--project", "shop", "--read", "project", "--read", "global", "--expires", "2h")

    signed = cli("capability", "create", "bot", *options)
    answer = cli.json("capability", "create", key["id"], *options)
    wrong = cli("capability", "create", "nobody", "--run", "r-7")

    assert signed.out.startswith("cap_")
    assert (answer["key"], answer["run"], answer["read_tiers"]) == (key["id"], "r-7", ["project", "global"])
    assert wrong.code != 0
