"""What each tool does with the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast, get_args

import anyio

from commonplace.agent.tools.memory.answers import (
    NOTHING_RELEVANT,
    ContextOutput,
    DeleteOutput,
    Found,
    ListOutput,
    RememberOutput,
    Row,
    SearchOutput,
    StoreOutput,
    ToolOutput,
    TreeOutput,
    TreeRow,
    place_of,
)
from commonplace.agent.tools.memory.arguments import (
    MOST_FOUND,
    MOST_LISTED,
    ContextArguments,
    CorrectArguments,
    DeleteArguments,
    ListArguments,
    RememberArguments,
    SearchArguments,
    StoreArguments,
    TreeArguments,
)
from commonplace.agent.tools.memory.places import Asker, refused
from commonplace.errors import Forbidden, InvalidInput, InvalidScope, ManagedMemoryUnavailable
from commonplace.memory.relevance import answering
from commonplace.values.layer import LayerName
from commonplace.values.pauses import Pauses
from commonplace.values.record import Record, Trust
from commonplace.values.scope import Scope
from commonplace.values.tree import SCHEME, read_uri

PATIENCE: Final = 20.0
"""Seconds that a model waits for its fact to be filed. It goes on without."""

_WAIT: Final = 10.0
# Whoever calls these is a model: what it writes is its word, whoever's memory it uses.
_MODEL: Final[Trust] = "model_generated"
_PERSON: Final[Trust] = "system_generated"
_SAID: Final = "chat"


async def search(asker: Asker, arguments: SearchArguments) -> ToolOutput:
    if not arguments.query.strip():
        raise refused("missing_query", "Say in `query` what to look for.")
    scopes = asker.place.reading(arguments.scope_arguments)
    hits = await asker.memory.search(
        arguments.query, scopes=scopes, limit=_within(arguments.limit, MOST_FOUND), layer=_layer(arguments.layer)
    )
    results = [Found.of_hit(hit) for hit in answering(hits, arguments.min_relevance)]
    message = None if results else NOTHING_RELEVANT
    return SearchOutput(
        ok=True, message=message, query=arguments.query, scopes=_names(scopes), count=len(results), results=results
    )


async def store(asker: Asker, arguments: StoreArguments) -> ToolOutput:
    if not arguments.content.strip():
        raise refused("missing_content", "Say in `content` what to remember.")
    if arguments.source.strip().casefold() == "manual":
        raise refused(
            "manual_source",
            "`manual` is what a person wrote by hand. Leave `source` out, or say where this comes from: agent_note, web, tool.",
        )
    scope = asker.place.writing(arguments.scope_arguments)
    record = await asker.memory.put(
        arguments.content,
        scope=scope,
        key=arguments.key or None,
        source=_source(asker, arguments.source),
        metadata=arguments.metadata,
        trust=_PERSON if asker.quotes else _MODEL,
        session=scope.id if scope.kind == "session" else None,
    )
    return _stored(record)


def _source(asker: Asker, source: str) -> str:
    return _SAID if asker.quotes else source


def _stored(record: Record) -> StoreOutput:
    redactions, note = record.metadata.get("redactions"), record.quarantine
    return StoreOutput(
        ok=True,
        version=record.version,
        outcome=record.outcome,
        redactions=redactions if isinstance(redactions, int) else None,
        quarantined=True if note else None,
        quarantine_reasons=list(note.reasons) if note else None,
        message=note.message if note else None,
        **place_of(record),
    )


async def remember(asker: Asker, arguments: RememberArguments) -> ToolOutput:
    if not arguments.content.strip():
        raise refused("missing_content", "Say in `content` what to remember.")
    if not remembers(asker):
        raise ManagedMemoryUnavailable
    if arguments.scope not in (None, "project", "user"):
        raise InvalidScope("scope: project or user.")
    memory = asker.memory
    task = await memory.remember_workspace_memory(arguments.content, scope=arguments.scope)
    pauses = Pauses()
    with anyio.move_on_after(PATIENCE):
        while not task.is_over:
            began = anyio.current_time()
            task = await memory.get_workspace_memory_remember_task(task.id, wait=_WAIT)
            await anyio.sleep(0 if task.is_over else pauses.after(anyio.current_time() - began, _WAIT))
    if task.status == "failed" and task.error is not None:
        raise refused(task.error.code, task.error.message)
    result = {name: value for name, value in (task.result or {}).items() if name in RememberOutput.model_fields}
    return RememberOutput.model_validate({"ok": True, "task_id": task.id, "status": task.status, **result})


def remembers(asker: Asker) -> bool:
    """A model that is to stay within some scopes does not get at files."""
    return asker.place.only is None


async def listed(asker: Asker, arguments: ListArguments) -> ToolOutput:
    scopes = asker.place.reading(arguments.scope_arguments)
    page = await asker.memory.list(
        scopes=scopes, limit=_within(arguments.limit, MOST_LISTED), cursor=arguments.cursor or None
    )
    results = [Row.of(record) for record in page.records]
    return ListOutput(ok=True, scopes=_names(scopes), count=len(results), results=results, cursor=page.cursor)


async def delete(asker: Asker, arguments: DeleteArguments) -> ToolOutput:
    if not (id := arguments.id or arguments.chunk_id):
        raise refused("missing_id", "Say in `id` which memory to delete.")
    record = await asker.record(id, arguments.scope_arguments)
    asker.place.writable(record.scope)
    # As it was looked at: one that was moved to another scope meanwhile stays.
    gone = await asker.memory.delete(record.id, expected=record.version, reason="memory_delete")
    return DeleteOutput(ok=True, id=gone.id, chunk_id=gone.id, scope=str(gone.scope), deleted=True)


async def correct(asker: Asker, arguments: CorrectArguments) -> ToolOutput:
    if not arguments.id:
        raise refused("missing_id", "Say in `id` which memory is wrong.")
    if not arguments.content.strip():
        raise refused("missing_content", "Say in `content` what is true instead.")
    record = await asker.record(arguments.id, arguments.scope_arguments)
    asker.place.writable(record.scope)
    reason = arguments.reason or "memory_correct"
    # As it was looked at: one that somebody changed meanwhile stays as they left it.
    successor = await asker.memory.supersede(
        record.id,
        arguments.content,
        expected=record.version,
        reason=reason,
        source=_source(asker, "agent_note"),
        trust=_PERSON if asker.quotes else _MODEL,
    )
    return _stored(successor)


async def context(asker: Asker, arguments: ContextArguments) -> ToolOutput:
    session = arguments.session_id or asker.place.session
    if not arguments.query.strip() and session is None:
        raise refused("missing_query", "Say in `query` what the conversation is about.")
    if arguments.budget is not None and arguments.budget < 1:
        raise InvalidInput("budget: at least 1 token.")
    scopes = asker.place.reading(arguments.scope_arguments)
    block = await asker.memory.context(arguments.query, scopes=scopes, session=session, budget=arguments.budget)
    ids = [record.id for record in block.records]
    message = None if block.text else NOTHING_RELEVANT
    return ContextOutput(
        ok=True, message=message, context=block.text, tokens=block.tokens, records=ids, left_out=block.left_out
    )


async def tree(asker: Asker, arguments: TreeArguments) -> ToolOutput:
    uri = arguments.uri or SCHEME
    scope = read_uri(uri).scope
    if not (asker.place.only is None if scope is None else asker.place.allows(scope)):
        raise Forbidden("This folder is out of reach here. Name one of a scope that you reach.", uri=uri)
    if arguments.layer is not None:
        text = await asker.memory.layer(uri, _layer(arguments.layer) or "L0")
        return TreeOutput(ok=True, uri=uri, layer=text.name, content=text.text, tokens=text.tokens)
    root = await asker.memory.tree(uri, after=arguments.cursor or None)
    children = [TreeRow.of(child) for child in root.children]
    return TreeOutput(
        ok=True, uri=root.node.uri, count=len(children), children=children, more=root.more, cursor=root.cursor
    )


def _layer(name: str | None) -> LayerName | None:
    if name and name not in get_args(LayerName):
        raise InvalidInput(f"layer: one of {', '.join(get_args(LayerName))}.")
    return cast(LayerName, name) if name else None


def _within(limit: int, most: int) -> int:
    return max(1, min(limit, most))


def _names(scopes: Sequence[Scope] | None) -> list[str] | None:
    return None if scopes is None else [str(scope) for scope in scopes]
