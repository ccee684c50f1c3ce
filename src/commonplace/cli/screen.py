"""What a command shows, in two hands: `tables` for a person at a wide terminal, `plain` for pipes and narrow ones."""

import os
import sys
from collections.abc import Sequence
from typing import Protocol

from commonplace.cli import plain
from commonplace.cli.lines import width
from commonplace.values.query import Hit
from commonplace.values.record import Record
from commonplace.values.upkeep import Finding, Rule, Stats, Upkeep
from commonplace.values.usage import Budget

_WIDE_ENOUGH = 70


class Screen(Protocol):
    def hits(self, found: Sequence[Hit], *, explain: bool) -> None: ...
    def line(self, text: str) -> None: ...
    def records(self, found: Sequence[Record]) -> None: ...
    def record(self, record: Record) -> None: ...
    def history(self, versions: Sequence[Record]) -> None: ...
    def stats(self, stats: Stats) -> None: ...
    def findings(self, findings: Sequence[Finding]) -> None: ...
    def rules(self, rules: Sequence[Rule]) -> None: ...
    def budget(self, budget: Budget) -> None: ...
    def upkeep(self, log: Sequence[Upkeep]) -> None: ...
    def done(self, verb: str, record: Record) -> None: ...


def is_for_people() -> bool:
    return (sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))) and width() >= _WIDE_ENOUGH


def screen() -> Screen:
    if not is_for_people():
        return plain
    # rich takes as long to load as a whole search: only where somebody looks at what it draws.
    from commonplace.cli import tables

    return tables
