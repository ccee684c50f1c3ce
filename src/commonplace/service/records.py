"""Records: put, read, change, promote, remove."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from commonplace.errors import AlreadyAnswered, Forbidden, InvalidInput, RecordChanged, VersionNotFound
from commonplace.governance.access import (
    is_reviewed,
    own_trust,
    reaches_all,
    require_role,
    require_trust,
    require_wider,
    visible,
)
from commonplace.memory.asking import require_whole
from commonplace.ports.journal import Entries
from commonplace.service.account import Account, Idempotency, Journaled, with_outcome
from commonplace.service.erasure import EraseRuns, erase_nothing
from commonplace.service.quarantine_reach import one_shown, shown
from commonplace.values.record import Json, Record, Turn, Written
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.memory.lifecycle import Lifecycle
    from commonplace.memory.write import Dedupe
    from commonplace.service.approvals import ReviewDecision
    from commonplace.service.desk import Desk
    from commonplace.values.changes import Changes, SuccessorFields
    from commonplace.values.note import Note
    from commonplace.values.principal import Principal
    from commonplace.values.query import Filter, Order, Page
    from commonplace.values.record import Trust
    from commonplace.values.turn_options import TurnOptions
    from commonplace.values.upkeep import Purged

MAX_PAGE: Final = 1_000
_TAKE_AWAY: Final = frozenset({"record.delete", "record.demote"})

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

    def __init__(self, desk: Desk, *, most: int = MAX_PAGE, erase_runs: EraseRuns = erase_nothing) -> None:
        self._desk = desk
        self._most = most
        self._erase_runs = erase_runs

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
            await desk.require(who, *dict.fromkeys(scopes))
            own_notes = [replace(note, trust=own_trust(who, note.trust)) for note in notes]
            if any(is_reviewed(note.trust) for note in own_notes):
                account.details["self_approved"] = True
            if (before := await desk.answered(who, once)) is not None:
                return before
            try:
                writer = desk.engines(who).writer(Journaled(desk.store.records, account))
                results = await writer.put(own_notes, dedupe=dedupe, actor=who.actor)
            except AlreadyAnswered:
                return await desk.answered_meanwhile(who, once)
            if not account.noted:
                # Nearly the same was there already: nothing reached the store.
                await desk.store.journal.note(account.beside(results))
            return list(map(with_outcome, results))

    async def add_turns(
        self, who: Principal, telling: TurnOptions, turns: Sequence[Turn], *, once: Idempotency | None = None
    ) -> list[Written]:
        """Remember what was said, one record a turn, in order; a turn told before is not stored twice."""
        desk, scope = self._desk, Scope.parse(telling.scope)
        async with desk.account(who, "record.put", once=once, scope=scope) as account:
            require_role(who, "writer")
            await desk.require(who, scope)
            telling = replace(telling, trust=own_trust(who, telling.trust))
            if len(turns) > self._most:
                raise InvalidInput(f"At most {self._most:,} turns at a time. Send them in portions.")
            if (before := await desk.answered(who, once)) is not None:
                return before
            try:
                writer = desk.engines(who).writer(Journaled(desk.store.records, account))
                return list(map(with_outcome, await writer.add_turns(telling, turns, actor=who.actor)))
            except AlreadyAnswered:
                return await desk.answered_meanwhile(who, once)

    # ---- read

    async def get(self, who: Principal, id: str, *, version: int | None = None) -> Record:
        desk = self._desk
        async with desk.account(who, "record.get") as account:
            record = await desk.found(who, account, id)
            if version is None or version == record.version:
                return await one_shown(desk, who, record)
            for earlier in await desk.visible(who, await desk.store.records.history(who.tenant, record.id)):
                if earlier.version == version:
                    return await one_shown(desk, who, earlier)
            raise VersionNotFound(id=record.id, version=version)

    async def history(self, who: Principal, id: str) -> list[Record]:
        """Every version that was in a scope the caller may read, oldest first."""
        desk = self._desk
        async with desk.account(who, "record.get") as account:
            record = await desk.found(who, account, id)
            return await shown(
                desk, who, await desk.visible(who, await desk.store.records.history(who.tenant, record.id))
            )

    async def list(
        self, who: Principal, filter: Filter, *, order: Order = "newest", limit: int = 100, cursor: str | None = None
    ) -> Page:
        desk = self._desk
        async with desk.account(who, "record.list") as account:
            if filter.everyone:
                account.details["everyone"] = True
            if not 1 <= limit <= self._most:
                raise InvalidInput(f"A page has 1 to {self._most:,} records.")
            own_filter = await desk.narrowed(who, filter)
            page = await desk.store.records.find(who.tenant, own_filter, order, limit, cursor)
            if filter.everyone:
                await account.note_read()
            return replace(page, records=tuple(await shown(desk, who, page.records)))

    # ---- change

    async def edit(
        self, who: Principal, id: str, changes: Changes, *, clear: Collection[str] = (), change: Change = PLAIN
    ) -> Record:
        """
        Change what `changes` names. A new text loses the label of whoever reviewed the old one.

        Raises:
            OwnReview: somebody below admin labels what they wrote themselves as reviewed.
        """
        details: dict[str, Json] = {}

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            expected = change.expected
            if is_reviewed(changes.get("trust")):
                # What was looked at is what gets the label.
                expected = _version_seen(record, change)
            changes_now = await self._trust_checked(who, record, changes, details)
            return await lifecycle.edit(
                record.id,
                changes_now,
                clear=clear,
                expected=expected,
                reason=change.reason,
                new_text_trust=_trust_of_new_text(who),
            )

        return await self._change(who, id, "record.edit", step, change, details=details)

    async def _trust_checked(
        self, who: Principal, record: Record, changes: Changes, details: dict[str, Json]
    ) -> Changes:
        """The changes, with the trust label that the caller may give. Raises OwnReview, Forbidden."""
        trust, text = changes.get("trust"), changes.get("text")
        is_same = text is None or text == record.text
        if trust is None or not is_reviewed(trust) or (is_same and trust == record.trust):
            return changes
        require_trust(who, trust)
        if is_same and not await self._is_author(who, record):
            return changes
        own: Changes = {**changes, "trust": own_trust(who, trust)}
        details["self_approved"] = True
        return own

    async def _is_author(self, who: Principal, record: Record) -> bool:
        # As below: a search needs none of it.
        from commonplace.service.approvals import is_author, record_target  # noqa: PLC0415

        versions = await self._desk.store.records.history(who.tenant, record.id)
        keys = await self._desk.store.keys.list_keys(who.tenant)
        return is_author(who, record_target(versions, record.scope).authors, keys)

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

        caller = who if reaches_all(who) else await self._desk.with_every_scope(who)

        def check(versions: Sequence[Record]) -> None:
            if len(visible(caller, versions)) < len(versions):
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
                await self._desk.require(who, Scope.parse(scope))
            trust = fields.get("trust")
            own: SuccessorFields = fields if trust is None else {**fields, "trust": own_trust(who, trust)}
            return await lifecycle.supersede(
                record.id,
                text,
                own,
                expected=change.expected,
                reason=change.reason,
                new_text_trust=_trust_of_new_text(who),
            )

        return await self._change(who, id, "record.supersede", step, change)

    async def promote(self, who: Principal, id: str, *, scope: Scope | None = None, change: Change = PLAIN) -> Record:
        """
        Share a record, in its own scope or in a wider one. A reviewer may, if others wrote it, and an admin; anybody else if a reviewer
        has approved this version.

        Raises:
            ReviewRequired: nobody has. A request for it is left.
            InvalidInput: the scope is narrower than the one it stands in.
        """
        details: dict[str, Json] = {}

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            target = scope or record.scope
            await self._desk.require(who, target)
            require_wider(record.scope, target)
            # What was approved is what is promoted.
            expected = _version_seen(record, change)
            decision = await self._decided(who, record, target)
            details.update(reviewer=decision.reviewer, approval=decision.approval)
            if decision.self_approved:
                details["self_approved"] = True
            return await lifecycle.promote(
                record.id, scope=scope, expected=expected, reason=change.reason, trust=decision.trust
            )

        return await self._change(who, id, "record.promote", step, change, details=details, reviewed=True)

    async def _decided(self, who: Principal, record: Record, target: Scope) -> ReviewDecision:
        # As with the guard: a search needs none of it.
        from commonplace.service.approvals import Approvals, record_target  # noqa: PLC0415

        versions = await self._desk.store.records.history(who.tenant, record.id)
        return await Approvals(self._desk).decide(who, record_target(versions, target))

    async def _change(
        self,
        who: Principal,
        id: str,
        action: str,
        step: Step,
        change: Change,
        *,
        details: dict[str, Json] | None = None,
        reviewed: bool = False,
    ) -> Record:
        desk = self._desk
        removal = desk.store.maintenance.removal() if action == "record.delete" else nullcontext()
        async with removal, desk.account(who, action, once=change.once, run=change.run) as account:
            # The step may still add to them.
            account.details = details if details is not None else account.details
            account.reviewed = reviewed
            require_role(who, "writer")
            if action in _TAKE_AWAY:
                require_whole(id)
            if (before := await desk.answered(who, change.once)) is not None:
                return await one_shown(desk, who, before[-1].record)
            record = await desk.found(who, account, id)
            try:
                changed = await step(self._lifecycle(who, account), record)
            except AlreadyAnswered:
                return await one_shown(desk, who, (await desk.answered_meanwhile(who, change.once))[-1].record)
            return await one_shown(desk, who, await account.answer(changed, before=record))

    def _lifecycle(self, who: Principal, account: Account) -> Lifecycle:
        return self._desk.engines(who).lifecycle(Journaled(self._desk.store.records, account), who.actor)

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
        async with desk.store.maintenance.removal(), desk.account(who, "record.purge", scope=scope) as account:
            require_role(who, "admin")
            if scope is not None:
                await desk.require(who, scope)
            elif not ids and not reaches_all(who):
                raise Forbidden("A key that reaches some scopes only may purge records and scopes by name.")
            full = [(await desk.found(who, account, id)).id for id in ids]
            account.record = None
            account.scope = scope
            purged = (
                await desk.engines(who)
                .purger(Journaled(desk.store.records, account), who)
                .purge(ids=full, scope=scope, user=user, source=source, leave_files=leave_files)
            )
            if scope is not None or user is not None:
                await desk.store.members.forget_members(who.tenant, scope=scope, subject=user)
            if user is not None:
                account.details["runs"] = await self._erase_runs(who.tenant, user)
                sessions = await desk.store.history.purge_person(who.tenant, user, Entries())
                purged = replace(purged, sessions=sessions)
            counts: dict[str, Json] = {"files": purged.files, "files_left": len(purged.files_left)}
            counts |= {"sessions": purged.sessions} if purged.sessions else {}
            await account.note("ok", records=purged.records, versions=purged.versions, **counts)
            return purged


def _version_seen(record: Record, change: Change) -> int:
    """
    The version that is decided about. Raises RecordChanged: the caller means another, which may be there by the time of the write, and
    nobody has looked at it.
    """
    if change.expected not in (None, record.version):
        raise RecordChanged(id=record.id, expected=change.expected, held=record.version)
    return record.version


def _trust_of_new_text(who: Principal) -> Trust:
    """How far a text is trusted that the caller puts in the place of a reviewed one."""
    return "verified" if who.is_at_least("admin") and not who.is_model else "system_generated"
