"""The command as a script meets it: write, recall, change, carry, look after."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli.lines import likelihood

everywhere = pytest.mark.parametrize("cli", ["store", "url"], indirect=True)
FIELDS = {"id", "scope", "text", "key", "kind", "source", "tags", "version", "created_at", "updated_at", "state"}


# --- write


@everywhere
def test_what_was_put_is_shown_again(cli: Any) -> None:
    stored = cli.json("put", "Deploy with make ship", "-s", "workspace:web", "-k", "deploy", "--importance", "80")

    shown = cli.json("show", stored["id"])

    assert stored.keys() >= FIELDS
    assert (stored["outcome"], {**stored, "outcome": None}) == ("created", shown)
    assert (shown["scope"], shown["key"], shown["importance"]) == ("workspace:web", "deploy", 80)


def test_a_write_says_what_became_of_it(cli: Any) -> None:
    id = cli.json("put", "Deploy with make ship", "-k", "deploy")["id"]

    again = cli("put", "Deploy with make ship", "-k", "deploy")
    pins = [cli("pin", id).out.split()[0] for _ in range(2)]

    assert again.out.split()[0] == "unchanged"
    assert pins == ["pinned", "unchanged"]
    assert cli.json("edit", id, "--text", "Deploy with make release")["outcome"] == "updated"


def test_put_reads_stdin(cli: Any) -> None:
    stored = cli.json("put", "-", stdin="first line\nzweite Zeile 二\n")

    assert stored["text"] == "first line\nzweite Zeile 二"


@everywhere
def test_put_takes_every_field(cli: Any) -> None:
    fields = "--kind fact --source auto --tag a --tag b --meta owner=ana --meta retries=3 --pin --trust verified --visibility shared"
    place = "--session s1 --position 4 --speaker ana --run r1 --message m1 --file notes.md"

    stored = cli.json("put", "All of it", *fields.split(), *place.split(), "--at", "2026-03-01", "--expires", "30d")

    assert (stored["kind"], stored["source"], stored["tags"]) == ("fact", "auto", ["a", "b"])
    assert stored["metadata"] == {"owner": "ana", "retries": 3}
    assert (stored["pinned"], stored["trust"], stored["visibility"]) == (True, "verified", "shared")
    assert (stored["session"], stored["position"], stored["speaker"]) == ("s1", 4, "ana")
    assert stored["provenance"] == {"run": "r1", "message": "m1", "file": "notes.md"}
    assert stored["at"] == "2026-03-01T00:00:00.000Z"
    assert stored["expires_at"] is not None


@everywhere
def test_the_same_key_again_is_the_next_version(cli: Any) -> None:
    first = cli.json("put", "We ship on Fridays", "--key", "day")
    second = cli.json("put", "We ship on Mondays", "--key", "day")

    assert (second["id"], second["version"]) == (first["id"], 2)


def test_a_nearly_equal_text_is_dropped_where_asked(cli: Any) -> None:
    text = "The staging database is rebuilt every Sunday night at eleven"
    id = cli.put(text)

    again = cli.json("put", f"{text}!", "--dedupe", "near")

    assert again["id"] == id
    assert cli.texts() == [text]


@everywhere
def test_edit_changes_what_is_named_and_nothing_else(cli: Any) -> None:
    id = cli.put("Old text", "--tag", "keep")

    edited = cli.json("edit", id, "--text", "New text", "--importance", "7", "--reason", "typo")

    assert (edited["text"], edited["importance"], edited["tags"], edited["version"]) == ("New text", 7, ["keep"], 2)
    assert edited["reason"] == "typo"


@everywhere
def test_edit_empties_a_field_where_asked(cli: Any) -> None:
    id = cli.put("Named", "--key", "name", "--tag", "a")

    edited = cli.json("edit", id, "--clear", "key", "--clear", "tags")

    assert (edited["key"], edited["tags"]) == (None, [])


@everywhere
def test_what_looked_like_a_secret_is_not_stored_and_that_is_said(cli: Any) -> None:
    ran = cli("put", "The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789")

    assert ran.code == 0
    assert "secret" in ran.err
    assert "abcdefghij" not in cli.texts()[0]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that adds a word."""
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf "%s indeed\\n" "$(cat "$1")" > "$1"\n', encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    return script


def test_edit_without_a_change_opens_the_editor(cli: Any, editor: Path) -> None:
    id = cli.put("We ship on Fridays")

    assert cli.json("edit", id)["text"] == "We ship on Fridays indeed"


def test_an_editor_that_changes_nothing_writes_no_version(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    id = cli.put("We ship on Fridays")

    assert cli.json("edit", id)["version"] == 1


@everywhere
def test_supersede_makes_a_new_record_and_marks_the_old_one(cli: Any) -> None:
    old = cli.put("We ship on Fridays")

    new = cli.json("supersede", old, "We ship on Mondays")

    assert new["id"] != old
    assert cli.json("show", old)["superseded_by"] == new["id"]
    assert cli.texts() == ["We ship on Mondays"]


# --- recall


@pytest.fixture
def filled(cli: Any) -> Any:
    cli.put("Deploy with make ship from the repo root", "-s", "workspace:web", "-k", "deploy", "--tag", "release")
    cli.put("Ana prefers short answers", "-s", "agent:ana", "--kind", "preference")
    cli.put("The staging database is rebuilt every Sunday", "-s", "workspace:web", "--source", "auto")
    return cli


@everywhere
def test_a_search_says_what_where_and_why(filled: Any) -> None:
    found = filled.json("search", "how do we deploy?", "-s", "workspace:web")

    best = found["hits"][0]
    assert found["query"] == "how do we deploy?"
    assert best["record"]["key"] == "deploy"
    assert best["score"] == pytest.approx(sum(best["why"]["parts"].values()), abs=1e-6)
    assert best["passage"] == best["record"]["text"]


@pytest.mark.parametrize("mode", ["hybrid", "words", "meaning"])
def test_a_search_takes_every_mode(filled: Any, mode: str) -> None:
    found = filled.json("search", "deploy", "--mode", mode)

    assert found["hits"][0]["record"]["key"] == "deploy"


@pytest.mark.parametrize(
    ("narrowed", "count"),
    [
        (["--kind", "preference"], 1),
        (["--source", "auto"], 1),
        (["--tag", "release"], 1),
        (["--scope", "workspace:web"], 2),
        (["--scope", "workspace:web", "--scope", "agent:ana"], 3),
        (["--since", "1h"], 3),
        (["--trust", "system_generated"], 2),
        (["--not-pinned"], 3),
        (["--limit", "2"], 2),
    ],
)
@everywhere
def test_a_list_takes_the_filters(filled: Any, narrowed: list[str], count: int) -> None:
    assert len(filled.texts(*narrowed)) == count


@everywhere
def test_a_list_goes_on_from_its_cursor(filled: Any) -> None:
    first = filled.json("list", "-n", "2")
    rest = filled.json("list", "-n", "2", "--cursor", first["cursor"])

    assert (len(first["records"]), len(rest["records"]), rest["cursor"]) == (2, 1, None)


@everywhere
def test_a_search_of_the_past_finds_the_text_as_it_stood(cli: Any) -> None:
    first = cli.json("put", "We ship on Fridays", "--key", "day")
    cli.put("We ship on Mondays", "--key", "day")

    past = cli.json("search", "ship", "--as-of", first["updated_at"])
    present = cli.json("search", "ship")

    assert past["hits"][0]["record"]["text"] == "We ship on Fridays"
    assert present["hits"][0]["record"]["text"] == "We ship on Mondays"


def test_piped_output_is_one_line_a_record_with_whole_ids(filled: Any) -> None:
    lines = filled("list").out.splitlines()

    assert len(lines) == 3
    assert all(len(line.split("\t")[0]) == 36 and len(line.split("\t")) == 7 for line in lines)


@everywhere
def test_a_question_that_no_memory_answers_is_told_so_and_shows_what_came_nearest_on_request(cli: Any) -> None:
    cli.put("We ship on Fridays")
    question = "which colour has the submarine of the choir?"

    nothing = cli("search", question)
    nearest = cli("search", question, "--all")
    as_json = cli("search", question, "--json")

    assert (nothing.code, nothing.out) == (3, "")
    assert "No memory answers this." in nothing.err
    assert (nearest.code, "We ship on Fridays" in nearest.out) == (0, True)
    assert nearest.out.splitlines()[1].startswith("unlikely (")
    assert as_json.code == 3
    [hit] = json.loads(as_json.out)["hits"]
    assert (hit["relevant"], hit["relevance"] < 0.28) == (False, True)


@everywhere
def test_whoever_draws_the_line_sees_what_is_above_it(cli: Any) -> None:
    cli.put("We ship on Fridays")
    cli.put("Ada prefers tea")
    relevance = {hit["record"]["text"]: hit["relevance"] for hit in cli.json("search", "when do we ship?")["hits"]}

    strict = cli("search", "when do we ship?", "--min-relevance", str(relevance["We ship on Fridays"] + 0.001))
    loose = cli("search", "when do we ship?", "--min-relevance", "0", "--quiet")

    assert (strict.code, strict.out) == (3, "")
    assert (loose.code, len(loose.out.splitlines())) == (0, 2)


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (0.0, "unlikely (1 %)"),
        (0.29, "unlikely (29 %)"),
        (0.3, "possible (30 %)"),
        (0.6, "likely (60 %)"),
        (0.85, "very likely (85 %)"),
        (1.0, "very likely (99 %)"),
    ],
)
def test_a_chance_is_told_in_words(chance: float, words: str) -> None:
    assert "{} ({})".format(*likelihood(chance)) == words


def test_piped_hits_tell_how_likely_they_answer_their_scope_and_why(filled: Any) -> None:
    fields = filled("search", "deploy").out.splitlines()[0].split("\t")

    assert re.fullmatch(r"(very )?likely \(\d\d %\)", fields[0])
    assert fields[2] == "workspace:web"
    assert "words" in fields[6]


def test_quiet_prints_ids_alone(filled: Any) -> None:
    ids = filled("list", "--quiet").out.split()

    assert len(ids) == 3
    assert all(filled("show", id).code == 0 for id in ids)


@everywhere
def test_a_record_is_found_by_the_beginning_of_its_id(cli: Any) -> None:
    id = cli.put("Alone")

    assert cli.json("show", id[:18])["id"] == id
    assert cli.json("pin", id[:18])["id"] == id
    assert cli.json("demote", id[:18])["id"] == id
    assert cli.json("delete", id[:18])["id"] == id


@everywhere
def test_an_earlier_version_is_shown_where_asked(cli: Any) -> None:
    id = cli.put("First", "--key", "k")
    cli.put("Second", "--key", "k")

    assert cli.json("show", id, "--version", "1")["text"] == "First"


@everywhere
def test_a_history_shows_each_version_and_its_difference(cli: Any) -> None:
    id = cli.put("First", "--key", "k")
    cli.put("Second", "--key", "k")

    versions = cli.json("history", id)["versions"]
    shown = cli("history", id).out

    assert [version["text"] for version in versions] == ["First", "Second"]
    assert "- First" in shown
    assert "+ Second" in shown


@everywhere
def test_the_context_block_holds_what_fits_the_question(filled: Any) -> None:
    block = filled("context", "how do we deploy?", "-s", "workspace:web", "--budget", "300")

    assert block.code == 0
    assert "make ship" in block.out
    assert filled.json("context", "deploy")["text"]


@everywhere
def test_the_sections_hold_agent_and_workspace_memory(filled: Any) -> None:
    filled.put("Answer in French", "-s", "agent:bo", "-k", "language")

    block = filled("context", "--agent", "bo", "--workspace", "web")

    assert "## Agent Memory" in block.out
    assert "## Workspace Memory" in block.out


# --- change


@everywhere
def test_pin_and_unpin(cli: Any) -> None:
    id = cli.put("Important")

    assert cli.json("pin", id)["pinned"] is True
    assert cli.json("unpin", id)["pinned"] is False


@everywhere
def test_several_records_are_changed_at_once(cli: Any) -> None:
    ids = [cli.put("One"), cli.put("Two")]

    changed = cli.json("pin", *ids)

    assert [record["pinned"] for record in changed["records"]] == [True, True]


@everywhere
def test_delete_hides_and_undo_brings_back(cli: Any) -> None:
    id = cli.put("Come and go")

    assert cli.json("delete", id, "--reason", "a test")["state"] == "deleted"
    assert cli.texts("--state", "deleted") == ["Come and go"]
    assert cli.json("undo", id)["state"] == "live"
    assert cli.texts() == ["Come and go"]


@everywhere
def test_promote_shares_and_demote_hides(cli: Any) -> None:
    id = cli.put("Useful to all", "-s", "session:s1")

    promoted = cli.json("promote", id, "--scope", "workspace:web")
    demoted = cli.json("demote", id)

    assert (promoted["id"], promoted["scope"], promoted["visibility"]) == (id, "workspace:web", "shared")
    assert (demoted["state"], demoted["visibility"]) == ("demoted", "private")


@everywhere
def test_purge_removes_for_good(filled: Any) -> None:
    purged = filled.json("purge", "--scope", "workspace:web", "--yes")

    assert purged == {"records": 2, "versions": 2}
    assert filled.texts() == ["Ana prefers short answers"]


@everywhere
def test_purge_takes_the_beginning_of_an_id(cli: Any) -> None:
    id = cli.put("Gone")

    assert cli.json("purge", id[:18], "--yes")["records"] == 1
    assert cli("show", id).code == 3


# --- carry


@everywhere
def test_a_folder_is_imported_and_unchanged_files_are_skipped(cli: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "deploy.md").write_text("# Deploy\n\nRun make ship.\n", encoding="utf-8")

    cli.json("import", str(notes), "-s", "workspace:web")
    first = cli.texts()
    cli.json("import", str(notes), "-s", "workspace:web")

    assert first
    assert cli.texts() == first


@everywhere
def test_a_file_that_cannot_be_imported_ends_the_import_with_1_after_the_others(cli: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_bytes(b"\xff\xfe\x00")
    (notes / "b.md").write_text("Sound", encoding="utf-8")

    ran = cli("import", str(notes), "--json")

    assert (ran.code, ran.document["errors"], ran.document["indexed_files"]) == (1, 1, 1)
    assert cli.texts() == ["Sound"]


@everywhere
def test_a_link_that_leads_out_of_the_folder_is_named_and_is_no_error(cli: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("Sound", encoding="utf-8")
    (tmp_path / "other.md").write_text("Elsewhere", encoding="utf-8")
    (notes / "link.md").symlink_to(tmp_path / "other.md")

    ran = cli("import", str(notes), "--json")

    assert (ran.code, ran.document["errors"], [name for name, _ in ran.document["left_out"]]) == (0, 0, ["link.md"])
    assert cli.texts() == ["Sound"]


def test_an_export_loads_into_another_store_with_every_version(cli: Any, tmp_path: Path) -> None:
    id = cli.put("First", "--key", "k")
    cli.put("Second", "--key", "k")
    export, other = str(tmp_path / "all.jsonl"), str(tmp_path / "other.db")

    assert cli.json("export", export)["records"] == 1
    cli.json("load", export, "--store", other)

    assert [version["text"] for version in cli.json("history", id, "--store", other)["versions"]] == ["First", "Second"]


def test_an_export_is_imported_too(cli: Any, tmp_path: Path) -> None:
    cli.put("Carried")
    export, other = str(tmp_path / "all.jsonl"), str(tmp_path / "other.db")
    cli.json("export", export)

    assert cli.json("import", export, "--store", other)["created"] == 1
    assert cli("import", export, "--store", other, "--scope", "global").code == 2


def test_an_export_goes_through_a_pipe(cli: Any, tmp_path: Path) -> None:
    cli.put("Through the pipe")

    exported = cli("export", "-").out
    assert [json.loads(line) for line in exported.splitlines()]
    assert cli("load", "-", "--store", str(tmp_path / "other.db"), stdin=exported).code == 0

    assert cli.texts("--store", str(tmp_path / "other.db")) == ["Through the pipe"]


def test_a_backup_is_restored(cli: Any, tmp_path: Path) -> None:
    cli.put("Precious")
    backup, other = str(tmp_path / "backup.db"), str(tmp_path / "other.db")

    cli.json("backup", backup)
    cli.json("restore", backup, "--store", other, "--yes")

    assert cli.texts("--store", other) == ["Precious"]


# --- look after


def test_stats_count_by_scope(filled: Any) -> None:
    stats = filled.json("stats")

    assert (stats["records"], stats["live"], stats["tenant"]) == (3, 3, "default/default")
    assert {scope["scope"]: scope["records"] for scope in stats["scopes"]} == {"workspace:web": 2, "agent:ana": 1}


def test_reindex_makes_the_index_anew(filled: Any) -> None:
    assert filled.json("reindex")["texts"] == 3
    assert filled.json("search", "deploy")["hits"][0]["record"]["key"] == "deploy"


@everywhere
def test_rules_are_set_shown_and_removed(cli: Any) -> None:
    cli.put("Something")

    cli.json("rules", "session", "--max-age", "90d", "--max-records", "100")

    assert cli.json("rules")["rules"] == [{"scope": "session", "max_age": 7776000.0, "max_records": 100}]
    assert cli.json("rules", "session", "--remove")["rules"] == []


@everywhere
def test_tidy_applies_the_rules_and_logs_it(cli: Any) -> None:
    for number in range(3):
        cli.put(f"Note {number}", "-s", "session:s1")
    cli.json("rules", "session", "--max-records", "1")

    done = cli.json("tidy")["log"]

    assert sum(line["records"] for line in done) == 2
    assert len(cli.texts()) == 1
    assert cli.json("tidy", "--log")["log"]


def test_tidy_purges_what_was_deleted_long_ago_where_asked(cli: Any) -> None:
    cli.json("delete", cli.put("Gone"))

    cli.json("tidy", "--purge-after", "0s")

    assert cli("list", "--state", "deleted").code == 3


def test_another_embedder_is_refused_until_a_reindex_takes_it(cli: Any) -> None:
    cli.put("We ship on Fridays")

    assert cli("search", "ship", "--embedder", "none", "--json").error == "embedder_changed"
    assert cli("doctor", "--embedder", "none", "--json").code == 1
    cli.json("reindex", "--embedder", "none")

    assert cli.json("search", "ship")["hits"]
    assert cli.json("stats")["embedders"] == {}


def test_the_version_is_told(cli: Any) -> None:
    assert cli.json("version")["commonplace"]
    assert cli("--version").out == cli("version").out


def test_the_tour_shows_it_all_and_leaves_nothing_behind(cli: Any, home: Path) -> None:
    told = cli("tour")

    assert told.code == 0
    assert all(word in told.out for word in ("make ship", "make release", "memory_context", "commonplace put"))
    assert not home.exists()
    assert not Path(cli.store).exists()


def test_the_tour_answers_in_json_too(cli: Any) -> None:
    steps = cli.json("tour")["steps"]

    assert len(steps) == 6
    assert all(step["title"] and step["result"] for step in steps)
