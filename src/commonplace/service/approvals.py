"""
Review by others: what somebody below admin shares, somebody else with the role reviewer or admin has approved, as it stands.

A promotion that is refused for want of an approval leaves a request for one. A reviewer who reaches the scope it is to be shared in
sees the request, reads the text, and approves it. A reviewer who promotes what others wrote approves it by doing so. Admins may approve
their own; the audit says so, and it becomes `verified`, not `human_approved`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    OwnReview,
    RecordChanged,
    RecordNotFound,
    ReviewRequired,
)
from commonplace.governance.access import require_role
from commonplace.governance.capability import goes_by
from commonplace.memory.asking import is_whole, whole_id
from commonplace.ports.journal import Entries
from commonplace.values.approval import Approval, ApprovalEntry, ApprovalKind, ApprovalPage, ApprovalState
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, to_ms, utc
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.quarantine import is_quarantined
from commonplace.values.record import Record, Trust
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from commonplace.service.account import Account
    from commonplace.service.desk import Desk
    from commonplace.values.event import News
    from commonplace.values.knowledge import Item
    from commonplace.values.principal import Key
    from commonplace.values.record import Json

MAX_PAGE: Final = 1_000
_MOST_LOOKED_AT: Final = 1_000
_WRITES: Final = frozenset({"created", "edited"})
_CONTENT: Final = ("text", "key", "kind", "source", "tags", "metadata", "at", "pinned", "importance")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewTarget:
    """What is to be shared in `scope`, and who wrote it, by their subjects or names."""

    kind: ApprovalKind
    id: str
    version: int
    authors: frozenset[str]
    scope: Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewDecision:
    """Who answers for a promotion, under which approval, and how far what was promoted is trusted from now on."""

    reviewer: str
    approval: str
    trust: Trust
    self_approved: bool = False
    by_another: bool = False


class Approvals:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    # ---- promotions

    async def decide(
        self, who: Principal, target: ReviewTarget, *, reviewer: str | None = None, approval: str | None = None
    ) -> ReviewDecision:
        """
        Who answers for a promotion by `who`: the approval that it names, else the caller, if they may, else whoever has approved this
        version.

        Raises:
            ReviewRequired: nobody has yet. A request for it is left.
        """
        keys = await self._desk.store.keys.list_keys(who.tenant)
        is_own = is_author(who, target.authors, keys)
        may_alone = who.is_at_least("admin") or (who.is_at_least("reviewer") and not is_own)
        is_named = reviewer is not None or approval is not None
        if may_alone and reviewer and approval and goes_by(who, reviewer):
            return _by_caller(who, is_own=is_own, approval=approval)
        if may_alone and not is_own and not is_named:
            return _by_caller(who, is_own=False)
        for other in await self._valid(who.tenant, who.subject, target, keys):
            if not is_named or (other.id == approval and reviewer in (other.subject, other.actor)):
                return _by_other(other)
        if may_alone and not is_named:
            return _by_caller(who, is_own=True)
        raise ReviewRequired(
            id=target.id, version=target.version, kind=target.kind, request=(await self._ask(who, target)).id
        )

    async def _valid(self, tenant: str, subject: str, target: ReviewTarget, keys: Sequence[Key]) -> list[Approval]:
        """Approvals of this version by others than `subject` who may still review what is shared there."""
        approvals = await self._desk.store.approvals.approvals_of(tenant, target.kind, target.id)
        now = self._desk.clock.now()
        reviewers = {
            key.subject
            for key in keys
            if key.is_good(now) and key.role in ("reviewer", "admin") and _covers(key, target.scope)
        }
        return [
            approval
            for approval in approvals
            if approval.state == "approved"
            and approval.version == target.version
            and approval.subject != subject
            and approval.subject in reviewers | {LOCAL, "operator"}
        ]

    async def _ask(self, who: Principal, target: ReviewTarget) -> Approval:
        account = self._desk.account(who, "approval.request", scope=target.scope)
        return await self._add(who, account, target, "requested")

    async def _add(
        self, who: Principal, account: Account, target: ReviewTarget, state: ApprovalState, *, is_own: bool = False
    ) -> Approval:
        now = utc(self._desk.clock.now())
        approval = Approval(
            id=new_id(now),
            kind=target.kind,
            target=target.id,
            version=target.version,
            state=state,
            subject=who.subject,
            actor=who.actor,
            created_at=now,
            scope=target.scope if state == "requested" else None,
            self_approved=is_own,
            agent=who.agent,
        )
        account.details |= {"approval": approval.id, "kind": target.kind, "target": target.id}
        account.details |= {"self_approved": True} if is_own else {}
        record = target.id if target.kind == "record" else None
        row = account.row("ok", record=record, version=target.version if record else None)
        # A request is told to nobody: reviewers who do not reach the record look for it in the list.
        events = () if state == "requested" else (_event(account, "approval.approved", approval, target.scope),)
        entries = Entries(audit=(row,), events=events)
        return await self._desk.store.approvals.add_approval(who.tenant, approval, entries)

    # ---- approve, list, withdraw

    async def approve(
        self,
        who: Principal,
        id: str,
        version: int | None = None,
        *,
        kind: ApprovalKind = "record",
        reason: str | None = None,
    ) -> Approval:
        """
        Stand for a record as it is at `version`, or for a finding. For reviewers; admins may approve their own.

        Raises:
            RecordNotFound, NotFound: there is none, or it is out of reach and nobody has asked for it to be reviewed.
            RecordChanged: it is at another version.
            OwnReview: somebody below admin wrote it themselves.
            Conflict: it is deleted, superseded or in quarantine.
        """
        async with self._desk.account(who, "approval.add") as account:
            require_role(who, "reviewer")
            if line := check_line("reason", reason):
                account.details["reason"] = line
            target = await (self._record if kind == "record" else self._finding)(who, account, id, version)
            keys = await self._desk.store.keys.list_keys(who.tenant)
            is_own = is_author(who, target.authors, keys)
            if is_own and not who.is_at_least("admin"):
                raise OwnReview(id=target.id)
            return await self._add(who, account, target, "approved", is_own=is_own)

    async def approvals(
        self, who: Principal, *, state: ApprovalState | None = None, limit: int = 100, cursor: str | None = None
    ) -> ApprovalPage:
        """
        Approvals and requests that are not withdrawn, newest first: the caller's own, and for reviewers those about what they reach
        or may be asked to review. A request is over once what it is about has changed; for everybody but its author also once
        somebody else has approved it.
        """
        desk = self._desk
        async with desk.account(who, "approval.list"):
            if not 1 <= limit <= MAX_PAGE:
                raise InvalidInput(f"A page has 1 to {MAX_PAGE:,} approvals.")
            caller = await desk.with_every_scope(who)
            keys = await desk.store.keys.list_keys(who.tenant)
            entries: list[ApprovalEntry] = []
            for _ in range(0, _MOST_LOOKED_AT, limit):
                size = limit - len(entries)
                page = await desk.store.approvals.approvals(who.tenant, state=state, limit=size, cursor=cursor)
                visible = [await self._entry(caller, approval, keys) for approval in page]
                entries += [entry for entry in visible if entry is not None]
                cursor = page[-1].id if len(page) == size else None
                if cursor is None or len(entries) == limit:
                    break
            return ApprovalPage(tuple(entries), cursor)

    async def withdraw(self, who: Principal, id: str, *, reason: str | None = None) -> Approval:
        """
        Take an approval or a request back: one's own, or for admins any. A reviewer declines a request by it.

        Raises:
            NotFound: there is none, or it is not the caller's to decide.
        """
        desk = self._desk
        async with desk.account(who, "approval.withdraw") as account:
            line = check_line("reason", reason)
            approval = await desk.store.approvals.approval(who.tenant, id)
            is_own = approval.subject == who.subject
            _, scope, _ = await self._text(who.tenant, approval)
            if not (is_own or who.is_at_least("admin") or await self._may_decline(who, approval, scope)):
                await account.note("denied", approval=id)
                raise NotFound("There is no such approval.", id=id)
            declines = approval.state == "requested" and not is_own
            account.details |= ({"reason": line} if line else {}) | ({"declined": True} if declines else {})
            row = account.row("ok", details={"approval": id, "target": approval.target})
            events = (_event(account, "approval.declined", approval, scope),) if declines and scope else ()
            now = utc(desk.clock.now())
            entries = Entries(audit=(row,), events=events)
            return await desk.store.approvals.withdraw_approval(who.tenant, id, now, entries)

    async def _may_decline(self, who: Principal, approval: Approval, scope: Scope | None) -> bool:
        if approval.state != "requested" or not who.is_at_least("reviewer"):
            return False
        caller = await self._desk.with_every_scope(who)
        return _is_asked(caller, approval) or (scope is not None and caller.reaches(scope))

    # ---- what is looked at

    async def _record(self, who: Principal, account: Account, id: str, version: int | None) -> ReviewTarget:
        if not is_whole(id):
            raise InvalidInput("Give the whole id of the record.")
        if version is None:
            raise InvalidInput("Say which version you looked at: version is the record's own.")
        desk, full = self._desk, whole_id(id)
        account.record = full
        versions = await desk.store.records.history(who.tenant, full)
        record = versions[-1] if versions else None
        if record is None or not await self._may_review(who, "record", full, record.scope):
            if record is not None:
                await account.note("denied")
            raise RecordNotFound(ids=[full])
        account.scope = record.scope
        if record.version != version:
            raise RecordChanged(id=full, expected=version, held=record.version)
        if record.deleted_at is not None or record.superseded_by is not None or is_quarantined(record):
            raise Conflict("Only a record that is live can be approved. Undo or release it first.", id=full)
        return record_target(versions, record.scope)

    async def _finding(self, who: Principal, account: Account, id: str, version: int | None) -> ReviewTarget:
        # Of the same room, and it needs this one.
        from commonplace.service.knowledge import scope_of  # noqa: PLC0415

        desk = self._desk
        item = await desk.store.knowledge.item(who.tenant, id)
        [space] = await desk.store.knowledge.spaces(who.tenant, [item.space])
        account.scope = scope_of(space)
        if not await self._may_review(who, "finding", id, account.scope):
            await account.note("denied")
            raise NotFound("There is no such item.", id=id)
        target = await self.finding_target(who, item, account.scope)
        if version not in (None, target.version):
            raise RecordChanged(id=id, expected=version, held=target.version)
        if item.status in ("quarantined", "deprecated"):
            raise Conflict("A finding that is in quarantine or deprecated cannot be approved.", id=id)
        return target

    async def finding_target(self, who: Principal, item: Item, scope: Scope) -> ReviewTarget:
        author = await self._desk.store.approvals.author(who.tenant, item.id)
        authors = frozenset[str]() if author is None else frozenset({author})
        version = to_ms(item.updated_at)
        return ReviewTarget(kind="finding", id=item.id, version=version, authors=authors, scope=scope)

    async def _may_review(self, who: Principal, kind: ApprovalKind, id: str, scope: Scope) -> bool:
        caller = await self._desk.with_members(who, [scope])
        if caller.reaches(scope):
            return True
        approvals = await self._desk.store.approvals.approvals_of(who.tenant, kind, id)
        return any(_is_asked(who, approval) for approval in approvals)

    async def _entry(self, who: Principal, approval: Approval, keys: Sequence[Key]) -> ApprovalEntry | None:
        """As the caller may see it."""
        is_own, reviews = approval.subject == who.subject, who.is_at_least("reviewer")
        if not is_own and not reviews:
            return None
        text, scope, is_held = await self._text(who.tenant, approval)
        is_reached = scope is not None and who.reaches(scope)
        if not (is_own or is_reached or _is_asked(who, approval)):
            return None
        approved_by = None
        if approval.state == "requested":
            approved_by = await self._approver(who.tenant, approval, keys)
            if text is None or (approved_by and not is_own):
                return None
        # What is in quarantine is for reviewers, whoever asked for it to be shared.
        may_read = (is_reached and (reviews or not is_held)) or (reviews and _is_asked(who, approval))
        return ApprovalEntry(approval=approval, text=text if may_read else None, approved_by=approved_by)

    async def _approver(self, tenant: str, request: Approval, keys: Sequence[Key]) -> str | None:
        """Who has approved what `request` asks for."""
        target = ReviewTarget(
            kind=request.kind,
            id=request.target,
            version=request.version,
            authors=frozenset(),
            scope=request.scope or Scope("global"),
        )
        valid = await self._valid(tenant, request.subject, target, keys)
        return valid[0].actor if valid else None

    async def _text(self, tenant: str, approval: Approval) -> tuple[str | None, Scope | None, bool]:
        """What it is about, as far as it still stands as it was looked at, where that is, and whether it is in quarantine."""
        # As above.
        from commonplace.service.knowledge import scope_of  # noqa: PLC0415

        store = self._desk.store
        try:
            if approval.kind == "record":
                [record] = await store.records.get(tenant, [approval.target])
                is_same = record.version == approval.version and record.deleted_at is None
                return record.text if is_same else None, record.scope, is_quarantined(record)
            item = await store.knowledge.item(tenant, approval.target)
            [space] = await store.knowledge.spaces(tenant, [item.space])
            is_same = to_ms(item.updated_at) == approval.version
            text = f"{item.title}\n{item.summary}".strip() if is_same else None
            return text, scope_of(space), item.status == "quarantined"
        except NotFound:
            return None, None, False


def record_target(versions: Sequence[Record], scope: Scope) -> ReviewTarget:
    """A record, all of whose versions these are, on its way into `scope`."""
    record = versions[-1]
    before = (None, *versions)
    authors = {new.actor for old, new in zip(before, versions, strict=False) if new.actor and _is_written(old, new)}
    authors |= {record.scope.id} if record.scope.kind == "user" else set()
    return ReviewTarget(
        kind="record", id=record.id, version=record.version, authors=frozenset(authors), scope=scope
    )  # fmt: skip


def _is_written(before: Record | None, version: Record) -> bool:
    """Whether its actor had a part in what it says. Whoever gives it a label, and changes nothing else, reviews it."""
    if version.change not in _WRITES:
        return False
    is_label = before is not None and before.trust != version.trust
    return not is_label or any(getattr(before, name) != getattr(version, name) for name in _CONTENT)


def is_author(who: Principal, authors: Iterable[str], keys: Sequence[Key]) -> bool:
    """Whether the caller is one of them, by the subject or by the name of any key that speaks for the same person."""
    names = {who.subject, who.actor, *(key.name for key in keys if key.subject == who.subject)}
    return not names.isdisjoint(authors)


def _by_caller(who: Principal, *, is_own: bool, approval: str | None = None) -> ReviewDecision:
    trust: Trust = "verified" if is_own or who.agent else "human_approved"
    return ReviewDecision(
        reviewer=who.actor, approval=approval or who.actor, trust=trust, self_approved=is_own
    )  # fmt: skip


def _by_other(approval: Approval) -> ReviewDecision:
    is_by_person = not (approval.self_approved or approval.agent)
    return ReviewDecision(
        reviewer=approval.actor,
        approval=approval.id,
        trust="human_approved" if is_by_person else "verified",
        self_approved=approval.self_approved,
        by_another=True,
    )


def _covers(key: Key, scope: Scope) -> bool:
    return key.scopes is None or any(pattern.fits(scope) for pattern in key.scopes)


def _is_asked(who: Principal, approval: Approval) -> bool:
    return approval.state == "requested" and approval.scope is not None and who.reaches(approval.scope)


def _event(account: Account, type: str, approval: Approval, scope: Scope) -> News:  # noqa: A002 - as events call it
    """For those who reach what it is about, its author among them."""
    data: dict[str, Json] = {"approval": approval.id, "kind": approval.kind, "target": approval.target}
    return account.news(type, scope=scope, data=data)
