"""
A real Chromium at a real daemon.

Every test has a tenant of its own at one daemon, with a few memories in it and a key to it. `page` is signed in there; what
the page complains of (an error in its console, a request that fails) fails the test, unless it says `allow_errors`.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.vendor import Vendor, running_vendor

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / ".screens"
AXE = ROOT / "tests" / "clients" / "node_modules" / "axe-core" / "axe.min.js"
# Read here: the environment of a test has no setting of ours.
CHROMIUM = os.environ.get("COMMONPLACE_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = (
    "--disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync "
    "--disable-gpu --disable-dev-shm-usage"
).split()
# Every new window would load the suggestions below its address bar, twice, at the cost of a page of ours. This list takes the
# place of Playwright's, so it begins with that.
WITHOUT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable "
    "LensOverlay MediaRouter PaintHolding ThirdPartyStoragePartitioning AvoidCorsURLLoaderRestartOnRedirect "
    "TcpPortRandomizationWin OptimizationHints NetworkTimeServiceQuerying AimEnabled PreconnectToSearch "
    "WebUIOmniboxPopup WebUIOmniboxAimPopup WebUIOmniboxFullPopup"
).split()
FLAGS.append(f"--disable-features={','.join(WITHOUT)}")
PATIENCE = 15_000
"""Milliseconds that a page may take on a machine that is busy with something else. How quick it is says the bench."""
SIZES = {"wide": (1280, 800), "narrow": (380, 760)}
MODEL = "openai:small"
"""What the vendor plays. The librarian answers unless somebody asks for it."""
STATUS = re.compile(r"status of (\d{3})")

Language: TypeAlias = Literal["en", "zh"]
Scheme: TypeAlias = Literal["light", "dark"]
Role: TypeAlias = Literal["reader", "writer", "reviewer", "admin"]


# ---- the daemon and what it remembers


@pytest.fixture(scope="session")
def vendor() -> Generator[Vendor]:
    """Plays the model `openai:small`, which a turn may ask for. Nothing else does: the memory learns by rules."""
    with running_vendor() as begun:
        yield begun


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory, vendor: Vendor) -> Generator[Daemon]:
    model = {
        "COMMONPLACE_LLM_MODELS": MODEL,
        "COMMONPLACE_LLM_BASE_URL": vendor.url,
        "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
        "COMMONPLACE_LLM_PRICE": "1/1",
        "COMMONPLACE_AGENT_ROOTS": str(tmp_path_factory.getbasetemp()),
    }
    with running_daemon(tmp_path_factory.mktemp("console") / "home", env=model, patience=50.0) as begun:
        yield begun


@dataclass(frozen=True)
class Memory:
    """A tenant of the daemon. `client` shows the admin key of it, as the assertions on the server's state do."""

    daemon: Daemon
    tenant: str
    secret: str
    client: httpx.Client

    @property
    def url(self) -> str:
        return self.daemon.url

    def key(self, role: Role, *scopes: str) -> str:
        """The secret of a further key."""
        body: dict[str, Any] = {"name": f"a {role}", "role": role, **({"scopes": scopes} if scopes else {})}
        return self.client.post("/v1/keys", json=body).raise_for_status().json()["secret"]

    def put(self, text: str, **more: Any) -> dict[str, Any]:
        """The record just stored."""
        return self.client.post("/v1/records", json={"text": text, **more}).raise_for_status().json()["record"]

    def records(self, **query: str) -> list[dict[str, Any]]:
        return self.client.get("/v1/records", params=query).raise_for_status().json()["records"]


SEED: list[dict[str, Any]] = [
    {
        "text": "Releases go out on Tuesdays, never on Fridays.",
        "key": "release.day",
        "scope": "workspace:web",
        "pinned": True,
    },
    {"text": "Ana prefers short answers with the command first.", "scope": "agent:ana", "importance": 80},
    {"text": "The staging database is restored every night at two.", "scope": "workspace:web", "kind": "fact"},
    {"text": "Integration tests need Redis on port 6380.", "key": "tests.redis", "scope": "workspace:web"},
    {"text": "发布前先在预发环境跑一遍回归测试。", "key": "release.zh", "scope": "workspace:web"},
    {"text": "The billing team owns the invoices service.", "scope": "global", "source": "director"},
    {"text": "Use British spelling in the handbook.", "scope": "workspace:handbook", "source": "import"},
    {
        "text": "The login page was slow because of an N+1 query; it is fixed.",
        "scope": "workspace:web",
        "source": "auto",
    },
]
"""Small, in several scopes, two scripts, several sources."""


@contextmanager
def new_tenant(daemon: Daemon) -> Generator[Memory]:
    tenant = f"console/{uuid.uuid4().hex[:12]}"
    with daemon.client() as operator:
        body = {"name": "console tests", "role": "admin"}
        made = operator.post("/v1/keys", json=body, headers={"X-Tenant": tenant}).raise_for_status().json()
    headers = {"Authorization": f"Bearer {made['secret']}"}
    with httpx.Client(base_url=daemon.url, headers=headers, timeout=10.0) as client:
        yield Memory(daemon, tenant, made["secret"], client)


@pytest.fixture
def empty_memory(daemon: Daemon) -> Generator[Memory]:
    with new_tenant(daemon) as memory:
        yield memory


@pytest.fixture
def memory(empty_memory: Memory) -> Memory:
    empty_memory.client.post("/v1/records/bulk", json={"records": SEED}).raise_for_status()
    return empty_memory


@pytest.fixture
def operator(daemon: Daemon) -> Generator[httpx.Client]:
    """Managed Markdown belongs to the daemon's own tenant, which the operator's token opens."""
    with daemon.client() as client:
        yield client


# ---- the browser


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """
    One a module. Playwright keeps an event loop running in this thread for as long as it lives, in which no asynchronous test
    of another module could begin one.
    """
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        begun = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, headless=True)
        yield begun
        begun.close()


@dataclass
class Complaints:
    """What a page's console and network told of. `allowed`: statuses of answers that the test expects; None, everything."""

    allowed: frozenset[int] | None = frozenset()
    told: list[str] = field(default_factory=list[str])

    def listen(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.told.append(f"error: {error}"))
        page.on("requestfailed", self._failed)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        status = STATUS.search(message.text)
        if status is None or int(status[1]) not in (self.allowed or ()):
            self.told.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def _failed(self, request: Request) -> None:
        # A stream or a download ends like this when its page does.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.told.append(f"failed: {request.method} {request.url}: {request.failure}")

    def check(self) -> None:
        if self.allowed is not None:
            assert not self.told, "\n".join(self.told)


class Visit(Protocol):
    """A new browser window at the daemon, signed in with `key` where one is given. Nothing is opened yet."""

    def __call__(
        self,
        key: str | None = None,
        *,
        language: Language = "en",
        scheme: Scheme = "light",
        size: str = "wide",
        **more: Any,
    ) -> Page: ...


@pytest.fixture
def complaints(request: pytest.FixtureRequest) -> Generator[Complaints]:
    mark = cast(pytest.Mark | None, request.node.get_closest_marker("allow_errors"))  # pyright: ignore[reportUnknownMemberType]
    allowed = frozenset[int]() if mark is None else frozenset(cast(tuple[int, ...], mark.args)) or None
    noted = Complaints(allowed)
    yield noted
    noted.check()


@pytest.fixture
def visit(browser: Browser, daemon: Daemon, complaints: Complaints) -> Generator[Visit]:
    opened: list[BrowserContext] = []

    def visited(
        key: str | None = None,
        *,
        language: Language = "en",
        scheme: Scheme = "light",
        size: str = "wide",
        **more: Any,
    ) -> Page:
        width, height = SIZES[size]
        context = browser.new_context(
            base_url=daemon.url,
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale={"en": "en-GB", "zh": "zh-CN"}[language],
            timezone_id="UTC",
            **more,
        )
        opened.append(context)
        context.set_default_timeout(PATIENCE)
        if key is not None:
            answer = context.request.post("/v1/sign-in", data={"key": key})
            assert answer.ok, answer.text()
        page = context.new_page()
        complaints.listen(page)
        return page

    yield visited
    for context in opened:
        context.close()


@pytest.fixture
def page(visit: Visit, memory: Memory) -> Page:
    """Signed in with the admin key of `memory`, at the console's first page."""
    return _opened(visit(memory.secret))


@pytest.fixture
def operator_page(visit: Visit, daemon: Daemon) -> Page:
    """Signed in with the operator's token, in the default tenant, which all tests share."""
    return _opened(visit(daemon.token))


@pytest.fixture
def signed_out_page(visit: Visit) -> Page:
    return _opened(visit())


def _opened(page: Page) -> Page:
    page.goto("/")
    return page


# ---- looking at it


@pytest.fixture
def axe() -> Callable[[Page], list[str]]:
    """What a screen reader's user would stumble over, seriously: a line for each rule that is broken."""

    def found(page: Page) -> list[str]:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        result: Any = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {', '.join(str(node['target']) for node in one['nodes'][:5])}"
            for one in result["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    return found


@pytest.fixture
def shot() -> Callable[[Page, str], Path]:
    """The page as it is now, kept as `.screens/<name>.png`."""

    def taken(page: Page, name: str) -> Path:
        SCREENS.mkdir(exist_ok=True)
        path = SCREENS / f"{name}.png"
        page.screenshot(path=path, animations="disabled", caret="hide")
        return path

    return taken


@pytest.fixture
def shots(shot: Callable[[Page, str], Path]) -> Callable[[Page, str], list[Path]]:
    """The page wide and narrow, light and dark: `.screens/<name>-<size>-<scheme>.png`. It is wide and light afterwards."""

    def taken(page: Page, name: str) -> list[Path]:
        paths: list[Path] = []
        for size in SIZES:
            for scheme in ("light", "dark"):
                with _looking(page, size, scheme):
                    paths.append(shot(page, f"{name}-{size}-{scheme}"))
        return paths

    return taken


@contextmanager
def _looking(page: Page, size: str, scheme: Scheme) -> Generator[None]:
    _look(page, size, scheme)
    yield
    _look(page, "wide", "light")


def _look(page: Page, size: str, scheme: Scheme) -> None:
    width, height = SIZES[size]
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": height})
