"""
Every regular expression of the product and the place that makes it, as JSON. It runs as a program, in an interpreter of its
own: it watches `re` while it imports every module.

`BUILDERS` are called after the imports: they make patterns at their first use. A place inside a function is evaluated with the
names of its module, and with those that `LOCALS` gives it. A place that is still without a pattern is reported as missed.
"""

import ast
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import commonplace

SOURCE = Path(commonplace.__file__).parent
# The functions of `re` that take a pattern, and where each takes its flags.
FLAGS = {
    "compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4, "subn": 4
}  # fmt: skip
# A pattern that a model writes runs in a process of its own, which is killed when it takes too long.
KILLED = frozenset({"agent/tools/grep_process.py"})
HARMLESS = frozenset({"escape", "Pattern", "Match", "RegexFlag", *re.RegexFlag.__members__})
WHOLE = frozenset({"sub", "subn", "split", "findall", "finditer"})
BUILDERS: dict[str, Callable[[ModuleType], object]] = {
    "channels.matrix.text": lambda module: module.BotName("@bot:example.org", "Bot"),
    "guard.signs": lambda module: list(module.forms_in("一")),
    "guard.orders": lambda module: module.steers("一"),
    "learning.rules": lambda module: [
        cue.pattern for name in ("chinese", "english") for cues in module.load(name).values() for cue in cues
    ],
}
LOCALS: dict[str, dict[str, Any]] = {
    "markdown/forget.py": {"before": r"(?<![^\W_])", "after": r"(?![^\W_])", "words": "tabs"},
    "markdown/recall.py": {"tool": "grep"},
    "learning/rules/english.py": {"other": (r"\b(?:son|dad)\b", r"\b(?:aunt|mom)\b"), "match": {"who": "he"}},
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """`owner` is the variable or the function at the top of the module that the place belongs to."""

    path: str
    line: int
    end: int
    function: str
    owner: str
    call: ast.Call | None = None

    @property
    def name(self) -> str:
        return f"{self.path}::{self.owner}"


def places(path: Path, root: Path = SOURCE) -> Iterator[Place]:
    """Where a file hands a pattern to `re`, and where it gets hold of its functions by another name."""
    name = path.relative_to(root).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for statement in tree.body:
        calls = {id(node.func): node for node in ast.walk(statement) if isinstance(node, ast.Call)}
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom) and _renames(node):
                yield Place(path=name, line=node.lineno, end=node.lineno, function="import", owner="")
            if isinstance(node, ast.Attribute) and _is_named(node.value, "re") and node.attr not in HARMLESS:
                call = calls.get(id(node))
                end = (call or node).end_lineno or node.lineno
                owner = _owner(statement)
                yield Place(path=name, line=node.lineno, end=end, function=node.attr, owner=owner, call=call)


def _renames(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module in ("re", "regex")
    return isinstance(node, ast.Import) and any(
        alias.name == "regex" or (alias.name == "re" and alias.asname) for alias in node.names
    )


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _owner(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    return target.id if isinstance(target, ast.Name) else str(getattr(statement, "name", ""))


def ways(path: Path, place: Place) -> tuple[str, ...]:
    """How the pattern is used: each method that its module calls of it. `finditer`, which reads all of a text, if unknown."""
    if place.function != "compile":
        return ("finditer" if place.function in WHOLE else place.function,)
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    methods = [node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_named(node.value, place.owner)]
    uses = sum(
        isinstance(node, ast.Name) and node.id == place.owner and isinstance(node.ctx, ast.Load) for node in nodes
    )
    called = {"finditer" if name in WHOLE else name for name in methods if name in FLAGS}
    # Handed on, or used by another module: nobody knows how.
    is_known = called and uses == len(methods) and place.owner.startswith("_")
    return tuple(sorted(called if is_known else called | {"finditer"}))


class Watch:
    """Notes each pattern that a file of the product hands to `re`, with its line."""

    def __init__(self) -> None:
        self.patterns: dict[tuple[str, int], list[re.Pattern[Any]]] = {}

    def start(self) -> None:
        compile_ = re.compile
        for name, place in FLAGS.items():
            setattr(re, name, self._watched(getattr(re, name), place, compile_))

    def _watched(self, function: Callable[..., Any], place: int, compile_: Callable[..., Any]) -> Callable[..., Any]:
        def watched(pattern: Any, *args: Any, **named: Any) -> Any:
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - who calls is the question
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(SOURCE):
                flags = named.get("flags", args[place - 1] if len(args) >= place else 0)
                key = path.relative_to(SOURCE).as_posix(), frame.f_lineno
                self.patterns.setdefault(key, []).append(compile_(pattern, flags))
            return function(pattern, *args, **named)

        return watched

    def at(self, place: Place) -> list[re.Pattern[Any]]:
        lines = range(place.line, place.end + 1)
        return [pattern for line in lines for pattern in self.patterns.get((place.path, line), ())]


def evaluated(place: Place) -> list[re.Pattern[Any]]:
    """The pattern of a call that nobody made."""
    if place.call is None or not place.call.args:
        return []
    module = place.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    names = {**vars(sys.modules[f"commonplace.{module}"]), **LOCALS.get(place.path, {})}
    at = FLAGS.get(place.function, 1)
    named = [keyword.value for keyword in place.call.keywords if keyword.arg == "flags"]
    flags = [*place.call.args[at : at + 1], *named, ast.Constant(0)][0]
    try:
        return [re.compile(_value(place.call.args[0], names), _value(flags, names))]
    except (NameError, TypeError, KeyError):
        return []


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "pattern", "eval")
    return eval(code, names)  # noqa: S307 - an expression of our own source


def main() -> None:
    watch = Watch()
    watch.start()
    for module in pkgutil.walk_packages(commonplace.__path__, "commonplace."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name, build in BUILDERS.items():
        build(sys.modules[f"commonplace.{name}"])
    found: list[dict[str, Any]] = []
    missed: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        for place in places(path):
            patterns = watch.at(place) or evaluated(place)
            if not patterns and place.path not in KILLED:
                missed.append(f"{place.path}:{place.line}: re.{place.function}")
            methods = ways(path, place)
            for pattern in dict.fromkeys(patterns):
                is_bytes = isinstance(pattern.pattern, bytes)
                text = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
                found.append(
                    {
                        "name": place.name,
                        "line": place.line,
                        "text": text,
                        "flags": pattern.flags,
                        "bytes": is_bytes,
                        "ways": methods,
                    }
                )
    json.dump({"patterns": found, "missed": missed}, sys.stdout)


if __name__ == "__main__":
    main()
