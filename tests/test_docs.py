"""
The examples in the README and in `docs/` run as they stand.

`python` blocks of one page run in order and share their names, as a reader would type them. In `console` blocks each line
that starts with `$ commonplace` or `$ curl` runs in a shell, with the lines that continue it, in a folder that belongs to
the page; other lines show what comes back. A page that speaks to a daemon finds one: its address stands for that of the
page. A page with a line `<!-- not run: reason -->` right above a block leaves that block out.
"""

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from commonplace.testing.daemon import running_daemon

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^\n]+ -->\n+)?^```(?P<language>python|console)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
ADDRESS = "http://127.0.0.1:4170"
PLACE = re.compile(r"`(?P<path>[a-z_]+(?:/[a-z_]+)+)(?:\.py)?(?:\.(?P<name>[A-Za-z_]+))?`")
COMMAND = re.compile(r"^\$ ((?:commonplace|curl) (?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
FILES = "The notes of a page about importing: we deploy with `make ship`, on Fridays.\n"


@dataclass(frozen=True)
class Example:
    page: Path
    line: int
    language: str
    body: str


def examples(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if not match["skip"]:
            yield Example(page, text.count("\n", 0, match.start("body")), match["language"], match["body"])


def pages_with_examples() -> list[Path]:
    # Generated pages show usage lines, not examples; a design page may show what was decided against.
    written = [page for page in PAGES if page.parent.name not in ("reference", "design")]
    return [page for page in written if any(examples(page))]


def run_python(example: Example, names: dict[str, object]) -> None:
    # The blank lines in front make a traceback name the line of the page.
    code = compile("\n" * example.line + example.body, str(example.page), "exec")
    exec(code, names)


def run_console(example: Example, folder: Path) -> None:
    scripts = sysconfig.get_path("scripts")
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    for match in COMMAND.finditer(example.body):
        done = subprocess.run(
            ["bash", "-c", match[1]],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        line = example.line + 1 + example.body.count("\n", 0, match.start())
        place = f"{example.page.relative_to(ROOT)}:{line}: {match[1]}"
        assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", pages_with_examples(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "reader"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "deploy.md").write_text(FILES, encoding="utf-8")
    monkeypatch.chdir(folder)
    # An answer that is an error ends curl with an exit code of its own.
    (folder / ".curlrc").write_text("fail-with-body\nsilent\nmax-time = 20\n", encoding="utf-8")
    monkeypatch.setenv("CURL_HOME", str(folder))
    names: dict[str, object] = {"__name__": "__main__"}

    with ExitStack() as stack:
        address = ADDRESS
        if any(ADDRESS in example.body for example in examples(page)):
            daemon = stack.enter_context(running_daemon(Path(os.environ["COMMONPLACE_HOME"])))
            monkeypatch.setenv("COMMONPLACE_TOKEN", daemon.token)
            address = daemon.url
        for example in examples(page):
            example = replace(example, body=example.body.replace(ADDRESS, address))  # noqa: PLW2901
            if example.language == "python":
                run_python(example, names)
            else:
                run_console(example, folder)


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
