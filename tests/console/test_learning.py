"""Learning in the browser: the lanes and their dead letters, what models cost, and the managed Markdown."""

import json
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Memory, Visit
from tests.console.shelf import entry, filed, opened, paths, put, stored

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.vendor import completion, running_vendor

TALK = (
    "user: Please remember that we deploy the shop with `make ship` and never on a Friday afternoon.\n\n"
    "assistant: Understood, I will use `make ship`.\n\n"
    "user: And I prefer answers that are short, with the command first and the reason after it.\n\n"
    "assistant: I will keep that in mind for the next time."
)


def key(operator: httpx.Client, role: str) -> str:
    return operator.post("/v1/keys", json={"name": f"a {role}", "role": role}).raise_for_status().json()["secret"]


def tasks(client: httpx.Client, **query: str) -> list[dict[str, Any]]:
    return client.get("/v1/tasks", params=query).raise_for_status().json()["tasks"]


def over(client: httpx.Client, id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        task = client.get(f"/v1/tasks/{id}").raise_for_status().json()
        if task["state"] in ("done", "failed"):
            return task
        time.sleep(0.02)
    raise AssertionError(f"{id} did not end in time")


@contextmanager
def broken(home: Path) -> Generator[None]:
    """The person's own memory cannot be written, since its history leads elsewhere."""
    history, aside, elsewhere = (home / name for name in ("memories/.history", "history", "elsewhere"))
    elsewhere.mkdir(exist_ok=True)
    history.parent.mkdir(exist_ok=True)
    if history.exists():
        history.rename(aside)
    history.symlink_to(elsewhere)
    try:
        yield
    finally:
        history.unlink()
        if aside.exists():
            aside.rename(history)


def failing(operator: httpx.Client, text: str) -> str:
    id = operator.post("/v1/remember", json={"content": text, "scope": "user"}).raise_for_status().json()["id"]
    assert over(operator, id)["state"] == "failed"
    return id


@pytest.fixture
def dead(operator: httpx.Client) -> Generator[None]:
    """No dead letters but the test's own, before and after."""

    def drop() -> None:
        for task in tasks(operator, state="failed"):
            operator.delete(f"/v1/tasks/{task['id']}").raise_for_status()

    drop()
    yield
    drop()


def letters(page: Page) -> Locator:
    return page.get_by_role("list", name="Dead letters").get_by_role("listitem")


# ---- lanes


def test_what_is_to_be_remembered_is_filed_and_told_with_its_file(operator_page: Page, operator: httpx.Client) -> None:
    word = uuid4().hex[:8]
    page = opened(operator_page)

    box = page.get_by_role("form", name="Remember")
    box.get_by_label("What to remember").fill(f"The project keeps its {word} in the cellar.")
    box.get_by_label("Whose memory").select_option("project")
    box.get_by_role("button", name="Remember it").click()

    expect(box.get_by_role("status")).to_contain_text("Done.")
    expect(box.get_by_label("What to remember")).to_have_value("")
    [path] = [path for path in paths(operator) if word in path]
    box.get_by_role("link", name=path).click()
    expect(page.get_by_role("article", name=path)).to_contain_text(f"The project keeps its {word} in the cellar")


def test_what_is_to_be_forgotten_is_asked_for_twice_and_then_gone_for_good(
    operator_page: Page, operator: httpx.Client
) -> None:
    name, path = filed(operator, word="Zeppelin")
    page = opened(operator_page)

    box = page.get_by_role("form", name="Forget")
    box.get_by_label("What to forget").fill(name)
    box.get_by_role("button", name="Forget it").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert path in paths(operator)
    box.get_by_role("button", name="Forget it").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget it").click()

    expect(box.get_by_role("status")).to_contain_text("Done.")
    assert path not in paths(operator)
    page.get_by_role("tab", name="Files").click()
    expect(page.get_by_role("heading", name="What changed")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Undo: Forgot"))).to_have_count(0)


def test_a_whole_dream_is_undone_at_once(operator_page: Page, operator: httpx.Client) -> None:
    word = uuid4().hex[:8]
    twins = [f"project/{word}-{n}.md" for n in ("one", "two")]
    text = f"The {word} service is restarted every night at two by the scheduler."
    for path in twins:
        put(operator, path, entry(f"The {word} service restarts", text))
    page = opened(operator_page)

    page.get_by_role("button", name="Dream now").click()
    expect(page.get_by_role("form", name="Dream").get_by_role("status")).to_contain_text("Done.")
    assert len(paths(operator) & set(twins)) == 1
    page.get_by_role("tab", name="Files").click()
    page.get_by_role("button", name=re.compile("^Undo: Dreamt")).first.click()

    expect(page.get_by_text(re.compile("as (it was|they were) before"))).to_be_visible()
    assert set(twins) <= paths(operator)


@pytest.mark.allow_errors(400, 422)
def test_what_the_server_refuses_stays_in_the_box(operator_page: Page, operator: httpx.Client) -> None:
    before = len(tasks(operator, kind="remember"))
    secret = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA" * 8 + "\n-----END RSA PRIVATE KEY-----"
    page = opened(operator_page)

    box = page.get_by_role("form", name="Remember")
    box.get_by_label("What to remember").fill(secret)
    box.get_by_role("button", name="Remember it").click()

    expect(box.get_by_role("alert")).to_be_visible()
    expect(box.get_by_label("What to remember")).to_have_value(secret)
    assert len(tasks(operator, kind="remember")) == before


@pytest.mark.usefixtures("dead")
def test_a_dead_letter_says_why_and_is_tried_again(operator_page: Page, operator: httpx.Client, daemon: Daemon) -> None:
    with broken(daemon.home):
        id = failing(operator, "I like my tea without sugar.")
    page = opened(operator_page)

    expect(letters(page)).to_contain_text("A folder of memory leads elsewhere")
    expect(letters(page).get_by_text("path_escape")).to_be_visible()
    letters(page).get_by_role("button", name="Retry").click()

    expect(letters(page)).to_have_count(0)
    assert over(operator, id)["state"] == "done"
    expect(page.get_by_role("list", name="Done lately")).to_contain_text("I like my tea without sugar")


@pytest.mark.usefixtures("dead")
def test_dead_letters_are_dropped_one_by_one_or_all_at_once(
    operator_page: Page, operator: httpx.Client, daemon: Daemon
) -> None:
    with broken(daemon.home):
        for fruit in ("plums", "pears", "figs"):
            failing(operator, f"I like {fruit}.")
    page = opened(operator_page)

    letters(page).first.get_by_role("button", name="Drop").click()
    expect(letters(page)).to_have_count(2)
    page.get_by_role("button", name="Drop all").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop all").click()

    expect(page.get_by_text("Nothing failed.")).to_be_visible()
    assert not tasks(operator, state="failed")


@pytest.mark.usefixtures("dead")
def test_dead_letters_are_all_tried_again(operator_page: Page, operator: httpx.Client, daemon: Daemon) -> None:
    with broken(daemon.home):
        ids = [failing(operator, f"I like {drink}.") for drink in ("cocoa", "coffee")]
    page = opened(operator_page)

    page.get_by_role("button", name="Retry all").click()

    expect(page.get_by_text("Nothing failed.")).to_be_visible()
    assert [over(operator, id)["state"] for id in ids] == ["done", "done"]


def test_an_extraction_shows_up_while_one_looks_with_what_it_learned(page: Page, memory: Memory) -> None:
    opened(page)
    expect(page.get_by_text("Nothing was done yet.")).to_be_visible()

    body = {"transcript": TALK, "agents": ["ana"], "workspace": "web", "session": "chat-7"}
    memory.client.post("/v1/extract", json=body).raise_for_status()

    done = page.get_by_role("list", name="Done lately").get_by_role("listitem")
    expect(done).to_contain_text("learned")
    expect(done).to_contain_text("by rules")
    done.get_by_role("link", name="fact 1").click()
    [task] = tasks(memory.client, kind="extract")
    expect(page).to_have_url(re.compile(re.escape(task["result"]["facts"][0])))


def test_one_lane_alone_is_shown_and_the_address_says_so(page: Page, memory: Memory) -> None:
    body = {"transcript": TALK, "agents": ["ana"], "session": "chat-7"}
    job = memory.client.post("/v1/extract", json=body).raise_for_status().json()["job"]
    over(memory.client, job["id"])
    done = opened(page).get_by_role("list", name="Done lately").get_by_role("listitem")
    expect(done).to_have_count(1)

    page.get_by_role("button", name="Dream", exact=True).press("Enter")

    expect(done).to_have_count(0)
    expect(page.get_by_role("button", name="Dream", exact=True)).to_be_focused()
    expect(page).to_have_url(re.compile("lane=dream"))


def test_a_tenant_without_managed_memory_is_told_so(page: Page) -> None:
    expect(opened(page).get_by_text("There is no managed Markdown in this tenant")).to_be_visible()
    expect(page.get_by_role("button", name="Dream now")).to_have_count(0)
    expect(opened(page, "files").get_by_text("There is no managed Markdown in this tenant")).to_be_visible()


@pytest.mark.usefixtures("dead")
def test_a_reader_looks_and_is_offered_nothing_to_do(visit: Visit, operator: httpx.Client, daemon: Daemon) -> None:
    _, path = filed(operator)
    with broken(daemon.home):
        failing(operator, "I like quiet mornings.")
    page = opened(visit(key(operator, "reader")))

    expect(page.get_by_text("you need a key with the role writer")).to_be_visible()
    # What somebody else handed over is theirs.
    expect(letters(page)).to_have_count(0)
    for name in ("Remember it", "Retry", "Drop"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("tab", name="Cost")).to_have_count(0)
    opened(page, "files", root="project", path=path)
    expect(page.get_by_role("article")).to_contain_text("Note")
    for name in ("Edit", "Delete", "New file", "Undo"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_all_of_it_can_be_done_by_keyboard(operator_page: Page, operator: httpx.Client) -> None:
    name, path = filed(operator)
    page = opened(operator_page)

    page.get_by_role("tab", name="Lanes").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Files")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type(name)
    link = page.get_by_role("navigation", name="Files of memory").get_by_role("link", name=name)
    expect(link).to_have_count(1)
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_focused()
    page.get_by_role("button", name="Edit", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label(f"Text of {path}")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("By hand alone.")
    page.keyboard.press("Control+s")

    expect(page.get_by_role("article")).to_contain_text("By hand alone.")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_focused()
    assert "By hand alone." in (stored(operator, "project", path) or "")


# ---- cost


def test_without_a_model_it_says_what_it_would_take_and_the_cap_can_be_set(page: Page, memory: Memory) -> None:
    opened(page, "cost")
    expect(page.get_by_text("everything is done by rules, at no cost")).to_be_visible()

    page.get_by_label("Most in a day").fill("0.25")
    page.get_by_role("button", name="Set", exact=True).click()

    expect(page.get_by_text("The daily cap is $0.25 now.")).to_be_visible()
    told = memory.client.get("/v1/budgets").json()
    assert (told["daily_usd"], told["own"]) == (0.25, True)
    page.get_by_role("button", name="Use the daemon’s").click()
    expect(page.get_by_text("As the daemon is set: $1.00.")).to_be_visible()
    assert memory.client.get("/v1/budgets").json()["own"] is False


@pytest.mark.allow_errors(403)
def test_a_cap_that_is_refused_stays_to_be_mended(page: Page, memory: Memory) -> None:
    opened(page, "cost")

    page.get_by_label("Most in a day").fill("5000")
    page.get_by_role("button", name="Set", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("That did not work")
    expect(page.get_by_label("Most in a day")).to_have_value("5000")
    assert memory.client.get("/v1/budgets").json()["own"] is False


def test_what_each_extraction_cost_is_told(visit: Visit, tmp_path: Path) -> None:
    fact = {"key": "deploy", "value": "The shop is deployed with make ship", "scope": "workspace", "turn": 1}
    with running_vendor() as vendor:
        vendor.replies = [completion(text=json.dumps({"facts": [fact]}))]
        model = {"COMMONPLACE_LLM_MODEL": "openai:small", "COMMONPLACE_LLM_BASE_URL": vendor.url}
        prices = {"COMMONPLACE_LLM_PRICES": "small=1/10", "COMMONPLACE_LLM_API_KEY": "k"}
        with running_daemon(tmp_path / "home", env={**model, **prices}, patience=50) as begun, begun.client() as client:
            body = {"transcript": TALK, "agents": ["ana"], "workspace": "web", "session": "chat-7"}
            learned = client.post("/v1/extract", params={"wait": True}, json=body).raise_for_status().json()
            assert learned["method"] == "model"
            page = visit()
            page.context.request.post(f"{begun.url}/v1/sign-in", data={"key": begun.token})
            page.goto(f"{begun.url}/#/learning/cost")

            told = client.get("/v1/budgets").json()
            assert told["latest"][0]["input_tokens"] > 0
            latest = page.get_by_role("region", name="Latest tasks").get_by_role("row").nth(1)
            expect(latest).to_contain_text(told["latest"][0]["session"])
            expect(latest).to_contain_text(re.compile(r"\$0\.0\d+"))
            expect(page.get_by_role("progressbar", name="Spent today")).to_be_visible()
            expect(page.get_by_text("Chat has its own budget: $0.00 of $5.00 spent, $5.00 left.")).to_be_visible()
            expect(page.get_by_text("openai:small").first).to_be_visible()
            page.get_by_label("Time").select_option("7 days")
            expect(page).to_have_url(re.compile("days=7"))
            # Before its daemon: what a page fetches ahead would find nobody.
            page.close()
