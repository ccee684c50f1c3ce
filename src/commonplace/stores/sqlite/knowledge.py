# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Knowledge spaces, items and their coverage, and the layers of records."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import BesideRecording, Layer
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import Row, Where, moment, ms, object_of, one, rows, to_json
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.knowledge import Coverage, Item, ItemStatus, Recording, Space, record_again, record_new
from commonplace.values.moment import from_ms, to_ms

SQL = load("commonplace.stores.sqlite", "sql/knowledge.sql")
_PROMOTED: tuple[ItemStatus, ...] = ("promoted", "approved_default")


def _space_values(space: Space) -> dict[str, Any]:
    return {
        "id": space.id,
        "tenant": space.tenant,
        "scope": space.scope,
        "project": space.project,
        "namespace": space.namespace,
        "created_at": to_ms(space.created_at),
        "updated_at": to_ms(space.updated_at),
        "trust_level": space.trust_level,
        "title": space.title,
    }


def _space(row: Row) -> Space:
    id, tenant, scope, project, namespace, created, updated, trust, title = row
    return Space(
        id=id,
        tenant=tenant,
        scope=scope,
        project=project,
        namespace=namespace,
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        trust_level=trust,
        title=title,
    )


def _item_values(item: Item) -> Row:
    """All columns, the id last."""
    return (
        item.tenant,
        item.space,
        item.coverage_key,
        item.dedupe_key,
        item.item_type,
        item.title,
        to_ms(item.created_at),
        to_ms(item.updated_at),
        item.summary,
        to_json(item.payload),
        item.trust_level,
        item.status,
        item.run,
        to_json(item.artifact_refs),
        to_json(item.source_memory_ids),
        item.reviewer,
        item.approval,
        ms(item.freshness_expires_at),
        to_ms(item.last_seen_at),
        item.supersedes,
        item.id,
    )


def _item(row: Row) -> Item:
    tenant, space, coverage, dedupe, what, title, created, updated, summary, payload, trust, status, *rest = row
    run, artifacts, sources, reviewer, approval, fresh_until, last_seen, supersedes, id = rest
    return Item(
        id=id,
        tenant=tenant,
        space=space,
        coverage_key=coverage,
        dedupe_key=dedupe,
        item_type=what,
        title=title,
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        last_seen_at=from_ms(last_seen),
        summary=summary,
        payload=object_of(payload),
        trust_level=trust,
        status=status,
        run=run,
        artifact_refs=tuple(json.loads(artifacts or "[]")),
        source_memory_ids=tuple(json.loads(sources or "[]")),
        reviewer=reviewer,
        approval=approval,
        freshness_expires_at=moment(fresh_until),
        supersedes=supersedes,
    )


def _find_item(db: apsw.Connection, tenant: str, id: str) -> Item:
    row = one(db, f"{SQL['items']} WHERE tenant = ? AND id = ?", (tenant, id))
    if row is None:
        raise NotFound("There is no such item.")
    return _item(row)


def _renew(db: apsw.Connection, item: Item, *, promoted: bool) -> None:
    bound = {
        "tenant": item.tenant,
        "coverage_key": item.coverage_key,
        "space": item.space,
        "item": item.id,
        "seen": to_ms(max(item.updated_at, item.last_seen_at)),
        "promoted": to_ms(item.updated_at) if promoted else None,
        "fresh_until": ms(item.freshness_expires_at),
    }
    db.execute(SQL["renew_coverage"], bound)


def _record_item(db: apsw.Connection, item: Item, again: Callable[[Item, Item], Recording]) -> Recording:
    if one(db, SQL["has_space"], (item.tenant, item.space)) is None:
        raise NotFound("There is no such space.")
    row = one(db, f"{SQL['items']} WHERE space = ? AND dedupe_key = ?", (item.space, item.dedupe_key))
    recording = record_new(item) if row is None else again(_item(row), item)
    if recording.outcome == "refreshed":
        _write_item(db, "change_item", recording.item)
    if recording.predecessor is not None:
        _write_item(db, "change_item", recording.predecessor)
    if row is None or recording.predecessor is not None:
        _write_item(db, "add_item", recording.item)
    if recording.item.status != "quarantined":
        _renew(db, recording.item, promoted=row is None and item.status in _PROMOTED)
    return recording


def _write_item(db: apsw.Connection, statement: str, item: Item) -> None:
    try:
        db.execute(SQL[statement], _item_values(item))
    except apsw.ConstraintError as error:
        raise Conflict("An item with that id or dedupe key is there already.") from error


def _record_number(db: apsw.Connection, tenant: str, id: str) -> int | None:
    try:
        row = one(db, SQL["record_number"], (uuid.UUID(id).bytes, tenant))
    except ValueError:
        return None
    return row[0] if row else None


class SqlKnowledge:
    """Satisfies the port `KnowledgeStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def put_space(self, space: Space, entries: Entries) -> Space:
        values = _space_values(space)

        def put(db: apsw.Connection) -> Space:
            try:
                db.execute(SQL["add_space"], values)
            except apsw.ConstraintError as error:
                raise Conflict("A space with that id is there already.") from error
            return _space(one(db, SQL["space_of_place"], values) or ())

        return await self._transactions.keep(put, entries)

    async def spaces(self, tenant: str, ids: Sequence[str] | None = None) -> list[Space]:
        clause = Where()
        clause.add("tenant = {}", tenant)
        clause.one_of("id", ids)
        sql = f"{SQL['spaces']} {clause} ORDER BY namespace, scope, project"
        return [_space(row) for row in await self._transactions.read(lambda db: rows(db, sql, clause.bound))]

    async def record_item(self, item: Item, beside: BesideRecording) -> Recording:
        return await self._transactions.keep_beside(lambda db: _record_item(db, item, self.again), beside)

    def again(self, current: Item, item: Item) -> Recording:
        """What becomes of a finding that is there already."""
        return record_again(current, item)

    async def item(self, tenant: str, id: str) -> Item:
        return await self._transactions.read(lambda db: _find_item(db, tenant, id))

    async def items(
        self,
        tenant: str,
        *,
        spaces: Sequence[str] | None = None,
        coverage_key: str | None = None,
        statuses: Sequence[ItemStatus] = (),
        limit: int = 100,
    ) -> list[Item]:
        clause = Where()
        clause.add("tenant = {}", tenant)
        clause.one_of("space", spaces)
        clause.any_of("status", statuses)
        if coverage_key is not None:
            clause.add("coverage_key = {}", coverage_key)
        sql = f"{SQL['items']} {clause} ORDER BY created_at DESC, number DESC LIMIT :limit"
        item_rows = await self._transactions.read(lambda db: rows(db, sql, clause.bound | {"limit": limit}))
        return [_item(row) for row in item_rows]

    async def change_item(
        self, item: Item, expected: ItemStatus, entries: Entries, replaced: Sequence[Item] = ()
    ) -> Item:
        def change(db: apsw.Connection) -> Item:
            current = _find_item(db, item.tenant, item.id)
            if current.status != expected:
                raise Conflict(f"The item is {current.status} by now, not {expected}. Read it again, then decide.")
            for other in (item, *replaced):
                _write_item(db, "change_item", other)
            _renew(db, item, promoted=item.status in _PROMOTED)
            return item

        return await self._transactions.keep(change, entries)

    async def remove_item(self, tenant: str, id: str, entries: Entries) -> None:
        def remove(db: apsw.Connection) -> None:
            current = _find_item(db, tenant, id)
            place = {"tenant": tenant, "space": current.space, "coverage_key": current.coverage_key}
            db.execute(SQL["remove_item"], (id,))
            db.execute(SQL["recover"], place)
            db.execute(SQL["drop_empty_coverage"], place)

        await self._transactions.keep(remove, entries)

    async def coverage(self, tenant: str, coverage_key: str, spaces: Sequence[str] | None = None) -> list[Coverage]:
        clause = Where()
        clause.add("tenant = {}", tenant)
        clause.add("coverage_key = {}", coverage_key)
        clause.one_of("space", spaces)
        sql = f"{SQL['coverage']} {clause} ORDER BY space"
        return [
            Coverage(
                tenant=tenant,
                space=space,
                coverage_key=coverage_key,
                latest_item=latest,
                last_seen_at=from_ms(last_seen),
                last_promoted_at=moment(promoted),
                freshness_expires_at=moment(fresh_until),
            )
            for space, latest, last_seen, promoted, fresh_until in await self._transactions.read(
                lambda db: rows(db, sql, clause.bound)
            )
        ]

    async def layers(self, tenant: str, records: Sequence[str]) -> list[Layer]:
        ids = [id.replace("-", "") for id in records]
        bound = {"tenant": tenant, "ids": json.dumps(ids)}
        return [
            Layer(record=str(uuid.UUID(bytes=id)), version=version, name=name, text=text, tokens=tokens, method=method)
            for id, version, name, text, tokens, method in await self._transactions.read(
                lambda db: rows(db, SQL["layers"], bound)
            )
        ]

    async def put_layers(self, tenant: str, layers: Sequence[Layer]) -> None:
        def put(db: apsw.Connection) -> None:
            for layer in layers:
                number = _record_number(db, tenant, layer.record)
                if number is not None:
                    db.execute(SQL["drop_earlier_layers"], (number, layer.version))
                    values = (number, layer.version, layer.name, layer.text, layer.tokens, layer.method)
                    db.execute(SQL["put_layer"], values)

        await self._transactions.write(put)
