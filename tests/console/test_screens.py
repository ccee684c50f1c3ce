"""
Every page of the console, wide and narrow, light and dark, in both languages, with a lively memory: pictures of it are kept in
`.screens`, and whatever can be asked of all pages alike is asked here.

A language has one window for the whole module, and a page is a change of the address in it, as for somebody who works with it.
"""

import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.console.conftest import PATIENCE, SIZES, Complaints, Language, Scheme
from tests.console.lively import Lively, seed

from commonplace.testing.daemon import Daemon, running_daemon

PAGES = {
    "memory": "memory",
    "memory-scope": "memory/workspace%3Aweb?source=auto",
    "record": "record/{record}",
    "session": "session/chat-7?scope=workspace%3Ashop",
    "recall": "recall?q=When+do+the+releases+go+out%3F",
    "chat": "chat/{talk}",
    "chat-new": "chat",
    "rooms": "rooms",
    "rooms-one": "rooms/releases",
    "channels": "channels",
    "channels-kinds": "channels?add=kind",
    "channels-add": "channels?add=matrix",
    "channels-one": "channels/shop",
    "channels-rooms": "channels/web?tab=rooms",
    "channels-senders": "channels/shop?tab=senders",
    "channels-settings": "channels/shop?tab=settings",
    "channels-guide": "channels/shop?tab=guide",
    "sessions": "sessions",
    "sessions-one": "sessions/{talk}",
    "runs": "runs",
    "runs-one": "runs/{run}",
    "runs-replay": "runs/{run}?tab=replay",
    "runs-artifacts": "runs/{run}?tab=artifacts",
    "schedules": "schedules",
    "agents": "agents",
    "import": "import",
    "review": "review/quarantine",
    "review-requests": "review/requests",
    "review-knowledge": "review/knowledge",
    "knowledge": "knowledge",
    "learning-lanes": "learning/lanes",
    "learning-cost": "learning/cost",
    "learning-files": "learning/files",
    "learning-file": "learning/files?root=project&path={file}",
    "live": "live",
    "health": "health",
    "keys": "keys",
}
LANGUAGES: dict[Language, str] = {"en": "en", "zh": "zh-CN"}
SCHEMES: tuple[Scheme, ...] = ("dark", "light")
HEADINGS: dict[Language, dict[str, str]] = {
    "en": {
        "memory": "Memory",
        "record": "Record",
        "session": "Conversation",
        "recall": "Recall lab",
        "chat": "Chat",
        "rooms": "Rooms",
        "channels": "Channels",
        "sessions": "Sessions",
        "runs": "Runs",
        "schedules": "Schedules",
        "agents": "Agents",
        "import": "Import and export",
        "review": "Review",
        "knowledge": "Knowledge",
        "learning": "Learning",
        "live": "Live",
        "health": "Health",
        "keys": "Keys",
    },
    "zh": {
        "memory": "记忆",
        "record": "记录",
        "session": "对话",
        "recall": "召回实验室",
        "chat": "聊天",
        "rooms": "房间",
        "channels": "频道",
        "sessions": "会话",
        "runs": "运行",
        "schedules": "定时任务",
        "agents": "智能体",
        "import": "导入与导出",
        "review": "审核",
        "knowledge": "知识",
        "learning": "学习",
        "live": "实时",
        "health": "健康",
        "keys": "密钥",
    },
}
LOADING = re.compile("^(Loading…|正在加载…|加载中…)$")
STIR: list[dict[str, Any]] = [
    {"text": "The cache is warm again after the restart.", "scope": "workspace:web", "source": "manual"},
    {"text": "周四的发布推迟到下周二。", "scope": "workspace:web", "source": "manual"},
    {"text": "Members see their discount in the cart.", "scope": "workspace:shop", "source": "manual"},
]
# Words of the console's own that stand on some page in English; none is in the memory that is shown.
ENGLISH = re.compile(
    r"\b(All scopes|Sign out|Loading|Pinned|Language|Delete|Search|Filter|Question|Settings|Cancel|Accept|Reject|Versions|"
    r"Provenance|Nothing|records|That is all|ago|yesterday|Make a key|Revoke|Download|Waiting|Queue|Cost|Tasks|Audit)\b"
)
QUIET = "() => document.getAnimations().every((one) => one.playState !== 'running')"
SIDEWAYS = "() => [document.scrollingElement.scrollWidth, innerWidth]"

Axe: TypeAlias = Callable[[Page], list[str]]
Shot: TypeAlias = Callable[[Page, str], Path]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    """
    One of our own, with nothing in it but what is to be seen: managed files belong to the operator's tenant alone. Nothing of what
    agents do is kept as memory, where words of ours would stand among what people wrote.
    """
    quiet = {"COMMONPLACE_AGENT_CAPTURE": "off"}
    with running_daemon(tmp_path_factory.mktemp("screens") / "home", env=quiet, patience=50.0) as begun:
        yield begun


@pytest.fixture(scope="module")
def lively(daemon: Daemon) -> Lively:
    with daemon.client() as operator:
        return seed(operator)


class Windows:
    """A window a language and size, signed in as the operator. What they complain of is looked at after each test."""

    def __init__(self, browser: Browser, daemon: Daemon) -> None:
        self._browser = browser
        self._daemon = daemon
        self._open: dict[tuple[Language, str], Page] = {}
        self.complaints = Complaints()

    def at(self, place: str, language: Language = "en", size: str = "wide") -> Page:
        """The window at a page, when the page has all it shows."""
        page = self._open.get((language, size)) or self._opened(language, size)
        page.evaluate("(place) => { location.hash = `#/${place}` }", place)
        expect(page.locator(f".page-{re.split('[/?]', place)[0]}[data-ready]")).to_be_visible()
        expect(page.get_by_text(LOADING)).to_have_count(0)
        page.wait_for_function(QUIET)
        return page

    def outside(self, language: Language, size: str) -> Page:
        """A window in which nobody is signed in."""
        page = self._window(language, size)
        page.goto("/")
        return page

    def _opened(self, language: Language, size: str) -> Page:
        page = self._window(language, size)
        assert page.context.request.post("/v1/sign-in", data={"key": self._daemon.token}).ok
        page.goto("/")
        expect(page.get_by_role("navigation").first).to_be_visible()
        self._open[language, size] = page
        return page

    def _window(self, language: Language, size: str) -> Page:
        width, height = SIZES[size]
        context = self._browser.new_context(
            base_url=self._daemon.url,
            viewport={"width": width, "height": height},
            color_scheme="light",
            locale={"en": "en-GB", "zh": "zh-CN"}[language],
            timezone_id="UTC",
        )
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        self.complaints.listen(page)
        return page


@pytest.fixture(scope="module")
def opened(browser: Browser, daemon: Daemon) -> Windows:
    return Windows(browser, daemon)


@pytest.fixture
def windows(opened: Windows) -> Generator[Windows]:
    opened.complaints.told.clear()
    yield opened
    opened.complaints.check()


def looked_at(page: Page, name: str, axe: Axe, shot: Shot) -> dict[str, list[str]]:
    """What is wrong with a page, by the scheme it is wrong in. It is light afterwards."""
    wrong: dict[str, list[str]] = {}
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(QUIET)
        shot(page, f"{name}-{scheme}")
        wide, room = page.evaluate(SIDEWAYS)
        found = [*axe(page), *([f"{wide} px in {room}"] if wide > room else [])]
        if found:
            wrong[scheme] = found
    return wrong


def address(name: str, lively: Lively) -> str:
    named = {"record": lively.record, "file": lively.file.replace("/", "%2F"), "talk": lively.talk, "run": lively.run}
    return PAGES[name].format(**named)


def stir(daemon: Daemon, page: Page) -> None:
    """Something happens while the page listens."""
    with daemon.client() as operator:
        for body in STIR:
            operator.post("/v1/records", json=body).raise_for_status()
    expect(page.locator(".feed li:not(.quiet)").nth(len(STIR) - 1)).to_be_visible()


# ---- on a screen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_in_nobodys_way_in_any_light_width_and_language(
    windows: Windows, daemon: Daemon, lively: Lively, axe: Axe, shot: Shot, name: str, language: Language, size: str
) -> None:
    page = windows.at(address(name, lively), language, size)
    if name == "live":
        stir(daemon, page)

    wrong = looked_at(page, f"{name}-{language}-{size}", axe, shot)

    assert wrong == {}
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_contain_text(HEADINGS[language][name.split("-")[0]])
    assert page.evaluate("document.documentElement.lang") == LANGUAGES[language]
    assert language == "en" or not ENGLISH.findall(page.locator("body").inner_text())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_way_in_is_in_nobodys_way_either(
    windows: Windows, axe: Axe, shot: Shot, language: Language, size: str
) -> None:
    page = windows.outside(language, size)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)

    wrong = looked_at(page, f"signed-out-{language}-{size}", axe, shot)

    assert wrong == {}
    assert page.evaluate("document.documentElement.lang") == LANGUAGES[language]


# ---- on paper, and on the first page


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_a_page_has_its_content_and_nothing_to_press(
    windows: Windows, lively: Lively, shot: Shot, name: str
) -> None:
    page = windows.at(address(name, lively))

    page.emulate_media(media="print")
    shot(page, f"{name}-en-print")
    shown = page.locator("main").inner_text()
    pressed = page.get_by_role("button").count()
    page.emulate_media(media="screen")

    assert len(shown) > len(page.get_by_role("heading", level=1).inner_text()) + 20
    assert pressed == 0


def test_the_picture_that_the_readme_opens_with(windows: Windows, lively: Lively, shot: Shot) -> None:
    page = windows.at("memory")
    expect(page.get_by_text("Releases go out on Tuesdays")).to_be_visible()

    path = shot(page, "readme")

    # It is kept in the repository, by `make picture`.
    assert path.stat().st_size < 200_000
