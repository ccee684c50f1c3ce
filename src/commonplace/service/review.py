"""
What a reviewer does: look at what is in quarantine, let it out, reject it or remove it for good, and take back all that one source
wrote. What was rejected is deleted with its history, and can be restored to quarantine until somebody purges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from commonplace.errors import InvalidInput, NotInReview, OwnReview, RecordChanged
from commonplace.governance.access import require_role, visible
from commonplace.memory.prepare import Told
from commonplace.memory.rollback import Move, Rollback, filter_of, reason_of
from commonplace.service.account import Account, Journaled
from commonplace.service.approvals import is_author, record_target
from commonplace.service.desk import Desk
from commonplace.service.knowledge import Registry
from commonplace.text.scrub import scrub
from commonplace.values.audit import AuditQuery
from commonplace.values.knowledge import Item
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, to_iso, utc
from commonplace.values.principal import Principal
from commonplace.values.quarantine import TAG, Quarantine, is_quarantined
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Record, Trust
from commonplace.values.review import Origin, RollbackStep, RolledBack, Waiting, WaitingPage
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged

MAX_PAGE: Final = 1_000
MOST_STEPS: Final = 1_000
_ATTEMPTS: Final = 20
_PAGE: Final = 500
_WAITS: Final = Filter(tags=(TAG,), states=frozenset({"demoted"}))
_REJECTED: Final = Filter(tags=(TAG,), states=frozenset({"deleted"}))
_EITHER: Final = Filter(tags=(TAG,), states=frozenset({"demoted", "deleted"}))


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """Which of the records in quarantine: by their ids, or all of a source or a session."""

    ids: tuple[str, ...] = ()
    source: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        if sum((bool(self.ids), self.source is not None, self.session is not None)) != 1:
            raise InvalidInput("Name exactly one: ids, a source, or a session.")


class Reviewing:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._registry = Registry(desk)

    # ---- quarantine

    @staticmethod
    def select(ids: Sequence[str], source: str | None, session: str | None) -> Named:
        return Named(ids=tuple(ids), source=source, session=session)

    async def waiting(
        self,
        who: Principal,
        *,
        scopes: tuple[Scope, ...] | None = None,
        source: str | None = None,
        session: str | None = None,
        rejected: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> WaitingPage:
        """
        What is in quarantine, newest first, in the scopes that the caller reaches; or what was `rejected`, to be restored or purged.
        Findings have neither source nor session: they are told with the first page where neither is asked for.
        """
        desk = self._desk
        async with desk.account(who, "review.list"):
            require_role(who, "reviewer")
            if not 1 <= limit <= MAX_PAGE:
                raise InvalidInput(f"A page has 1 to {MAX_PAGE:,} records.")
            sources, sessions = _several(source), _several(session)
            within = replace(_REJECTED if rejected else _WAITS, scopes=scopes, sources=sources, sessions=sessions)
            filter = await desk.reached(who, within)
            page = await desk.store.records.find(who.tenant, filter, "newest", limit, cursor)
            every = source is None and session is None and cursor is None and not rejected
            findings = await self._registry.quarantined(who, scopes) if every else []
            waiting = tuple(_waiting(record, note) for record in page.records if (note := record.quarantine))
            total: int | None = None
            if cursor is None:
                total = (await desk.store.statistics.tally(who.tenant, filter, ("state",), 1)).total + len(findings)
            return WaitingPage(waiting, page.cursor, tuple(findings), total)

    async def release_finding(self, who: Principal, id: str, reason: str) -> Item:
        """Let an item of knowledge out of quarantine, as `working`. Raises NotInReview, NotFound."""
        return await self._registry.release(who, id, _reason(reason))

    async def purge_finding(self, who: Principal, id: str, reason: str) -> None:
        """Remove an item of knowledge in quarantine for good. Raises NotInReview, NotFound."""
        await self._registry.purge(who, id, _reason(reason))

    async def release(
        self,
        who: Principal,
        selection: Named,
        reason: str,
        *,
        trust: Trust | None = None,
        expected: Mapping[str, int] | None = None,
    ) -> list[Record]:
        """
        Let records out of quarantine: from now on they are recalled, labelled as they were, or with the `trust` that the
        reviewer gives them. `expected` are the versions that were looked at, by id: what was written since nobody vouched for.

        Raises:
            NotInReview: one of them is not in quarantine; none is let out.
            OwnReview: somebody below admin wrote one of them.
            RecordChanged: one of them is at another version than was seen.
        """
        clean_reason, versions = _reason(reason), expected or {}
        records = await self._named(who, "review.release", selection, clean_reason, _WAITS)
        _require_seen(records, versions)
        own_ids = await self._written_by(who, records)
        return [
            await self._release(
                who, record, clean_reason, trust, fixed=record.id in versions, is_own=record.id in own_ids
            )
            for record in records
        ]

    async def _written_by(self, who: Principal, records: Sequence[Record]) -> frozenset[str]:
        """Those that the caller wrote. Raises OwnReview: nobody below admin lets out what they wrote themselves."""
        desk = self._desk
        keys = await desk.store.keys.list_keys(who.tenant)
        own_ids: set[str] = set()
        for record in records:
            versions = await desk.store.records.history(who.tenant, record.id)
            if is_author(who, record_target(versions, record.scope).authors, keys):
                own_ids.add(record.id)
        if own_ids and not who.is_at_least("admin"):
            async with desk.account(who, "review.release", record=min(own_ids)):
                raise OwnReview(ids=sorted(own_ids))
        return frozenset(own_ids)

    async def _release(
        self, who: Principal, record: Record, reason: str, trust: Trust | None, *, fixed: bool, is_own: bool
    ) -> Record:
        """`fixed`: as this version, or not at all. `is_own`: the caller wrote it."""
        desk = self._desk
        trust = "verified" if is_own and trust == "human_approved" else trust
        async with desk.account(who, "review.release", scope=record.scope, record=record.id) as account:
            account.details |= {"self_approved": True} if is_own else {}
            for _ in range(_ATTEMPTS):
                following = replace(
                    record,
                    version=record.version + 1,
                    updated_at=max(utc(desk.clock.now()), record.updated_at),
                    demoted=False,
                    trust=trust or record.trust,
                    change="restored",
                    actor=who.actor,
                    reason=reason,
                    restores=None,
                )
                [passages] = await desk.engines(who).preparer.passages([Told.by(following)])
                draft = Draft(record=following, passages=passages, expected=record.version)
                try:
                    [released] = await Journaled(desk.store.records, account).revise([draft])
                except RecordChanged:
                    if fixed:
                        raise
                    record = _required(await desk.found(who, account, record.id), _WAITS)
                    # The caller may have written what is there now.
                    await self._written_by(who, [record])
                else:
                    return released
            raise RecordChanged

    async def reject(
        self, who: Principal, selection: Named, reason: str, *, expected: Mapping[str, int] | None = None
    ) -> list[Record]:
        """
        Delete records in quarantine. Their history stays, and `restore` brings them back to quarantine. `expected` as in `release`.

        Raises:
            NotInReview: one of them is not in quarantine; none is rejected.
            RecordChanged: one of them is at another version than was seen.
        """
        clean_reason = _reason(reason)
        records = await self._named(who, "review.reject", selection, clean_reason, _WAITS)
        _require_seen(records, expected or {})
        return [await self._step(who, "review.reject", record, clean_reason) for record in records]

    async def restore(self, who: Principal, ids: Sequence[str], reason: str) -> list[Record]:
        """Bring back what was rejected: it waits again. Raises NotInReview: one of them was not rejected; none is restored."""
        clean_reason = _reason(reason)
        records = await self._named(who, "review.restore", Named(ids=tuple(ids)), clean_reason, _REJECTED)
        return [await self._step(who, "review.restore", record, clean_reason) for record in records]

    async def _step(
        self, who: Principal, action: Literal["review.reject", "review.restore"], record: Record, reason: str
    ) -> Record:
        desk = self._desk
        async with desk.account(who, action, scope=record.scope, record=record.id) as account:
            account.homes[record.id] = record.scope
            lifecycle = desk.engines(who).lifecycle(Journaled(desk.store.records, account), who.actor)
            step = lifecycle.delete if action == "review.reject" else lifecycle.undo
            return await step(record.id, expected=record.version, reason=reason)

    async def purge(self, who: Principal, selection: Named, reason: str) -> Purged:
        """Remove records in quarantine, and what was rejected, for good, every version. The reason stays in the audit."""
        desk, clean_reason = self._desk, _reason(reason)
        records = await self._named(who, "review.purge", selection, clean_reason, _EITHER)
        async with desk.store.maintenance.removal(), desk.account(who, "review.purge") as account:
            account.details["reason"] = clean_reason
            if not records:
                await account.note("unchanged")
                return Purged(0, 0)
            purger = desk.engines(who).purger(Journaled(desk.store.records, account), who)
            # What somebody lets out meanwhile is out.
            ids = [record.id for record in records]
            parts = [ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE)]
            return await purger.remove([replace(_EITHER, ids=tuple(part)) for part in parts])

    async def _named(self, who: Principal, action: str, selection: Named, reason: str, among: Filter) -> list[Record]:
        """The records meant, all of them `among` what waits or was rejected. Raises NotInReview, RecordNotFound."""
        desk = self._desk
        async with desk.account(who, action) as account:
            account.details["reason"] = reason
            require_role(who, "reviewer")
            if selection.ids:
                return [_required(await desk.found(who, account, id), among) for id in dict.fromkeys(selection.ids)]
            sources, sessions = _several(selection.source), _several(selection.session)
            filter = await desk.reached(who, replace(among, sources=sources, sessions=sessions))
            records: list[Record] = []
            cursor: str | None = None
            while True:
                page = await desk.store.records.find(who.tenant, filter, "oldest", _PAGE, cursor)
                records += [record for record in page.records if is_quarantined(record)]
                if (cursor := page.cursor) is None:
                    return records

    # ---- rollback

    async def rollback(self, who: Principal, origin: Origin, reason: str, *, dry_run: bool = False) -> RolledBack:
        """
        Set back every record that stands as one source wrote it to the version before, or delete it where there is none. What
        others wrote since stays. The answer's id takes all of it back: `Origin(rollback=id)`.
        """
        desk, clean_reason = self._desk, _reason(reason)
        id = new_id(desk.clock.now())
        async with desk.account(who, "record.rollback", run=None if dry_run else id) as account:
            account.details |= {"reason": clean_reason, **_told(origin)}
            require_role(who, "reviewer")
            who = await desk.with_every_scope(who)
            engine = self._engine(who, account)
            filter = await desk.reached(who, await self._wanted(who, origin))
            if filter.ids == () and origin.rollback is not None:
                raise InvalidInput("There is no such rollback, or it changed nothing.")
            moves, lives = await engine.plan(origin, filter, reason_of(id, clean_reason))
            reached = {life.versions[-1].id: len(visible(who, life.versions)) == len(life.versions) for life in lives}
            may = [move for move in moves if reached.get(move.held.id, True) and _reaches(who, move)]
            own_ids = {move.held.id for move in may}
            other_steps = [move.step("out_of_reach") for move in moves if move.held.id not in own_ids]
            steps = [move.step() for move in may] if dry_run else await engine.apply(may)
            if not account.noted:
                await account.note("unchanged", records=0, dry_run=dry_run)
            return _rolled_back(None if dry_run else id, [*steps, *other_steps])

    def _engine(self, who: Principal, account: Account) -> Rollback:
        desk = self._desk
        store = Journaled(desk.store.records, account)
        return Rollback(store, desk.engines(who).preparer, desk.clock, who.tenant, who.actor)

    async def _wanted(self, who: Principal, origin: Origin) -> Filter:
        """Where a rollback is to be taken back, the audit knows which records it changed."""
        if origin.rollback is None:
            return filter_of(origin)
        query = AuditQuery(actions=("record.rollback",), run=origin.rollback, outcomes=("ok",))
        ids: dict[str, None] = {}
        cursor: str | None = None
        while True:
            page = await self._desk.store.journal.audit(who.tenant, query, _PAGE, cursor)
            ids.update({row.record: None for row in page.rows if row.record})
            if (cursor := page.cursor) is None:
                return Filter(ids=tuple(ids), states=ALL_STATES)


def _several(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _reason(reason: str) -> str:
    """As the audit keeps it: without secrets."""
    line = check_line("reason", reason.strip())
    if not line:
        raise InvalidInput("Say why: the reason is kept in the audit.")
    return scrub(line).text


def _require_seen(records: Sequence[Record], versions: Mapping[str, int]) -> None:
    if versions.keys() - {record.id for record in records}:
        raise InvalidInput("A version is given for a record that is not among these. Write its id in full.")
    changed = [record.id for record in records if versions.get(record.id, record.version) != record.version]
    if changed:
        raise RecordChanged(ids=changed)


def _required(record: Record, among: Filter) -> Record:
    state = "deleted" if record.deleted_at is not None else "demoted"
    if not is_quarantined(record) or state not in among.states:
        raise NotInReview(id=record.id)
    return record


def _waiting(record: Record, note: Quarantine) -> Waiting:
    return Waiting(
        record=record,
        reasons=note.reasons,
        sentence=note.sentence,
        since=note.since,
        beside=note.beside,
        key=note.key,
    )


def _reaches(who: Principal, move: Move) -> bool:
    return who.reaches(move.held.scope) and who.reaches(move.next.scope)


def _told(origin: Origin) -> dict[str, str]:
    since: datetime | None = origin.since
    fields = {
        "source": origin.source,
        "session": origin.session,
        "actor": origin.actor,
        "import": origin.imported,
        "rollback": origin.rollback,
        "since": None if since is None else to_iso(since),
    }
    return {f"of_{name}": value for name, value in fields.items() if value is not None}


def _rolled_back(id: str | None, steps: Sequence[RollbackStep]) -> RolledBack:
    def many(kind: str) -> int:
        return sum(step.kind == kind for step in steps)

    return RolledBack(
        id=id, deleted=many("deleted"), set_back=many("set_back"), left=many("left"), steps=tuple(steps[:MOST_STEPS])
    )
