"""
The page at /docs, written from the OpenAPI document: plain HTML with a style of its own, no script, nothing from elsewhere.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Any, Final

from commonplace.server.exchange import DoorName, door_of
from commonplace.server.openapi import DOORS

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c1b19; --paper: #fbfaf7; --soft: #6b675f; --line: #dedad0; --code: #f1eee6;
  --mark: #8a4b16 }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e6df; --paper: #1a1917; --soft: #a29c91; --line: #3a3732;
  --code: #25231f; --mark: #e0a36a } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 56rem; padding: 2rem 1.25rem 5rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif }
h1 { font-size: 1.9rem; margin: 0 } h2 { font-size: 1.35rem; margin: 2.5rem 0 .5rem } h3 { font-size: 1rem; margin: 1rem 0 .3rem }
p { margin: .4rem 0 .8rem } a { color: var(--mark) } small, .soft { color: var(--soft) }
code, pre { font: .875rem/1.5 ui-monospace, Menlo, Consolas, monospace; background: var(--code); border-radius: .3rem }
code { padding: .1rem .3rem } pre { padding: .8rem 1rem; overflow-x: auto } pre code { padding: 0 }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: 0 1rem }
details[open] { padding-bottom: .8rem } summary { cursor: pointer; padding: .6rem 0 }
summary:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px }
.method { display: inline-block; min-width: 4.2rem; color: var(--mark); font-weight: 600 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line) } th { font-weight: 600 }
nav a { margin-right: 1rem }
"""
_DEEPEST: Final = 5
_TEXTS: Final = {
    "date-time": "2026-01-31T09:30:00Z",
    "date": "2026-01-31",
    "uuid": "01920000-0000-7000-8000-000000000000",
}
_VALUES: Final[dict[str, Any]] = {"integer": 1, "number": 0.5, "boolean": True, "null": None}
_HASH: Final = b64encode(sha256(STYLE.encode()).digest()).decode()
CSP: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_CODE: Final = re.compile(r"`([^`]+)`")


def page(document: dict[str, Any], address: str) -> str:
    by_door: dict[DoorName, list[str]] = {door: list(_routes(document, door)) for door in DOORS}
    doors: dict[DoorName, list[str]] = {door: routes for door, routes in by_door.items() if routes}
    title = f"{document['info']['title']} {document['info']['version']}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<header><h1>{escape(document['info']['title'])}</h1>",
            f'<p class="soft">Version {escape(document["info"]["version"])} at {escape(address)}</p></header>',
            "<main>",
            *_first_steps(address),
            "<nav>" + " ".join(f'<a href="#{door}">{door}</a>' for door in doors),
            '<a href="/openapi.json">openapi.json</a></nav>',
            *(part for door, routes in doors.items() for part in _section(door, routes)),
            "</main></body></html>",
        ]
    )


def _first_steps(address: str) -> Iterator[str]:
    yield "<p>One memory behind many doors: whatever is written at one is found at every other that may read it.</p>"
    yield "<h2>First steps</h2>"
    yield "<p>Every request shows a key. Yours is the operator's token, which lies in the home folder of the daemon:</p>"
    commands = f'export COMMONPLACE_TOKEN="$(commonplace token)"\n{first_curl(address, "$COMMONPLACE_TOKEN")}'
    yield f"<pre><code>{escape(commands)}</code></pre>"
    yield "<p>Others get keys that may do less: <code>commonplace key create NAME --role reader</code>.</p>"


def first_curl(address: str, token: str) -> str:
    """A request that works on a new daemon."""
    return f"curl -H \"Authorization: Bearer {token}\" '{address}/v1/stats'"


def _routes(document: dict[str, Any], door: DoorName) -> Iterator[str]:
    schemas = document["components"]["schemas"]
    for path, item in document["paths"].items():
        if door_of(path) == door:
            yield from (_route(method, path, item[method], schemas) for method in _METHODS if method in item)


def _section(door: DoorName, routes: list[str]) -> Iterator[str]:
    yield f'<section id="{door}"><h2>{door}</h2><p>{escape(DOORS[door])}</p>'
    yield from routes
    yield "</section>"


def _route(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    summary = operation.get("summary", "")
    name = f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code>'
    parts = [
        f'<details><summary>{name} <span class="soft">{escape(summary)}</span></summary>',
        *(f"<p>{_marked(paragraph)}</p>" for paragraph in operation.get("description", "").split("\n\n") if paragraph),
    ]
    if parameters := operation.get("parameters"):
        rows = "".join(_parameter(parameter, schemas) for parameter in parameters)
        parts.append(f"<h3>Parameters</h3><table><tr><th>name<th>in<th>type<th>about</tr>{rows}</table>")
    body = _body(operation, schemas)
    if body is not None:
        text = json.dumps(body, indent=2, ensure_ascii=False)
        parts.append(f"<h3>Body</h3><pre><code>{escape(text)}</code></pre>")
    parts.append(f"<h3>Try it</h3><pre><code>{escape(_curl(method, path, operation, body))}</code></pre></details>")
    return "\n".join(parts)


def _parameter(parameter: dict[str, Any], schemas: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    about = parameter.get("description") or schema.get("description") or ""
    default = schema.get("default")
    more = "Required. " if parameter.get("required") else f"Default {default}. " if default is not None else ""
    kind = escape(_type_of(schema, schemas))
    return f"<tr><td><code>{escape(parameter['name'])}</code><td>{parameter['in']}<td>{kind}<td>{_marked(more + about)}</tr>"


def _body(operation: dict[str, Any], schemas: dict[str, Any]) -> Any:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    return content["example"] if "example" in content else _example(content.get("schema", {}), schemas)


def _curl(method: str, path: str, operation: dict[str, Any], body: Any) -> str:
    lines = ["curl" if method == "get" else f"curl -X {method.upper()}"]
    if operation.get("security"):
        lines.append('-H "Authorization: Bearer $COMMONPLACE_TOKEN"')
    if body is not None:
        text = json.dumps(body, ensure_ascii=False).replace("'", "'\\''")
        lines += ["-H 'Content-Type: application/json'", f"-d '{text}'"]
    return " \\\n  ".join([*lines, f'"$COMMONPLACE_URL{path.replace("{", "$").replace("}", "")}"'])


def _marked(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text))


# ---- an example of what a schema describes, for people to start from


def _example(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> Any:
    """The schema's own example where it has one, else its default, else the simplest value that fits."""
    schema = _resolved(schema, schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    for name in ("example", "const", "default"):
        if schema.get(name) is not None:
            return schema[name]
    if schema.get("enum"):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return _example(schema[name][0], schemas, depth)
    return _by_type(schema, schemas, depth)


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    reference = str(schema.get("$ref", ""))
    definition = schemas.get(reference.rpartition("/")[2]) if reference else None
    return {**definition, **{name: value for name, value in schema.items() if name != "$ref"}} if definition else schema


def _by_type(schema: dict[str, Any], schemas: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return [_example(items, schemas, depth + 1)] if items and depth < _DEEPEST else []
    if kind == "object":
        return _object(schema, schemas, depth)
    if kind == "string":
        return _TEXTS.get(str(schema.get("format")), "…")
    return _VALUES.get(str(kind))


def _object(schema: dict[str, Any], schemas: dict[str, Any], depth: int) -> dict[str, Any]:
    """What is required, and what says for itself what it looks like."""
    if depth >= _DEEPEST:
        return {}
    required = schema.get("required", [])
    properties = {
        name: field
        for name, field in schema.get("properties", {}).items()
        if name in required or _resolved(field, schemas).get("examples")
    }
    return {name: _example(field, schemas, depth + 1) for name, field in properties.items()}


def _type_of(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """A few words about what fits."""
    schema = _resolved(schema, schemas)
    if schema.get("enum"):
        return " | ".join(str(value) for value in schema["enum"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " | ".join(
            dict.fromkeys(_type_of(choice, schemas) for choice in choices if choice.get("type") != "null")
        )
    if schema.get("type") == "array":
        return f"list of {_type_of(schema.get('items', {}), schemas)}"
    return str(schema.get("format") or schema.get("type") or "any")
