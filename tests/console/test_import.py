"""Import and export in a browser: files that are sent, folders of the server, what was left out and why, files that come back."""

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect
from tests.console.conftest import Daemon, Memory, Visit

SCOPE = "workspace:notes"


def _file(name: str, text: str | bytes) -> FilePayload:
    content = text.encode() if isinstance(text, str) else text
    return {"name": name, "mimeType": "text/markdown", "buffer": content}


def _choose_scope(page: Page, scope: str = SCOPE) -> None:
    box = page.get_by_role("combobox", name="Into the scope")
    box.fill(scope)
    page.get_by_role("option", name=scope).click()


def _begin(page: Page, *files: FilePayload) -> None:
    page.goto("/#/import")
    _choose_scope(page)
    page.get_by_label("Choose files").set_input_files(list(files))


def _import(page: Page) -> None:
    page.get_by_role("button", name=re.compile(r"^Import \d")).click()


def _report(page: Page) -> Locator:
    return page.get_by_role("status").filter(has=page.get_by_role("heading", name="Imported"))


def _facts(report: Locator) -> dict[str, str]:
    return dict(zip(report.locator("dt").all_inner_texts(), report.locator("dd").all_inner_texts(), strict=True))


def _tasks(memory: Memory) -> list[dict[str, Any]]:
    return memory.client.get("/v1/tasks").raise_for_status().json()["tasks"]


def test_an_imported_file_is_called_by_its_own_name_in_the_list_and_on_its_page(page: Page, memory: Memory) -> None:
    _begin(page, _file("tea.md", "# Tea\n\nGreen tea is brewed at 80 degrees."))
    _import(page)
    expect(_report(page)).to_be_visible()
    [record] = memory.records(scope=SCOPE)

    page.goto("/#/memory/workspace%3Anotes")

    expect(page.get_by_role("gridcell").filter(has_text="tea.md")).to_be_visible()
    expect(page.get_by_text(record["key"])).to_have_count(0)
    page.goto("/#/recall?q=How+hot+is+green+tea%3F")
    expect(page.get_by_role("link", name="tea.md")).to_be_visible()
    page.get_by_role("link", name="tea.md").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("File tea.md")
    expect(page.get_by_role("region", name="What it says").get_by_role("heading", name="Tea")).to_be_visible()
    assert record["provenance"]["file"] == "tea.md"


def test_files_that_are_chosen_are_imported_and_those_left_out_say_why(page: Page, memory: Memory) -> None:
    _begin(
        page,
        _file("tea.md", "# Tea\n\nGreen tea is brewed at 80 degrees."),
        _file("coffee.txt", "Coffee is ground just before."),
        _file("photo.png", b"\x89PNG\r\n\x1a\n"),
        _file("broken.md", b"\xff\xfe\x00\x01"),
        _file("huge.md", "x" * (2 * 1024 * 1024 + 1)),
    )
    expect(page.get_by_text("3 files, ")).to_be_visible()
    expect(page.get_by_text("2 files left out")).to_be_visible()

    _import(page)

    expect(_report(page)).to_be_visible()
    facts = _facts(_report(page))
    assert (facts["Indexed"], facts["Unchanged"], facts["Left out"]) == ("2", "0", "3")
    rows = _report(page).get_by_role("row")
    expect(rows.filter(has_text="photo.png")).to_contain_text("not Markdown or text")
    expect(rows.filter(has_text="broken.md")).to_contain_text("not UTF-8")
    expect(rows.filter(has_text="huge.md")).to_contain_text("larger than 2 MiB")
    assert {one["provenance"]["file"] for one in memory.records(scope=SCOPE)} == {"tea.md", "coffee.txt"}


def test_what_did_not_change_is_left_alone_the_second_time(page: Page, memory: Memory) -> None:
    _begin(page, _file("tea.md", "Green tea is brewed at 80 degrees."))
    _import(page)
    expect(_report(page)).to_be_visible()
    before = memory.records(scope=SCOPE)

    page.get_by_label("Choose files").set_input_files(
        [_file("tea.md", "Green tea is brewed at 80 degrees."), _file("b.md", "More.")]
    )
    _import(page)

    expect(_report(page).locator("dd").nth(1)).to_have_text("1")
    assert _facts(_report(page))["Indexed"] == "1"
    after = memory.records(scope=SCOPE)
    assert [one for one in after if one["id"] == before[0]["id"]] == before
    assert len(after) == 2


def test_a_folder_keeps_its_paths_and_leaves_out_what_is_hidden(page: Page, memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    for name in ("start.md", "deep/er/note.md", ".hidden/secret.md", "node_modules/x/readme.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"The text of {name}.", encoding="utf-8")
    page.goto("/#/import")
    _choose_scope(page)

    page.get_by_label("Choose a folder").set_input_files(folder)
    _import(page)

    expect(_report(page)).to_be_visible()
    files = {one["provenance"]["file"] for one in memory.records(scope=SCOPE)}
    assert files == {"handbook/start.md", "handbook/deep/er/note.md"}


def test_files_can_be_dropped(page: Page, memory: Memory) -> None:
    page.goto("/#/import")
    _choose_scope(page)
    dropped = page.evaluate_handle(
        "() => { const held = new DataTransfer(); held.items.add(new File(['Dropped from above.'], 'drop.md')); return held; }"
    )

    page.locator(".drop").dispatch_event("drop", {"dataTransfer": dropped})
    _import(page)

    expect(_report(page)).to_be_visible()
    assert [one["text"] for one in memory.records(scope=SCOPE)] == ["Dropped from above."]


def test_many_files_go_in_portions_and_are_counted_together(page: Page, memory: Memory) -> None:
    _begin(page, *(_file(f"n{index:03}.md", f"Note number {index}.") for index in range(510)))

    _import(page)

    expect(_report(page)).to_be_visible()
    assert _facts(_report(page))["Indexed"] == "510"
    assert sorted(one["result"]["indexed_files"] for one in _tasks(memory)) == [10, 500]


def test_an_openclaw_memory_is_told_by_its_format(page: Page, memory: Memory) -> None:
    page.goto("/#/import")
    _choose_scope(page)
    page.get_by_label("Format").select_option("openclaw")

    page.get_by_label("Choose files").set_input_files([_file("MEMORY.md", "Ana likes tea."), _file("other.md", "No.")])
    _import(page)

    expect(_report(page)).to_be_visible()
    assert [one["text"] for one in memory.records(scope=SCOPE)] == ["Ana likes tea."]
    expect(_report(page).get_by_role("row").filter(has_text="other.md")).to_contain_text("OpenClaw")


def test_the_operator_imports_a_folder_of_the_server(operator_page: Page, daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A note of the server.", encoding="utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path.parent / "elsewhere.md")
    scope = f"workspace:{uuid.uuid4().hex}"
    page = operator_page
    page.goto("/#/import")
    _choose_scope(page, scope)

    page.get_by_text("From a folder of the server").click()
    page.get_by_label("Path on the server").fill(str(tmp_path))
    page.get_by_role("button", name="Import from the server").click()

    expect(_report(page).get_by_role("row").filter(has_text="link.md")).to_contain_text("leads out of the folder")
    with daemon.client() as client:
        found = client.get("/v1/records", params={"scope": scope}).json()["records"]
    assert [one["text"] for one in found] == ["A note of the server."]


@pytest.mark.allow_errors(403)
def test_a_path_that_is_refused_is_told_and_stays_typed(page: Page, memory: Memory, tmp_path: Path) -> None:
    page.goto("/#/import")
    _choose_scope(page)
    page.get_by_text("From a folder of the server").click()
    page.get_by_label("Path on the server").fill(str(tmp_path))

    page.get_by_role("button", name="Import from the server").click()

    expect(page.get_by_role("alert")).to_contain_text("import_roots")
    expect(page.get_by_label("Path on the server")).to_have_value(str(tmp_path))
    expect(page.get_by_role("button", name="Import from the server")).to_be_enabled()
    assert _tasks(memory) == []


@pytest.mark.allow_errors(403)
def test_files_that_were_refused_are_still_there_to_be_sent(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("writer", "agent:ana"))
    _begin(page, _file("tea.md", "Green tea."))

    _import(page)

    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("button", name="Import 1 file")).to_be_enabled()
    assert memory.records(scope=SCOPE) == []


def test_an_import_that_failed_is_tried_again_and_then_forgotten(
    operator_page: Page, daemon: Daemon, tmp_path: Path
) -> None:
    page = operator_page
    scope = f"workspace:{uuid.uuid4().hex}"
    folder = tmp_path / "late"
    with daemon.client() as client:
        job = client.post("/v1/import", json={"path": str(folder), "scope": scope}).json()["job"]
        page.goto("/#/import")
        row = page.locator(f"tr[data-id='{job['id']}']")
        expect(row).to_contain_text("failed")
        folder.mkdir()
        (folder / "a.md").write_text("Late, but here.", encoding="utf-8")

        row.get_by_role("button", name="Try again").click()

        expect(row).to_contain_text("1 indexed")
        assert len(client.get("/v1/records", params={"scope": scope}).json()["records"]) == 1
        row.get_by_role("button", name="Take off the list").click()
        expect(row).to_have_count(0)
        assert client.get(f"/v1/tasks/{job['id']}").status_code == 404


def test_an_export_is_what_the_server_exports(page: Page, memory: Memory) -> None:
    page.goto("/#/import")
    box = page.get_by_role("combobox", name="Add a scope to export")
    box.fill("agent:ana")
    page.get_by_role("option", name="agent:ana").click()

    with page.expect_download() as begun:
        page.get_by_role("link", name="Download").click()

    written = begun.value.path().read_text(encoding="utf-8")
    assert begun.value.suggested_filename == "commonplace.jsonl"
    assert "Ana prefers short answers" in written
    assert "Tuesdays" not in written
    assert len(written.splitlines()) == len(_export(memory, "agent:ana"))


def _export(memory: Memory, scope: str | None = None) -> list[str]:
    query = {} if scope is None else {"scope": scope}
    return memory.client.get("/v1/export", params=query).raise_for_status().text.splitlines()


def test_an_admin_loads_an_export(page: Page, memory: Memory) -> None:
    held = memory.records(scope="agent:ana")[0]["id"]
    anew = held[:-4] + ("0000" if held[-4:] != "0000" else "ffff")
    lines = "\n".join([*_export(memory, "agent:ana"), ""]).replace(held, anew)
    page.goto("/#/import")

    page.get_by_label("Choose an export").set_input_files(_file("commonplace.jsonl", lines))
    page.get_by_role("button", name="Load", exact=True).click()

    expect(page.get_by_role("heading", name="Loaded")).to_be_visible()
    report = page.get_by_role("region", name="Load an export")
    assert (_facts(report)["Created"], _facts(report)["Unchanged"]) == ("1", "0")
    assert {one["id"] for one in memory.records(scope="agent:ana")} == {held, anew}


@pytest.mark.allow_errors(400)
def test_a_file_that_is_no_export_is_refused_and_changes_nothing(page: Page, memory: Memory) -> None:
    before = memory.records()
    page.goto("/#/import")

    page.get_by_label("Choose an export").set_input_files(_file("wrong.jsonl", "this is no export\n"))
    page.get_by_role("button", name="Load", exact=True).click()

    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_text("wrong.jsonl")).to_be_visible()
    assert memory.records() == before


def test_a_reader_may_look_and_export_and_is_offered_no_more(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reader"))

    page.goto("/#/import")

    expect(page.get_by_text("Your key may read, not import.")).to_be_visible()
    expect(page.get_by_role("link", name="Download")).to_be_visible()
    expect(page.get_by_label("Choose files")).to_have_count(0)
    expect(page.get_by_label("Choose an export")).to_have_count(0)
    assert _tasks(memory) == []


def test_the_keyboard_alone_imports(page: Page, memory: Memory) -> None:
    # From the beginning: a key is quicker than the browser learns that somebody waits for its file chooser.
    page.on("filechooser", lambda chooser: chooser.set_files([_file("keys.md", "Typed, not clicked.")]))
    expect(page.get_by_role("navigation")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.get_by_role("combobox", name="Into the scope").focus()
    page.keyboard.type(SCOPE)
    expect(page.get_by_role("option", name=SCOPE)).to_be_visible()
    page.keyboard.press("Enter")
    page.get_by_label("Choose files").focus()

    page.keyboard.press("Space")
    page.get_by_role("button", name="Import 1 file").focus()
    page.keyboard.press("Enter")

    expect(_report(page)).to_be_visible()
    assert [one["text"] for one in memory.records(scope=SCOPE)] == ["Typed, not clicked."]


def test_it_is_fit_for_a_screen_reader_and_for_a_phone(
    page: Page, axe: Callable[[Page], list[str]], shots: Callable[[Page, str], list[Path]]
) -> None:
    _begin(page, _file("tea.md", "Green tea."), _file("photo.png", b"\x89PNG"))
    _import(page)
    expect(_report(page)).to_be_visible()
    expect(page.get_by_role("table").last).to_contain_text("1 indexed")

    assert axe(page) == []
    shots(page, "import-en")
    page.set_viewport_size({"width": 380, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_speaks_chinese(visit: Visit, memory: Memory, shots: Callable[[Page, str], list[Path]]) -> None:
    page = visit(memory.secret, language="zh")

    page.goto("/#/import")

    expect(page.get_by_role("heading", name="以往的导入")).to_be_visible()
    expect(page.get_by_text("还没有导入过任何内容。")).to_be_visible()
    assert _tasks(memory) == []
    shots(page, "import-zh")
