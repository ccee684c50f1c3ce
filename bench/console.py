"""
The console in a real Chromium, at a daemon that holds many records in one scope: how soon it is painted, how soon it answers a
hand and shows what was asked for, and how much is sent. Datasette's table page over the same rows stands beside it, seen by the same browser in the same run.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import quote

import httpx

from bench.daemon import calm
from bench.machine import percentile
from bench.peers.run import PeerFailed, prepare
from bench.scale import BATCH, LOADED_PER_S, SCOPE, scratch
from bench.synthetic import Texts
from commonplace import Note, open_memory
from commonplace.testing.daemon import Daemon, running_daemon

RECORDS: Final = 100_000
VISITS: Final = 9
TIMES: Final = 21
SCREENS: Final = 10
"""How far the list is scrolled, in heights of its own."""
KINDS: Final = ("note", "fact", "guide", "decision")
PLACES: Final = (
    *("memory", "recall?q=deploy", "import", "review/quarantine", "review/knowledge"),
    *("learning/lanes", "learning/cost", "learning/files", "live", "health", "keys"),
)
_SIZE: Final = {"width": 1280, "height": 800}
_FLAGS: Final = (
    "--disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync "
    "--disable-gpu --disable-dev-shm-usage"
).split()
_PATIENCE_S: Final = 30.0
_LETTER_MS: Final = 100
_QUIET_MS: Final = 4_000

# A moment after the frame in which what happened until now was painted; and how long it took until something was to be seen there.
WATCH: Final = """
globalThis.painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
globalThis.longest = 0;
new PerformanceObserver((seen) => { for (const one of seen.getEntries()) longest = Math.max(longest, one.duration) })
  .observe({ type: 'longtask', buffered: true });
globalThis.until = async (isThere, begin = 0) => {
  const asked = performance.now();
  while (!isThere()) {
    await painted();
    if (performance.now() - asked > 20_000) throw new Error(`never: ${isThere}`);
  }
  await painted();
  return performance.now() - begin;
};
globalThis.timed = async (act, isThere) => {
  await painted();
  const begin = performance.now();
  act();
  await painted();
  const feedback = performance.now() - begin;
  return { feedback, done: await until(isThere, begin) };
};
globalThis.list = () => document.querySelector('.endless');
globalThis.filled = () => {
  const box = list().getBoundingClientRect();
  const at = document.elementFromPoint(box.left + box.width / 2, box.bottom - 20);
  return Boolean(at?.closest('.endless-row'));
};
"""
# The browser may tell of a frame some frames later.
PAINT: Final = """async () => {
  await until(() => performance.getEntriesByType('paint').length > 1, performance.now());
  const told = Object.fromEntries(performance.getEntriesByType('paint').map((one) => [one.name, one.startTime]));
  return { first: told['first-paint'], content: told['first-contentful-paint'] };
}"""
ROWS: Final = "() => until(() => document.querySelector('.endless-row'))"

FILTER: Final = """(kind) => {
  const box = document.querySelector('.filters select');
  for (const row of list().querySelectorAll('.endless-row')) row.dataset.before = 'true';
  return timed(
    () => { box.value = kind; box.dispatchEvent(new Event('change', { bubbles: true })); },
    () => list().querySelector('.endless-row:not([data-before])'));
}"""
SCROLL: Final = "() => timed(() => { list().scrollTop += list().clientHeight; }, filled)"
# All of it at once, as it is pasted.
SEARCH: Final = """(question) => {
  const box = document.querySelector('input.search');
  for (const row of list().querySelectorAll('.endless-row')) row.dataset.before = 'true';
  return timed(
    () => { box.value = question; box.dispatchEvent(new Event('input', { bubbles: true })); },
    () => !document.querySelector('.endless-row[data-before]'));
}"""
# Letter by letter, as quickly as people do who are quick at it; counted from the last one, until what is listed answers the whole.
LETTERS: Final = """async ({ question, pause }) => {
  const box = document.querySelector('input.search');
  const type = (letters) => {
    for (const row of list().querySelectorAll('.endless-row')) row.dataset.before = 'true';
    box.value = question.slice(0, letters);
    box.dispatchEvent(new Event('input', { bubbles: true }));
  };
  for (let letters = Math.max(1, question.length - 8); letters < question.length; letters += 1) {
    type(letters);
    await new Promise((done) => setTimeout(done, pause));
  }
  const asked = () => new URLSearchParams(location.hash.split('?')[1]).get('q') === question.trim();
  return timed(
    () => type(question.length),
    () => asked() && !list()?.hasAttribute('aria-busy') && !document.querySelector('.endless-row[data-before]'));
}"""
SCOPES: Final = """async (letter) => {
  const box = document.querySelector('.picker input');
  const isOpen = () => box.getAttribute('aria-expanded') === 'true';
  box.focus();
  await until(isOpen);
  for (const option of document.querySelectorAll('.picker [role=option]')) option.dataset.before = 'true';
  const told = await timed(
    () => { box.value = letter; box.dispatchEvent(new Event('input', { bubbles: true })); },
    () => document.querySelector('.picker [role=option]:not([data-before])'));
  box.blur();
  await until(() => !isOpen());
  return told;
}"""
WEIGHT: Final = """(times) => {
  const box = document.querySelector('.weights input[type=range]');
  for (const hit of document.querySelectorAll('.hit')) hit.dataset.before = 'true';
  return timed(
    () => { box.value = Number(box.min) + (times % 5 + 1) * Number(box.step); box.dispatchEvent(new Event('input', { bubbles: true })); },
    () => document.querySelector('.hit:not([data-before])'));
}"""
OPEN: Final = """() => timed(
  () => list().querySelector('.endless-row .cell-value').click(),
  () => document.querySelector('.page-record[data-ready]'))"""
VISIT: Final = """(place) => {
  document.querySelector('.page').dataset.before = 'true';
  return timed(
    () => { location.hash = `#/${place}`; },
    () => document.querySelector(`.page-${place.split(/[/?]/)[0]}[data-ready]:not([data-before])`));
}"""
PIN: Final = """(at) => {
  const row = () => list().querySelectorAll('.endless-row')[at];
  const id = row().dataset.id;
  const pressed = () => list().querySelector(`[data-id="${id}"] .pin`)?.getAttribute('aria-pressed');
  const before = pressed();
  return timed(() => row().querySelector('.pin').click(), () => pressed() !== before);
}"""
SENT: Final = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map((one) => [new URL(one.name).pathname, one.transferSize])"""


class BrowserMissing(Exception):
    """Chromium is not installed. On Debian and Ubuntu: `apt-get install chromium`; or say COMMONPLACE_CHROMIUM=/path/to/it."""

    def __str__(self) -> str:
        return self.__doc__ or ""


def measure(records: int = RECORDS, visits: int = VISITS, times: int = TIMES, *, peer: bool = True) -> dict[str, Any]:
    """All of it, in one run."""
    with ExitStack() as stack:
        folder = stack.enter_context(scratch("console"))
        address = folder / "memory.db"
        fill(address, records)
        quiet = calm() if peer else 0.0
        browser = stack.enter_context(chromium())
        with running_daemon(folder / "home", "--store", str(address), patience=_PATIENCE_S) as daemon:
            figures: dict[str, Any] = {"records": records, "visits": visits, "times": times}
            warm(daemon, records)
            figures |= {"paint": list(painted(browser, daemon, visits)), **interactions(browser, daemon, times)}
            figures |= opened(browser, daemon, min(visits, times))
        if peer:
            figures["peer"] = against(browser, folder, records, visits)
    return {**figures, "busy_elsewhere_before": quiet}


def fill(address: Path, records: int) -> None:
    """One scope, of which each kind is a part."""
    with open_memory(str(address), embedder="static") as memory:
        done = 0
        for batch in Texts().batches(records, BATCH):
            notes = [Note(text=text, scope=SCOPE, kind=KINDS[(done + n) % len(KINDS)]) for n, text in enumerate(batch)]
            memory.put_many(notes)
            done += len(batch)


# ---- the browser


@contextmanager
def chromium() -> Generator[Any]:
    """Raises BrowserMissing."""
    # Only this measurement needs it; `python -m bench` runs without.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    program = os.environ.get("COMMONPLACE_CHROMIUM") or shutil.which("chromium")
    if program is None:
        raise BrowserMissing
    flags = [*_FLAGS, "--no-sandbox"] if os.geteuid() == 0 else _FLAGS
    with sync_playwright() as playwright:
        begun = playwright.chromium.launch(executable_path=program, args=flags, headless=True)
        yield begun
        begun.close()


@contextmanager
def window(browser: Any, url: str, token: str | None = None) -> Generator[Any]:
    """A page with nothing in its cache, signed in where a token is given."""
    context = browser.new_context(base_url=url, viewport=_SIZE, locale="en-GB")
    context.add_init_script(WATCH)
    if token is not None:
        answer = context.request.post("/v1/sign-in", data={"key": token})
        assert answer.ok, answer.text()
    yield context.new_page()
    context.close()


# ---- ours


def painted(browser: Any, daemon: Daemon, visits: int) -> Iterator[dict[str, Any]]:
    """`/`, signed in: with an empty cache, and again with what the browser kept."""
    seen: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in range(visits):
        with window(browser, daemon.url, daemon.token) as page:
            for cache in seen:
                page.goto("/")
                seen[cache].append({"rows": page.evaluate(ROWS), **page.evaluate(PAINT)})
                page.goto("about:blank")
    for cache, all_of_it in seen.items():
        yield {"cache": cache, **_summed(all_of_it, "first", "content", "rows")}


def warm(daemon: Daemon, records: int) -> None:
    """Before anything is counted, the daemon has the scope in memory: the second search begins to bring it there."""
    with daemon.client() as client:
        for pause in (0.0, records / LOADED_PER_S, 0.0):
            client.post("/v1/search", json={"text": "heron"}, timeout=_PATIENCE_S).raise_for_status()
            time.sleep(pause)


def interactions(browser: Any, daemon: Daemon, times: int) -> dict[str, Any]:
    """What is painted after a hand did something, and when all of it was there."""
    questions = Texts().questions(times)
    with window(browser, daemon.url, daemon.token) as page:
        acts: dict[str, Callable[[int], Any]] = {
            "another filter": lambda n: page.evaluate(FILTER, KINDS[n % len(KINDS)]),
            f"scrolling a screen, {SCREENS} in a row": lambda _: _worst(
                [page.evaluate(SCROLL) for _ in range(SCREENS)]
            ),
            "a search, pasted": lambda n: page.evaluate(SEARCH, questions[n]),
            "a search, typed letter by letter": lambda n: page.evaluate(
                LETTERS, {"question": questions[n], "pause": _LETTER_MS}
            ),
            "a scope looked for": lambda n: page.evaluate(SCOPES, "bench"[n % 5]),
            "opening a record, all its parts": lambda _: _opened(page),
            "pinning": lambda n: page.evaluate(PIN, n % 5),
            "turning a weight of the recall lab": lambda n: page.evaluate(WEIGHT, n),
        }
        rows: list[dict[str, Any]] = []
        for name, act in acts.items():
            page.goto("about:blank")
            if name.endswith("recall lab"):
                page.goto(f"/#/recall?q={quote(questions[0])}")
                page.evaluate(
                    "() => until(() => document.querySelector('.hit') && document.querySelector('.weights input'))"
                )
            else:
                page.goto("/")
                page.evaluate(ROWS)
            found = [act(n) for n in range(times)]
            rows.append({"interaction": name, **_summed(found, "feedback", "done"), "longest_task_ms": _longest(page)})
    return {"interactions": rows}


def _opened(page: Any) -> dict[str, float]:
    found: dict[str, float] = page.evaluate(OPEN)
    page.evaluate("() => { location.hash = '#/memory'; return until(() => document.querySelector('.endless-row')); }")
    return found


def opened(browser: Any, daemon: Daemon, times: int) -> dict[str, Any]:
    """
    Each page for the first time, from the first one, at which somebody was for some seconds; and the bytes of all files of the
    console, as they were sent, after every page was opened.
    """
    seen: dict[str, list[dict[str, float]]] = {}
    first: dict[str, int] = {}
    every: dict[str, int] = {}
    for _ in range(times):
        with window(browser, daemon.url, daemon.token) as page:
            page.goto("/")
            page.evaluate(ROWS)
            first = _sent(page)
            record = page.evaluate("document.querySelector('.endless-row').dataset.id")
            page.wait_for_timeout(_QUIET_MS)
            for place in (f"record/{record}", *PLACES):
                name = "record" if place.startswith("record/") else place.split("?")[0]
                seen.setdefault(name, []).append(page.evaluate(VISIT, place))
            every = _sent(page)
    pages = [{"page": name, **_summed(found, "feedback", "done")} for name, found in seen.items()]
    sent = {"files": len(every), "first_page_kb": _kilobytes(first), "all_pages_kb": _kilobytes(every)}
    return {"pages": pages, "transfer": sent}


def _worst(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: max(one[name] for one in found) for name in found[0]}


def _longest(page: Any) -> float:
    return round(page.evaluate("longest"), 1)


def _sent(page: Any) -> dict[str, int]:
    """By path: what the answers to our own questions weigh is the memory's, not the console's."""
    found: list[tuple[str, int]] = page.evaluate(SENT)
    return {path: size for path, size in found if path == "/" or path.startswith("/console/")}


def _kilobytes(sent: dict[str, int]) -> float:
    return round(sum(sent.values()) / 1e3, 1)


def _summed(found: list[dict[str, float]], *names: str) -> dict[str, float]:
    """The median of each, and of the last what one in twenty is slower than, and the worst."""
    told = {f"{name}_ms": round(median(one[name] for one in found), 1) for name in names}
    last = [one[names[-1]] for one in found]
    told[f"p95_{names[-1]}_ms"] = round(percentile(last, 0.95), 1)
    return told | {f"slowest_{names[-1]}_ms": round(max(last), 1)}


# ---- theirs


def against(browser: Any, folder: Path, records: int, visits: int) -> dict[str, Any]:
    """Datasette's page of a table with the same rows, and its pages with an empty and a warm cache."""
    try:
        python = prepare("datasette")
    except PeerFailed as failed:
        return {"peer": "datasette", "failed": str(failed)}
    path = folder / "records.db"
    _table(path, records)
    seen: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    with _datasette(python, path) as url:
        for _ in range(visits):
            with window(browser, url) as page:
                for cache in seen:
                    page.goto("/records/records")
                    page.wait_for_selector("table.rows-and-columns tbody tr")
                    seen[cache].append(page.evaluate(PAINT))
                    page.goto("about:blank")
    return {"peer": "datasette", "paint": [{"cache": one, **_summed(seen[one], "first", "content")} for one in seen]}


def _table(path: Path, records: int) -> None:
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, scope TEXT, kind TEXT, source TEXT, text TEXT)")
        done = 0
        for batch in Texts().batches(records, BATCH):
            rows = [(SCOPE, KINDS[(done + n) % len(KINDS)], "manual", text) for n, text in enumerate(batch)]
            made.executemany("INSERT INTO records (scope, kind, source, text) VALUES (?, ?, ?, ?)", rows)
            done += len(batch)
    made.close()


@contextmanager
def _datasette(python: Path, path: Path) -> Generator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-m", "datasette", "serve", str(path), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=15)


def _wait(url: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            httpx.get(url, timeout=5.0)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise PeerFailed("datasette did not answer in time")
