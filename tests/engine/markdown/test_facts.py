"""A text taken apart into facts, their titles, and the names of their files."""

from datetime import UTC, datetime

import pytest

from commonplace.markdown.facts import facts_of, file_name, is_fact, title_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I'm vegetarian. We deploy on Fridays.", ["I'm vegetarian.", "We deploy on Fridays."]),
        ("我对花生过敏。数据库在杭州。", ["我对花生过敏。", "数据库在杭州。"]),
        ("Dr. Lopez is our dentist. Tests need Docker.", ["Dr. Lopez is our dentist.", "Tests need Docker."]),
        ("Standup is at 9 a.m. on Mondays", ["Standup is at 9 a.m. on Mondays"]),
        ("We use tabs. Because the linter wants them.", ["We use tabs. Because the linter wants them."]),
        ("Ship on Fridays.\nWhy: the team is complete.\nHow to apply: tag first.", 1),
        ("The office is in Porto. It has a roof.", 1),
        ("Deploy steps:\n- tag it\n- push it\n  - twice\nThe retro is on Monday.", ["Deploy steps:\n- tag it\n- push it\n  - twice", "The retro is on Monday."]),
        ("- Use tabs in Go\n- Run the linter", ["- Use tabs in Go", "- Run the linter"]),
        ("Release day? Every Friday.", 1),
        ("We moved the wiki to\nthe new server", 1),
        ('Ana says "Ship it. Now." about releases', 1),
        ("# Handbook\n\nOne. Two things. Three things here.", 1),
        (" ".join(f"Service {n} has one owner." for n in range(21)), 1),
    ],
)  # fmt: skip
def test_each_fact_stands_by_itself_and_takes_along_what_leans_on_it(text: str, facts: list[str] | int) -> None:
    parts = facts_of(text)

    assert len(parts) == facts if isinstance(facts, int) else list(parts) == facts
    assert "".join("".join(parts).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Dr. Lopez is our dentist. She is kind.", "Dr. Lopez is our dentist"),
        ("- [ ] Use **tabs** in `Makefile`s.", "Use tabs in Makefiles"),
        ("1. Tag the release", "Tag the release"),
        ("## Release day\n\nWe ship on Fridays.", "Release day"),
        ("Yesterday (2026-11-18) we dropped it", "Yesterday (2026-11-18) we dropped it"),
        (
            "Tests need a running Docker because the integration suite starts Postgres and Redis",
            "Tests need a running Docker",
        ),
        (
            "我们决定下周发布新版本，因为客户在等，而且测试都通过了，文档也写好了，没有理由再等下去了。",
            "我们决定下周发布新版本，因为客户在等，而且测试都通过了",
        ),
    ],
)
def test_a_title_is_one_that_a_person_would_give(text: str, title: str) -> None:
    assert title_of(text) == title


@pytest.mark.parametrize(
    "text", ["?", "👍", "👍🏽!!", "42", "…", "ok", "Thanks!", "好的。", "When do we ship?", "What? Why?"]
)
def test_signs_reactions_and_questions_are_no_facts(text: str) -> None:
    assert not is_fact(text)


@pytest.mark.parametrize("text", ["tea", "我怕狗", "Release day? Friday.", "Call me Sam"])
def test_the_shortest_statement_is_one(text: str) -> None:
    assert is_fact(text)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("We ship on Fridays", "we-ship-on-fridays"),
        ("Café Müller is closed", "cafe-muller-is-closed"),
        ("我们用 PostgreSQL 做数据库", "我们用-postgresql-做数据库"),
        ("Чай по пятницам", "чай-по-пятницам"),
        ("?!", "project-2026-03-01"),
        ("字" * 80, "字" * 60),
    ],
)
def test_a_file_has_a_name_that_a_person_can_read(title: str, name: str) -> None:
    assert file_name(title, "project", NOW) == name
