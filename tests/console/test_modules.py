"""What holds for every file of the console, read as text: no browser is needed."""

import gzip
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

import pytest

from commonplace import errors
from commonplace.server.console import site

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "src" / "commonplace" / "console"
SCRIPTS = sorted(CONSOLE.rglob("*.js"))
TEST_SCRIPTS = sorted([*(ROOT / "tests" / "clients").glob("*.mjs"), *(ROOT / "tests" / "console").rglob("*.mjs")])
STYLES = sorted(CONSOLE.rglob("*.css"))
PAGES = sorted(path.stem for path in (CONSOLE / "pages").glob("*.js"))
MARKUP = re.compile(
    r"""innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|parseFromString|parseHTML|setHTML"""
    r"""|\bsetHTMLUnsafe|srcdoc|document\.(?:open|write)|execCommand|createDocument\b|XSLTProcessor|\beval\b|new Function|\bFunction\("""
    r"""|\bset(?:Timeout|Interval)\(\s*['"`]|setAttribute(?:NS)?\((?:null,\s*)?['"](?:style|on\w+)['"]|javascript:|data:text/html"""
    r"""|import\(\s*['"`](?:data|blob):|createObjectURL\([^)]*html""",
    re.IGNORECASE,
)
ELSEWHERE = re.compile(r"""["'(]\s*(?:https?:)?//(?!www\.w3\.org/2000/svg)[\w.]""")
IMPORTED = re.compile(r"from '(\.[^']+)'")
PRELOADED = re.compile(r'<link rel="modulepreload" href="\{\{base\}\}/([^"]+)">')
KEY = re.compile(r"^  '?([\w.-]+)'?:", re.MULTILINE)
USED = re.compile(r"""\bt\('([a-z]+\.[^'${}]+)'""")
MOST_LINES, LONGEST, MOST_FUNCTION_LINES = 800, 160, 80
MOST_BYTES = 300_000


def _named(path: Path) -> str:
    return str(path.relative_to(CONSOLE))


class Function(TypedDict):
    """What `node/functions.mjs` says of a function."""

    file: str
    line: int
    name: str
    lines: int


def functions(paths: Iterable[Path]) -> list[Function]:
    """Every function in these scripts, as a parser sees them."""
    script = Path(__file__).parent / "node" / "functions.mjs"
    ended = subprocess.run(["node", script, *paths], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _words(language: str, page: str) -> set[str]:
    return set(KEY.findall((CONSOLE / "words" / language / f"{page}.js").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SCRIPTS, ids=_named)
def test_a_script_makes_no_markup_from_text(path: Path) -> None:
    found = MARKUP.findall(path.read_text(encoding="utf-8").partition("\n")[2])

    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "box.innerHTML = text;",
        "box['innerHTML'] = text;",
        "box.outerHTML = text;",
        "box.insertAdjacentHTML('beforeend', text);",
        "document.createRange().createContextualFragment(text);",
        "new DOMParser().parseFromString(text, 'text/html');",
        "parser.parseFromString(text, 'image/svg+xml');",
        "Document.parseHTMLUnsafe(text);",
        "box.setHTMLUnsafe(text);",
        "box.setHTML(text);",
        "h('iframe', { srcdoc: text });",
        "frame.setAttribute('srcdoc', text);",
        "document.write(text);",
        "document.open();",
        "document.execCommand('insertHTML', false, text);",
        "document.implementation.createDocument(null, text);",
        "new XSLTProcessor();",
        "eval(text);",
        "new Function(text)();",
        "Function('return ' + text)();",
        "setTimeout('run()', 1);",
        "setInterval(`run(${text})`, 1);",
        "box.setAttribute('style', text);",
        "box.setAttribute('onclick', text);",
        'box.setAttributeNS(null, "onload", text);',
        "h('a', { href: 'javascript:run()' });",
        "h('iframe', { src: 'data:text/html,' + text });",
        "import(`data:text/javascript,${text}`);",
        "URL.createObjectURL(new Blob([text], { type: 'text/html' }));",
    ],
)
def test_each_way_to_make_markup_from_text_would_be_noticed(line: str) -> None:
    assert MARKUP.search(line)


@pytest.mark.parametrize("path", [*SCRIPTS, *STYLES, CONSOLE / "index.html"], ids=_named)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    assert not ELSEWHERE.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [*SCRIPTS, *STYLES], ids=_named)
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MOST_LINES
    assert path.suffix == ".css" or "words" in path.parts or max(map(len, lines)) <= LONGEST


@pytest.mark.parametrize("path", TEST_SCRIPTS, ids=lambda path: path.name)
def test_a_script_of_the_tests_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_no_function_is_too_long() -> None:
    long = [one for one in functions([*SCRIPTS, *TEST_SCRIPTS]) if one["lines"] > MOST_FUNCTION_LINES]

    assert not [f"{one['file']}:{one['line']}: {one['name']} has {one['lines']} lines" for one in long]


def test_a_function_is_measured_whatever_its_kind(tmp_path: Path) -> None:
    body = "\n" * 80
    kinds = {
        "declared": f"function declared() {{{body}}}",
        "async": f"const async = async () => {{{body}}};",
        "method": f"class A {{ method() {{{body}}} }}",
        "#private": f"class B {{ #private() {{{body}}} }}",
        "property": f"const c = {{ property: function* () {{{body}}} }};",
        "outer": f"const outer = () => [{body}];",
        "anonymous": f"call(() => {{{body}}});",
    }
    script = tmp_path / "kinds.js"
    script.write_text("\n".join(kinds.values()), encoding="utf-8")

    found = functions([script])

    assert [one["lines"] for one in found] == [81] * len(kinds)
    assert [one["name"] for one in found] == [name.removeprefix("#") for name in kinds]


def test_a_script_that_cannot_be_parsed_is_no_script_without_functions(tmp_path: Path) -> None:
    script = tmp_path / "broken.js"
    script.write_text("function broken( {", encoding="utf-8")

    with pytest.raises(AssertionError, match="SyntaxError"):
        functions([script])


@pytest.mark.parametrize("page", sorted({path.stem for path in (CONSOLE / "words" / "en").glob("*.js")}))
def test_both_languages_say_the_same_things(page: str) -> None:
    assert _words("en", page) == _words("zh", page)


def test_every_error_has_a_sentence_in_the_language_that_the_daemon_does_not_speak() -> None:
    tree = vars(errors).values()
    codes = {one.code for one in tree if isinstance(one, type) and issubclass(one, errors.CommonplaceError)}

    assert _words("zh", "problems") == codes


@pytest.mark.parametrize("path", SCRIPTS, ids=_named)
def test_every_word_that_is_used_is_there(path: Path) -> None:
    used = {tuple(name.split(".", 1)) for name in USED.findall(path.read_text(encoding="utf-8"))}

    missing = [f"{page}.{key}" for page, key in used if key not in _words("en", page)]

    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_its_words_and_its_style(page: str) -> None:
    assert (CONSOLE / "words" / "en" / f"{page}.js").is_file()
    assert (CONSOLE / "styles" / f"{page}.css").is_file()


@pytest.mark.parametrize(
    "path", sorted((CONSOLE / "words").rglob("*.js")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_no_text_has_the_name_of_another_whose_place_it_would_take(path: Path) -> None:
    names = re.findall(r"^  '?([\w.-]+)'?:", path.read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_page_names_every_script_of_the_first_one_so_that_all_are_fetched_at_once() -> None:
    named = PRELOADED.findall((CONSOLE / "index.html").read_text(encoding="utf-8"))

    needed = _imported(CONSOLE / "app.js") | _imported(CONSOLE / "pages" / "memory.js")
    assert sorted(named) == sorted(_named(path) for path in needed - {CONSOLE / "app.js"})


def _imported(path: Path) -> set[Path]:
    """It, and what it cannot begin without."""
    found, waiting = set[Path](), {path}
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting |= {(one.parent / name).resolve() for name in IMPORTED.findall(one.read_text(encoding="utf-8"))} - found
    return found


def _meant(paths: Iterable[Path]) -> list[str]:
    """A line for each script: what it says and how many lines it has."""
    script = Path(__file__).parent / "node" / "trees.mjs"
    ended = subprocess.run(["node", script, *paths], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_what_is_sent_says_the_same_as_the_source_on_the_same_lines_without_its_comments(tmp_path: Path) -> None:
    sent = [tmp_path / f"{number}.js" for number in range(len(SCRIPTS))]
    for path, script in zip(sent, SCRIPTS, strict=True):
        path.write_bytes(site().assets[_named(script)].whole)

    assert _meant(sent) == _meant(SCRIPTS)
    assert not [path for path in sent if re.search(r"^ *(//|/\*\*)", path.read_text(encoding="utf-8"), re.MULTILINE)]


def test_a_changed_word_would_be_noticed(tmp_path: Path) -> None:
    scripts = [tmp_path / "a.js", tmp_path / "b.js"]
    for path, text in zip(scripts, ("f(`a\n b`);\n", "f(`a\nb`);\n"), strict=True):
        path.write_text(text, encoding="utf-8")

    first, second = _meant(scripts)

    assert first != second


def test_all_of_it_together_is_small() -> None:
    sent = [site().page, *site().assets.values()]

    assert sum(len(gzip.compress(one.whole)) for one in sent) < MOST_BYTES
