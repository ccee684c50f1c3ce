"""What the keeper of a store sees: its size, its faults, its rules and what they did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope

Severity = Literal["ok", "warning", "error"]
Action = Literal["expired", "aged_out", "evicted", "purged", "spared", "reindexed"]


@dataclass(frozen=True, slots=True)
class Finding(JsonObject):
    """One thing `doctor` looked at. `advice` says what to do; it is empty where all is well."""

    check: str
    severity: Severity
    message: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeStats(JsonObject):
    scope: Scope
    records: Natural
    passages: Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitsInForce(JsonObject):
    """
    What a daemon allows. In a minute, for a key: requests that read, that write, and that set a model to work, and `query_cost`, the words of
    its questions times the scopes they are asked of. At once, for a worker: `connections`, and `in_flight_bytes` of requests. For a
    request: `body_bytes`, and `anonymous_body_bytes` without a key in its header. None: unlimited.
    """

    reads: Natural | None = None
    writes: Natural | None = None
    prompts: Natural | None = None
    query_cost: Natural | None = None
    connections: Natural | None = None
    in_flight_bytes: Natural
    body_bytes: Natural
    anonymous_body_bytes: Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats(JsonObject):
    """
    Live records are those a search can find; `versions` counts the past ones, `bytes` what the store takes up: None in an answer about a part of
    the store. `limits` are those of the daemon that answers; a memory
    inside a program has none.
    """

    store: str
    tenant: str
    schema: int
    records: Natural
    live: Natural
    deleted: Natural
    versions: Natural | None
    passages: Natural
    bytes: Natural | None
    embedders: Mapping[str, int] = field(default_factory=dict[str, int])
    scopes: tuple[ScopeStats, ...] = ()
    limits: LimitsInForce | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule(JsonObject):
    """
    How long the records of a scope are kept. `scope` is `kind:id`, or a kind alone for all of them (`session`).
    Pinned records are always kept.
    """

    scope: str
    max_age: timedelta | None = None
    max_records: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Upkeep(JsonObject):
    """One line of the hygiene log: which rule did what to how many records."""

    at: Moment
    action: Action
    scope: str
    records: Natural
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Purged:
    """
    What a purge removed without a trace. `files` were files of managed memory; `files_left` names those that stay, with the reason,
    since whoever purged said so. `sessions` are those of a user, with all that was said in them.
    """

    records: Natural
    versions: Natural
    files: Natural = 0
    files_left: tuple[str, ...] = ()
    sessions: Natural = 0
