"""Records: put, read, change, promote, remove."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from commonplace.errors import AlreadyAnswered, Forbidden, InvalidInput, RecordNotFound, VersionNotFound
from commonplace.governance.access import require_role, require_scope, require_scopes, require_trust, visible
from commonplace.service.account import Account, Idempotency, Journaled
from commonplace.values.record import Json, Record, Turn, Written
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.memory.lifecycle import Lifecycle
    from commonplace.memory.write import Dedupe
    from commonplace.service.desk import Desk
    from commonplace.values.changes import Changes, SuccessorFields
    from commonplace.values.note import Note
    from commonplace.values.principal import Principal
    from commonplace.values.query import Filter, Order, Page
    from commonplace.values.turn_options import TurnOptions
    from commonplace.values.upkeep import Purged

MAX_PAGE: Final = 1_000

Step: TypeAlias = "Callable[[Lifecycle, Record], Awaitable[Record]]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What every change of a record may come with."""

    expected: int | None = None
    reason: str | None = None
    once: Idempotency | None = None
    run: str | None = None


PLAIN: Final = Change()


class Records:
    """`most`: how many records a page or a batch may have."""

    def __init__(self, desk: Desk, *, most: int = MAX_PAGE) -> None:
        self._desk = desk
        self._most = most

    # ---- write

    async def put(
        self,
        who: Principal,
        notes: Sequence[Note],
        *,
        dedupe: Dedupe | None = None,
        once: Idempotency | None = None,
        run: str | None = None,
    ) -> list[Written]:
        """Remember each note, in order; all of them or none."""
        desk = self._desk
        async with desk.account(who, "record.put", once=once, run=run) as account:
            require_role(who, "writer")
            if len(notes) > self._most:
                raise InvalidInput(f"At most {self._most:,} records at a time. Send them in portions.")
            scopes = [Scope.parse(note.scope) for note in notes]
            account.scope = scopes[0] if len(set(scopes)) == 1 else None
            require_scopes(who, scopes)
            for note in notes:
                require_trust(who, note.trust)
            if (before := await desk.answered(who, once)) is not None:
                return before
            try:
                writer = desk.engines(who).writer(Journaled(desk.store.records, account))
                results = await writer.put(notes, dedupe=dedupe, actor=who.subject)
            except AlreadyAnswered:
                return await desk.answered_meanwhile(who, once)
            if not account.noted:
                # Nearly the same was there already: nothing reached the store.
                await desk.store.journal.note(account.beside(results))
            return results

    async def add_turns(
        self, who: Principal, telling: TurnOptions, turns: Sequence[Turn], *, once: Idempotency | None = None
    ) -> list[Written]:
        """Remember what was said, one record a turn, in order; a turn told before is not stored twice."""
        desk, scope = self._desk, Scope.parse(telling.scope)
        async with desk.account(who, "record.put", once=once, scope=scope) as account:
            require_role(who, "writer")
            require_scope(who, scope)
            require_trust(who, telling.trust)
            if len(turns) > self._most:
                raise InvalidInput(f"At most {self._most:,} turns at a time. Send them in portions.")
            if (before := await desk.answered(who, once)) is not None:
                return before
            try:
                writer = desk.engines(who).writer(Journaled(desk.store.records, account))
                return await writer.add_turns(telling, turns, actor=who.subject)
            except AlreadyAnswered:
                return await desk.answered_meanwhile(who, once)

    # ---- read

    async def get(self, who: Principal, id: str, *, version: int | None = None) -> Record:
        desk = self._desk
        async with desk.account(who, "record.get") as account:
            record = await desk.found(who, account, id)
            if version is None or version == record.version:
                return record
            for earlier in visible(who, await desk.store.records.history(who.tenant, record.id)):
                if earlier.version == version:
                    return earlier
            raise VersionNotFound(id=record.id, version=version)

    async def history(self, who: Principal, id: str) -> list[Record]:
        """Every version that was in a scope the caller may read, oldest first."""
        desk = self._desk
        async with desk.account(who, "record.get") as account:
            record = await desk.found(who, account, id)
            return visible(who, await desk.store.records.history(who.tenant, record.id))

    async def list(
        self, who: Principal, filter: Filter, *, order: Order = "newest", limit: int = 100, cursor: str | None = None
    ) -> Page:
        desk = self._desk
        async with desk.account(who, "record.list"):
            if not 1 <= limit <= self._most:
                raise InvalidInput(f"A page has 1 to {self._most:,} records.")
            own_filter = await desk.narrowed(who, filter)
            return await desk.store.records.find(who.tenant, own_filter, order, limit, cursor)

    # ---- change

    async def edit(
        self, who: Principal, id: str, changes: Changes, *, clear: Collection[str] = (), change: Change = PLAIN
    ) -> Record:
        require_now = changes.get("trust")

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            require_trust(who, require_now)
            return await lifecycle.edit(record.id, changes, clear=clear, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.edit", step, change)

    async def pin(self, who: Principal, id: str, pinned: bool, *, change: Change = PLAIN) -> Record:
        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            return await lifecycle.pin(record.id, pinned, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.pin", step, change)

    async def delete(self, who: Principal, id: str, *, change: Change = PLAIN) -> Record:
        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            return await lifecycle.delete(record.id, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.delete", step, change)

    async def undo(self, who: Principal, id: str, *, change: Change = PLAIN) -> Record:
        """Take the last change back. Where that leads through a scope out of reach, it is refused."""

        def check(versions: Sequence[Record]) -> None:
            if len(visible(who, versions)) < len(versions):
                raise Forbidden(
                    "The record comes from a scope that the key does not reach. Somebody who may must undo it."
                )

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            return await lifecycle.undo(record.id, expected=change.expected, reason=change.reason, check=check)

        return await self._change(who, id, "record.undo", step, change)

    async def demote(self, who: Principal, id: str, *, change: Change = PLAIN) -> Record:
        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            return await lifecycle.demote(record.id, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.demote", step, change)

    async def expire(self, who: Principal, id: str, at: datetime | None, *, change: Change = PLAIN) -> Record:
        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            return await lifecycle.expire(record.id, at, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.expire", step, change)

    async def supersede(
        self, who: Principal, id: str, text: str, fields: SuccessorFields, *, change: Change = PLAIN
    ) -> Record:
        """Write a new record in the place of this one, and answer it."""

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            if (scope := fields.get("scope")) is not None:
                require_scope(who, Scope.parse(scope))
            require_trust(who, fields.get("trust"))
            return await lifecycle.supersede(record.id, text, fields, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.supersede", step, change)

    async def promote(
        self,
        who: Principal,
        id: str,
        *,
        scope: Scope | None = None,
        change: Change = PLAIN,
        reviewed: bool = False,
        details: dict[str, Json] | None = None,
    ) -> Record:
        """
        Share a record, in its own scope or in a wider one. A reviewer may, or a writer whose promotion was `reviewed` by
        somebody else, which the governed door's capabilities decide.
        """

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            require_role(who, "writer" if reviewed else "reviewer")
            if scope is not None:
                require_scope(who, scope)
            return await lifecycle.promote(record.id, scope=scope, expected=change.expected, reason=change.reason)

        return await self._change(who, id, "record.promote", step, change, details=details)

    async def _change(
        self,
        who: Principal,
        id: str,
        action: str,
        step: Step,
        change: Change,
        *,
        details: dict[str, Json] | None = None,
    ) -> Record:
        desk = self._desk
        async with desk.account(who, action, once=change.once, run=change.run) as account:
            account.details.update(details or {})
            require_role(who, "writer")
            if (before := await desk.answered(who, change.once)) is not None:
                return before[-1].record
            record = await desk.found(who, account, id)
            try:
                changed = await step(self._lifecycle(who, account), record)
            except AlreadyAnswered:
                return (await desk.answered_meanwhile(who, change.once))[-1].record
            await account.note_unchanged(changed)
            return changed

    def _lifecycle(self, who: Principal, account: Account) -> Lifecycle:
        return self._desk.engines(who).lifecycle(Journaled(self._desk.store.records, account), who.subject)

    # ---- remove for good

    async def purge(
        self,
        who: Principal,
        *,
        ids: Sequence[str] = (),
        scope: Scope | None = None,
        user: str | None = None,
        source: str | None = None,
        leave_files: bool = False,
    ) -> Purged:
        """
        Remove without a trace, the files that they follow included: records, a scope, a source, or all that comes from a user. Name
        exactly one.

        Raises:
            PurgeRefused: one of those files cannot be removed. With `leave_files` it is left, and named in the answer.
        """
        desk = self._desk
        async with desk.account(who, "record.purge", scope=scope) as account:
            require_role(who, "admin")
            if scope is not None:
                require_scope(who, scope)
            elif not ids and who.scopes is not None:
                raise Forbidden("A key that reaches some scopes only may purge records and scopes by name.")
            full = [(await self._purged(who, account, id)).id for id in ids]
            account.record = None
            account.scope = scope
            purged = (
                await desk.engines(who)
                .purger(Journaled(desk.store.records, account), who)
                .purge(ids=full, scope=scope, user=user, source=source, leave_files=leave_files)
            )
            counts: dict[str, Json] = {"files": purged.files, "files_left": len(purged.files_left)}
            await account.note("ok", records=purged.records, versions=purged.versions, **counts)
            return purged

    async def _purged(self, who: Principal, account: Account, id: str) -> Record:
        record = await self._desk.found(who, account, id)
        if len(visible(who, [record])) == 0:
            raise RecordNotFound(ids=[record.id])
        return record
