"""
Write `docs/reference/` from what it describes: the command's own help and the settings' own descriptions.

    python tools/reference.py           write the pages
    python tools/reference.py --check   say which pages are stale, and exit with 1

Pages whose source does not exist yet are left out.
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import typer
import typer.cli
import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

OUTPUT = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by `make docs`; edit the source it describes, not this page. -->"


def load(place: str) -> Any:
    """The object at `module:name`; loaded by name, since a page may be written before its source is."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def cli_page(app: typer.Typer) -> str:
    """Every command with its arguments and options."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="commonplace")
    body = typer.cli.get_docs_for_click(obj=command, ctx=context, name="commonplace", title="The command")
    return "\n".join(line.rstrip() for line in body.strip().splitlines())


WORKSPACE = {"free": "always counts", "trust": "counts after `commonplace trust`", "never": "never counts"}


def settings_page(model: type[BaseModel]) -> str:
    """Every setting under a heading of its own."""
    prefix = str(model.model_config.get("env_prefix", ""))
    delimiter = str(model.model_config.get("env_nested_delimiter") or "__")
    sections = [
        "# The settings",
        inspect.getdoc(model) or "",
        *_settings(model, (), prefix=prefix, delimiter=delimiter),
    ]
    return "\n\n".join(section for section in sections if section)


def _settings(model: type[BaseModel], path: tuple[str, ...], *, prefix: str, delimiter: str) -> Iterator[str]:
    plain = {name: field for name, field in model.model_fields.items() if not _nested(field)}
    nested = {name: inner for name, field in model.model_fields.items() if (inner := _nested(field))}
    if path:
        yield f"## `[{'.'.join(path)}]`"
        # A model without a docstring inherits pydantic's own.
        yield (inspect.getdoc(model) or "") if "__doc__" in vars(model) else ""
    for name, field in plain.items():
        variable = f"{prefix}{delimiter.join((*path, name))}".upper()
        facts = [f"- in the environment: `{variable}`", f"- type: `{_type(field)}`", f"- default: {_default(field)}"]
        authority = load("commonplace.workspace.authority:AUTHORITY").get("_".join((*path, name)), "never")
        facts.append(f"- in a workspace's file: {WORKSPACE[authority]}")
        yield f"### `{'.'.join((*path, name))}`"
        yield inspect.cleandoc(field.description or "")
        yield "\n".join(facts)
    for name, inner in nested.items():
        yield from _settings(inner, (*path, name), prefix=prefix, delimiter=delimiter)


def _nested(field: FieldInfo) -> type[BaseModel] | None:
    kinds: list[Any] = [field.annotation, *get_args(field.annotation)]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _type(field: FieldInfo) -> str:
    kind = field.annotation
    text = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return text.replace("typing.", "").replace("pathlib.", "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "none, it must be set"
    if field.default is PydanticUndefined:
        return _made_by(field.default_factory)
    if field.default is None or field.default == "":
        return "not set"
    value = str(field.default) if isinstance(field.default, Path) else field.default
    # A page that is the same on every machine names nobody's home folder.
    return f"`{json.dumps(value, default=str, ensure_ascii=False).replace(str(Path.home()), '~')}`"


def _made_by(factory: object) -> str:
    if any(factory is empty for empty in (list, dict, set, tuple)):
        return "empty"
    about = inspect.getdoc(factory)
    return about.splitlines()[0] if about else "worked out at start"


PAGES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "cli.md": ("commonplace.cli:app", cli_page),
    "settings.md": ("commonplace.settings:Settings", settings_page),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/reference, or check that it is up to date.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if a page is stale")
    check = parser.parse_args().check

    stale: list[str] = []
    for name, (place, write) in PAGES.items():
        if importlib.util.find_spec(place.partition(":")[0]) is None:
            continue
        page, path = f"{NOTE}\n\n{write(load(place)).strip()}\n", OUTPUT / name
        if path.exists() and path.read_text(encoding="utf-8") == page:
            continue
        stale.append(f"docs/reference/{name}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page, encoding="utf-8")

    if stale:
        print(f"{'Stale, run `make docs`' if check else 'Written'}: {', '.join(stale)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
