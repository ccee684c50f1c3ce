"""Events: what happened, in the order it was kept, for whoever listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from commonplace.values.record import Json
from commonplace.values.scope import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """
    Something to be told. `type` is a noun with its verb (`record.created`, `record.purged`, `job.progress`). `data` holds
    ids, kinds and counts, never a memory's text. With a `scope` only those who may read it hear of it; without one,
    everyone of the tenant; with `admins` only its admins.
    """

    type: str
    tenant: str
    at: datetime
    scope: Scope | None = None
    actor: str | None = None
    client: str | None = None
    admins: bool = False
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class NewsGroup:
    """News of one write that differ in nothing but the `id` in their data. A log keeps them as one and tells them one by one."""

    news: News
    records: tuple[str, ...]

    def nth(self, n: int) -> News:
        return replace(self.news, data={"id": self.records[n], **self.news.data})


@dataclass(frozen=True, slots=True)
class Event:
    """News with its place in the log. Ids only grow, also across daemons: a smaller one never shows up later."""

    id: int
    news: News


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """
    An event as a listener at the daemon hears it. What the stream says about itself (`replay_complete`,
    `state_resync_required`, `slow_client_warning`, `client_evicted`) has neither an `id` nor a time.
    """

    type: str
    id: int | None = None
    at: datetime | None = None
    scope: Scope | None = None
    actor: str | None = None
    client: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
