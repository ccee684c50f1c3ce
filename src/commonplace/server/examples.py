"""An example of what a schema describes, for people to start from."""

from __future__ import annotations

from typing import Any, Final

_DEEPEST: Final = 5
_TEXTS: Final = {
    "date-time": "2026-01-31T09:30:00Z",
    "date": "2026-01-31",
    "uuid": "01920000-0000-7000-8000-000000000000",
}
_VALUES: Final[dict[str, Any]] = {"integer": 1, "number": 0.5, "boolean": True, "null": None}


def example(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> Any:
    """The schema's own example where it has one, else its default, else the simplest value that fits."""
    schema = resolved(schema, schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    for name in ("example", "const", "default"):
        if schema.get(name) is not None:
            return schema[name]
    if schema.get("enum"):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return example(schema[name][0], schemas, depth)
    return _by_type(schema, schemas, depth)


def resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    reference = str(schema.get("$ref", ""))
    definition = schemas.get(reference.rpartition("/")[2]) if reference else None
    return {**definition, **{name: value for name, value in schema.items() if name != "$ref"}} if definition else schema


def _by_type(schema: dict[str, Any], schemas: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return [example(items, schemas, depth + 1)] if items and depth < _DEEPEST else []
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
        if name in required or resolved(field, schemas).get("examples")
    }
    return {name: example(field, schemas, depth + 1) for name, field in properties.items()}


def type_of(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """A few words about what fits."""
    schema = resolved(schema, schemas)
    if schema.get("enum"):
        return " | ".join(str(value) for value in schema["enum"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " | ".join(dict.fromkeys(type_of(choice, schemas) for choice in choices if choice.get("type") != "null"))
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}), schemas)}"
    return str(schema.get("format") or schema.get("type") or "any")
