"""Looking after the memory, on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pydantic import ConfigDict, Field

from commonplace.values.upkeep import Action, Finding, Rule, ScopeStats, Severity, Stats, Upkeep
from commonplace.wire.records import scope_value
from commonplace.wire.shapes import MAX_COUNT, Answer, Body, Count, Moment, ScopeName

_LONGEST = 3_155_760_000_000.0


class ScopeStatsAnswer(Answer):
    scope: str
    records: Count
    passages: Count


class StatsAnswer(Answer):
    """Live records are those a search can find; `versions` counts the past ones. `embedders`: name and dimensions."""

    store: str
    tenant: str
    schema_: int = Field(alias="schema")
    records: Count
    live: Count
    deleted: Count
    versions: Count
    passages: Count
    bytes: Count
    embedders: dict[str, int]
    scopes: list[ScopeStatsAnswer]

    @classmethod
    def of(cls, stats: Stats) -> StatsAnswer:
        scopes = [
            ScopeStatsAnswer(scope=str(one.scope), records=one.records, passages=one.passages) for one in stats.scopes
        ]
        return cls(
            store=stats.store,
            tenant=stats.tenant,
            schema=stats.schema,
            records=stats.records,
            live=stats.live,
            deleted=stats.deleted,
            versions=stats.versions,
            passages=stats.passages,
            bytes=stats.bytes,
            embedders=dict(stats.embedders),
            scopes=scopes,
        )

    def value(self) -> Stats:
        scopes = [
            ScopeStats(scope=scope_value(one.scope), records=one.records, passages=one.passages) for one in self.scopes
        ]
        return Stats(
            store=self.store,
            tenant=self.tenant,
            schema=self.schema_,
            records=self.records,
            live=self.live,
            deleted=self.deleted,
            versions=self.versions,
            passages=self.passages,
            bytes=self.bytes,
            embedders=self.embedders,
            scopes=tuple(scopes),
        )


class FindingAnswer(Answer):
    check: str
    severity: Severity
    message: str
    advice: str

    def value(self) -> Finding:
        return Finding(self.check, self.severity, self.message, self.advice)


class FindingsAnswer(Answer):
    findings: list[FindingAnswer]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> FindingsAnswer:
        return cls(
            findings=[
                FindingAnswer(check=one.check, severity=one.severity, message=one.message, advice=one.advice)
                for one in findings
            ]
        )


class RuleBody(Body):
    """How long the records of a scope are kept. One without limits lifts the rule. Pinned records are always kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "session", "max_age": 7776000}]})

    scope: ScopeName = Field(description="kind:id, or a kind alone for all of them.")
    max_age: float | None = Field(default=None, ge=0, le=_LONGEST, allow_inf_nan=False, description="Seconds.")
    max_records: int | None = Field(default=None, ge=0, le=MAX_COUNT)

    def rule(self) -> Rule:
        age = None if self.max_age is None else timedelta(seconds=self.max_age)
        return Rule(scope=self.scope, max_age=age, max_records=self.max_records)


class RuleAnswer(Answer):
    scope: str
    max_age: float | None
    max_records: int | None

    def value(self) -> Rule:
        age = None if self.max_age is None else timedelta(seconds=self.max_age)
        return Rule(scope=self.scope, max_age=age, max_records=self.max_records)


class RulesAnswer(Answer):
    rules: list[RuleAnswer]

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> RulesAnswer:
        return cls(
            rules=[
                RuleAnswer(
                    scope=rule.scope,
                    max_age=None if rule.max_age is None else rule.max_age.total_seconds(),
                    max_records=rule.max_records,
                )
                for rule in rules
            ]
        )


class TidyBody(Body):
    """`purge_after`: also remove for good what was deleted so many seconds ago or more."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"purge_after": 2592000}]})

    purge_after: float | None = Field(default=None, ge=0, le=_LONGEST, allow_inf_nan=False)


class UpkeepAnswer(Answer):
    """One line of the log: which rule did what to how many records."""

    at: Moment
    action: Action
    scope: str
    records: Count
    detail: str

    def value(self) -> Upkeep:
        return Upkeep(at=self.at, action=self.action, scope=self.scope, records=self.records, detail=self.detail)


class LogAnswer(Answer):
    log: list[UpkeepAnswer]

    @classmethod
    def of(cls, lines: Iterable[Upkeep]) -> LogAnswer:
        return cls(
            log=[
                UpkeepAnswer(at=one.at, action=one.action, scope=one.scope, records=one.records, detail=one.detail)
                for one in lines
            ]
        )


class ReindexedAnswer(Answer):
    texts: Count
