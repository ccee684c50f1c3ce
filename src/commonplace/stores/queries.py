"""SQL lives in files. A block starts with a line `-- name: <identifier>`; the comment lines after it belong to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^-- name: ([a-z_][a-z0-9_]*)[ \t]*$", re.MULTILINE)


@cache
def load(package: str, file: str) -> Mapping[str, str]:
    """
    The named blocks of `file` in `package`, without their comments and with no semicolon at the end.

    Raises:
        ValueError: a name occurs twice, a block is empty, or something stands before the first name.
    """
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    before, *parts = _NAME.split(text)
    if _uncommented(before):
        raise ValueError(f"{file}: there is SQL before the first name")
    blocks: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        sql = _uncommented(body).removesuffix(";").rstrip()
        if not sql or name in blocks:
            raise ValueError(f"{file}: {name} is empty or there twice")
        blocks[name] = sql
    return MappingProxyType(blocks)


def _uncommented(sql: str) -> str:
    lines = (line.rstrip() for line in sql.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("--")).strip()
