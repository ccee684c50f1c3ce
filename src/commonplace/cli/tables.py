"""Output for people: rich tables, badges, bars and coloured differences. Loads rich; `screen` decides when it pays."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule as Line
from rich.table import Table
from rich.text import Text

from commonplace.cli import plain
from commonplace.cli.changes import Step, steps
from commonplace.cli.lines import SHORT_ID, beside, clean, clipped, likelihood, oneline, short_ids, title
from commonplace.cli.moments import age, now, stamp
from commonplace.values.query import Hit
from commonplace.values.record import Record
from commonplace.values.upkeep import Finding, Rule, Stats, Upkeep
from commonplace.values.usage import Budget

_SOURCES = {
    "manual": "cyan",
    "turn": "magenta",
    "auto": "yellow",
    "import": "blue",
    "file": "blue",
    "director": "green",
}
_SEVERITIES = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}
_LINES = {"+": "green", "-": "red"}
_BAR = 10
_PREVIEW = 240


def hits(found: Sequence[Hit], *, explain: bool) -> None:
    ids = short_ids([hit.record.id for hit in found])
    table = _table("relevance", "memory", "why")
    table.leading = 1
    for hit in found:
        words, percent = likelihood(hit.relevance)
        chance = Text.assemble((f"{words}\n", "bold"), (f"{percent}\n", "dim"), (_bar(hit.relevance), "green"))
        body = Text.assemble(*_title(hit.record), clipped(hit.layer.text if hit.layer else hit.passage, _PREVIEW), "\n")
        table.add_row(chance, body.append_text(_foot(hit, ids)), _why(hit, explain=explain))
    _print(table)


def line(text: str) -> None:
    _print(Line(text, style="dim"))


def _foot(hit: Hit, ids: Mapping[str, str]) -> Text:
    record = hit.record
    scope = (oneline(str(record.scope)), "blue")
    told = f" {age(record.at or record.updated_at)} "
    foot = Text.assemble(scope, (told, "dim"), badge(record.source), (f" {ids[record.id]}", "dim"))
    return foot.append("".join(f"\n{line}" for line in beside(hit, ids)), style="yellow")


def _why(hit: Hit, *, explain: bool) -> RenderableType:
    parts = dict(sorted(hit.why.parts.items(), key=lambda part: -abs(part[1])))
    if not explain:
        parts = dict([part for part in parts.items() if abs(part[1]) >= 0.005][:3])
    told: list[RenderableType] = [_parts(_named(parts), digits=3 if explain else 2)]
    if hit.why.words:
        told.append(Text(f"found: {oneline(' '.join(hit.why.words))}", style="dim italic"))
    if explain:
        told.append(Text(f"score {hit.score:.3f}", style="dim"))
        told.append(Text(f"passage {hit.why.start}:{hit.why.stop}, {hit.record.trust}", style="dim"))
    return Group(*told)


def _named(parts: Mapping[str, float]) -> Mapping[str, float]:
    """With one embedder alone there is no need to say which one found the meaning."""
    one = sum(name.startswith("meaning:") for name in parts) == 1
    return {name.partition(":")[0] if one else name: value for name, value in parts.items()}


def _parts(parts: Mapping[str, float], *, digits: int) -> Table:
    """The parts of a score, each with a bar as long as its share."""
    whole = sum(abs(value) for value in parts.values()) or 1.0
    table = Table.grid(padding=(0, 1))
    for name, value in parts.items():
        style = "green" if value >= 0 else "red"
        table.add_row(
            Text(name), Text(f"{value:+.{digits}f}", style=style), Text(_bar(abs(value) / whole), style=style)
        )
    return table


def records(found: Sequence[Record]) -> None:
    ids = short_ids([record.id for record in found])
    table = _table("id", "memory", "scope", "source", "age")
    table.columns[0].no_wrap = True
    for record in found:
        body = Text.assemble(*_title(record), clipped(record.text, _PREVIEW))
        scope = Text(oneline(str(record.scope)), style="blue", overflow="fold")
        table.add_row(Text(ids[record.id], style="dim"), body, scope, badge(record.source), age(record.updated_at))
    _print(table)


def record(record: Record) -> None:
    grid = Table.grid(padding=(0, 2))
    for name, value in plain.facts(record):
        cell = badge(value) if name == "source" else Text(value, style="bold cyan" if name == "key" else "")
        grid.add_row(Text(name, style="dim"), cell)
    _print(Panel(Text(clean(record.text)), box=box.ROUNDED, border_style="dim"), grid)


def history(versions: Sequence[Record]) -> None:
    for step in steps(versions):
        _print(Text(plain.heading(step.record), style="bold"), Padding(_changes(step), (0, 0, 0, 4)))


def _changes(step: Step) -> Text:
    lines = [
        Text.assemble((f"{name}: ", "dim"), (plain.shown(old), "red"), " → ", (plain.shown(new), "green"))
        for name, old, new in step.fields
    ]
    lines += [Text(clean(line), style=_LINES.get(line[:1], "dim")) for line in step.lines]
    return Text("\n").join(lines)


def stats(stats: Stats) -> None:
    grid = Table.grid(padding=(0, 2))
    for name, value in plain.totals(stats):
        grid.add_row(Text(name, style="dim"), Text(f"{int(value):,}" if value.isdigit() else value))
    _print(grid)
    if stats.scopes:
        table = _table("scope", "records", "passages")
        for scope in stats.scopes:
            table.add_row(Text(oneline(str(scope.scope)), style="blue"), f"{scope.records:,}", f"{scope.passages:,}")
        _print(table)


def findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        mark, style = _SEVERITIES[finding.severity]
        text = Text.assemble((f"{mark} ", f"bold {style}"), (f"{finding.check:<12} ", "bold"), oneline(finding.message))
        if finding.advice:
            text.append(f"\n    → {oneline(finding.advice)}", style=style)
        _print(text)


def rules(rules: Sequence[Rule]) -> None:
    table = _table("scope", "kept for", "at most")
    for rule in rules:
        table.add_row(Text(rule.scope, style="blue"), *plain.limits(rule))
    _print(table)


def budget(budget: Budget) -> None:
    table = _table("purpose", "model", "calls", "tokens", "cost", "cap a day", "left today")
    for row in plain.spending(budget):
        table.add_row(*(Text(oneline(cell)) for cell in row))
    _print(table)


def upkeep(log: Sequence[Upkeep]) -> None:
    table = _table("when", "what", "scope", "how many", "detail")
    for line in log:
        table.add_row(
            stamp(line.at), line.action, Text(line.scope, style="blue"), f"{line.records:,}", oneline(line.detail)
        )
    _print(table)


def done(verb: str, record: Record) -> None:
    text = Text.assemble(("✓ ", "bold green"), (f"{verb} ", "bold"), (record.id[:SHORT_ID], "dim"), "  ")
    text.append(oneline(str(record.scope)), style="blue")
    if record.key:
        text.append(f"  {oneline(record.key)}", style="bold cyan")
    if record.version > 1:
        text.append(f"  version {record.version}", style="dim")
    _print(text)


def badge(source: str) -> Text:
    return Text(f" {oneline(source)} ", style=f"reverse {_SOURCES.get(source, 'white')}")


def _title(record: Record) -> list[tuple[str, str] | str]:
    """The line above a record's text: its title, its pin and weight, and its state where it is not live."""
    words: list[tuple[str, str] | str] = []
    if called := title(record):
        words.append((f"{oneline(called)} ", "bold cyan"))
    if record.pinned:
        words.append(("◆ pinned ", "yellow"))
    if record.importance:
        words.append((f"▲{record.importance} ", "yellow"))
    state = record.state(now())
    if state != "live":
        words.append((f"{state} ", "red"))
    if record.speaker:
        words.append((f"{oneline(record.speaker)}: ", "magenta"))
    return [*words, "\n"] if words and not record.speaker else words


def _bar(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return "━" * full


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold dim", show_edge=False)
    for column in columns:
        number = column in ("records", "passages", "how many")
        table.add_column(column, justify="right" if number else "left", ratio=1 if column == "memory" else None)
    return table


def _print(*things: RenderableType) -> None:
    Console(highlight=False, emoji=False, markup=False).print(*things, sep="\n")


def heading(title: str, told: str, command: str) -> None:
    """A step of the tour: what it shows, and what one would type for it."""
    _print(Line(Text(title, style="bold cyan"), align="left", style="dim cyan"), Text(told))
    if command:
        _print(Text(f"$ {command}", style="green"))


def block(text: str) -> None:
    _print(Padding(Text(clean(text), style="dim"), (0, 0, 0, 2)))
