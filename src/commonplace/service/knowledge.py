"""
The knowledge registry: spaces, findings, their promotion, and whether a run may build on them.

A space of a project is reached by whoever reaches `workspace:<project>`, one of a run by whoever reaches `session:<run>`, the
tenant's by whoever reaches `global`. What is in a space that is out of reach is not found.

A finding is what a run made of what it read, so each is looked at like text from outside, whoever brings it: what looks like an attack
is kept, and is not listed, covers nothing and cannot be promoted, until a reviewer has looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from commonplace.errors import InvalidInput, NotFound, NotInReview, ReviewRequired
from commonplace.governance.access import require_role, require_scope
from commonplace.guard.quarantine import judge_texts
from commonplace.knowledge.findings import (
    Binding,
    KnowledgeBase,
    NewFinding,
    NewSpace,
    StatusChange,
    read_coverage_key,
    require_transition,
)
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.approvals import Approvals
from commonplace.service.desk import Desk
from commonplace.service.quarantine_reach import item_withheld
from commonplace.text.scrub import scrub
from commonplace.values.knowledge import (
    Coverage,
    FindingFields,
    FindingFilters,
    Item,
    ItemStatus,
    Preflight,
    PreflightFields,
    Recording,
    Review,
    Space,
    SpaceFields,
    SpaceScope,
)
from commonplace.values.moment import new_id
from commonplace.values.principal import Principal
from commonplace.values.record import Json
from commonplace.values.review import WaitingFinding
from commonplace.values.scope import Scope

MAX_ITEMS: Final = 1_000
_SHOWN: Final[tuple[ItemStatus, ...]] = ("working", "promoted", "approved_default", "deprecated")


def scope_of(space: Space) -> Scope:
    if space.scope == "global":
        return Scope("global")
    return Scope("workspace" if space.scope == "project" else "session", space.project or "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sought:
    """Which items. What is empty or None narrows nothing."""

    spaces: tuple[str, ...] = ()
    coverage_key: str | None = None
    statuses: tuple[ItemStatus, ...] = ()
    limit: int = 100


NO_REVIEW: Final = Review()


class Registry:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    # ---- spaces

    async def create_space(self, who: Principal, new: NewSpace) -> Space:
        """Make a space, or find the one of that scope, project and namespace."""
        desk = self._desk
        async with desk.account(who, "knowledge.space") as account:
            require_role(who, "writer")
            if new.scope == "run" and not new.project:
                raise InvalidInput("A space of scope run names its run.")
            account.scope = _scope_of(new)
            await desk.require(who, account.scope)
            id = new_id(desk.clock.now())
            entries = _told(account, "knowledge.space_created", account.scope, space=id)
            entries = replace(entries, claims=account.claims([account.scope]))
            space = await self._of(who).create_space(replace(new, id=id), entries)
            if space.id != id:
                await account.note("unchanged", space=space.id)
            return space

    async def spaces(self, who: Principal) -> list[Space]:
        """Those in reach, by namespace."""
        async with self._desk.account(who, "knowledge.list"):
            return await self._reached(who)

    # ---- items

    async def record(self, who: Principal, finding: NewFinding) -> Recording:
        """
        Keep a finding, as `working` or, if it looks like an attack, in quarantine. If the space has it already, that one is refreshed or,
        if this one says something else, succeeded.
        """
        desk = self._desk
        async with desk.account(who, "knowledge.create") as account:
            require_role(who, "writer")
            space = await self._space(who, account, finding.space)
            against, sentence = _against(finding)
            account.details |= {"quarantine": list[Json](against)} if against else {}
            id = new_id(desk.clock.now())
            await desk.store.approvals.add_author(who.tenant, id, who.subject)
            beside = partial(_recorded, account, scope_of(space))
            return await self._of(who).record(replace(finding, id=id, against=against, sentence=sentence), beside)

    async def items(self, who: Principal, sought: Sought) -> list[Item]:
        """Those in reach, newest first; of those in quarantine only for reviewers who ask for them."""
        desk = self._desk
        async with desk.account(who, "knowledge.list"):
            if "quarantined" in sought.statuses:
                require_role(who, "reviewer")
            if not 1 <= sought.limit <= MAX_ITEMS:
                raise InvalidInput(f"A page has 1 to {MAX_ITEMS:,} items.")
            spaces = [space.id for space in await self._reached(who, sought.spaces or None)]
            if not spaces:
                return []
            key = read_coverage_key(sought.coverage_key) if sought.coverage_key else None
            return await desk.store.knowledge.items(
                who.tenant, spaces=spaces, coverage_key=key, statuses=sought.statuses or _SHOWN, limit=sought.limit
            )

    async def item(self, who: Principal, id: str) -> Item:
        """One in quarantine only reviewers read: others learn that it is there, and why."""
        async with self._desk.account(who, "knowledge.get") as account:
            item = (await self._item(who, account, id))[0]
            is_hidden = item.status == "quarantined" and not who.is_at_least("reviewer")
            return item_withheld(item) if is_hidden else item

    async def promote(self, who: Principal, id: str, to: ItemStatus, review: Review = NO_REVIEW) -> Item:
        """
        Take an item from working to promoted, or from promoted to the approved default. A reviewer may, if others found it, and an
        admin; anybody else if a reviewer has approved it as it stands.

        Raises:
            InvalidTransition, NotFound, Conflict
            ReviewRequired: nobody has, or the approved default does not name who, and under which approval.
        """
        if to not in ("promoted", "approved_default"):
            raise InvalidInput("An item is promoted to promoted or to approved_default.")
        change = StatusChange(to=to, freshness_expires_at=review.freshness_expires_at)
        return await self._change(who, "knowledge.promote", id, change, review)

    async def deprecate(self, who: Principal, id: str, review: Review = NO_REVIEW) -> Item:
        """Give an item up, for good. For reviewers."""
        change = StatusChange(to="deprecated", reviewer=review.reviewer or who.subject, approval=review.approval)
        return await self._change(who, "knowledge.deprecate", id, change, review)

    async def refresh(
        self, who: Principal, id: str, expires: datetime | None = None, reason: str | None = None
    ) -> Item:
        """
        Confirm an item: its status stays, and it is fresh until `expires`, or (None) for as long again as it was. For reviewers.

        Raises:
            InvalidTransition: it is deprecated, or in quarantine.
            NotFound, Conflict
        """
        async with self._desk.account(who, "knowledge.refresh") as account:
            require_role(who, "reviewer")
            item, space = await self._item(who, account, id)
            account.details |= {"reason": scrub(reason).text} if reason else {}
            entries = _told(account, "knowledge.refreshed", scope_of(space), space=space.id, item=item.id)
            return await self._of(who).refresh(item.id, expires, entries)

    async def remove(self, who: Principal, id: str) -> None:
        """Remove an item without a trace but its id in the audit. For admins."""
        async with self._desk.account(who, "knowledge.remove") as account:
            require_role(who, "admin")
            item, space = await self._item(who, account, id)
            entries = _told(account, "knowledge.removed", scope_of(space), space=space.id, item=item.id)
            await self._desk.store.knowledge.remove_item(who.tenant, item.id, entries)

    # ---- quarantine

    async def quarantined(
        self, who: Principal, scopes: Sequence[Scope] | None = None, limit: int = MAX_ITEMS
    ) -> list[WaitingFinding]:
        """Those in quarantine, newest first, in the spaces of `scopes` or (None) all in reach. Asked by the review, which is accounted for."""
        spaces = {space.id: scope_of(space) for space in await self._reached(who)}
        space_ids = [id for id, scope in spaces.items() if scopes is None or scope in scopes]
        if not space_ids:
            return []
        items = await self._desk.store.knowledge.items(
            who.tenant, spaces=space_ids, statuses=("quarantined",), limit=limit
        )
        return [
            WaitingFinding(
                id=item.id,
                space=item.space,
                scope=spaces[item.space],
                coverage_key=item.coverage_key,
                title=item.title,
                summary=item.summary,
                reasons=note.reasons,
                since=item.created_at,
                sentence=note.sentence,
            )
            for item in items
            if (note := item.quarantine)
        ]

    async def release(self, who: Principal, id: str, reason: str) -> Item:
        """Let an item out of quarantine, as `working`. For reviewers. Raises NotInReview, NotFound."""
        async with self._desk.account(who, "review.release") as account:
            require_role(who, "reviewer")
            item, space = await self._item(who, account, id)
            account.details |= {"reason": reason}
            entries = _told(account, "knowledge.released", scope_of(space), space=space.id, item=item.id)
            return await self._of(who).release(item.id, who.subject, entries)

    async def purge(self, who: Principal, id: str, reason: str) -> None:
        """Remove an item in quarantine for good. The reason stays in the audit. For reviewers. Raises NotInReview, NotFound."""
        async with self._desk.account(who, "review.purge") as account:
            require_role(who, "reviewer")
            item, space = await self._item(who, account, id)
            if item.status != "quarantined":
                raise NotInReview(id=item.id)
            account.details |= {"reason": reason}
            entries = _told(account, "knowledge.removed", scope_of(space), space=space.id, item=item.id)
            await self._desk.store.knowledge.remove_item(who.tenant, item.id, entries)

    async def _change(self, who: Principal, action: str, id: str, change: StatusChange, review: Review) -> Item:
        async with self._desk.account(who, action) as account:
            require_role(who, "reviewer" if change.to == "deprecated" else "writer")
            item, space = await self._item(who, account, id)
            reason = review.reason
            account.details |= {"to": change.to} | ({"reason": scrub(reason).text} if reason else {})
            if change.to != "deprecated":
                change = await self._reviewed(who, account, item, space, change, review)
            beside = partial(_changed, account, scope_of(space), item, change.to)
            return await self._of(who).change(item.id, change, beside)

    async def _reviewed(
        self, who: Principal, account: Account, item: Item, space: Space, change: StatusChange, review: Review
    ) -> StatusChange:
        """With who answers for it. Raises ReviewRequired."""
        require_transition(item, change)
        if change.to == "approved_default" and not (review.reviewer and review.approval):
            raise ReviewRequired
        approvals = Approvals(self._desk)
        target = await approvals.finding_target(who, item, scope_of(space))
        decision = await approvals.decide(who, target, reviewer=review.reviewer, approval=review.approval)
        account.details |= {"reviewer": decision.reviewer, "approval": decision.approval}
        account.details |= {"self_approved": True} if decision.self_approved else {}
        return replace(change, reviewer=decision.reviewer, approval=decision.approval)

    # ---- what is known

    async def coverage(self, who: Principal, coverage_key: str) -> list[Coverage]:
        desk = self._desk
        async with desk.account(who, "knowledge.list"):
            key = read_coverage_key(coverage_key)
            spaces = [space.id for space in await self._reached(who)]
            return await desk.store.knowledge.coverage(who.tenant, key, spaces) if spaces else []

    async def preflight(self, who: Principal, binding: Binding) -> Preflight:
        """Whether what a run is about to find out is known already."""
        async with self._desk.account(who, "knowledge.preflight") as account:
            if binding.project is not None:
                require_scope(who, Scope("workspace", binding.project))
            who = await self._desk.with_every_scope(who)
            preflight = await self._of(who).preflight(binding, lambda space: who.reaches(scope_of(space)))
            await account.note(decision=preflight.decision, items=[item.id for item in preflight.items])
            return preflight

    # ---- as clients name the fields

    async def space_named(self, who: Principal, namespace: str, fields: SpaceFields) -> Space:
        """As `create_space`. Raises InvalidInput if it is to be of a project and of a run."""
        project, run = fields.get("project"), fields.get("run")
        if project and run:
            raise InvalidInput("A space is of a project or of a run, not of both.")
        scope: SpaceScope = "project" if project else "run" if run else "global"
        new = NewSpace(scope=scope, project=project or run, namespace=namespace, title=fields.get("title"))
        return await self.create_space(who, new)

    async def record_fields(self, who: Principal, space: str, title: str, fields: FindingFields) -> Recording:
        values: dict[str, Any] = {**fields, "space": space, "title": title}
        return await self.record(who, NewFinding(**values))

    async def findings(self, who: Principal, filters: FindingFilters) -> list[Item]:
        sought = Sought(
            spaces=tuple(filters.get("spaces", ())),
            coverage_key=filters.get("coverage_key"),
            statuses=tuple(filters.get("statuses", ())),
            limit=filters.get("limit", 100),
        )
        return await self.items(who, sought)

    async def preflight_fields(self, who: Principal, subject: str, fields: PreflightFields) -> Preflight:
        values: dict[str, Any] = {name: value for name, value in fields.items() if name != "spaces"}
        spaces = tuple(fields.get("spaces", ()))
        return await self.preflight(who, Binding(subject=subject, read_spaces=spaces, **values))

    # ---- within reach

    def _of(self, who: Principal) -> KnowledgeBase:
        return KnowledgeBase(self._desk.store.knowledge, self._desk.clock, who.tenant)

    async def _reached(self, who: Principal, ids: Sequence[str] | None = None) -> list[Space]:
        caller = await self._desk.with_every_scope(who)
        spaces = await self._desk.store.knowledge.spaces(who.tenant, ids)
        return [space for space in spaces if caller.reaches(scope_of(space))]

    async def _space(self, who: Principal, account: Account, id: str) -> Space:
        space = await self._of(who).space(id)
        account.scope = scope_of(space)
        if not (await self._desk.with_every_scope(who)).reaches(account.scope):
            await account.note("denied")
            raise NotFound("There is no such knowledge space.", id=id)
        return space

    async def _item(self, who: Principal, account: Account, id: str) -> tuple[Item, Space]:
        account.details |= {"item": id[:64]}
        item = await self._desk.store.knowledge.item(who.tenant, id)
        [space] = await self._desk.store.knowledge.spaces(who.tenant, [item.space])
        account.scope = scope_of(space)
        if not (await self._desk.with_every_scope(who)).reaches(account.scope):
            await account.note("denied")
            raise NotFound("There is no such item.", id=id)
        return item, space


def _against(finding: NewFinding) -> tuple[tuple[str, ...], str | None]:
    """The signs of an attack in it, and the sentence that has them."""
    texts: list[Json] = [finding.title, finding.summary, finding.item_type, *finding.artifact_refs]
    texts += [text for text in (finding.coverage_key, finding.dedupe_key, finding.subject, finding.task_family) if text]
    return judge_texts(*texts, finding.payload)


def _scope_of(new: NewSpace) -> Scope:
    if new.scope == "global":
        return Scope("global")
    return Scope("workspace" if new.scope == "project" else "session", new.project or "")


def _recorded(account: Account, scope: Scope, recording: Recording) -> Entries:
    """The audit says what became of the finding; an event tells of it, and another of what it made obsolete."""
    item, predecessor = recording.item, recording.predecessor
    details = {"space": item.space, "item": item.id}
    event = "created" if recording.outcome == "successor" else recording.outcome
    news = [] if event == "unchanged" else [account.news(f"knowledge.{event}", scope=scope, data={**details})]
    if predecessor is not None and predecessor.status == "deprecated":
        gone: dict[str, Json] = {**details, "item": predecessor.id}
        news.append(account.news("knowledge.deprecated", scope=scope, data=gone))
    row: dict[str, Json] = {**details, "outcome": recording.outcome}
    row |= {"supersedes": predecessor.id} if predecessor else {}
    ending = "unchanged" if recording.outcome == "unchanged" else "ok"
    return Entries(audit=(account.row(ending, scope=scope, details=row),), events=tuple(news))


def _changed(account: Account, scope: Scope, item: Item, to: ItemStatus, replaced: Sequence[Item]) -> Entries:
    account.details |= {"replaced": [other.id for other in replaced]} if replaced else {}
    entries = _told(account, f"knowledge.{to}", scope, space=item.space, item=item.id)
    gone = [
        account.news("knowledge.deprecated", scope=scope, data={"space": other.space, "item": other.id})
        for other in replaced
    ]
    return replace(entries, events=(*entries.events, *gone))


def _told(account: Account, type: str, scope: Scope, **fields: str) -> Entries:  # noqa: A002 - as events call it
    details = dict[str, str](fields)
    news = account.news(type, scope=scope, data={**details})
    return Entries(audit=(account.row("ok", scope=scope, details={**details}),), events=(news,))
