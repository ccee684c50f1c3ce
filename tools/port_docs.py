"""The docstrings of `ports/memory_client`, `catalog_client`, `history_client` and `agent_client`, for those of its methods that a face does not describe itself."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PORTS = [
    Path(__file__).parent.parent / "src" / "commonplace" / "ports" / f"{name}_client.py"
    for name in ("memory", "catalog", "history", "agent")
]
Method = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def port_docs() -> dict[str, str]:
    """By the name of the method, each as it stands between its quotation marks."""
    modules = [ast.parse(port.read_text(encoding="utf-8")) for port in PORTS]
    classes = [node for module in modules for node in module.body if isinstance(node, ast.ClassDef)]
    methods = [node for cls in classes for node in cls.body if isinstance(node, Method)]
    return {node.name: doc for node in methods if (doc := ast.get_docstring(node, clean=False))}


def with_docs(text: str) -> str:
    """A module with the port's docstring in each method of that name that has none."""
    lines = text.splitlines(keepends=True)
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    methods = [node for cls in classes for node in cls.body if isinstance(node, Method)]
    for node in sorted(methods, key=lambda node: node.lineno, reverse=True):
        if ast.get_docstring(node) is None and (doc := port_docs().get(node.name)):
            lines.insert(node.body[0].lineno - 1, f'        """{doc}"""\n')
    return "".join(lines)
