"""
Documents that somebody handed in to be searched: each is a record of kind `resource` in their own scope, and nobody else's.

A document has an address, its `uri`: the one it was given, else one of its own. Under an address that is known it becomes the
next version.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from commonplace.errors import NotFound
from commonplace.governance.access import require_role
from commonplace.service.capture import held_under
from commonplace.service.desk import Desk
from commonplace.service.records import Records
from commonplace.text.chunk import spans
from commonplace.values.moment import new_id
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.quarantine import is_quarantined
from commonplace.values.query import Filter
from commonplace.values.record import Record, Trust
from commonplace.values.resource import ResourcePage, UserResource
from commonplace.values.scope import Scope

_PREFIX: Final = "resource:"
_BY_ID: Final = "record:"
_TRUST: Final[Trust] = "external_user_supplied"


def uri_of(record: Record) -> str | None:
    """The address of a document; None for what is none. One that came in by another door goes by its key or its id."""
    if record.kind != "resource":
        return None
    if record.key is None:
        return f"{_BY_ID}{record.id}"
    return record.key.removeprefix(_PREFIX) if record.source == "resource" else record.key


def title_of(record: Record) -> str | None:
    title = record.metadata.get("title")
    return title if isinstance(title, str) else record.provenance.file


def resource_of(record: Record) -> UserResource:
    return UserResource(
        uri=uri_of(record) or record.id,
        id=record.id,
        title=title_of(record),
        characters=len(record.text),
        created_at=record.created_at,
        updated_at=record.updated_at,
        quarantined=is_quarantined(record),
        quarantine=record.quarantine,
    )


class OwnResources:
    def __init__(self, desk: Desk, records: Records) -> None:
        self._desk = desk
        self._records = records

    async def put(
        self, who: Principal, content: str, *, uri: str | None = None, title: str | None = None
    ) -> UserResource:
        """Keep a document; under an address that is known, its next version."""
        desk = self._desk
        address = uri or f"doc:{new_id(desk.clock.now())}"
        note = Note(
            text=content,
            scope=who.home,
            key=f"{_PREFIX}{address}",
            kind="resource",
            source="resource",
            metadata={} if title is None else {"title": title},
            trust=_TRUST,
        )
        [write] = await self._records.put(who, [note])
        passages = await asyncio.to_thread(spans, write.record.text, desk.engines(who).count)
        return replace(resource_of(write.record), chunks=len(passages), outcome=write.outcome)

    async def list(self, who: Principal, *, limit: int = 100, cursor: str | None = None) -> ResourcePage:
        """The caller's own, newest first."""
        filter = Filter(scopes=(who.home,), kinds=("resource",))
        page = await self._records.list(who, filter, limit=limit, cursor=cursor)
        return ResourcePage(tuple(resource_of(record) for record in page.records), page.cursor)

    async def get(self, who: Principal, uri: str) -> Record:
        """Raises NotFound: there is none, or it is somebody else's."""
        desk = self._desk
        async with desk.account(who, "record.get", scope=who.home) as account:
            await desk.require(who, who.home)
            record = await self._addressed(who, who.home, uri)
            account.record = record.id
            return record

    async def remove(self, who: Principal, uri: str) -> Record:
        """Delete a document. Raises NotFound: there is none, or it is somebody else's."""
        desk = self._desk
        async with desk.account(who, "record.delete", scope=who.home):
            require_role(who, "writer")
            await desk.require(who, who.home)
            record = await self._addressed(who, who.home, uri)
        return await self._records.delete(who, record.id)

    async def _addressed(self, who: Principal, scope: Scope, uri: str) -> Record:
        record = await self._candidate(who, scope, uri) if uri.isprintable() else None
        if record is None or record.kind != "resource" or record.scope != scope or record.deleted_at is not None:
            raise NotFound("There is no such resource.")
        return record

    async def _candidate(self, who: Principal, scope: Scope, uri: str) -> Record | None:
        records = self._desk.store.records
        for key in (f"{_PREFIX}{uri}", uri):
            if (record := await held_under(records, who.tenant, scope, key)) is not None:
                return record
        if not uri.startswith(_BY_ID):
            return None
        filter = Filter(scopes=(scope,), kinds=("resource",), ids=(uri.removeprefix(_BY_ID),))
        page = await records.find(who.tenant, filter, "newest", 1, None)
        return page.records[0] if page.records else None
