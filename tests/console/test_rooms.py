"""A room in the browser: two people, each with a window of their own, and one agent."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import MODEL, Memory, Visit

from commonplace.testing.vendor import Vendor, stream

_BRING = """
(place, [kind, name]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File(name ? ['x'] : [], name || 'empty.txt'));
  const init = { bubbles: true, cancelable: true };
  place.dispatchEvent(kind === 'drop' ? new DragEvent('drop', { ...init, dataTransfer: transfer }) : new ClipboardEvent('paste', { ...init, clipboardData: transfer }));
}
"""


def key(memory: Memory, person: str) -> str:
    body = {"name": person, "role": "writer", "user": person}
    return memory.client.post("/v1/keys", json=body).raise_for_status().json()["secret"]


def say(page: Page, text: str) -> None:
    page.get_by_label("What you say").fill(text)
    page.keyboard.press("Enter")


def messages(page: Page) -> Locator:
    return page.locator(".message")


@pytest.fixture
def both(visit: Visit, memory: Memory) -> tuple[Page, Page]:
    """Ana, who makes a room and lets Bob in; and Bob, who opens it from his list."""
    ana, bob = visit(key(memory, "ana")), visit(key(memory, "bob"))
    ana.goto("/#/rooms")
    ana.get_by_role("button", name="New room").click()
    ana.get_by_role("dialog").get_by_label("What it is called").fill("Releases")
    ana.get_by_role("dialog").get_by_role("button", name="Make it").click()
    expect(ana.locator(".chat-title")).to_have_text("Releases")
    ana.get_by_role("button", name="Members").click()
    ana.get_by_role("button", name="Share…").click()
    ana.get_by_label("With whom").fill("bob")
    ana.get_by_role("dialog").last.get_by_role("button", name="Share", exact=True).click()
    expect(ana.get_by_text("bob is a member now.")).to_be_visible()
    ana.keyboard.press("Escape")
    bob.goto("/#/rooms")
    bob.get_by_role("link", name="Releases").click()
    expect(ana.get_by_text("Here now: ana, bob")).to_be_visible()
    return ana, bob


def test_what_one_says_the_other_hears_and_the_agent_answers_both(both: tuple[Page, Page]) -> None:
    ana, bob = both

    say(ana, "/remember we ship on Fridays")
    expect(messages(bob)).to_have_count(2)
    say(bob, "When do we ship?")
    expect(messages(ana)).to_have_count(4)

    for page in both:
        expect(messages(page).nth(0)).to_contain_text("ana")
        expect(messages(page).nth(1)).to_contain_text("I will remember that")
        expect(messages(page).nth(3)).to_contain_text("ship on Fridays")
    ana.get_by_role("button", name="Memory").click()
    expect(ana.locator(".room-memory li")).to_have_text(["we ship on Fridays — ana Edit Forget"])


def test_the_others_see_who_writes_until_it_is_said(both: tuple[Page, Page]) -> None:
    ana, bob = both

    ana.get_by_label("What you say").press_sequentially("We ship")
    expect(bob.get_by_text("ana writes…")).to_be_visible()
    expect(ana.get_by_text("ana writes…")).to_be_hidden()
    ana.keyboard.press("Enter")

    expect(messages(bob)).to_have_count(1)
    expect(bob.get_by_text("ana writes…")).to_be_hidden()


def test_a_line_that_a_room_remembers_is_corrected_in_the_browser(both: tuple[Page, Page]) -> None:
    _, bob = both
    say(bob, "/remember we ship on Fridays")
    expect(messages(bob)).to_have_count(2)
    bob.get_by_role("button", name="Memory").click()
    bob.get_by_role("button", name="Edit").click()

    expect(bob.get_by_label("What it is to say")).to_have_value("we ship on Fridays")
    bob.get_by_label("What it is to say").fill("we ship on Mondays — ana")
    bob.get_by_role("button", name="Change it").click()

    # It is the word of whoever wrote it, whatever the text says.
    expect(bob.locator(".room-memory li")).to_have_text(["we ship on Mondays – ana — bob Edit Forget"])


def test_a_question_of_a_tool_is_answered_by_whoever_is_there(
    both: tuple[Page, Page], memory: Memory, vendor: Vendor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ana, bob = both
    folder = tmp_path_factory.mktemp("rooms")
    settings = {"folder": str(folder), "model": MODEL}
    memory.client.patch("/v1/channels/web", json={"settings": settings}).raise_for_status()
    vendor.replies = [stream(calls=[("write_file", '{"path": "a.txt", "content": "x"}')]), stream("It is written.")]

    say(ana, "Write it down")
    bob.get_by_role("button", name="Allow", exact=True).click()

    for page in both:
        expect(page.locator(".card-box [role=status]")).to_have_text("Allowed by bob")
        expect(messages(page).last).to_contain_text("It is written.")
    assert (folder / "a.txt").read_text() == "x"


def test_a_file_is_chosen_dropped_or_pasted_said_and_fetched_by_the_other(both: tuple[Page, Page]) -> None:
    ana, bob = both
    with ana.expect_file_chooser() as choosing:
        ana.get_by_text("Attach files").click()
    choosing.value.set_files({"name": "plan.md", "mimeType": "text/markdown", "buffer": b"We ship on Fridays."})
    for kind, name in (("drop", "dropped.txt"), ("paste", "pasted.png"), ("drop", "unwanted.txt")):
        ana.locator(".composer").evaluate(_BRING, [kind, name])
    expect(ana.locator(".chat-foot .room-files li")).to_have_count(4)
    ana.get_by_role("button", name="Leave out unwanted.txt").click()

    ana.get_by_label("What you say").press("Enter")

    expect(messages(bob).first.get_by_role("link")).to_have_text(["plan.md", "dropped.txt", "pasted.png"])
    expect(ana.locator(".chat-foot .room-files")).to_be_hidden()
    with bob.expect_download() as fetching:
        messages(bob).first.get_by_role("link", name="plan.md").click()
    assert fetching.value.suggested_filename == "plan.md"
    assert fetching.value.path().read_bytes() == b"We ship on Fridays."


@pytest.mark.allow_errors(400)
def test_a_file_that_is_refused_stays_with_the_words(both: tuple[Page, Page]) -> None:
    ana, bob = both
    ana.locator(".composer").evaluate(_BRING, ["drop", ""])

    say(ana, "Look at this")

    expect(ana.locator(".composer [role=alert]")).to_be_visible()
    expect(ana.get_by_label("What you say")).to_have_value("Look at this")
    expect(ana.locator(".chat-foot .room-files li")).to_have_count(1)
    expect(messages(bob)).to_have_count(0)
