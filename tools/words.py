"""
Words that nobody can look up, in names of the source.

    python tools/words.py --check     fail if there are more of them than `tests/words.json` allows, or fewer
    python tools/words.py --shrink    write what is left of the allow-list; it never grows

Three rules: no variable or parameter is named by a bare participle; a public class name means one thing; no module ends in
-ing or -ed. The same class in the same file of both stores, or of several doors, is one idea with one name.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
SOURCE: Final = ROOT / "src" / "commonplace"
ALLOWED: Final = ROOT / "tests" / "words.json"
PARTICIPLES: Final = frozenset(
    "told asked given made found kept held shown wanted sent known left seen named chosen said met one read written done".split()
)
MAY_END_SO: Final = frozenset({"learning", "importing", "testing", "embedding", "ring", "string", "settings"})
_ROOM: Final = re.compile(r"^(stores|doors)/[^/]++/")


class Words(NamedTuple):
    """Files with how many such names each has, classes with the files that define them, and modules."""

    names: Mapping[str, int]
    classes: Mapping[str, list[str]]
    modules: list[str]


def words_of(sources: Iterable[tuple[str, ast.Module]]) -> Words:
    """`sources` are paths below the package, with their trees."""
    names: Counter[str] = Counter()
    classes: dict[str, set[str]] = defaultdict(set)
    modules: list[str] = []
    for path, tree in sources:
        stem = Path(path).stem
        if stem.endswith(("ing", "ed")) and stem not in MAY_END_SO:
            modules.append(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(path)
            elif _name(node) in PARTICIPLES:
                names[path] += 1
    several = {name: sorted(paths) for name, paths in sorted(classes.items()) if len(set(map(_room, paths))) > 1}
    return Words(dict(sorted(names.items())), several, sorted(modules))


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def _room(path: str) -> str:
    return _ROOM.sub("", path)


def excess(words: Words, allowed: Words) -> list[str]:
    """What is there and not allowed."""
    return [
        *(
            f"{path}: {count} names by a bare participle, {allowed.names.get(path, 0)} are allowed"
            for path, count in words.names.items()
            if count > allowed.names.get(path, 0)
        ),
        *(
            f"{name} is a class in each of {', '.join(paths)}"
            for name, paths in words.classes.items()
            if not set(paths) <= set(allowed.classes.get(name, ()))
        ),
        *(f"{path}: no module ends in -ing or -ed" for path in words.modules if path not in allowed.modules),
    ]


def shrunk(words: Words, allowed: Words) -> Words:
    """What is allowed and still there."""
    return Words(
        {path: min(count, words.names[path]) for path, count in allowed.names.items() if path in words.names},
        {
            name: both
            for name, paths in allowed.classes.items()
            if len(both := sorted(set(paths) & set(words.classes.get(name, ())))) > 1
        },
        sorted(set(allowed.modules) & set(words.modules)),
    )


def read_allowed() -> Words:
    return Words(**json.loads(ALLOWED.read_text(encoding="utf-8")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    paths = sorted(SOURCE.rglob("*.py"))
    words = words_of(
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths
    )
    allowed = read_allowed()
    problems = excess(words, allowed)
    rest = shrunk(words, allowed)
    if options.shrink:
        ALLOWED.write_text(json.dumps(rest._asdict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    elif rest != allowed:
        problems.append("Some of the allow-list is needed no more: run `python tools/words.py --shrink`.")
    print(*problems, sep="\n", end="\n" if problems else "")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
