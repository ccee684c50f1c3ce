"""Signing in and out of the console, and what a page of somebody else can do with a session: nothing."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Memory, Role, Visit

from commonplace.testing.daemon import Daemon

EVERYBODY = {
    *("Memory", "Recall lab", "Chat", "Rooms", "Sessions", "Runs", "Schedules", "Agents"),
    *("Import and export", "Knowledge", "Learning", "Live", "Health", "Channels"),
}
SEEN: dict[Role, set[str]] = {
    "reader": EVERYBODY,
    "reviewer": EVERYBODY | {"Review"},
    "admin": EVERYBODY | {"Review", "Keys"},
}
SEEN["writer"] = SEEN["reader"]


def sign_in(page: Page, secret: str) -> None:
    page.get_by_label("Token or key").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def code_url(memory: Memory) -> str:
    return memory.client.post("/v1/codes").raise_for_status().json()["url"]


def kept(page: Page) -> str:
    """All that the browser keeps of the console where a script can read it, and the address."""
    return page.evaluate(
        "JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}, history.state])"
    )


# ---- with a token, a key, a code


def test_the_operators_token_signs_in_and_is_kept_nowhere_a_script_can_read(
    signed_out_page: Page, daemon: Daemon
) -> None:
    sign_in(signed_out_page, daemon.token)

    expect(signed_out_page.get_by_text("operator · operator")).to_be_visible()
    assert daemon.token not in kept(signed_out_page)


def test_the_session_is_a_cookie_for_this_site_that_no_script_reads(signed_out_page: Page, memory: Memory) -> None:
    sign_in(signed_out_page, memory.secret)
    expect(signed_out_page.get_by_text("console tests · admin")).to_be_visible()

    [cookie] = signed_out_page.context.cookies()

    assert (cookie.get("httpOnly"), cookie.get("sameSite"), cookie.get("path")) == (True, "Strict", "/")
    assert cookie.get("name") == f"commonplace-{httpx.URL(memory.url).port}"
    assert memory.secret not in str(cookie) + kept(signed_out_page)


def test_who_does_not_want_to_stay_has_a_cookie_that_ends_with_the_browser(
    signed_out_page: Page, memory: Memory
) -> None:
    signed_out_page.get_by_label("Stay signed in").uncheck()
    sign_in(signed_out_page, memory.secret)
    expect(signed_out_page.get_by_text("console tests · admin")).to_be_visible()

    [cookie] = signed_out_page.context.cookies()

    assert cookie.get("expires") == -1


@pytest.mark.parametrize("role", list(SEEN))
def test_a_key_of_each_role_sees_only_its_pages(visit: Visit, memory: Memory, role: Role) -> None:
    page = visit(memory.key(role))

    page.goto("/")

    expect(page.get_by_text(f"a {role} · {role}")).to_be_visible()
    links = page.get_by_role("navigation", name="Pages").get_by_role("link").all_inner_texts()
    assert {one.strip() for one in links} == SEEN[role]


@pytest.mark.allow_errors(401)
def test_a_wrong_key_is_told_and_can_be_corrected(signed_out_page: Page, memory: Memory) -> None:
    sign_in(signed_out_page, "cp_wrong")
    expect(signed_out_page.get_by_role("alert")).to_have_text("That opens nothing: it is wrong, revoked or expired.")
    expect(signed_out_page.get_by_label("Token or key")).to_be_focused()

    sign_in(signed_out_page, memory.secret)

    expect(signed_out_page.get_by_text("console tests · admin")).to_be_visible()


def test_the_keyboard_alone_signs_in(signed_out_page: Page, memory: Memory) -> None:
    expect(signed_out_page.get_by_label("Token or key")).to_be_focused()

    signed_out_page.keyboard.insert_text(memory.secret)
    signed_out_page.keyboard.press("Enter")

    expect(signed_out_page.get_by_text("console tests · admin")).to_be_visible()


def test_a_one_time_link_signs_in_and_is_gone_from_the_address(visit: Visit, memory: Memory) -> None:
    page, url = visit(), code_url(memory)

    page.goto(url)

    expect(page.get_by_text("console tests · admin")).to_be_visible()
    assert url.rpartition("/")[2] not in kept(page)
    assert page.evaluate("history.length") <= 2


def test_a_one_time_link_replaces_no_session_unasked(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reviewer"))
    page.goto("/")
    expect(page.get_by_text("a reviewer · reviewer")).to_be_visible()

    page.goto(code_url(memory))
    asked = page.get_by_role("dialog", name="Sign in as somebody else")
    expect(asked).to_contain_text("You are signed in as a reviewer.")
    asked.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("a reviewer · reviewer")).to_be_visible()
    page.reload()
    expect(page.get_by_text("a reviewer · reviewer")).to_be_visible()


def test_a_one_time_link_replaces_a_session_when_the_person_says_so(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reviewer"))
    page.goto("/")
    expect(page.get_by_text("a reviewer · reviewer")).to_be_visible()

    url = code_url(memory)
    page.evaluate("hash => { location.hash = hash }", url.partition("#")[2])
    page.get_by_role("dialog").get_by_role("button", name="Sign in as somebody else").click()

    expect(page.get_by_text("console tests · admin")).to_be_visible()
    assert url.rpartition("/")[2] not in kept(page)


@pytest.mark.allow_errors(401)
def test_a_one_time_link_is_refused_the_second_time(visit: Visit, memory: Memory) -> None:
    first, second, url = visit(), visit(), code_url(memory)
    first.goto(url)
    expect(first.get_by_text("console tests · admin")).to_be_visible()

    second.goto(url)

    expect(second.get_by_role("alert")).to_contain_text("This link was used already")
    assert url.rpartition("/")[2] not in kept(second)
    assert second.context.cookies() == []


# ---- the end of a session


@pytest.mark.allow_errors(401)
def test_a_revoked_key_ends_the_session_and_the_page_says_so(visit: Visit, memory: Memory) -> None:
    page = visit(memory.key("reader"))
    page.goto("/#/health")
    expect(page.get_by_text("a reader · reader")).to_be_visible()
    [key] = [one for one in memory.client.get("/v1/keys").json()["keys"] if one["name"] == "a reader"]
    memory.client.delete(f"/v1/keys/{key['id']}").raise_for_status()

    # Not by a click: what the page asks by itself may have told it already, and then there is no link.
    page.evaluate("location.hash = '#/memory'")

    expect(page.get_by_text("Your session has ended.")).to_be_visible()
    expect(page.get_by_label("Token or key")).to_be_focused()


def test_signing_out_takes_the_cookie_away(page: Page, memory: Memory) -> None:
    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_label("Token or key")).to_be_visible()
    assert page.context.cookies() == []
    page.reload()
    expect(page.get_by_label("Token or key")).to_be_visible()
    assert memory.client.get("/v1/sign-in").json()["me"] is not None


# ---- pages of somebody else


@contextmanager
def elsewhere(content: str) -> Generator[str]:
    """A page of another origin: the same machine, another port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if self.path == "/":
                self.wfile.write(content.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the server calls it
            """It has nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.allow_errors
def test_a_form_of_another_page_changes_nothing_with_the_session(page: Page, memory: Memory) -> None:
    expect(page.get_by_text("console tests · admin")).to_be_visible()
    before = {one["id"] for one in memory.records()}
    form = (
        f'<form method="post" enctype="text/plain" action="{memory.url}/v1/records">'
        """<input name='{"text":"planted","x":"' value='"}'><button>Win a prize</button></form>"""
    )

    with elsewhere(form) as address:
        page.goto(address)
        with page.expect_response(f"{memory.url}/v1/records") as answered:
            page.get_by_role("button", name="Win a prize").click()

    assert answered.value.status in (401, 403)
    assert {one["id"] for one in memory.records()} == before


@pytest.mark.allow_errors
def test_a_script_of_another_page_reads_and_changes_nothing_with_the_session(page: Page, memory: Memory) -> None:
    expect(page.get_by_text("console tests · admin")).to_be_visible()
    before = {one["id"] for one in memory.records()}
    attempt = """async ([url, method]) => {
        const told = {method, mode: 'cors', credentials: 'include', headers: {'X-Commonplace': 'console', 'Content-Type': 'application/json'}};
        try {
            const answer = await fetch(url + '/v1/records', method === 'POST' ? {...told, body: '{"text":"planted"}'} : told);
            return answer.status;
        } catch (error) { return error.name; }
    }"""

    with elsewhere("<p>A harmless page.</p>") as address:
        page.goto(address)
        found = [page.evaluate(attempt, [memory.url, method]) for method in ("GET", "POST")]

    assert found == ["TypeError", "TypeError"]
    assert {one["id"] for one in memory.records()} == before


@pytest.mark.allow_errors
def test_another_page_cannot_put_the_console_in_a_frame(page: Page, memory: Memory) -> None:
    with elsewhere(f'<iframe src="{memory.url}/" title="bait"></iframe>') as address:
        page.goto(address)
        inside = page.frame_locator("iframe").get_by_text("Commonplace")

        expect(inside).to_have_count(0)
