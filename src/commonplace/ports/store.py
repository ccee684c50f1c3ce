"""A store: a port for each of its concerns."""

from __future__ import annotations

from typing import Protocol

from commonplace.ports.approvals import ApprovalRegistry
from commonplace.ports.channel_store import ChannelStore
from commonplace.ports.embedder_stages import EmbedderStages
from commonplace.ports.events import EventLog
from commonplace.ports.history import HistoryStore
from commonplace.ports.jobs import JobQueue
from commonplace.ports.journal import Journal
from commonplace.ports.keys import KeyRegistry
from commonplace.ports.knowledge import KnowledgeStore
from commonplace.ports.maintenance import StoreMaintenance
from commonplace.ports.members import MemberRegistry
from commonplace.ports.quotas import Quotas
from commonplace.ports.recall import RecallStore
from commonplace.ports.records import RecordStore
from commonplace.ports.schedules import ScheduleStore
from commonplace.ports.seals import SealStore
from commonplace.ports.session_leases import SessionLeases
from commonplace.ports.statistics import StoreStatistics
from commonplace.ports.usage import UsageLedger
from commonplace.ports.vector_cache import VectorCache


class Store(Protocol):
    """
    One place that keeps everything, and its ports. Hand out the port that is used; take the store itself only to hand out
    several of them, or to close it.
    """

    @property
    def records(self) -> RecordStore: ...

    @property
    def recall(self) -> RecallStore: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def events(self) -> EventLog: ...

    @property
    def jobs(self) -> JobQueue: ...

    @property
    def keys(self) -> KeyRegistry: ...

    @property
    def members(self) -> MemberRegistry: ...

    @property
    def approvals(self) -> ApprovalRegistry: ...

    @property
    def quotas(self) -> Quotas: ...

    @property
    def usage(self) -> UsageLedger: ...

    @property
    def knowledge(self) -> KnowledgeStore: ...

    @property
    def history(self) -> HistoryStore: ...

    @property
    def schedules(self) -> ScheduleStore: ...

    @property
    def channels(self) -> ChannelStore: ...

    @property
    def session_leases(self) -> SessionLeases: ...

    @property
    def seals(self) -> SealStore: ...

    @property
    def statistics(self) -> StoreStatistics: ...

    @property
    def maintenance(self) -> StoreMaintenance: ...

    @property
    def embedder_stages(self) -> EmbedderStages: ...

    @property
    def vectors(self) -> VectorCache: ...

    async def aclose(self) -> None:
        """Let what was begun end. From then on every port raises StoreClosed, and followers of the events are told the end."""
        ...
