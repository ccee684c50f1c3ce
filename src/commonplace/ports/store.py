"""A store with all its faces."""

from __future__ import annotations

from typing import Protocol

from commonplace.ports.embedder import VectorCache
from commonplace.ports.events import EventLog
from commonplace.ports.jobs import JobQueue
from commonplace.ports.journal import Journal
from commonplace.ports.keys import Registry
from commonplace.ports.knowledge import KnowledgeStore
from commonplace.ports.maintenance import StoreKeeper
from commonplace.ports.quotas import Quotas
from commonplace.ports.recall import RecallStore
from commonplace.ports.records import RecordStore
from commonplace.ports.statistics import Census
from commonplace.ports.usage import UsageLedger


class MemoryStore(RecordStore, RecallStore, StoreKeeper, VectorCache, Protocol):
    """What a memory inside a program needs."""


class Store(MemoryStore, Journal, EventLog, JobQueue, Registry, Quotas, KnowledgeStore, UsageLedger, Census, Protocol):
    """What a daemon needs."""
