"""Channels by the command, over a daemon."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.channels.platforms import GUIDES

pytestmark = pytest.mark.parametrize("cli", ["url"], indirect=True)


@pytest.mark.parametrize("kind", GUIDES)
def test_a_guide_is_printed_whole_in_both_languages(cli: Any, kind: str) -> None:
    guide = next(guide for guide in GUIDES.values() if guide.kind == kind)

    english, chinese = cli("channel", "guide", kind), cli("channel", "guide", kind, "--language", "zh")

    assert (english.code, chinese.code) == (0, 0)
    for step in (*guide.steps, *guide.after, *guide.open_points):
        assert step.en in english.out
        assert step.zh in chinese.out
    for field in guide.fields:
        assert f"- {field.name}" in english.out
    for problem in guide.problems:
        assert f"{problem.sign}: {problem.meaning.zh}" in chinese.out


def test_the_kinds_are_listed_and_others_refused(cli: Any) -> None:
    kinds = cli("channel", "guide")
    unknown = cli("channel", "guide", "telegraph", "--json")

    assert [line.split("\t")[0] for line in kinds.out.splitlines()] == list(GUIDES)
    assert (unknown.code, unknown.error) == (2, "invalid_input")


def test_a_channel_is_added_configured_stopped_started_and_removed(cli: Any, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"instructions": "Be brief."}), encoding="utf-8")

    states = [
        cli(*words).out
        for words in (
            ("channel", "add", "team", "--agent", "assistant"),
            ("channel", "configure", "team", str(settings)),
            ("channel", "stop", "team"),
            ("channel", "start", "team"),
        )
    ]
    held = cli.json("channel", "show", "team")
    log = cli("channel", "logs", "team")
    removed = cli("channel", "remove", "team", "--yes")

    assert [state.split("\t")[-1].strip() for state in states] == ["at work", "at work", "stopped", "at work"]
    assert held["channel"]["settings"]["instructions"] == "Be brief."
    assert (log.code, removed.code) == (0, 0)
    assert cli("channel", "show", "team").code == 3


def test_whoever_writes_on_a_platform_of_others_is_let_in_by_a_code_unless_the_settings_say_otherwise(
    cli: Any, tmp_path: Path
) -> None:
    secret, settings = tmp_path / "secret", tmp_path / "settings.json"
    secret.write_text("not one of anybody", encoding="utf-8")
    settings.write_text(json.dumps({"senders": "open"}), encoding="utf-8")
    # Nobody listens there.
    given = ["--option", "client_id=ding", "--option", "endpoint=http://127.0.0.1:1"]
    given += ["--secret", f"client_secret=file:{secret}"]

    cli("channel", "add", "ding", "--kind", "dingtalk", *given)
    cli("channel", "add", "dong", "--kind", "dingtalk", *given, "--settings", str(settings))
    shown = [cli.json("channel", "show", name)["channel"]["settings"] for name in ("ding", "dong")]

    assert [(one["group_policy"], one["senders"]) for one in shown] == [("pairing", "pairing"), ("pairing", "open")]


def test_an_admin_is_shown_how_a_channel_is_set_and_who_waits(cli: Any, tmp_path: Path) -> None:
    settings = {
        "senders": "pairing",
        "allowed": ["ana", "bob"],
        "budget": {"usd": 2.5, "hours": 12},
        "learn": False,
        "groups": {"*": {"require_mention": False, "dispatch": "collect"}},
        "instructions": "Be brief.\nBe kind.",
    }
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    cli("channel", "add", "till", "--kind", "terminal", "--settings", str(file))
    cli("channel", "chat", "desk", "--channel", "till", "--as", "cleo", stdin="hello\n")

    lines = cli("channel", "show", "till").out.splitlines()
    shown = dict(line.split("\t", 1) for line in lines[1:])
    [waiting] = cli.json("channel", "show", "till")["waiting"]
    cli("channel", "pair", "till", waiting["code"])
    after = cli("channel", "show", "till")
    cli("channel", "remove", "till", "--yes")

    assert (shown["senders"], shown["allowed"], shown["budget"]) == ("pairing", "ana, bob", "2.5 USD in 12 hours")
    assert (shown["learn"], shown["group"], shown["instructions"]) == (
        "no",
        "*\tno mention needed\tdispatch=collect",
        "Be brief. Be kind.",
    )
    assert shown["waits"] == f"cleo\tcleo\t{waiting['code']}"
    assert "waits" not in after.out


def test_the_rooms_of_others_are_shown_to_an_admin_who_asks(cli: Any) -> None:
    cli("channel", "chat", "releases", stdin="")
    key = cli.json("key", "create", "bo", "--role", "admin", "--user", "bo")["secret"]
    bo = replace(cli, env={**cli.env, "COMMONPLACE_TOKEN": key})

    own = bo.json("channel", "show", "terminal")["rooms"]
    whole = bo.json("channel", "show", "terminal", "--everyone")["rooms"]

    assert (own, [room["chat"] for room in whole]) == ([], ["releases"])


def test_what_is_given_by_name_is_refused_by_a_kind_that_does_not_know_it(cli: Any) -> None:
    unknown = cli("channel", "add", "team", "--option", "server=x", "--json")
    half = cli("channel", "add", "team", "--option", "server", "--json")
    nothing = cli("channel", "configure", "web", "--json")

    assert [(ran.code, ran.error) for ran in (unknown, half, nothing)] == [(2, "invalid_input")] * 3


def test_a_test_message_is_written_or_the_command_fails(cli: Any) -> None:
    made = cli("channel", "chat", "releases", stdin="")
    sent = cli("channel", "test", "terminal", "releases")
    lost = cli("channel", "test", "terminal", "nowhere", "--json")
    said = cli("channel", "logs", "terminal", "releases")

    assert (made.code, sent.code, lost.code, lost.error) == (0, 0, 3, "room_not_found")
    assert len(said.out.splitlines()) == 1


def test_what_a_room_remembers_is_shown_added_to_edited_and_forgotten(cli: Any) -> None:
    cli("channel", "chat", "releases", stdin="")
    memory = ("channel", "memory", "terminal", "releases")

    nothing = cli(*memory)
    for text in ("We ship on Fridays", "Lunch is at noon"):
        added = cli(*memory, "--add", text)
    edited = cli.json(*memory, "--edit", "1", "--text", "We ship on Mondays")
    forgotten = cli(*memory, "--forget", "lunch")

    assert nothing.out.strip() == "Nothing yet."
    assert [line.partition(" — ")[0] for line in added.out.splitlines()] == [
        "1. We ship on Fridays",
        "2. Lunch is at noon",
    ]
    assert [line.partition(" — ")[0] for line in edited["lines"]] == ["We ship on Mondays", "Lunch is at noon"]
    assert [line.partition(" — ")[0] for line in forgotten.out.splitlines()] == ["1. We ship on Mondays"]


@pytest.mark.parametrize(
    "options",
    [
        ("--forget", "7"),
        ("--forget", "nothing says this"),
        ("--forget", "on"),
        ("--edit", "1"),
        ("--text", "x"),
        ("--add", "x", "--forget", "1"),
    ],
)
def test_a_line_that_is_not_plainly_meant_is_left_alone(cli: Any, options: tuple[str, ...]) -> None:
    cli("channel", "chat", "releases", stdin="")
    memory = ("channel", "memory", "terminal", "releases")
    for text in ("We ship on Fridays", "We meet on Mondays"):
        cli(*memory, "--add", text)

    refused = cli(*memory, *options, "--json")

    assert (refused.code, refused.error) == (2, "invalid_input")
    assert len(cli.json(*memory)["lines"]) == 2


def test_a_file_is_brought_into_a_room_at_the_terminal(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("We ship on Fridays.", encoding="utf-8")

    talk = cli("channel", "chat", "releases", stdin=f"/attach {tmp_path / 'plan.md'}\n/attach {tmp_path / 'none.md'}\n")
    said = cli.json("channel", "logs", "terminal", "releases")
    again = cli("channel", "chat", "releases", stdin="")

    assert "plan.md is in the room." in talk.out
    assert "none.md" in talk.err
    assert said["messages"][0]["data"]["attachments"][0]["name"] == "plan.md"
    assert "[plan.md] artifact://" in again.out
