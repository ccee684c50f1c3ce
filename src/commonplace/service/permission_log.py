"""The audit of permissions: who was asked, who voted what, who may not, and what was decided. Never what a tool was called with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commonplace.ports.journal import Entries
from commonplace.service.desk import Desk
from commonplace.service.history import scope_of
from commonplace.values.audit import AuditOutcome, AuditRow
from commonplace.values.permission_entry import PermissionAction, PermissionEntry
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.scope import Scope
from commonplace.values.session import Session

_OUTCOMES: Final[dict[PermissionAction, AuditOutcome]] = {"permission.forbidden": "denied"}


class PermissionLog:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def note(
        self, tenant: str, session: Session, entries: Sequence[PermissionEntry], *, room: Scope | None = None
    ) -> None:
        """Keep a row of each, all or none. Whoever reads the audit of the session sees them. `room`: whose turns the session has."""
        rows = tuple(self._row(tenant, session, entry, room) for entry in entries)
        await self._desk.store.journal.note(Entries(audit=rows))

    def _row(self, tenant: str, session: Session, entry: PermissionEntry, room: Scope | None) -> AuditRow:
        who = entry.who or Principal(subject=LOCAL, name="daemon", tenant=tenant, role="admin", door="daemon")
        account = self._desk.account(who, entry.action, run=entry.run, scope=scope_of(session))
        place = {} if room is None else {"room": str(room)}
        return account.row(_OUTCOMES.get(entry.action, "ok"), details={"session": session.id, **place, **entry.details})
