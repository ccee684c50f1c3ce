"""What is forgotten leaves no trace in its folder, and a task that forgot knows that it did."""

from datetime import datetime, timedelta

import pytest

from commonplace.errors import NothingToUndo
from commonplace.markdown import erase
from commonplace.markdown.changes import noted, past, undo
from commonplace.markdown.forget import begin, choose, forget, remove, resumed
from commonplace.markdown.remember import remember
from commonplace.markdown.roots import Root
from commonplace.testing.managed import Place, traces

SECRET = "Quixotic zebras juggle marmalade"
OTHER = "Patient keepers repaint the harbour wall"


@pytest.fixture
def filed(place: Place, now: datetime) -> Root:
    """A secret and something else, each with a past."""
    for hour, fact in enumerate((SECRET, OTHER)):
        remember([place.user], f"user: {fact}", now=now - timedelta(hours=4 - hour))
        remember([place.user], f"user: {fact} every morning", now=now - timedelta(hours=2 - hour))
    assert len(past(place.user)) == 4
    return place.user


def test_forgetting_leaves_nothing_of_what_was_forgotten_and_the_past_of_others(filed: Root, now: datetime) -> None:
    forget([filed], "zebras", now=now)

    assert traces(filed, "zebras", "quixotic") == []
    assert len(past(filed)) == 2


def test_a_task_that_forgot_says_so_to_its_next_attempt_and_no_more(filed: Root, now: datetime) -> None:
    erased = remove(choose([filed], "zebras"), now=now, by="forget-1")

    again = resumed([filed], "forget-1")

    assert again is not None
    assert (again.types, again.entries) == (((filed, "user"),), ())
    assert [entry.entry.type for _, entry in erased.entries] == ["user"]
    assert traces(filed, "zebras", "quixotic") == []
    assert len(past(filed)) == 2
    marks = [change.id for change, steps in noted(filed) if not steps]
    with pytest.raises(NothingToUndo):
        undo(filed, marks[0], now)


def test_a_task_that_had_ended_in_one_folder_is_ended_in_the_other(place: Place, now: datetime) -> None:
    for root in place.roots:
        place.entry(root, "reference/a.md", f"{SECRET}.", "Zebras")
    entries = choose(place.roots, "zebras")
    for root in place.roots:
        root.folder.make()
    removals, _ = begin(entries, now=now, by="forget-1", records=["r1", "r2"])
    erase.end(removals[0].root, removals[0].changes, mark=True)

    again = resumed(place.roots, "forget-1")

    assert again is not None
    assert (sorted(root.kind for root, _ in again.types), again.records) == (["project", "user"], ("r1", "r2"))
    assert [traces(root, "zebras") for root in place.roots] == [[], []]


def test_a_task_that_had_not_ended_anywhere_is_not_resumed(filed: Root, now: datetime) -> None:
    begin(choose([filed], "zebras"), now=now, by="forget-1")

    assert resumed([filed], "forget-1") is None
    assert "forget-1" in {change.by for change in past(filed)}


def test_a_word_means_no_longer_word(place: Place) -> None:
    place.entry(place.user, "reference/a.md", "Nobody counts the cat.", "Pets")
    place.entry(place.user, "reference/b.md", "The catalogue is in the hall; we concatenate nothing.", "Library")

    assert [file.entry.name for _, file in choose([place.user], "cat")] == ["Pets"]


def test_what_somebody_changes_after_it_was_chosen_stays(place: Place, now: datetime) -> None:
    place.user.folder.make()
    place.entry(place.user, "reference/a.md", f"{SECRET}.", "Zebras")
    chosen = choose([place.user], "zebras")
    place.entry(place.user, "reference/a.md", f"{OTHER}.", "Harbour")

    erased = remove(chosen, now=now)

    assert erased.entries == ()
    assert OTHER in (place.user.path / "reference/a.md").read_text(encoding="utf-8")
