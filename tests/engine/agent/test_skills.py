"""Skills: what a folder offers, what the model reads of it, and what stands at the head of later turns."""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.agent.skills import LARGEST, MOST_ACTIVE, MOST_SKILLS, SkillShelf
from commonplace.errors import CommonplaceError, InvalidInput, PathNotFound
from commonplace.values.session import SessionMessage

pytestmark = pytest.mark.anyio

NOTES = "---\nname: release-notes\ndescription: >\n  How we write notes.\n  Use it first.\n---\n\nBegin with what changed.\n"


def skill(folder: Path, name: str = "one", body: str = "Do it.", description: str = "When it is needed.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n", encoding="utf-8")
    return folder


def call(position: int, skill: str, *, failed: bool | None = False, **arguments: Any) -> list[SessionMessage]:
    """A call and its result; `failed` None: it was interrupted."""
    at, id = datetime(2026, 1, 1, tzinfo=UTC), f"c{position}"
    data = {"tool": "use_skill", "arguments": {"name": skill, **arguments}}
    messages = [
        SessionMessage(session="s", position=position, id=id, at=at, role="tool", kind="tool_call", call=id, data=data)
    ]
    if failed is not None:
        result = {"failed": failed}
        messages.append(
            SessionMessage(
                session="s", position=position + 1, id=f"r{position}", at=at, role="tool", kind="tool_result", call=id, data=result
            )
        )  # fmt: skip
    return messages


async def test_a_skill_is_one_line_in_the_prompt_and_whole_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(NOTES, encoding="utf-8")

    skills = SkillShelf([str(tmp_path)])

    assert skills.lines == ("release-notes: How we write notes. Use it first.",)
    assert await skills.read("release-notes") == "The skill release-notes:\n\nBegin with what changed."
    [tool] = skills.tools({})
    assert (tool.name, tool.asks) == ("use_skill", False)


async def test_a_folder_may_hold_several_skills_and_those_of_all_folders_are_listed_by_name(tmp_path: Path) -> None:
    skill(tmp_path / "a" / "zebra", "zebra")
    skill(tmp_path / "a" / "deep" / "apple", "apple")
    skill(tmp_path / "b", "mango")

    skills = SkillShelf([str(tmp_path / "a"), str(tmp_path / "b")])

    assert [line.split(":")[0] for line in skills.lines] == ["apple", "mango", "zebra"]
    assert skills.problems == ()


async def test_files_of_a_skill_are_read_when_it_mentions_them_and_no_others(tmp_path: Path) -> None:
    home = skill(tmp_path / "skills", "notes")
    (home / "reference").mkdir()
    (home / "reference" / "style.md").write_text("Be brief.", encoding="utf-8")
    skill(home / "inner", "inner")
    (tmp_path / "secret.txt").write_text("outside", encoding="utf-8")
    skills = SkillShelf([str(home)])

    assert "reference/style.md" in await skills.read("notes")
    assert await skills.read("notes", "reference/style.md") == "Be brief."
    for path in ("../secret.txt", "/etc/passwd", "inner/SKILL.md", "SKILL.md", "reference"):
        with pytest.raises(PathNotFound):
            await skills.read("notes", path)


async def test_a_name_that_is_none_is_refused_with_those_that_are(tmp_path: Path) -> None:
    skills = SkillShelf([str(skill(tmp_path, "notes"))])

    with pytest.raises(InvalidInput) as refused:
        await skills.read("no\nsuch")

    assert "notes" in refused.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no frontmatter",
        "---\nname: a\ndescription: b\n",
        "---\nname: a\n---\nbody",
        "---\ndescription: b\n---\nbody",
        "---\nname: a b\ndescription: c\n---\nbody",
        "---\nname: ../a\ndescription: c\n---\nbody",
        "---\nname: a\ndescription: c\n---\n \n",
        "---\nname: a\ndescription: c\n---\nbo\0dy",
        f"---\nname: {'a' * 65}\ndescription: c\n---\nbody",
        "x" * (LARGEST + 1),
        b"---\nname: a\ndescription: \xff\n---\nbody",
    ],
)
async def test_a_broken_skill_is_a_problem_and_costs_no_other(tmp_path: Path, text: str | bytes) -> None:
    skill(tmp_path / "good", "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())

    skills = SkillShelf([str(tmp_path)])

    assert list(skills.skills) == ["good"]
    assert [problem.path for problem in skills.problems] == [f"{tmp_path}/bad/SKILL.md"]
    assert skills.problems[0].reason


async def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    outside = skill(tmp_path / "outside", "outside")
    home = skill(tmp_path / "skills" / "mine", "mine")
    (tmp_path / "skills" / "linked").symlink_to(outside)
    (tmp_path / "skills" / "other").mkdir()
    (tmp_path / "skills" / "other" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (home / "passwd").symlink_to("/etc/passwd")

    skills = SkillShelf([str(tmp_path / "skills")])

    assert list(skills.skills) == ["mine"]
    assert skills.skills["mine"].files == ()


async def test_a_file_that_becomes_a_link_after_the_listing_is_not_followed(tmp_path: Path) -> None:
    home = skill(tmp_path / "skills", "mine")
    (home / "style.md").write_text("Be brief.", encoding="utf-8")
    skills = SkillShelf([str(home)])
    (home / "style.md").unlink()
    (home / "style.md").symlink_to("/etc/passwd")

    with pytest.raises(CommonplaceError):
        await skills.read("mine", "style.md")


async def test_folders_that_are_missing_or_empty_and_names_that_are_taken_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    first, second = skill(tmp_path / "a", "same", body="first"), skill(tmp_path / "b", "same", body="second")

    skills = SkillShelf([str(tmp_path / "none"), str(tmp_path / "empty"), str(first), str(second)])

    assert [Path(problem.path).name for problem in skills.problems] == ["none", "empty", "b"]
    assert skills.skills["same"].body == "first"


async def test_an_agent_has_a_hundred_skills_at_most(tmp_path: Path) -> None:
    for number in range(MOST_SKILLS + 5):
        skill(tmp_path / f"{number:03}", f"s{number:03}")

    skills = SkillShelf([str(tmp_path)])

    assert len(skills.skills) == MOST_SKILLS
    assert len(skills.problems) == 1


async def test_what_a_session_used_stands_at_the_head_from_then_on(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        skill(tmp_path / name, name, body=f"how to {name}")
    skills = SkillShelf([str(tmp_path)])
    history = [
        *call(1, "b"),
        *call(3, "a"),
        *call(5, "gone"),
        *call(7, "c", failed=True),
        *call(9, "c", failed=None),
        *call(11, "c", file="style.md"),
        *call(13, "b"),
    ]

    active = skills.active(history)

    assert list(active.items()) == [("a", skills.skills["a"].text), ("b", skills.skills["b"].text)]
    assert skills.active([]) == {}


async def test_only_the_skills_used_last_stay_at_the_head(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(MOST_ACTIVE + 2)]
    for name in names:
        skill(tmp_path / name, name)
    skills = SkillShelf([str(tmp_path)])

    active = skills.active([message for place, name in enumerate(names) for message in call(2 * place + 1, name)])

    by_tool: dict[str, str] = {}
    [tool] = skills.tools(by_tool)
    assert tool.function is not None
    for name in names:
        await tool.function(name)

    assert list(active) == names[2:]
    assert list(by_tool.items()) == list(active.items())


async def test_a_file_of_a_skill_does_not_make_it_active_and_without_skills_there_is_no_tool(tmp_path: Path) -> None:
    home = skill(tmp_path / "skills", "notes")
    (home / "style.md").write_text("Be brief.", encoding="utf-8")
    active: dict[str, str] = {}
    [tool] = SkillShelf([str(home)]).tools(active)
    assert tool.function is not None

    assert await tool.function("notes", "style.md") == "Be brief."
    assert active == {}
    assert SkillShelf([]).tools({}) == []


@settings(max_examples=150, deadline=None)
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
                      st.lists(st.sampled_from(["---", "name: a", "description: b", "name:", "  more", "\ttab", "x: y", "", "..."]),
                               max_size=12).map(lambda lines: "\n".join(lines).encode())))  # fmt: skip
def test_whatever_a_file_holds_it_is_a_skill_of_one_line_or_a_problem(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "SKILL.md").write_bytes(data)

        skills = SkillShelf([folder])

    assert len(skills.skills) + len(skills.problems) == 1
    for line in skills.lines:
        assert line.isprintable()
