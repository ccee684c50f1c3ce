"""What the command answers when something is wrong: a code for scripts, a sentence for people, never a traceback."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["put", "text", "--scope", "planet:mars"], "invalid_scope"),
        (["put", "text", "--scope", "workspace"], "invalid_scope"),
        (["put", "text", "--key", "k" * 256], "invalid_key"),
        (["put", "text", "--importance", "101"], "invalid_importance"),
        (["put", ""], "invalid_text"),
        (["put", "text", "--meta", "nothing"], "invalid_input"),
        (["put", "text", "--at", "soon"], "invalid_input"),
        (["put", "text", "--tenant", "nobody"], "invalid_scope"),
        (["purge", "--yes"], "invalid_input"),
        (["purge", "--yes", "--user", "ana", "--scope", "global"], "invalid_input"),
        (["rules", "--max-age", "3d"], "invalid_input"),
        (["context"], "invalid_input"),
    ],
)
def test_bad_input_is_named_ends_with_2_and_changes_nothing(cli: Any, args: list[str], error: str) -> None:
    cli.put("Here before")

    ran = cli(*args, "--json")

    assert (ran.code, ran.error, ran.out) == (2, error, "")
    assert cli.texts() == ["Here before"]


@pytest.mark.parametrize(
    "args",
    [["put"], ["frobnicate"], ["list", "--nonsense"], ["list", "--limit", "many"], ["search", "x", "--mode", "magic"]],
)
def test_wrong_use_ends_with_2_in_json_too(cli: Any, args: list[str]) -> None:
    assert cli(*args).code == 2

    ran = cli(*args, "--json")

    assert (ran.code, ran.error, ran.out) == (2, "usage", "")


@pytest.mark.parametrize(
    "command", ["show", "history", "edit", "pin", "unpin", "delete", "undo", "promote", "demote", "purge"]
)
def test_a_record_that_is_not_there_ends_with_3(cli: Any, command: str) -> None:
    cli.put("Another one")
    more = {"edit": ["--text", "x"], "purge": ["--yes"], "promote": ["--scope", "workspace:web"]}

    ran = cli(command, "01920000-0000-7000-8000-000000000000", *more.get(command, []), "--json")

    assert (ran.code, ran.error) == (3, "record_not_found")


def test_a_version_that_is_not_there_ends_with_3(cli: Any) -> None:
    id = cli.put("One version")

    ran = cli("show", id, "--version", "9", "--json")

    assert (ran.code, ran.error) == (3, "version_not_found")


def test_a_search_and_a_list_that_find_nothing_end_with_3_and_an_empty_answer(cli: Any) -> None:
    cli.put("Something", "-s", "user:ana")

    searched = cli("search", "something", "-s", "user:ben", "--json")
    listed = cli("list", "-s", "user:ben", "--json")

    assert (searched.code, searched.document["hits"]) == (3, [])
    assert (listed.code, listed.document["records"]) == (3, [])


def test_a_write_over_another_version_than_the_one_seen_ends_with_4(cli: Any) -> None:
    id = cli.put("First", "--key", "k")

    edited = cli("edit", id, "--text", "Mine", "--expected", "7", "--json")
    stored = cli("put", "Mine", "--key", "k", "--expected", "0", "--json")

    assert (edited.code, edited.error) == (4, "record_changed")
    assert (stored.code, stored.error) == (4, "record_changed")
    assert cli.texts() == ["First"]


def test_nothing_to_undo_ends_with_4(cli: Any) -> None:
    id = cli.put("Only one")

    ran = cli("undo", id, "--json")

    assert (ran.code, ran.error) == (4, "nothing_to_undo")


def test_a_private_key_is_refused_with_6(cli: Any) -> None:
    cli.put("Here before")

    ran = cli("put", "-", "--json", stdin=PRIVATE_KEY)

    assert (ran.code, ran.error) == (6, "secret_refused")
    assert cli.texts() == ["Here before"]


def test_a_postgresql_out_of_reach_ends_with_5_and_shows_no_password(cli: Any) -> None:
    ran = cli("stats", "--store", "postgresql://ana:hush@127.0.0.1:1/none?connect_timeout=1", "--json")

    assert (ran.code, ran.error) == (5, "store_unavailable")
    assert "hush" not in ran.err


def test_a_file_that_is_not_ours_is_left_as_it_is(cli: Any, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ana, " * 1000, encoding="utf-8")

    ran = cli("put", "text", "--store", str(letter), "--json")

    assert (ran.code, ran.error) == (1, "not_a_store")
    assert letter.read_text(encoding="utf-8") == "Dear Ana, " * 1000


@pytest.mark.parametrize("command", [["search", "x"], ["list"], ["stats"], ["show", "01920000"], ["export"]])
def test_reading_from_a_store_that_is_not_there_makes_none(cli: Any, tmp_path: Path, command: list[str]) -> None:
    missing = tmp_path / "typo.db"

    ran = cli(*command, "--store", str(missing), "--json")

    assert ran.code == 3
    assert json.loads(ran.err)["error"]["message"]
    assert not missing.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_named(cli: Any, tmp_path: Path) -> None:
    store = str(tmp_path / "shut" / "memory.db")
    (tmp_path / "shut").mkdir()
    cli.json("put", "Here before", "--store", store)
    (tmp_path / "shut").chmod(0o500)

    ran = cli("put", "text", "--store", store, "--json")
    (tmp_path / "shut").chmod(0o700)

    assert (ran.code, ran.error) == (1, "store_read_only")


def test_an_unreadable_export_changes_nothing(cli: Any, tmp_path: Path) -> None:
    cli.put("Here before")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{not json\n", encoding="utf-8")

    ran = cli("load", str(broken), "--json")

    assert (ran.code, ran.error) == (1, "invalid_file")
    assert cli.texts() == ["Here before"]


@pytest.mark.parametrize(
    "command", [["import", "nowhere"], ["load", "nowhere.jsonl"], ["restore", "nowhere.db", "--yes"]]
)
def test_a_file_that_is_not_there_ends_with_3(cli: Any, command: list[str]) -> None:
    ran = cli(*command, "--json")

    assert (ran.code, ran.error) == (3, "path_not_found")


def test_a_backup_over_a_file_is_refused(cli: Any, tmp_path: Path) -> None:
    cli.put("Precious")
    taken = tmp_path / "taken.db"
    taken.write_text("mine", encoding="utf-8")

    ran = cli("backup", str(taken), "--json")

    assert (ran.code, ran.error) == (1, "invalid_file")
    assert taken.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("command", [["purge", "--scope", "global"], ["restore", "backup.db"]])
def test_what_cannot_be_undone_needs_a_yes_where_nobody_can_be_asked(cli: Any, command: list[str]) -> None:
    cli.put("Still here")

    assert cli(*command).code == 2
    assert cli.texts() == ["Still here"]


def test_an_error_for_people_is_one_sentence_without_a_traceback(cli: Any) -> None:
    ran = cli("put", "text", "--scope", "planet:mars")

    assert ran.err.startswith("Error: ")
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_debug_shows_where_it_happened(cli: Any) -> None:
    with pytest.raises(Exception, match="planet"):
        cli("put", "text", "--scope", "planet:mars", "--debug")


def test_stdin_that_is_not_text_is_refused(cli: Any) -> None:
    ran = cli("put", "-", "--json", stdin=b"\xff\xfe\x00")

    assert (ran.code, ran.error) == (2, "invalid_text")


def test_an_editor_that_fails_changes_nothing(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")
    id = cli.put("As it was")

    assert cli("edit", id).code == 2
    assert cli.texts() == ["As it was"]


# ---- a home folder of nobody


@pytest.mark.parametrize("cli", ["store", "url"], indirect=True)
@pytest.mark.parametrize(
    "args",
    [["import", "~nosuchuser/notes"], ["export", "~nosuchuser/all.jsonl"], ["load", "~nosuchuser/all.jsonl"]],
)
def test_the_home_folder_of_nobody_is_wrong_use(cli: Any, args: list[str]) -> None:
    cli.put("something to export")

    refused = cli(*args, "--json")

    assert (refused.code, refused.error) == (2, "invalid_input")


@pytest.mark.parametrize("args", [["list"], ["put", "x"], ["trust"]])
def test_a_store_in_the_home_folder_of_nobody_is_wrong_use(cli: Any, args: list[str]) -> None:
    refused = cli(*args, "--store", "~nosuchuser/memory.db", "--yes" if args == ["trust"] else "--json", "--json")

    assert (refused.code, refused.error) == (2, "invalid_input")


def test_the_doctor_finds_the_home_folder_of_nobody(cli: Any) -> None:
    ran = cli("doctor", "--store", "~nosuchuser/memory.db", "--json")

    assert ran.code == 1
    assert [finding["severity"] for finding in ran.document["findings"] if finding["check"] == "path"] == ["error"]


def test_a_setting_that_names_the_home_folder_of_nobody_is_wrong_use(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", "~nosuchuser/commonplace")

    refused = cli("list", "--json")

    assert (refused.code, refused.error) == (2, "invalid_input")
