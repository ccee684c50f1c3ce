"""The audit on the wire."""

from __future__ import annotations

from pydantic import JsonValue

from commonplace.values.audit import AuditOutcome, AuditPage, AuditRow
from commonplace.wire.records import scope_value
from commonplace.wire.shapes import Answer, Moment


class AuditRowAnswer(Answer):
    """One line. No text of a memory and no secret is ever in it."""

    id: str
    at: Moment
    tenant: str
    actor: str
    action: str
    outcome: AuditOutcome
    record: str | None
    version: int | None
    scope: str | None
    run: str | None
    door: str
    key: str | None
    client: str | None
    address: str | None
    request: str | None
    details: dict[str, JsonValue]

    @classmethod
    def of(cls, row: AuditRow) -> AuditRowAnswer:
        return cls.model_construct(
            id=row.id,
            at=row.at,
            tenant=row.tenant,
            actor=row.actor,
            action=row.action,
            outcome=row.outcome,
            record=row.record,
            version=row.version,
            scope=None if row.scope is None else str(row.scope),
            run=row.run,
            door=row.door,
            key=row.key,
            client=row.client,
            address=row.address,
            request=row.request,
            details=dict(row.details),
        )

    def value(self) -> AuditRow:
        return AuditRow(
            id=self.id,
            at=self.at,
            tenant=self.tenant,
            actor=self.actor,
            action=self.action,
            outcome=self.outcome,
            record=self.record,
            version=self.version,
            scope=None if self.scope is None else scope_value(self.scope),
            run=self.run,
            door=self.door,
            key=self.key,
            client=self.client,
            address=self.address,
            request=self.request,
            details=self.details,
        )


class AuditAnswer(Answer):
    """Newest first. `cursor` gets the next page; null is the end."""

    rows: list[AuditRowAnswer]
    cursor: str | None

    @classmethod
    def of(cls, page: AuditPage) -> AuditAnswer:
        return cls.model_construct(rows=[AuditRowAnswer.of(row) for row in page.rows], cursor=page.cursor)

    def value(self) -> AuditPage:
        return AuditPage(tuple(row.value() for row in self.rows), self.cursor)
