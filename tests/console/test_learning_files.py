"""The managed Markdown in the browser: read, edited, and edited by two at once."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Language, Visit
from tests.console.shelf import entry, filed, named, opened, put, stored

from commonplace.testing.daemon import Daemon


def test_a_file_is_rendered_with_its_facts_and_opens_from_the_index(
    operator_page: Page, operator: httpx.Client
) -> None:
    name, path = filed(operator, "Use **short** words.\n\n- one\n- two")
    page = opened(operator_page, "files", root="project", path="MEMORY.md")

    page.get_by_role("article").get_by_role("link", name=name).click()

    article = page.get_by_role("article", name=path)
    expect(article.locator("strong")).to_have_text("short")
    expect(article.get_by_role("listitem")).to_have_count(2)
    expect(article.get_by_role("definition").nth(1)).to_have_text(f"{name} in short")


def test_an_edit_is_saved_and_undone(operator_page: Page, operator: httpx.Client) -> None:
    _, path = filed(operator)
    before = stored(operator, "project", path)
    page = opened(operator_page, "files", root="project", path=path)

    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text of").fill(entry("Other", "Now **otherwise**."))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="Preview").locator("strong")).to_have_text("otherwise")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved.")).to_be_visible()
    assert stored(operator, "project", path) == entry("Other", "Now **otherwise**.")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("article")).not_to_contain_text("otherwise")
    assert stored(operator, "project", path) == before


def editing(page: Page, path: str, text: str) -> Page:
    opened(page, "files", root="project", path=path)
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text of").fill(text)
    return page


def clashing(page: Page, operator: httpx.Client, *, mine: str, theirs: str) -> str:
    """Both changed the same file; the page has just been told so. Its path."""
    name, path = filed(operator, "First.\n\nSecond.\n\nThird.")
    editing(page, path, entry(name, mine))
    put(operator, path, entry(name, theirs))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="The file changed meanwhile")).to_be_focused()
    return path


@pytest.mark.allow_errors(412)
def test_two_changes_of_different_lines_are_put_together(operator_page: Page, operator: httpx.Client) -> None:
    page = operator_page
    path = clashing(page, operator, mine="Mine.\n\nSecond.\n\nThird.", theirs="First.\n\nSecond.\n\nTheirs.")

    page.get_by_role("button", name="Edit both together").click()
    expect(page.get_by_text("Both changes are in the text now.")).to_be_visible()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved.")).to_be_visible()
    assert "Mine.\n\nSecond.\n\nTheirs." in (stored(operator, "project", path) or "")


@pytest.mark.allow_errors(412)
def test_two_changes_of_one_line_stand_between_marks_until_somebody_chose(
    operator_page: Page, operator: httpx.Client
) -> None:
    page = operator_page
    path = clashing(page, operator, mine="Mine.", theirs="Theirs.")
    area = page.get_by_label("Text of")

    area.press("Control+End")
    area.press_sequentially("Typed since.")
    page.get_by_role("button", name="Edit both together").click()

    expect(page.get_by_text("You both changed the same lines.")).to_be_visible()
    for text in ("<<<<<<< Yours", "Mine.", "Typed since.", "Theirs.", ">>>>>>> Theirs"):
        expect(area).to_have_value(re.compile(re.escape(text)))
    assert "Mine." not in (stored(operator, "project", path) or "")


@pytest.mark.allow_errors(412)
def test_a_conflict_shows_what_differs_and_mine_is_saved_over_theirs(
    operator_page: Page, operator: httpx.Client
) -> None:
    page = operator_page
    path = clashing(page, operator, mine="Mine.", theirs="Theirs.")

    differs = page.get_by_role("region", name="From theirs to yours")
    expect(differs.locator("del")).to_contain_text("Theirs")
    expect(differs.locator("ins")).to_contain_text("Mine")
    page.get_by_role("button", name="Save mine").click()

    expect(page.get_by_text("Saved.")).to_be_visible()
    assert "Mine." in (stored(operator, "project", path) or "")


@pytest.mark.allow_errors(412)
def test_theirs_is_taken_and_what_was_typed_comes_back(operator_page: Page, operator: httpx.Client) -> None:
    page = operator_page
    path = clashing(page, operator, mine="Mine.", theirs="Theirs.")

    page.get_by_role("button", name="Take theirs").click()
    expect(page.get_by_role("article")).to_contain_text("Theirs.")
    page.get_by_role("button", name="Bring mine back").click()

    expect(page.get_by_label("Text of")).to_have_value(re.compile("Mine"))
    assert "Theirs." in (stored(operator, "project", path) or "")


@pytest.mark.allow_errors(412)
def test_a_file_that_was_deleted_meanwhile_can_be_made_anew(operator_page: Page, operator: httpx.Client) -> None:
    name, path = filed(operator)
    page = editing(operator_page, path, entry(name, "Still here."))
    etag = operator.get(f"/v1/managed/project/{path}").json()["etag"]
    operator.delete(f"/v1/managed/project/{path}", headers={"If-Match": etag}).raise_for_status()

    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody else deleted it while you wrote.")).to_be_visible()
    page.get_by_role("button", name="Save mine as a new file").click()

    expect(page.get_by_text("Saved.")).to_be_visible()
    assert "Still here." in (stored(operator, "project", path) or "")


@pytest.mark.allow_errors(403, 422, 400)
def test_what_was_typed_is_kept_when_the_server_refuses_and_when_one_leaves(
    operator_page: Page, operator: httpx.Client
) -> None:
    _, path = filed(operator)
    before = stored(operator, "project", path)
    page = editing(operator_page, path, "   ")

    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("That did not work")
    page.get_by_label("Text of").fill("Half a thought")
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
    opened(page, "files", root="project", path=path)

    expect(page.get_by_label("Text of")).to_have_value("Half a thought")
    expect(page.get_by_text("still here, unsaved")).to_be_visible()
    assert stored(operator, "project", path) == before


def test_a_file_that_is_read_follows_what_others_write(operator_page: Page, operator: httpx.Client) -> None:
    name, path = filed(operator)
    page = opened(operator_page, "files", root="project", path=path)
    expect(page.get_by_role("article")).to_contain_text(name)

    put(operator, path, entry(name, "Written by somebody else."))

    expect(page.get_by_role("article")).to_contain_text("Written by somebody else.")


@pytest.mark.allow_errors(412)
def test_a_new_file_is_made_and_a_name_that_is_taken_is_refused(operator_page: Page, operator: httpx.Client) -> None:
    _, taken = filed(operator)
    name = named("Fresh")
    page = opened(operator_page, "files")

    page.get_by_role("button", name="New file").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Name").fill(name)
    asked.get_by_label("What to know").fill("Something new.")
    path = asked.get_by_label("File").input_value()
    asked.get_by_label("File").fill(taken)
    asked.get_by_role("button", name="Create").click()
    expect(asked.get_by_role("alert")).to_contain_text("There is a file of this name already")
    asked.get_by_label("File").fill(path)
    asked.get_by_role("button", name="Create").click()

    expect(page.get_by_role("article", name=path)).to_contain_text("Something new.")
    assert "Something new." in (stored(operator, "project", path) or "")


def test_a_file_is_deleted_and_comes_back_with_undo(operator_page: Page, operator: httpx.Client) -> None:
    name, path = filed(operator)
    page = opened(operator_page, "files", root="project", path=path)

    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text(f"“{name}” was deleted.")).to_be_visible()
    assert stored(operator, "project", path) is None
    page.get_by_role("button", name="Undo", exact=True).click()

    expect(page.get_by_text("1 file is as it was before.")).to_be_visible()
    assert stored(operator, "project", path) is not None


def test_a_file_is_moved_to_ones_own_memory(operator_page: Page, operator: httpx.Client) -> None:
    name, path = filed(operator)
    page = opened(operator_page, "files", root="project", path=path)

    page.get_by_role("button", name="Move to your own").click()

    expect(page.get_by_text(f"“{name}” is in your own memory now.")).to_be_visible()
    assert stored(operator, "project", path) is None
    [user, _] = operator.get("/v1/managed").raise_for_status().json()["roots"]
    assert name in [file["name"] for file in user["files"]]


# ---- looks


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("tab", ["lanes", "cost", "files"])
def test_a_screen_reader_and_a_narrow_window_find_nothing_in_the_way(
    visit: Visit,
    daemon: Daemon,
    operator: httpx.Client,
    axe: Callable[[Page], list[str]],
    shots: Callable[[Page, str], list[Path]],
    tab: str,
    language: Language,
) -> None:
    _, path = filed(
        operator, f"{'x' * 5000}\n\n```\n{'y' * 5000}\n```\n\n- 发布前先跑回归测试。\n\n> Why: it is safer."
    )
    page = visit(daemon.token, language=language)
    asked = f"?root=project&path={path.replace('/', '%2F')}" if tab == "files" else ""
    page.goto(f"/#/learning/{tab}{asked}")
    expect(page.locator("[data-ready]")).to_be_visible()
    if tab == "files":
        expect(page.get_by_role("article").get_by_role("listitem")).to_be_visible()

    assert axe(page) == []
    assert len(shots(page, f"learning-{tab}-{language}")) == 4
    page.set_viewport_size({"width": 380, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
