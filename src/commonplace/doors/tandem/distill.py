"""Conversations distilled for a project and a run, under a capability or without one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.doors.tandem.partitions import OURS, RequestPlace, entered, in_the_name_of, marked
from commonplace.governance.capability import writing
from commonplace.service.desk import Desk
from commonplace.service.distill import Conversation, Distilling
from commonplace.values.distillation import DistillReport
from commonplace.values.principal import Capability, Principal


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillRequest:
    """Without a project it is the workflow's, else the session's."""

    conversation: Conversation
    project: str | None = None
    subject: str | None = None
    capability: Capability | None = None


class GovernedDistilling:
    def __init__(self, desk: Desk, distilling: Distilling) -> None:
        self._desk = desk
        self._distilling = distilling

    async def distill(self, who: Principal, request: DistillRequest) -> DistillReport:
        """
        Keep the important facts of a conversation with its subject, as of its session.

        Raises:
            CapabilityExpired, CapabilityMismatch, TierNotAllowed, Forbidden
        """
        talk, capability = request.conversation, request.capability
        async with self._desk.account(who, "record.put") as account:
            place = RequestPlace(
                project=request.project or (None if capability else talk.workflow or talk.session),
                tier="session",
                run=talk.run or (None if capability else f"distill-{talk.session}"),
                session=talk.session,
                capability=capability,
            )
            rights = in_the_name_of(await entered(self._desk, account, place), request.subject)
            scope = writing(rights)
            await self._desk.require(rights.who, scope)
            metadata = {**talk.metadata, OURS: marked(rights)}
            return await self._distilling.keep(account, scope, replace(talk, metadata=metadata))
