"""Output for pipes and narrow terminals: one line a thing, fields between tabs, nothing coloured, nothing cut."""

import sys
from collections.abc import Sequence
from typing import cast

import typer

from commonplace.cli.changes import steps
from commonplace.cli.lines import address, beside, clean, likelihood, oneline, short_ids, size
from commonplace.cli.moments import age, now, stamp
from commonplace.values.query import Hit
from commonplace.values.record import Record
from commonplace.values.upkeep import Finding, LimitsInForce, Rule, Stats, Upkeep
from commonplace.values.usage import CHAT, Budget, UsageTotal, to_usd

MARKS = {"ok": "ok", "warning": "warning", "error": "ERROR"}


def hits(found: Sequence[Hit], *, explain: bool) -> None:
    ids = _ids([hit.record for hit in found])
    for hit in found:
        record = hit.record
        _row(
            "{} ({})".format(*likelihood(hit.relevance)),
            ids[record.id],
            str(record.scope),
            age(record.at or record.updated_at),
            record.key or "-",
            oneline(hit.layer.text if hit.layer else hit.passage),
            oneline(str(hit.why)),
            *beside(hit, ids),
        )
        if explain:
            _row("", "score", f"{hit.score:.3f}")
            for name, value in hit.why.parts.items():
                _row("", name, f"{value:+.6f}")
            _row("", "words", " ".join(hit.why.words) or "-")
            _row("", "passage", f"{hit.why.start}:{hit.why.stop}")


def line(text: str) -> None:
    typer.echo(f"--- {text}")


def records(found: Sequence[Record]) -> None:
    ids = _ids(found)
    for record in found:
        _row(
            ids[record.id],
            str(record.scope),
            record.kind,
            record.key or "-",
            record.source,
            stamp(record.updated_at),
            oneline(record.text),
        )


def record(record: Record) -> None:
    for name, value in facts(record):
        _row(name, value)
    typer.echo(f"\n{clean(record.text)}")


def facts(record: Record) -> list[tuple[str, str]]:
    """What there is to say about a record beside its text, without what is not set."""
    place = f"{record.session} #{record.position}" if record.position is not None else record.session
    told = {
        "id": record.id,
        "scope": str(record.scope),
        "key": record.key,
        "kind": record.kind,
        "source": record.source,
        "state": record.state(now()),
        "version": f"{record.version} ({record.change})",
        "tags": ", ".join(record.tags),
        "importance": str(record.importance) if record.importance else "",
        "pinned": "yes" if record.pinned else "",
        "trust": record.trust,
        "visibility": record.visibility,
        "tells of": stamp(record.at) if record.at else "",
        "session": place,
        "speaker": record.speaker,
        "run": record.provenance.run,
        "message": record.provenance.message,
        "file": record.provenance.file,
        "metadata": ", ".join(f"{key}={value}" for key, value in record.metadata.items()),
        "created": stamp(record.created_at),
        "updated": stamp(record.updated_at),
        "expires": stamp(record.expires_at) if record.expires_at else "",
        "superseded by": record.superseded_by,
        "deleted": stamp(record.deleted_at) if record.deleted_at else "",
        "actor": record.actor,
        "reason": record.reason,
    }
    return [(name, oneline(value)) for name, value in told.items() if value]


def heading(record: Record) -> str:
    """A version in one line: when, what, by whom, why."""
    restored = f"from v{record.restores}" if record.restores else ""
    by = f"by {record.actor}" if record.actor else ""
    reason = f"({record.reason})" if record.reason else ""
    words = (f"v{record.version}", stamp(record.updated_at), record.change, restored, by, reason)
    return oneline(" ".join(word for word in words if word))


def history(versions: Sequence[Record]) -> None:
    for step in steps(versions):
        typer.echo(heading(step.record))
        for name, old, new in step.fields:
            typer.echo(f"    {name}: {shown(old)} -> {shown(new)}")
        for line in step.lines:
            typer.echo(f"    {clean(line)}")


def shown(value: object) -> str:
    if value is None or value in ((), ""):
        return "none"
    if isinstance(value, tuple):
        return oneline(", ".join(map(str, cast(tuple[object, ...], value))))
    return oneline(str(value))


def stats(stats: Stats) -> None:
    for name, value in totals(stats):
        _row(name, value)
    for scope in stats.scopes:
        _row("scope", str(scope.scope), str(scope.records), str(scope.passages))


def totals(stats: Stats) -> list[tuple[str, str]]:
    return [
        ("store", address(stats.store)),
        ("tenant", stats.tenant),
        ("schema", str(stats.schema)),
        ("records", f"{stats.records}"),
        ("live", f"{stats.live}"),
        ("deleted", f"{stats.deleted}"),
        *([] if stats.versions is None else [("versions", f"{stats.versions}")]),
        ("passages", f"{stats.passages}"),
        *([] if stats.bytes is None else [("size", size(stats.bytes))]),
        ("embedders", ", ".join(f"{name} ({count})" for name, count in stats.embedders.items()) or "none: words only"),
        *([] if stats.limits is None else daemon_limits(stats.limits)),
    ]


def daemon_limits(limits: LimitsInForce) -> list[tuple[str, str]]:
    """What the daemon allows."""
    counts = [
        ("reads a minute", limits.reads),
        ("writes a minute", limits.writes),
        ("prompts a minute", limits.prompts),
        ("query cost a minute", limits.query_cost),
        ("connections", limits.connections),
    ]
    return [
        *((name, "unlimited" if count is None else f"{count:,}") for name, count in counts),
        ("bytes in flight", size(limits.in_flight_bytes)),
        ("largest body", f"{size(limits.body_bytes)}, without a key {size(limits.anonymous_body_bytes)}"),
    ]


def findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        _row(MARKS[finding.severity], finding.check, oneline(finding.message), oneline(finding.advice))


def rules(rules: Sequence[Rule]) -> None:
    for rule in rules:
        _row(rule.scope, *limits(rule))


def limits(rule: Rule) -> tuple[str, str]:
    days = f"{rule.max_age.total_seconds() / 86400:g} days" if rule.max_age else "any age"
    return days, f"{rule.max_records:,} records" if rule.max_records is not None else "any number"


def budget(budget: Budget) -> None:
    for row in spending(budget):
        _row(*row)


def spending(budget: Budget) -> list[tuple[str, ...]]:
    """Purpose, model, calls, tokens, cost, the day's cap and what is left: a row a purpose, then all but chat, and chat."""
    rows = [
        (total.purpose, total.model, f"{total.tasks:,}", f"{total.input_tokens + total.output_tokens:,}",
         money(total.cost_micro_usd), "-", "-")
        for total in budget.totals
    ]  # fmt: skip
    chat = [total for total in budget.totals if total.purpose == CHAT]
    rest = [total for total in budget.totals if total.purpose != CHAT]
    return [
        *rows,
        ("all learning", budget.model or "-", *_sums(rest), money(budget.daily), money(budget.left)),
        ("all chat", "-", *_sums(chat), money(budget.chat.daily), money(budget.chat.left)),
    ]


def _sums(totals: Sequence[UsageTotal]) -> tuple[str, str, str]:
    """Calls, tokens, cost."""
    tokens = sum(total.input_tokens + total.output_tokens for total in totals)
    cost = money(sum(total.cost_micro_usd for total in totals))
    return f"{sum(total.tasks for total in totals):,}", f"{tokens:,}", cost


def money(micro_usd: int) -> str:
    """US dollars, to the cent, and further where it is less."""
    usd = to_usd(micro_usd)
    return f"${usd:,.2f}" if micro_usd % 10_000 == 0 else f"${usd:,.6f}".rstrip("0")


def upkeep(log: Sequence[Upkeep]) -> None:
    for line in log:
        _row(stamp(line.at), line.action, line.scope, str(line.records), oneline(line.detail))


def done(verb: str, record: Record) -> None:
    _row(verb, record.id, str(record.scope), record.key or "-", f"v{record.version}")


def _ids(found: Sequence[Record]) -> dict[str, str]:
    """Whole where a script reads them; short where a narrow terminal has no room."""
    ids = [record.id for record in found]
    return short_ids(ids) if sys.stdout.isatty() else {id: id for id in ids}


def _row(*cells: str) -> None:
    typer.echo("\t".join(cells).rstrip("\t"))
