"""
The house rules that no tool checks for us (STYLE.md, Gates), read from the syntax tree alone.

`ALLOWED` holds what breaks a size rule today. It only ever shrinks: an entry that is no longer needed fails the test.
"""

import ast
import gc
import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tools.words import Words, excess, read_allowed, shrunk, words_of

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "commonplace"

ALLOWED: frozenset[str] = frozenset()
MOST_LINES = 800

# Where a broad `except` may end: the place that answers for everything below it. `path::function` -> why.
BROAD_EXCEPTS: dict[str, str] = {
    "channels/connection.py::Connection._listen": "the top of a worker: a fault of ours costs a pause, not the channel",
    "channels/residence.py::Residence._work": "the top of a worker: a message that we cannot handle costs itself, not its room",
    "agent/tools/calls.py::_Call._outcome": "the boundary of the agent's tools: whatever a tool does wrong is told to the model",
    "agent/acp/connection.py::RpcConnection._answered": "the top of a worker: a fault of ours costs a request of the other program, not the connection",
    "agent/mcp_servers.py::ServerToolset.connect": "as above: a server of somebody else does not start",
    "agent/mcp_servers.py::ServerToolset._hold": "as above: it breaks while it is used",
    "agent/mcp_servers.py::ServerToolset.get_tools": "as above: it does not say what it has",
    "agent/turn_course.py::TurnCourse.play": "the top of a worker: a fault of ours costs the turn, not the session",
    "agent/turn_course.py::_kept_going": "the top of a worker: the reply stands, whatever becomes of what it leaves",
    "compose/background.py::_kept_at_work": "the top of a worker: it logs what a task raised and begins it again",
    "server/request_log.py::RequestLog._answer": "the server's error handler: what nobody expected becomes a 500",
    "jobs/worker.py::Worker._outliving": "the top of a worker: a job that cannot be ended must not end the others",
    "stores/sqlite/connection.py::WriterThread._savepoint": "the top of a worker: what a job raises is its caller's",
    "stores/sqlite/connection.py::WriterThread._settle": "the top of a worker, as above",
}

# A base that holds nothing but these says how its classes are built, and is no ancestor.
SETTINGS_OF_A_CLASS = frozenset({"model_config", "__slots__", "__pydantic_config__"})
MOST_DEEP = 2
# Where inheritance is what callers use. A base -> why all below it may go deeper.
KINDS: dict[str, str] = {
    "commonplace.errors.CommonplaceError": "callers catch a kind of errors by its class, and the tree is drawn in errors.py",
}
# What is deeper today. It only ever shrinks.
DEEPER: frozenset[str] = frozenset()

# Who may import what, beyond the layers that `lint-imports` holds. A name stands for itself and all below it.
READS_SETTINGS = ("cli", "compose", "testing")
NAMES_ADAPTERS = ("compose", "testing")
ADAPTERS = ("commonplace.stores", "commonplace.embedders", "commonplace.llms")
# The guard's weights are for the numbers of this one model, whichever embedder was chosen.
GUARDS_MODEL = ("commonplace.embedders.sentences",)
ENGINES = (
    "memory",
    "history",
    "artifacts",
    "runs",
    "markdown",
    "knowledge",
    "schedule",
    "guard",
    "importing",
    "learning",
    "governance",
    "events",
    "jobs",
    "service",
)
NOT_IN_ENGINES = (
    "apsw",
    "click",
    "fastapi",
    "psycopg",
    "rich",
    "sqlite3",
    "sqlite_vec",
    "starlette",
    "typer",
    "uvicorn",
)
SDK_SPEAKS = (
    "commonplace.ports.agent_client",
    "commonplace.ports.memory_client",
    "commonplace.ports.schedule_client",
    "commonplace.sdk",
    "commonplace.wire",
    "commonplace.errors",
    "commonplace.values",
)

# What one store has and the other has not: modules, and classes of modules that both have. Ports are never among them.
STORES = ("sqlite", "postgres")
OWN_MODULES: dict[str, str] = {
    "sqlite/foreign": "a file can come from anybody; a server's address is the operator's",
    "sqlite/marks": "as above: how a home knows the files that it made",
    "sqlite/reserve": "room on the disk of the file; a server looks after its own disk",
    "sqlite/salvage": "pages of a file can be damaged one by one; a server reads its pages itself",
    "postgres/adapt": "bytes of the two array types; SQLite keeps ours as they are",
    "postgres/address": "a server has an address to parse, a file a path",
    "postgres/archive": "a backup is a zip of COPY; SQLite copies its file",
    "postgres/notifications": "how a daemon hears the others' events",
    "postgres/relay": "ids of events in the order of commits; SQLite has one writer",
}
OWN_CLASSES: dict[str, str] = {
    "transactions": "a file tells nobody of a write: who follows events in this process is woken by a bell",
    "store": "named after the database, since both are imported side by side",
    "connection": "a writer thread and readers here, a pool there",
    "entries": "PostgreSQL writes entries as part of a pipeline and checks them after it",
    "rows": "SQL is put together in SQLite, and has parameters only in PostgreSQL",
    "reads": "as above",
    "schema": "a PostgreSQL schema has types and a search path to be told of",
    "writes": "PostgreSQL locks scopes and plans all rows of a call before it writes them",
}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def part(self) -> str:
        """The package or module right below `commonplace` that this file belongs to."""
        return self.path.relative_to(SOURCE).with_suffix("").parts[0] if self.path.is_relative_to(SOURCE) else ""


@cache
def modules() -> tuple[Module, ...]:
    folders = [ROOT / name for name in ("src", "tests", "bench", "tools")]
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    texts = [(path, path.read_text(encoding="utf-8")) for path in paths]
    # A million nodes and no garbage: looking for some takes five times as long as parsing.
    gc.disable()
    try:
        return tuple(Module(path, text, ast.parse(text, filename=str(path))) for path, text in texts)
    finally:
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def no_tree_outlives_this_module() -> Iterator[None]:
    """Every later test would pay for it, whenever garbage is looked for."""
    yield
    modules.cache_clear()
    own_classes.cache_clear()


def source() -> Iterator[Module]:
    return (module for module in modules() if module.path.is_relative_to(SOURCE))


def functions(module: Module) -> Iterator[tuple[str, Function]]:
    """Every function with its qualified name."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                yield f"{module.name}::{prefix}{child.name}", child
            named = isinstance(child, (*FUNCTIONS, ast.ClassDef))
            yield from walk(child, f"{prefix}{child.name}." if named else prefix)

    return walk(module.tree, "")


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions inside it."""
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, FUNCTIONS):
            todo.extend(ast.iter_child_nodes(node))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported anywhere in `tree`; `from a import b` gives `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_or_below(name: str, tops: tuple[str, ...]) -> bool:
    return any(name == top or name.startswith(f"{top}.") for top in tops)


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def complexity(function: Function) -> int:
    """One, and one for each branch (McCabe, as `ruff` counts it)."""
    branches = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
    nodes = list(ast.walk(function))
    otherwise = sum(bool(node.orelse) for node in nodes if isinstance(node, ast.Try))
    return 1 + sum(isinstance(node, branches) for node in nodes) + otherwise


def parameters(function: Function) -> int:
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def may_have_many_parameters(module: Module, function: Function) -> bool:
    """A command's options, a route's query parameters, the public `put` and `search`, and what a test asks for."""
    return module.part in ("cli", "doors", "server", "") or function.name in ("put", "search")


def report(title: str, found: list[str]) -> None:
    if found:
        pytest.fail("\n  ".join([title, *found]), pytrace=False)


@cache
def broken_sizes() -> Sequence[tuple[str, str]]:
    return [broken for module in modules() for broken in sizes_broken_by(module)]


def sizes_broken_by(module: Module) -> Iterator[tuple[str, str]]:
    lines = module.text.count("\n")
    if lines > MOST_LINES:
        yield module.name, f"{lines} lines, {MOST_LINES} allowed"
    for name, function in functions(module):
        if length(function) > 60:
            yield name, f"{length(function)} lines, 60 allowed"
        if complexity(function) > 10:
            yield name, f"complexity {complexity(function)}, 10 allowed"
        if parameters(function) > 7 and not may_have_many_parameters(module, function):
            yield name, f"{parameters(function)} parameters, 7 allowed"


def test_no_file_and_no_function_is_too_big() -> None:
    broken = [f"{name}: {what}" for name, what in broken_sizes() if name not in ALLOWED]

    report("Too big. Split it; do not extend ALLOWED:", broken)


def test_the_list_of_what_is_allowed_only_shrinks() -> None:
    names = {name for name, _ in broken_sizes()}

    report("No longer needed, take it out of ALLOWED:", sorted(ALLOWED - names))


def unexplained_imports(module: Module) -> Iterator[str]:
    lines = ["", *module.text.splitlines()]
    found = {line: name for _, function in functions(module) for line, name in imports(function)}
    for line, name in sorted(found.items()):
        # A run of lazy imports is explained once, above the first.
        first = next(start for start in range(line, 0, -1) if start - 1 not in found)
        reason = lines[line].partition("#")[2].replace("noqa: PLC0415", "").strip(" -:#")
        if not reason and not lines[first - 1].strip().startswith("#"):
            yield f"{module.name}:{line}: {name}"


def test_an_import_inside_a_function_says_why_it_waits() -> None:
    found = [place for module in source() for place in unexplained_imports(module)]

    report("Move it to the top, or say in a comment there what is slow or optional about it:", found)


def swallows_everything(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    broad = any(kind is None or getattr(kind, "id", "") in ("Exception", "BaseException") for kind in kinds)
    ends_in_raise = isinstance(handler.body[-1], ast.Raise)
    return broad and not ends_in_raise


def broad_excepts() -> Iterator[str]:
    for module in source():
        for name, function in functions(module):
            if any(isinstance(node, ast.ExceptHandler) and swallows_everything(node) for node in own_nodes(function)):
                yield name.removeprefix("src/commonplace/")


def test_only_the_places_that_answer_for_everything_catch_everything() -> None:
    found = set(broad_excepts())

    report("Catch what can happen there, by name:", sorted(found - BROAD_EXCEPTS.keys()))
    report("No longer needed, take it out of BROAD_EXCEPTS:", sorted(BROAD_EXCEPTS.keys() - found))


def dotted(module: Module) -> str:
    parts = module.path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@cache
def own_classes() -> dict[str, tuple[ast.ClassDef, tuple[str, ...]]]:
    """Every class of ours by its full name, with the full names of its bases."""
    classes: dict[str, tuple[ast.ClassDef, tuple[str, ...]]] = {}
    for module in source():
        place = dotted(module)
        nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
        names = {name.rpartition(".")[2]: name for _, name in imports(module.tree)}
        names |= {node.name: f"{place}.{node.name}" for node in nodes}
        for node in nodes:
            bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
            written = [ast.unparse(base).partition(".") for base in bases]
            full = tuple(names.get(first, first) + dot + rest for first, dot, rest in written)
            classes[f"{place}.{node.name}"] = node, full
    return classes


def says_only_how(node: ast.ClassDef) -> bool:
    """Whether a class holds nothing but a docstring and its own settings."""
    targets = [
        ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line.target)
        for line in node.body
        if isinstance(line, ast.Assign | ast.AnnAssign)
    ]
    others = [line for line in node.body if not isinstance(line, ast.Assign | ast.AnnAssign | ast.Expr | ast.Pass)]
    return not others and {*targets} <= SETTINGS_OF_A_CLASS and bool(targets)


def own_depth(name: str) -> int:
    """A class of ours and its ancestors of ours, those that only say how left out."""
    if name not in own_classes():
        return 0
    node, bases = own_classes()[name]
    if "typing.Protocol" in bases:
        # Nothing is inherited from a Protocol but the promise: its methods are empty.
        return 0
    return (not says_only_how(node)) + max(map(own_depth, bases), default=0)


def is_of_kind(name: str) -> bool:
    return name in KINDS or any(is_of_kind(base) for base in own_classes().get(name, (None, ()))[1])


def test_inheritance_of_our_own_is_at_most_two_deep() -> None:
    deep = {name: own_depth(name) for name in own_classes() if not is_of_kind(name) and own_depth(name) > MOST_DEEP}
    found = [f"{name}: {depth} deep" for name, depth in sorted(deep.items()) if name not in DEEPER]

    report("Hand it what it needs, or name the few fields again:", found)
    report("No longer needed, take it out of DEEPER:", sorted(DEEPER - deep.keys()))
    report("There is no such base, take it out of KINDS:", sorted(KINDS.keys() - own_classes().keys()))


def test_only_the_composition_roots_read_settings_and_name_adapters() -> None:
    found = [
        f"{module.name}:{line}: {name}"
        for module in source()
        for line, name in imports(module.tree)
        if (is_or_below(name, ("commonplace.settings",)) and module.part not in READS_SETTINGS)
        or (
            is_or_below(name, ADAPTERS)
            and module.part not in (*NAMES_ADAPTERS, "stores", "embedders", "llms")
            and not (module.name.endswith("guard/sense.py") and is_or_below(name, GUARDS_MODEL))
        )
    ]

    report("Take a plain value or a port instead:", found)


def test_engines_know_no_driver_no_web_framework_and_no_command_line() -> None:
    found = [
        f"{module.name}:{line}: {name}"
        for module in source()
        if module.part in ENGINES
        for line, name in imports(module.tree)
        if is_or_below(name, NOT_IN_ENGINES)
    ]

    report("Ask a port for it:", found)


def test_the_sdk_speaks_wire_only() -> None:
    found = [
        f"{module.name}:{line}: {name}"
        for module in source()
        if module.part == "sdk"
        for line, name in imports(module.tree)
        if is_or_below(name, ("commonplace",)) and not is_or_below(name, SDK_SPEAKS)
    ]

    report("The client knows the wire and the values in it, nothing else:", found)


def store_modules(store: str) -> dict[str, Module]:
    folder = SOURCE / "stores" / store
    return {module.path.stem: module for module in source() if module.path.parent == folder}


def public_classes(module: Module) -> set[str]:
    return {node.name for node in module.tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}


def test_both_stores_have_the_same_modules() -> None:
    shared = store_modules("sqlite").keys() & store_modules("postgres").keys()
    only = {f"{store}/{name}" for store in STORES for name in store_modules(store).keys() - shared}

    report(
        "Give the other store a module of that name, or say in OWN_MODULES why not:", sorted(only - OWN_MODULES.keys())
    )
    report("No longer needed, take it out of OWN_MODULES:", sorted(OWN_MODULES.keys() - only))


def test_both_stores_have_the_same_classes_in_each_module() -> None:
    sqlite, postgres = map(store_modules, STORES)
    shared = sqlite.keys() & postgres.keys()
    differing = {name for name in shared if public_classes(sqlite[name]) != public_classes(postgres[name])}

    report("Name the classes alike, or say in OWN_CLASSES why not:", sorted(differing - OWN_CLASSES.keys()))
    report("No longer needed, take it out of OWN_CLASSES:", sorted(OWN_CLASSES.keys() - differing))


def test_every_port_of_a_store_has_a_class_of_its_own_on_both_sides() -> None:
    ports = {module.path.stem: module for module in source() if module.path.parent == SOURCE / "ports"}
    attributes = {name.split("::")[1].split(".")[1] for name, _ in functions(ports["store"])} - {"aclose"}
    composed = {
        store: {
            ast.unparse(node.targets[0]).removeprefix("self.")
            for node in ast.walk(store_modules(store)["store"].tree)
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Sql")
        }
        for store in STORES
    }

    assert composed == dict.fromkeys(STORES, attributes)


def public_names() -> list[str]:
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    assigned = [(ast.unparse(node.targets[0]), node.value) for node in tree.body if isinstance(node, ast.Assign)]
    literals = [value for name, value in assigned if name == "__all__"]
    assert len(literals) == 1, "src/commonplace/__init__.py says `__all__ = [...]` once"
    return ast.literal_eval(literals[0])


def test_the_public_door_is_small_and_sorted() -> None:
    names = public_names()

    assert len(names) <= 20
    assert list(names) == sorted(names)


def test_importing_the_package_loads_nothing_slow() -> None:
    slow = "{'apsw', 'httpx', 'numpy', 'psycopg', 'pydantic', 'rich', 'tokenizers', 'typer'}"
    script = f"import sys, commonplace; print(*sorted({slow} & sys.modules.keys()))"

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)

    assert loaded.stdout.split() == []


def test_every_public_name_is_there() -> None:
    package = importlib.import_module("commonplace")

    assert [name for name in public_names() if not hasattr(package, name)] == []


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git working tree")
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_file_names_a_package_registry() -> None:
    # Put together here, so that this file does not name one either.
    hosts = [f"{name}.{end}" for name in ("pypi", "pythonhosted", "npmjs") for end in ("org", "com")]
    texts = ((path, path.read_bytes()) for path in tracked_files() if path.is_file())
    found = [path.relative_to(ROOT).as_posix() for path, text in texts if any(host.encode() in text for host in hosts)]

    report("A lock or a text that names a registry ties every installation to it:", found)


# ---- words


def test_names_are_words_that_can_be_looked_up() -> None:
    words = words_of((module.path.relative_to(SOURCE).as_posix(), module.tree) for module in source())

    report("Names that nobody can look up:", excess(words, read_allowed()))
    assert shrunk(words, read_allowed()) == read_allowed(), "run `python tools/words.py --shrink`"


def test_a_new_name_that_nobody_can_look_up_is_reported() -> None:
    sources = {
        "service/new.py": "def search(told): found = told; return found\nclass Budget: pass",
        "service/other.py": "class Budget: pass\nclass _Budget: pass\nclass Record: pass",
        "stores/sqlite/jobs.py": "class Jobs: pass",
        "stores/postgres/jobs.py": "class Jobs: pass",
        "memory/weighing.py": "",
    }

    words = words_of((path, ast.parse(text)) for path, text in sources.items())

    assert words.names == {"service/new.py": 2}
    assert words.classes == {"Budget": ["service/new.py", "service/other.py"]}
    assert words.modules == ["memory/weighing.py"]
    assert len(excess(words, Words({}, {}, []))) == 3
    assert excess(words, words) == []


def test_the_allow_list_of_words_only_shrinks() -> None:
    allowed = Words({"a.py": 3, "gone.py": 1}, {"Budget": ["a.py", "b.py", "c.py"]}, ["a/keeping.py", "b/reading.py"])
    words = Words({"a.py": 2, "new.py": 9}, {"Budget": ["a.py", "b.py", "new.py"]}, ["b/reading.py", "c/new_thing.py"])

    assert shrunk(words, allowed) == Words({"a.py": 2}, {"Budget": ["a.py", "b.py"]}, ["b/reading.py"])
