"""Artifacts by their content: kept once, found by their id, gone with their last card."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.artifacts.cabinet import CONTENT, Cabinet, new_artifact_id
from commonplace.errors import FileError
from commonplace.values.artifact import Artifact
from commonplace.values.run_errors import ArtifactNotFound
from commonplace.values.scope import DEFAULT_TENANT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def artifact(data: bytes, **fields: object) -> Artifact:
    digest = sha256(data).hexdigest()
    card = Artifact(
        id=new_artifact_id(digest),
        name="report.md",
        type="text/markdown",
        size=len(data),
        sha256=digest,
        tenant=DEFAULT_TENANT,
        owner="ana",
        created_at=NOW,
    )
    return replace(card, **fields)  # pyright: ignore[reportArgumentType] - fields of an artifact


def contents(home: Path) -> list[Path]:
    return sorted((home / "artifacts").rglob(CONTENT))


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    data = os.urandom(1_000)
    card = artifact(data)

    Cabinet(tmp_path).add(card, data)

    again = Cabinet(tmp_path)
    assert again.get(DEFAULT_TENANT, card.id) == card
    assert again.content(card) == data
    assert again.all(DEFAULT_TENANT) == [card]


def test_the_same_content_is_kept_once_and_goes_with_the_last_artifact_that_has_it(tmp_path: Path) -> None:
    cabinet, cards = Cabinet(tmp_path), [artifact(b"same", name=name) for name in ("a", "b")]
    for card in cards:
        cabinet.add(card, b"same")
    assert len(contents(tmp_path)) == 1

    cabinet.remove(DEFAULT_TENANT, cards[0].id)

    assert cabinet.content(cards[1]) == b"same"
    cabinet.remove(DEFAULT_TENANT, cards[1].id)
    assert contents(tmp_path) == []
    with pytest.raises(ArtifactNotFound):
        cabinet.get(DEFAULT_TENANT, cards[1].id)


def test_tenants_share_no_content(tmp_path: Path) -> None:
    cabinet, other = Cabinet(tmp_path), artifact(b"same", tenant="acme/rockets")
    cabinet.add(artifact(b"same"), b"same")
    cabinet.add(other, b"same")

    assert len(contents(tmp_path)) == 2
    assert cabinet.all("acme/rockets") == [other]
    with pytest.raises(ArtifactNotFound):
        cabinet.get(DEFAULT_TENANT, other.id)


def test_nothing_of_it_is_for_others_on_this_machine(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Cabinet(tmp_path).add(artifact(b"x"), b"x")
    finally:
        os.umask(before)

    paths = [tmp_path / "artifacts", *(tmp_path / "artifacts").rglob("*")]
    assert [path for path in paths if path.stat().st_mode & 0o077] == []


def test_what_a_killed_process_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    cabinet, card = Cabinet(tmp_path), artifact(b"kept")
    cabinet.add(card, b"kept")
    orphan = tmp_path / "artifacts" / "ab" / ("ab" * 32)
    orphan.mkdir(parents=True)
    (orphan / CONTENT).write_bytes(b"orphan")
    draft = tmp_path / "artifacts" / ".drafts" / "x.tmp"
    draft.write_bytes(b"half")

    cabinet.sweep(datetime.now(UTC) - timedelta(hours=1))
    assert orphan.exists()
    cabinet.sweep(datetime.now(UTC) + timedelta(hours=1))

    assert not orphan.exists()
    assert not draft.exists()
    assert cabinet.content(card) == b"kept"


def test_a_content_that_somebody_changed_is_not_served(tmp_path: Path) -> None:
    cabinet, card = Cabinet(tmp_path), artifact(b"kept")
    cabinet.add(card, b"kept")
    contents(tmp_path)[0].write_bytes(b"evil")

    with pytest.raises(FileError):
        cabinet.content(card)


@pytest.mark.parametrize("id", ["", ".", "../../x", "a" * 33, f"{'0' * 16}-{'0' * 16}", f"{'0' * 16}/{'0' * 16}"])
def test_an_id_that_is_none_finds_nothing(tmp_path: Path, id: str) -> None:
    cabinet = Cabinet(tmp_path)
    for ask in (cabinet.get, cabinet.remove):
        with pytest.raises(ArtifactNotFound):
            ask(DEFAULT_TENANT, id)
    cabinet.add(artifact(b"x"), b"x")
    for ask in (cabinet.get, cabinet.remove):
        with pytest.raises(ArtifactNotFound):
            ask(DEFAULT_TENANT, id)


def test_those_whose_time_is_over_are_named(tmp_path: Path) -> None:
    cabinet = Cabinet(tmp_path)
    over = artifact(b"old", expires_at=NOW)
    for card, data in (
        (over, b"old"),
        (artifact(b"new", expires_at=NOW + timedelta(1)), b"new"),
        (artifact(b"x"), b"x"),
    ):
        cabinet.add(card, data)

    assert cabinet.over(NOW) == [(DEFAULT_TENANT, over.id)]


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.binary(max_size=2)), max_size=12))
def test_after_any_adds_and_removals_every_card_has_its_content_and_no_content_lacks_a_card(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    cabinet, cards = Cabinet(home), list[tuple[Artifact, bytes]]()
    for step, data in steps:
        if step == "add":
            cards.append((artifact(data), data))
            cabinet.add(*cards[-1])
        elif cards:
            cabinet.remove(DEFAULT_TENANT, cards.pop(0)[0].id)

    assert {card.id for card in Cabinet(home).all(DEFAULT_TENANT)} == {card.id for card, _ in cards}
    assert all(cabinet.content(card) == data for card, data in cards)
    assert len(contents(home)) == len({data for _, data in cards})
