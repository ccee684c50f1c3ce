"""Knowledge by what it covers, and the layers of records."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import Layer
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import json_of, json_text
from commonplace.stores.postgres.rows import as_uuid, moment, ms
from commonplace.stores.postgres.transactions import SHARE, Transactions
from commonplace.values.knowledge import Coverage, Item, ItemStatus, Space
from commonplace.values.moment import from_ms, to_ms

_SQL = statements("sql/knowledge.sql")
_PROMOTED: frozenset[ItemStatus] = frozenset({"promoted", "approved_default"})


class SqlKnowledge:
    """Satisfies the port `KnowledgeStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def put_space(self, space: Space, entries: Entries) -> Space:
        async def work(connection: Connection) -> tuple[Space, Entries]:
            await self._transactions.keep(connection, entries, (_SQL["put_space"], params))
            [row] = await rows(connection, _SQL["space_of_place"], params)
            return _space_of(row), entries

        params = {
            "tenant": space.tenant,
            "id": space.id,
            "scope": space.scope,
            "project": space.project,
            "namespace": space.namespace,
            "trust_level": space.trust_level,
            "title": space.title,
            "created_at": to_ms(space.created_at),
            "updated_at": to_ms(space.updated_at),
        }
        return await self._transactions.write_beside(work)

    async def spaces(self, tenant: str, ids: Sequence[str] | None = None) -> list[Space]:
        params = {"tenant": tenant, "ids": None if ids is None else list(ids)}
        return [_space_of(row) for row in await self._transactions.ask(_SQL["spaces"], params)]

    async def put_item(self, item: Item, entries: Entries) -> Item:
        params = _item_params(item)

        async def work(connection: Connection) -> tuple[Item, Entries]:
            async with connection.pipeline():
                await connection.execute(SHARE)
                added = await connection.execute(_SQL["put_item"], params, binary=True)
            item_rows = await added.fetchall() or await rows(connection, _SQL["same_item"], params)
            if not item_rows:
                raise NotFound(f"There is no knowledge space {item.space!r:.80}.")
            current = _item_of(item_rows[0])
            fresh = item.freshness_expires_at or current.freshness_expires_at
            coverage = _coverage_params(current, item.updated_at, fresh)
            is_usable = current.status != "quarantined"
            await self._transactions.keep(
                connection, entries, *([(_SQL["renew_coverage"], coverage)] if is_usable else [])
            )
            return current, entries

        return await self._transactions.write_beside(work)

    async def item(self, tenant: str, id: str) -> Item:
        item_rows = await self._transactions.ask(_SQL["item"], {"tenant": tenant, "id": id})
        if not item_rows:
            raise _no_item(id)
        return _item_of(item_rows[0])

    async def items(
        self,
        tenant: str,
        *,
        spaces: Sequence[str] | None = None,
        coverage_key: str | None = None,
        statuses: Sequence[ItemStatus] = (),
        limit: int = 100,
    ) -> list[Item]:
        params = {
            "tenant": tenant,
            "spaces": None if spaces is None else list(spaces),
            "coverage_key": coverage_key,
            "statuses": list(statuses) or None,
            "limit": max(limit, 0),
        }
        return [_item_of(row) for row in await self._transactions.ask(_SQL["items"], params)]

    async def change_item(self, item: Item, expected: ItemStatus, entries: Entries) -> Item:
        params = _item_params(item)

        async def work(connection: Connection) -> tuple[Item, Entries]:
            async with connection.pipeline():
                await connection.execute(SHARE)
                locked = await connection.execute(_SQL["lock_item"], params, binary=True)
            status_row = await locked.fetchone()
            if status_row is None:
                raise _no_item(item.id)
            if status_row[0] != expected:
                raise Conflict(f"The item is {status_row[0]}, not {expected}. Read it again.", held=status_row[0])
            [row] = await rows(connection, _SQL["change_item"], params)
            coverage = _coverage_params(item, item.updated_at, item.freshness_expires_at)
            await self._transactions.keep(connection, entries, (_SQL["renew_coverage"], coverage))
            return _item_of(row), entries

        return await self._transactions.write_beside(work)

    async def remove_item(self, tenant: str, id: str, entries: Entries) -> None:
        async def work(connection: Connection) -> tuple[None, Entries]:
            await connection.execute(SHARE)
            gone = await rows(connection, _SQL["remove_item"], {"tenant": tenant, "id": id})
            if not gone:
                raise _no_item(id)
            place = {"tenant": tenant, "space": gone[0][0], "coverage_key": gone[0][1]}
            await connection.execute(_SQL["recover"], place)
            await self._transactions.keep(connection, entries, (_SQL["drop_empty_coverage"], place))
            return None, entries

        await self._transactions.write_beside(work)

    async def coverage(self, tenant: str, coverage_key: str, spaces: Sequence[str] | None = None) -> list[Coverage]:
        params = {"tenant": tenant, "coverage_key": coverage_key, "spaces": None if spaces is None else list(spaces)}
        return [
            Coverage(
                tenant=tenant,
                space=space,
                coverage_key=coverage_key,
                latest_item=latest,
                last_seen_at=from_ms(last_seen),
                last_promoted_at=moment(promoted),
                freshness_expires_at=moment(fresh),
            )
            for space, latest, last_seen, promoted, fresh in await self._transactions.ask(_SQL["coverage"], params)
        ]

    async def layers(self, tenant: str, record: str, version: int) -> list[Layer]:
        id = as_uuid(record)
        if id is None:
            return []
        layer_rows = await self._transactions.ask(_SQL["layers"], {"tenant": tenant, "record": id, "version": version})
        return [
            Layer(record=record, version=version, name=name, text=text, tokens=tokens, method=method)
            for name, text, tokens, method in layer_rows
        ]

    async def put_layers(self, tenant: str, layers: Sequence[Layer]) -> None:
        latest = {(as_uuid(layer.record), layer.version, layer.name): layer for layer in layers}
        pairs = [(id, layer) for (id, _, _), layer in latest.items() if id is not None]
        params = {
            "tenant": tenant,
            "records": [id for id, _ in pairs],
            "versions": [layer.version for _, layer in pairs],
            "names": [layer.name for _, layer in pairs],
            "texts": [layer.text for _, layer in pairs],
            "tokens": [layer.tokens for _, layer in pairs],
            "methods": [layer.method for _, layer in pairs],
        }

        async def work(connection: Connection) -> None:
            async with connection.pipeline():
                await connection.execute(SHARE)
                await connection.execute(_SQL["put_layers"], params)

        if pairs:
            await self._transactions.write(work)


def _no_item(id: str) -> NotFound:
    return NotFound(f"There is no knowledge item {id!r:.80}.")


def _space_of(row: Sequence[Any]) -> Space:
    tenant, id, scope, project, namespace, trust_level, title, created_at, updated_at = row
    return Space(
        id=id,
        tenant=tenant,
        scope=scope,
        project=project,
        namespace=namespace,
        created_at=from_ms(created_at),
        updated_at=from_ms(updated_at),
        trust_level=trust_level,
        title=title,
    )


def _item_params(item: Item) -> dict[str, Any]:
    return {
        "tenant": item.tenant,
        "id": item.id,
        "space": item.space,
        "coverage_key": item.coverage_key,
        "dedupe_key": item.dedupe_key,
        "item_type": item.item_type,
        "title": item.title,
        "summary": item.summary,
        "payload": json_text(item.payload),
        "trust_level": item.trust_level,
        "status": item.status,
        "run": item.run,
        "artifact_refs": list(item.artifact_refs),
        "source_memory_ids": list(item.source_memory_ids),
        "reviewer": item.reviewer,
        "approval": item.approval,
        "freshness_expires_at": ms(item.freshness_expires_at),
        "created_at": to_ms(item.created_at),
        "updated_at": to_ms(item.updated_at),
    }


def _item_of(row: Sequence[Any]) -> Item:
    (
        tenant, id, space, coverage_key, dedupe_key, item_type, title, summary, payload, trust_level, status, run,
        artifact_refs, source_memory_ids, reviewer, approval, freshness_expires_at, created_at, updated_at,
    ) = row  # fmt: skip
    return Item(
        id=id,
        tenant=tenant,
        space=space,
        coverage_key=coverage_key,
        dedupe_key=dedupe_key,
        item_type=item_type,
        title=title,
        created_at=from_ms(created_at),
        updated_at=from_ms(updated_at),
        summary=summary,
        payload=json_of(payload),
        trust_level=trust_level,
        status=status,
        run=run,
        artifact_refs=tuple(artifact_refs),
        source_memory_ids=tuple(source_memory_ids),
        reviewer=reviewer,
        approval=approval,
        freshness_expires_at=moment(freshness_expires_at),
    )


def _coverage_params(item: Item, last_seen: datetime, fresh: datetime | None) -> dict[str, Any]:
    return {
        "tenant": item.tenant,
        "coverage_key": item.coverage_key,
        "space": item.space,
        "item": item.id,
        "seen": to_ms(last_seen),
        "promoted": to_ms(item.updated_at) if item.status in _PROMOTED else None,
        "fresh": ms(fresh),
    }
