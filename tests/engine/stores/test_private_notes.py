"""Whose a private note from before is: a name decides, and if it fits no one person, nobody."""

import json

import pytest

from commonplace.stores.private_notes import NamedKey, Persons, PrivateNote

T = "default/default"


def key(id: str, name: str, role: str = "writer", *, subject: str | None = None, at: int = 1) -> NamedKey:
    return NamedKey(T, id, name, role, subject, at)


KEYS = (
    key("1", "ana"),
    key("2", "bea", subject="bea"),
    key("3", "twin"),
    key("4", "twin"),
    key("5", "pair", subject="pia"),
    key("6", "pair", subject="pia"),
    key("7", "engine", "admin"),
    key("8", "mixed", "admin"),
    key("9", "mixed"),
    key("10", "late", at=100),
    NamedKey("other/tenant", "11", "far", "writer", None, 1),
)


@pytest.mark.parametrize(
    ("name", "writer", "home"),
    [
        ("ana", "ana", "user:key/1"),
        ("bea", "bea", "user:bea"),
        ("twin", "twin", "user:key/unclaimed/twin"),
        ("pair", "pair", "user:pia"),
        ("late", "late", "user:key/unclaimed/late"),
        ("far", "far", "user:key/unclaimed/far"),
        ("gone", "gone", "user:key/unclaimed/gone"),
        ("gus", "gus", "user:key/unclaimed/gus"),
        ("operator", "operator", "user:local"),
        ("anonymous", "anonymous", "user:local"),
        ("local", "local", "user:local"),
        ("carl", "engine", "user:carl"),
        ("carl", "operator", "user:carl"),
        ("ana", "engine", "user:key/1"),
        ("gus", "engine", "user:key/unclaimed/gus"),
        ("key/1", "engine", "user:key/unclaimed/key/1"),
        ("carl", "mixed", "user:key/unclaimed/carl"),
        ("carl", "nobody", "user:key/unclaimed/carl"),
        ("carl", None, "user:key/unclaimed/carl"),
        ("two\nlines", "two\nlines", "user:key/unclaimed/two?lines"),
        ("ana", "twin", None),
        ("carl", "ana", None),
    ],
)
def test_a_name_leads_to_one_person_or_to_nobody(name: str, writer: str | None, home: str | None) -> None:
    note = PrivateNote(7, T, json.dumps({"governed": {"subject": name}}), writer, 50)

    moves = Persons(KEYS, {(T, "gus")}).moves([note])

    assert [(move.number, str(move.target)) for move in moves] == ([] if home is None else [(7, home)])


def test_a_key_that_is_called_operator_makes_it_nobodys() -> None:
    note = PrivateNote(7, T, json.dumps({"governed": {"subject": "operator"}}), "operator", 50)

    [move] = Persons([key("1", "operator")], ()).moves([note])

    assert str(move.target) == "user:key/unclaimed/operator"


def test_a_name_as_long_as_can_be_fits_a_scope() -> None:
    note = PrivateNote(7, T, json.dumps({"governed": {"subject": "n" * 5_000}}), "x", 50)

    [move] = Persons((), ()).moves([note])

    assert move.target.id.startswith("key/unclaimed/nnn")


@pytest.mark.parametrize(
    "metadata",
    [
        "{",
        "[]",
        '{"governed": 7}',
        '{"governed": {}}',
        '{"governed": {"subject": ""}}',
        '{"governed": {"subject": 7}}',
        '{"governed": {"subject": "ana"}, "promotion": {}}',
    ],
)
def test_what_says_nothing_of_a_subject_or_was_promoted_stays(metadata: str) -> None:
    assert Persons(KEYS, ()).moves([PrivateNote(7, T, metadata, "ana", 50)]) == []
