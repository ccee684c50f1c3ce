"""Knowledge by what it covers, and the layers of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import BesideRecording, Layer
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.entries import json_text
from commonplace.stores.postgres.rows import as_uuid, moment, ms
from commonplace.stores.postgres.transactions import SHARE, Transactions
from commonplace.stores.rows import object_of
from commonplace.values.knowledge import Coverage, Item, ItemStatus, Recording, Space, record_again, record_new
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

    async def record_item(self, item: Item, beside: BesideRecording) -> Recording:
        async def work(connection: Connection) -> tuple[Recording, Entries]:
            recording = await _record_item(connection, item)
            entries = beside(recording)
            covered = recording.item.status != "quarantined"
            coverage = _coverage_params(recording.item, promoted=recording.outcome == "created")
            await self._transactions.keep(
                connection, entries, *([(_SQL["renew_coverage"], coverage)] if covered else [])
            )
            return recording, entries

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

    async def change_item(
        self, item: Item, expected: ItemStatus, entries: Entries, replaced: Sequence[Item] = ()
    ) -> Item:
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
            for other in replaced:
                await connection.execute(_SQL["change_item"], _item_params(other))
            coverage = _coverage_params(item, promoted=True)
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

    async def layers(self, tenant: str, records: Sequence[str]) -> list[Layer]:
        ids = [id for record in records if (id := as_uuid(record)) is not None]
        if not ids:
            return []
        layer_rows = await self._transactions.ask(_SQL["layers"], {"tenant": tenant, "records": ids})
        return [
            Layer(record=str(id), version=version, name=name, text=text, tokens=tokens, method=method)
            for id, version, name, text, tokens, method in layer_rows
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
        "last_seen_at": to_ms(item.last_seen_at),
        "supersedes": item.supersedes,
    }


def _item_of(row: Sequence[Any]) -> Item:
    (
        tenant, id, space, coverage_key, dedupe_key, item_type, title, summary, payload, trust_level, status, run,
        artifact_refs, source_memory_ids, reviewer, approval, freshness_expires_at, created_at, updated_at,
        last_seen_at, supersedes,
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
        last_seen_at=from_ms(last_seen_at),
        summary=summary,
        payload=object_of(payload),
        trust_level=trust_level,
        status=status,
        run=run,
        artifact_refs=tuple(artifact_refs),
        source_memory_ids=tuple(source_memory_ids),
        reviewer=reviewer,
        approval=approval,
        freshness_expires_at=moment(freshness_expires_at),
        supersedes=supersedes,
    )


def _coverage_params(item: Item, *, promoted: bool) -> dict[str, Any]:
    return {
        "tenant": item.tenant,
        "coverage_key": item.coverage_key,
        "space": item.space,
        "item": item.id,
        "seen": to_ms(max(item.updated_at, item.last_seen_at)),
        "promoted": to_ms(item.updated_at) if promoted and item.status in _PROMOTED else None,
        "fresh": ms(item.freshness_expires_at),
    }


async def _record_item(connection: Connection, item: Item) -> Recording:
    """Try again if another writer gives the key to a successor between two statements."""
    params = _item_params(item)
    while True:
        async with connection.pipeline():
            await connection.execute(SHARE)
            added = await connection.execute(_SQL["put_item"], params, binary=True)
        if new_rows := await added.fetchall():
            return record_new(_item_of(new_rows[0]))
        if not await rows(connection, _SQL["has_space"], params):
            raise NotFound(f"There is no knowledge space {item.space!r:.80}.")
        for row in await rows(connection, _SQL["same_item"], params):
            recording = record_again(_item_of(row), item)
            if recording.outcome == "refreshed":
                await connection.execute(_SQL["change_item"], _item_params(recording.item))
            elif recording.predecessor is not None:
                await connection.execute(_SQL["change_item"], _item_params(recording.predecessor))
                await connection.execute(_SQL["put_item"], _item_params(recording.item))
            return recording
