"""
The examples in the README and in `docs/` run as they stand, and print what the page says they print.

An `sh` block is pasted as a whole into a shell, in a folder that belongs to the page; what it exports is there in the blocks after it. `python`
blocks of one page run in order and share their names, as a reader would type them. A `text` block right behind one of them is what it
prints: `…` stands for anything in a line, a line of its own for any number of lines; an id and a day may be others, and spaces more or fewer. What searches or prints has
one. A page that speaks to a daemon finds one: its address stands for that of the page. A line `<!-- not run: reason -->` right above a block leaves
that block out.
"""

import io
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from commonplace.testing.daemon import running_daemon

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^\n]+ -->\n+)?^```(?P<language>python|sh)\n(?P<body>.*?)^```$"
    r"(?:\n\n^```text\n(?P<answer>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
OTHERS = re.compile(r"^```(?:console|bash|shell|zsh|py)$", re.MULTILINE)
ADDRESS = "http://127.0.0.1:4170"
PLACE = re.compile(r"`(?P<path>[a-z_]+(?:/[a-z_]+)+)(?:\.py)?(?:\.(?P<name>[A-Za-z_]+))?`")
FILES = "The notes of a page about importing: we deploy with `make ship`, on Fridays.\n"
ASKS = re.compile(r"commonplace search|/v1/search|memory/search|print\(")
FIGURES = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]*…?|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?")
STYLES = re.compile(r"\x1b\[[0-9;]*m")
RULES = re.compile(r"([─━])\1+")
OWN_PATH = ("README.md", "first-session.md")
"""Pages for somebody who has just installed it: they say themselves where the command is."""


@dataclass(frozen=True)
class Example:
    page: Path
    line: int
    language: str
    body: str
    answer: str | None
    """What the page says that it prints."""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line + 1}"


def examples(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if not match["skip"]:
            line = text.count("\n", 0, match.start("body"))
            yield Example(page, line, match["language"], match["body"], match["answer"])


def pages_with_examples() -> list[Path]:
    # Generated pages show usage lines, not examples; a design page may show what was decided against.
    written = [page for page in PAGES if page.parent.name not in ("reference", "design")]
    return [page for page in written if any(examples(page))]


def fits(answer: str, printed: str) -> bool:
    """Whether a page's answer is what was printed."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + r"\n"
        for line in lines(FIGURES.sub("…", answer))
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines(printed))) is not None


def lines(text: str) -> list[str]:
    plain = RULES.sub(r"\1", STYLES.sub("", text))
    return [" ".join(line.split()) for line in plain.splitlines() if line.strip()]


class Reader:
    """Somebody who follows a page, block after block."""

    def __init__(self, page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        scripts = sysconfig.get_path("scripts")
        path = [entry for entry in os.environ["PATH"].split(os.pathsep) if entry != scripts]
        if page.name not in OWN_PATH:
            path.insert(0, scripts)
        (folder / ".venv").symlink_to(sys.prefix)
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._names: dict[str, object] = {"__name__": "__main__"}
        # As somebody at a terminal sees it, without the colours.
        looks = {"NO_COLOR": "1", "FORCE_COLOR": "1", "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
        self._environment = {**os.environ, **looks, "PATH": os.pathsep.join(path)}

    def follow(self, example: Example) -> str:
        """What the block prints."""
        return self._python(example) if example.language == "python" else self._paste(example)

    def _python(self, example: Example) -> str:
        # The blank lines in front make a traceback name the line of the page.
        code = compile("\n" * example.line + example.body, str(example.page), "exec")
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, self._names)
        return printed.getvalue()

    def _paste(self, example: Example) -> str:
        after = self._folder / ".environment"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", f"{example.body}\nenv -0 > '{after}'"],
            cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{example.place}\n{example.body}{done.stdout}"
        pairs = after.read_text(encoding="utf-8").split("\0")
        self._environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        for name in self._environment.keys() - os.environ.keys():
            if name.startswith("COMMONPLACE_"):
                self._monkeypatch.setenv(name, self._environment[name])
        return done.stdout


@pytest.mark.parametrize("page", pages_with_examples(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_print_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reader"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "deploy.md").write_text(FILES, encoding="utf-8")
    monkeypatch.chdir(folder)
    # An answer that is an error ends curl with an exit code of its own.
    (folder / ".curlrc").write_text("fail-with-body\nsilent\nmax-time = 20\n", encoding="utf-8")
    monkeypatch.setenv("CURL_HOME", str(folder))

    with ExitStack() as stack:
        address = ADDRESS
        if any(ADDRESS in example.body for example in examples(page)):
            address = stack.enter_context(running_daemon(Path(os.environ["COMMONPLACE_HOME"]))).url
        reader = Reader(page, folder, monkeypatch)
        for example in examples(page):
            printed = reader.follow(replace(example, body=example.body.replace(ADDRESS, address)))
            if example.answer is not None:
                assert fits(example.answer.replace(ADDRESS, address), printed), f"{example.place} prints\n{printed}"


@pytest.mark.parametrize("page", pages_with_examples(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_whatever_a_page_asks_for_has_its_answer_below(page: Path) -> None:
    unanswered = [one.place for one in examples(page) if ASKS.search(one.body) and one.answer is None]

    assert unanswered == []


def test_every_example_is_in_a_language_that_is_run() -> None:
    assert [page.name for page in pages_with_examples() if OTHERS.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("answer", "printed", "expected"),
    [
        ("We ship", "We ship\n", True),
        ("We  ship", "\x1b[1mWe\x1b[0m ship \n\n", True),
        ("We ship", "We ship\nand more\n", False),
        ("We ship\n…", "We ship\nand more\n", True),
        ("…\nlast", "first\nsecond\nlast\n", True),
        ("id … of 3", "id 0192f3a4 of 3\n", True),
        ("first\nsecond", "second\nfirst\n", False),
        ("0192f3a4-5b6c-… from 2026-03-06", "01a1edfc-72f5-733b from 2027-01-01", True),
        ("a ──── b", "a ── b", True),
        ("a.c", "abc", False),
    ],
)
def test_an_answer_fits_what_was_printed_or_does_not(answer: str, printed: str, expected: bool) -> None:
    assert fits(answer, printed) is expected


LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]

    assert [target for target in local if not (page.parent / target).exists()] == []


def misplaced(page: Path) -> Iterator[str]:
    """What a page names in a package of ours that is not there: a folder, a module, or a name in one."""
    source = ROOT / "src" / "commonplace"
    packages = {folder.name for folder in source.iterdir() if folder.is_dir()}
    for match in PLACE.finditer(page.read_text(encoding="utf-8")):
        path, name = match["path"], match["name"]
        module = source / f"{path}.py"
        if path.split("/")[0] not in packages or (source / path).is_dir():
            continue
        if not module.exists():
            is_there = bool(name) and (source / f"{path}.{name}").exists()
        else:
            text = module.read_text(encoding="utf-8")
            is_there = not name or re.search(rf"^(class |def |async def |){name}\b", text, re.MULTILINE) is not None
        if not is_there:
            yield match[0]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "design").glob("*.md")), ids=lambda page: page.stem)
def test_a_design_page_names_modules_that_are_there(page: Path) -> None:
    assert list(misplaced(page)) == []
