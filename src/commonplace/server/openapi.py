"""The OpenAPI document: what the framework writes, with our errors in place of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from commonplace.server.auth import AppState
from commonplace.server.exchange import DoorName, door_of

DOORS: Final[dict[DoorName, str]] = {
    "native": "Our own, complete API. Everything that can be done can be done here.",
    "keyed": "Agents and workspaces with memories under keys, as RondoFlow has them.",
    "governed": "Tiers, capabilities, promotion and audit, as Tandem has them.",
    "gateway": "Users with keys of their own, their chats and resources, as Beaver asks for them.",
    "remember": "The memory of a workspace: facts handed over and filed by and by, as qwen-code has it.",
    "sessions": "Sessions of the agent, for many programs at once, as the clients of qwen-code's daemon know them.",
    "operators": "Health, metrics and this page.",
}
_TEXT: Final = {"type": "string"}
_SHAPES: Final[dict[str, dict[str, Any]]] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {**_TEXT, "description": "Stable: programs may compare it."},
                    "message": {**_TEXT, "description": "For people: what happened and what to do next."},
                    "details": {"type": "object"},
                },
            }
        },
    },
    "KeyedError": {
        "type": "object",
        "required": ["success", "error"],
        "properties": {"success": {"const": False}, "error": _TEXT},
    },
    "PlainError": {
        "type": "object",
        "required": ["error", "code"],
        "properties": {"error": _TEXT, "code": _TEXT},
    },
}
_SHAPE_OF: Final[dict[DoorName, str]] = {
    "keyed": "KeyedError",
    "governed": "PlainError",
    "gateway": "PlainError",
    "remember": "PlainError",
    "sessions": "PlainError",
}


def document(app: FastAPI) -> dict[str, Any]:
    """Made once; the routes of a running server do not change."""
    spec: dict[str, Any] | None = getattr(app.state, "document", None)
    if spec is None:
        spec = app.state.document = _made(app)
    return spec


def _made(app: FastAPI) -> dict[str, Any]:
    spec: dict[str, Any] = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=AppState.of(app).routes
    )
    schemas = spec.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= _SHAPES
    spec["tags"] = [{"name": name, "description": description} for name, description in DOORS.items()]
    for path, operation in operations(spec):
        door = door_of(path)
        responses = operation.setdefault("responses", {})
        if "HTTPValidationError" in str(responses.get("422")):
            del responses["422"]
        shape = {"$ref": f"#/components/schemas/{_SHAPE_OF.get(door, 'Error')}"}
        for status, description in (("4XX", "The request cannot be done."), ("5XX", "We could not do it.")):
            responses.setdefault(
                status, {"description": description, "content": {"application/json": {"schema": shape}}}
            )
    return spec


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for operation in item.values():
            yield path, operation
