"""
The governed door's records: put with a partition and a capability, promoted under review, demoted, deleted, listed, audited.

What a run puts twice is kept once. A promotion is refused where somebody has to look first, and comes to nothing, without
being an error, where there is nothing to promote or it must not be shared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from commonplace.doors.tandem.partitions import (
    ANY_RECORD,
    ANYWHERE,
    OURS,
    PROMOTION,
    RecordConditions,
    RequestPlace,
    entered,
    in_the_name_of,
    is_anothers,
    marked,
    project_of,
    tier_of,
    within,
)
from commonplace.errors import Conflict, InvalidInput, NotFound, PathNotFound, RecordNotFound, SecretRefused
from commonplace.governance.access import is_reviewed, narrows, own_trust, reaches_all, require_role
from commonplace.governance.capability import (
    Promotion,
    Rights,
    check_source,
    goes_by,
    promoting,
    refused_outcome,
    writing,
)
from commonplace.memory.asking import require_whole
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.write import clean
from commonplace.service.account import Account, Journaled
from commonplace.service.approvals import Approvals, ReviewDecision, record_target
from commonplace.service.desk import Desk
from commonplace.service.maintenance import as_seen_by
from commonplace.service.marks import Marked, mark_of
from commonplace.service.transfer import Moving
from commonplace.text.scrub import ScrubReport, scrub
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.moment import new_id
from commonplace.values.note import Note
from commonplace.values.principal import Principal, Tier
from commonplace.values.quarantine import Quarantine, is_quarantined
from commonplace.values.query import Filter
from commonplace.values.record import Json, Provenance, Record, Trust, Written
from commonplace.values.scope import Scope
from commonplace.values.transfer import ImportOptions, ImportReport

Kind = Literal["solution_capsule", "note", "fact"]
Classification = Literal["internal", "restricted"]
Step: TypeAlias = Callable[[Lifecycle, Record], Awaitable[Record]]

MAX_CONTENT: Final = 8_000
MAX_LISTED: Final = 1_000
MAX_ROWS: Final = 500
ACTIONS: Final[Mapping[str, str]] = {
    "record.put": "memory_put",
    "record.search": "memory_search",
    "record.promote": "memory_promote",
    "record.demote": "memory_demote",
    "record.delete": "memory_delete",
    "record.import": "memory_import",
}
"""What the audit calls an action, and what this door does."""

_NOT_FROM_OUTSIDE: Final = frozenset(
    {OURS, PROMOTION, "owner_subject", "redactions", "classification", "artifact_refs"}
)
_PASSED: Final = ScrubReport()
_ATTEMPTS: Final = 50
_PAGE: Final = 200
_LOOKED_AT: Final = 20_000
_PAGES: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """Something to be kept, its subject's alone until it is promoted."""

    text: str
    place: RequestPlace = ANYWHERE
    kind: Kind = "note"
    tags: tuple[str, ...] = ()
    source: str = "agent_note"
    trust: Trust = "system_generated"
    classification: Classification = "internal"
    artifact_refs: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    channel: str | None = None
    host: str | None = None
    message: str | None = None
    tool: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PutReport:
    """`id` is empty where the scrub kept the text out. `deduped`: it was there already."""

    id: str
    stored: bool
    deduped: bool
    tier: Tier
    partition_key: str
    audit_id: str
    scrub: ScrubReport
    quarantine: Quarantine | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Promote:
    """A record to be shared in the tier `to` (None: the project). `outcome` is how the work went that it comes from."""

    id: str
    place: RequestPlace = ANYWHERE
    to: Tier | None = None
    reason: str | None = None
    reviewer: str | None = None
    approval: str | None = None
    outcome: Mapping[str, Json] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PromoteReport:
    """`reason` says why nothing was promoted."""

    id: str
    promoted: bool
    to: Tier
    audit_id: str
    decision: str
    scrub: ScrubReport = _PASSED
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ListRequest:
    text: str | None = None
    conditions: RecordConditions = ANY_RECORD
    limit: int = 100
    offset: int = 0

    def fits(self, record: Record) -> bool:
        text = self.text.casefold() if self.text else ""
        return self.conditions.fit(record) and text in record.text.casefold()


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """`whole` is False where there was more to look through than one request may."""

    records: tuple[Record, ...]
    whole: bool = True


class Governed:
    def __init__(self, desk: Desk, moving: Moving) -> None:
        self._desk = desk
        self._moving = moving

    # ---- put

    async def put(self, who: Principal, request: Put) -> PutReport:
        """
        Keep a note, a fact or a solution.

        Raises:
            CapabilityExpired, CapabilityMismatch, TierNotStorable, TierNotAllowed, Forbidden
            InvalidInput: it has more than 8,000 characters without its secrets.
        """
        desk = self._desk
        async with desk.account(who, "record.put") as account:
            rights = in_the_name_of(await entered(desk, account, request.place), request.place.user)
            account.scope = writing(rights)
            request = replace(request, trust=own_trust(rights.who, request.trust))
            account.details |= {"self_approved": True} if is_reviewed(request.trust) else {}
            note = _note(rights, account.scope, request)
            report = scrubbed(note)
            if report.status == "blocked":
                await account.note("refused", code=SecretRefused.code)
                return _put_report(rights, account, report)
            text = scrub(note.text).text
            if len(text) > MAX_CONTENT:
                raise InvalidInput(
                    f"A memory has at most {MAX_CONTENT:,} characters here. Import longer texts as files."
                )
            mark = mark_of(
                rights.subject,
                rights.partition.key,
                request.kind,
                text,
                rights.run,
                request.place.session,
                request.message,
                request.tool,
            )
            write = await self._once(rights, account, note, text, mark)
            return _put_report(rights, account, report, write)

    async def _once(self, rights: Rights, account: Account, note: Note, text: str, mark: bytes) -> Written:
        """Kept, unless it is there. One that was deleted or became something else since does not stand in its way."""
        desk = self._desk
        for _ in range(_ATTEMPTS):
            writer = desk.engines(rights.who).writer(Marked(desk.store.records, account, [mark]))
            [write] = await writer.put([note], actor=rights.who.actor)
            record = write.record
            gone = record.state(desk.clock.now()) in ("deleted", "expired") or record.text != text
            if write.outcome != "unchanged" or not gone:
                return write
            mark = mark_of(mark, record.id)
        raise Conflict("The same text was put and deleted too often. Put it at another door.")

    # ---- promote, demote, delete

    async def promote(self, who: Principal, request: Promote) -> PromoteReport:
        """
        Share a record with everybody of its project, or of the tenant. It keeps its id.

        Raises:
            CapabilityExpired, CapabilityMismatch, TierNotAllowed, TierNotStorable, ReviewRequired, UntrustedSource
            Conflict: it was changed meanwhile, or its key is taken there.
        """
        desk = self._desk
        async with desk.account(who, "record.promote") as account:
            rights = await entered(desk, account, request.place)
            record = await self._reached(rights, request.id)
            if record is not None and request.place.project is None and request.place.capability is None:
                # The record's own project is meant if a request names none.
                partition = replace(rights.partition, project=project_of(record), tier=tier_of(record))
                account.details["partition"] = partition.key
                rights = replace(rights, partition=partition)
            # What stands in the global scope comes back there.
            is_global = record is not None and record.scope.kind == "global"
            to = request.to or ("global" if is_global else "project")
            policy_id = request.outcome.get("policy_decision_id") if request.outcome else None
            decision = policy_id if isinstance(policy_id, str) and policy_id else new_id(desk.clock.now())
            account.details |= {"to_tier": to, "policy_decision": decision[:255]}
            promotion = promoting(rights, to)
            source = await self._source(rights, account, request.id)
            report, reason = (None, "not_found") if source is None else _refusal(source, request, promotion)
            if source is not None and reason is None:
                review = await self._reviewed(account, source, promotion, request)
                check_source(source.trust, reviewed=review.by_another or request.place.capability is None)
                try:
                    await self._promote(account, source, promotion, review, request.reason)
                except SecretRefused:
                    report, reason = ScrubReport(status="blocked", block_reason="metadata"), "blocked_by_scrub"
            if reason is not None and not account.noted:
                await account.note("not_found" if source is None else "refused", why=reason)
            return PromoteReport(
                id=source.id if source else request.id,
                promoted=reason is None,
                to=promotion.tier,
                audit_id=_row_id(account),
                decision=decision,
                scrub=report or _PASSED,
                reason=reason,
            )

    async def _reviewed(
        self, account: Account, record: Record, promotion: Promotion, request: Promote
    ) -> ReviewDecision:
        """Who answers for it. Raises ReviewRequired."""
        versions = await self._desk.store.records.history(account.who.tenant, record.id)
        target = record_target(versions, promotion.scope)
        review = await Approvals(self._desk).decide(
            account.who, target, reviewer=request.reviewer, approval=request.approval
        )
        account.details |= {"reviewer": review.reviewer[:255], "approval": review.approval[:255]}
        account.details |= {"self_approved": True} if review.self_approved else {}
        account.reviewed = True
        return review

    async def _promote(
        self, account: Account, record: Record, promotion: Promotion, review: ReviewDecision, reason: str | None
    ) -> None:
        details: dict[str, Json] = {
            "from_tier": tier_of(record),
            "to_tier": promotion.tier,
            "reviewer_id": review.reviewer,
            "approval_id": review.approval,
            "run_id": account.run,
        }
        before = record.metadata.get(PROMOTION)
        if record.scope == promotion.scope and isinstance(before, dict) and before.get("to_tier") == promotion.tier:
            details = before
        account.homes[record.id] = record.scope
        # What was looked at is what is promoted: who changed it meanwhile is heard first.
        changed = await self._lifecycle(account).promote(
            record.id,
            scope=promotion.scope,
            expected=record.version,
            reason=reason,
            trust=review.trust,
            told={PROMOTION: details},
        )
        await account.note_unchanged(changed)

    async def _reached(self, rights: Rights, id: str) -> Record | None:
        try:
            full = await self._desk.resolved(rights.who, id)
            [record] = await self._desk.store.records.get(rights.who.tenant, [full])
        except (NotFound, InvalidInput):
            return None
        return record if await self._is_reached(rights.who, record) else None

    async def _source(self, rights: Rights, account: Account, id: str) -> Record | None:
        try:
            record = await self._desk.found(rights.who, account, id)
        except NotFound:
            return None
        is_there = record.deleted_at is None and within(rights, record) and await self._is_reached(rights.who, record)
        return record if is_there else None

    async def _is_reached(self, who: Principal, record: Record) -> bool:
        caller = await self._desk.with_members(who, [record.scope])
        return caller.reaches(record.scope) and (who.is_at_least("admin") or not is_anothers(who, record))

    async def demote(self, who: Principal, id: str, *, run: str | None = None) -> AuditRow:
        """Keep a record to itself, no longer searched. Answers the audit row. Raises RecordNotFound."""

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            return await lifecycle.demote(record.id)

        return await self._change(who, "record.demote", id, step, run=run)

    async def delete(
        self, who: Principal, id: str, *, project: str | None = None, channel: str | None = None
    ) -> AuditRow:
        """
        Answers the audit row.

        Raises:
            RecordNotFound: also where the record is not of that project or channel.
        """

        async def step(lifecycle: Lifecycle, record: Record) -> Record:
            if not RecordConditions(project=project, channel=channel).fit(record):
                raise RecordNotFound(ids=[record.id])
            return await lifecycle.delete(record.id)

        return await self._change(who, "record.delete", id, step)

    async def _change(self, who: Principal, action: str, id: str, step: Step, *, run: str | None = None) -> AuditRow:
        removal = self._desk.store.maintenance.removal() if action == "record.delete" else nullcontext()
        async with removal, self._desk.account(who, action, run=run) as account:
            require_role(who, "writer")
            require_whole(id)
            record = await self._desk.found(who, account, id)
            if not await self._is_reached(who, record):
                await account.note("denied")
                raise RecordNotFound(ids=[record.id])
            if record.deleted_at is not None:
                raise RecordNotFound(ids=[record.id])
            changed = await step(self._lifecycle(account), record)
            is_written = account.noted
            await account.note_unchanged(changed)
            assert account.last is not None
            return account.last if is_written else replace(account.last, outcome="unchanged")

    def _lifecycle(self, account: Account) -> Lifecycle:
        who = account.who
        return self._desk.engines(who).lifecycle(Journaled(self._desk.store.records, account), who.actor)

    # ---- read

    async def memories(self, who: Principal, listing: ListRequest) -> Listed:
        """What the caller may read, newest first, demoted records too; what is in quarantine only a reviewer sees."""
        desk = self._desk
        async with desk.account(who, "record.list"):
            if not (1 <= listing.limit <= MAX_LISTED and listing.offset >= 0):
                raise InvalidInput(f"limit is 1 to {MAX_LISTED:,}, and offset is not below 0.")
            filter = Filter(scopes=await self._listed_in(who, listing), states=frozenset({"live", "demoted"}))
            if (user := listing.conditions.user) is not None and goes_by(who, user):
                listing = replace(listing, conditions=replace(listing.conditions, user=who.subject))
            reviews = who.is_at_least("reviewer")
            records: list[Record] = []
            cursor: str | None = None
            looked = 0
            while len(records) < listing.offset + listing.limit:
                page = await desk.store.records.find(who.tenant, filter, "newest", _PAGE, cursor)
                records += [
                    record
                    for record in page.records
                    if self._is_listed(who, listing, record) and (reviews or not is_quarantined(record))
                ]
                looked += len(page.records)
                cursor = page.cursor
                if cursor is None or looked >= _LOOKED_AT:
                    break
            window = tuple(records[listing.offset : listing.offset + listing.limit])
            return Listed(records=window, whole=cursor is None or len(window) == listing.limit)

    async def _listed_in(self, who: Principal, listing: ListRequest) -> tuple[Scope, ...] | None:
        """What is at home with the caller, and for an admin who names a person, what is theirs."""
        scopes, user = await self._desk.readable(who, None), listing.conditions.user
        if scopes is None or user is None or not who.reaches(person := Scope("user", user)):
            return scopes
        return tuple(dict.fromkeys([*scopes, person]))

    def _is_listed(self, who: Principal, listing: ListRequest, record: Record) -> bool:
        names_person = listing.conditions.user is not None and who.is_at_least("admin")
        return listing.fits(record) and (names_person or not is_anothers(who, record))

    async def audit(self, who: Principal, *, run: str | None = None, limit: int = 100) -> list[AuditRow]:
        """
        What was done, newest first. A reviewer sees what was done by others as well, in the scopes that it reaches.
        """
        desk = self._desk
        async with desk.account(who, "audit.read"):
            if not 1 <= limit <= MAX_ROWS:
                raise InvalidInput(f"limit is 1 to {MAX_ROWS}.")
            reviews = who.is_at_least("reviewer")
            query = AuditQuery(actions=tuple(ACTIONS), run=run, actor=None if reviews else who.actor)
            caller = await desk.with_every_scope(who)
            rows: list[AuditRow] = []
            cursor: str | None = None
            for _ in range(_PAGES):
                page = await desk.store.journal.audit(who.tenant, query, max(limit, _PAGE), cursor)
                rows += [as_seen_by(caller, row) for row in page.rows if _may_see(caller, row, reviews=reviews)]
                cursor = page.cursor
                if cursor is None or len(rows) >= limit:
                    break
            return rows[:limit]

    # ---- import

    async def import_path(self, who: Principal, path: str, *, scope: Scope, options: ImportOptions) -> ImportReport:
        """Import a folder of the server. Raises InvalidInput, Forbidden."""
        try:
            return await self._moving.import_now(who, path, scope=scope, options=options)
        except PathNotFound as error:
            raise InvalidInput(error.message) from error


def scrubbed(note: Note) -> ScrubReport:
    """What the scrub will find in a note, its metadata included."""
    report = scrub(note.text).report
    try:
        _, metadata = clean(note.text, note.metadata)
    except SecretRefused:
        return replace(report, status="blocked", block_reason=report.block_reason or "metadata")
    redactions = metadata.get("redactions", 0)
    assert isinstance(redactions, int)
    return replace(report, status="redacted" if redactions else "passed", redactions=redactions)


def _note(rights: Rights, scope: Scope, request: Put) -> Note:
    fields = {name: value for name, value in request.metadata.items() if name not in _NOT_FROM_OUTSIDE}
    more: dict[str, Json] = {"tool_name": request.tool} if request.tool else {}
    tags = {"channel_tag": request.channel, "host_tag": request.host}
    refs: list[Json] = list(request.artifact_refs)
    metadata: dict[str, Json] = {
        **fields,
        **{name: tag for name, tag in tags.items() if tag is not None},
        "classification": request.classification,
        **({"artifact_refs": refs} if refs else {}),
        OURS: marked(rights, **more),
    }
    return Note(
        text=request.text,
        scope=scope,
        kind=request.kind,
        source=request.source,
        tags=request.tags,
        metadata=metadata,
        trust=request.trust,
        session=request.place.session,
        provenance=Provenance(run=rights.run, message=request.message),
    )


def _put_report(rights: Rights, account: Account, report: ScrubReport, write: Written | None = None) -> PutReport:
    return PutReport(
        id=write.record.id if write else "",
        stored=write is not None and write.outcome == "created",
        deduped=write is not None and write.outcome == "unchanged",
        tier=rights.partition.tier,
        partition_key=rights.partition.key,
        audit_id=_row_id(account),
        scrub=report,
        quarantine=write.record.quarantine if write else None,
    )


def _refusal(record: Record, request: Promote, promotion: Promotion) -> tuple[ScrubReport | None, str | None]:
    """Why a record is not promoted, and what the strict scrub says of it."""
    if record.superseded_by is not None:
        return None, "superseded"
    provenance = record.metadata.get("provenance")
    sources = (record.metadata, provenance if isinstance(provenance, dict) else {})
    if outcome := refused_outcome(request.outcome, *sources):
        return None, f"source_outcome:{outcome}"
    if narrows(record.scope, promotion.scope):
        return None, "narrower"
    report = scrub(record.text, strict=True).report
    return report, "blocked_by_scrub" if report.status == "blocked" else None


def _row_id(account: Account) -> str:
    assert account.last is not None
    return account.last.id


def _may_see(who: Principal, row: AuditRow, *, reviews: bool) -> bool:
    # Two keys may bear the same name.
    if (row.actor, row.key) == (who.actor, who.key):
        return True
    return reviews and (reaches_all(who) or (row.scope is not None and who.reaches(row.scope)))
