"""What is left of an entry that was tidied away: every line of it must be said somewhere."""

from datetime import datetime

import pytest

from commonplace.markdown.changes import past, undo
from commonplace.markdown.consolidate import dream, lost
from commonplace.markdown.shelf import Shelf
from commonplace.testing.managed import Place


@pytest.mark.parametrize(
    ("was", "now_says", "is_lost"),
    [
        ("We ship on Fridays.", "The project ships: we ship on fridays", False),
        ("We ship on Fridays.", "We ship.", True),
        ("I like green tea.", "I like coffee.", True),
        (
            "Deploys need two approvals from the platform team.",
            "Deploys: two approvals, platform team, need both.",
            False,
        ),
        ("发布在星期五进行", "项目的发布在星期五进行，测试之后。", False),
        ("发布在星期五进行", "发布之前要先跑测试。", True),
        ("---", "Something else", False),
    ],
)
def test_a_line_is_lost_where_no_entry_says_most_of_it(place: Place, was: str, now_says: str, is_lost: bool) -> None:
    place.entry(place.project, "project/a.md", was, description="-")
    before = Shelf(place.project).scan().entries
    place.entry(place.project, "project/a.md", now_says, description="-")
    after = Shelf(place.project).scan().entries

    assert bool(lost(before, after, ["project/a.md"])) == is_lost
    assert lost(before, after, []) == []


def test_a_field_of_a_persons_own_is_a_line_too(place: Place) -> None:
    text = "---\nname: A\ndescription: A\ntype: project\nowner: Ana Lee\n---\nWe ship.\n"
    place.save(place.project, "project/a.md", text)
    before = Shelf(place.project).scan().entries
    place.entry(place.project, "project/a.md", "We ship.", name="A", description="A")

    assert lost(before, Shelf(place.project).scan().entries, ["project/a.md"]) == ["owner: Ana Lee"]
    assert lost(before, before, ["project/a.md"]) == []


def test_a_dream_by_rules_is_one_change_that_is_taken_back_whole(place: Place, now: datetime) -> None:
    fact = "The project ships its releases on Fridays after the tests have passed"
    for name in ("a", "b", "c"):
        place.entry(place.project, f"project/{name}.md", f"{fact}\n\nNote {name}")
    before = place.files()

    outcome = dream(place.roots, now=now, by="dream-1")
    between = place.files()
    [(root, change)] = outcome.changes
    undo(root, change, now)

    assert (len(before), len(between)) == (3, 1)
    assert all(f"Note {name}" in next(iter(between.values())) for name in ("a", "b", "c"))
    assert place.files() == before
    assert [one.by for one in past(root)].count("dream-1") == 1
