"""A writer is killed again and again, at any moment. What it was told is kept must be there."""

import json
import os
import random
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory, Record, open_memory

SOAK = bool(os.environ.get("COMMONPLACE_SOAK"))
KILLS = 1_000 if SOAK else 120
_LOOKED_AFTER = 100 if SOAK else 20
_SAMPLED = 10


@dataclass
class Acknowledged:
    """What the writers said was kept: by id and version, the text and whether it was deleted."""

    versions: dict[str, dict[int, tuple[str, bool]]] = field(default_factory=dict[str, dict[int, tuple[str, bool]]])
    kills: int = 0
    writes: int = 0
    before_the_first_write: int = 0

    def note(self, written: list[tuple[str, int, str, bool]]) -> None:
        for id, version, text, deleted in written:
            self.versions.setdefault(id, {})[version] = (text, deleted)
            self.writes += 1


class Nursery:
    """The process that bears the writers. It is another one than the one that remembers what they acknowledged."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._orders = process.stdin
        self._told = process.stdout.fileno()
        self._rest = b""

    def kill_one(self, seed: int, after: float, known: Acknowledged, *, young: bool) -> None:
        """
        Let a writer be born, kill it `after` seconds of its life (`young`), or that long after its first write, however slow
        the machine is, and hear what it had still said.
        """
        self._orders.write(f"{seed}\n")
        self._orders.flush()
        born = next(self._lines(time.monotonic() + 5), dict[str, Any]())
        child, heard = int(born["born"]), 0
        for line in () if young else islice(self._lines(time.monotonic() + 5), 1):
            known.note(line["written"])
            heard += 1
        for line in self._lines(time.monotonic() + after):
            known.note(line["written"])
            heard += 1
        os.kill(child, signal.SIGKILL)
        known.kills += 1
        for line in self._lines(time.monotonic() + 5):
            if "dead" in line:
                break
            known.note(line["written"])
            heard += 1
        else:
            pytest.fail("the writer outlived its kill")
        known.before_the_first_write += not heard

    def _lines(self, deadline: float) -> Iterator[dict[str, Any]]:
        """What is said until `deadline`."""
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                yield json.loads(line)
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._told], [], [], left)[0]:
                return
            self._rest += os.read(self._told, 65_536)


def faults(memory: Memory) -> list[str]:
    return [f"{finding.check}: {finding.message}" for finding in memory.check() if finding.severity == "error"]


def lost(memory: Memory, known: Acknowledged) -> list[str]:
    """Every acknowledged version that is not there as it was acknowledged, and every gap in a record's versions."""
    wrong: list[str] = []
    for id, acknowledged in known.versions.items():
        held = {record.version: record for record in memory.history(id)}
        if sorted(held) != list(range(1, max(held) + 1)):
            wrong.append(f"{id} has the versions {sorted(held)}")
        for version, told in acknowledged.items():
            record = held.get(version)
            if record is None or (record.text, record.deleted_at is not None) != told:
                wrong.append(f"{id} in version {version} should be {told}, and is {record}")
    return wrong


def not_found(memory: Memory, known: Acknowledged, chance: random.Random) -> list[Record]:
    """Live records of a sample that a search for their rarest word does not bring."""
    sample = chance.sample(sorted(known.versions), k=min(_SAMPLED, len(known.versions)))
    live = [record for record in map(memory.get, sample) if record.deleted_at is None]
    rare = {record.id: max(record.text.rstrip("?").split(), key=len) for record in live}
    hits = {record.id: memory.search(rare[record.id], mode="words", limit=1) for record in live}
    return [record for record in live if [hit.record.id for hit in hits[record.id]] != [record.id]]


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked, so that a hundred of them start quickly")
@pytest.mark.timeout(3_600 if SOAK else 120)
def test_whatever_was_acknowledged_survives_a_hundred_kills(
    start: Callable[..., "subprocess.Popen[str]"], path: Path
) -> None:
    known, chance = Acknowledged(), random.Random(2026)
    nursery = Nursery(start("nursery", path))

    while known.kills < KILLS:
        seed, after, young = chance.randrange(1 << 30), chance.uniform(0.005, 0.1), chance.random() < 0.3
        nursery.kill_one(seed, after * young or chance.uniform(0, 0.05), known, young=young)
        if known.kills % _LOOKED_AFTER == 0 and known.versions:
            with open_memory(path) as memory:
                assert (faults(memory), not_found(memory, known, chance)) == ([], [])

    with open_memory(path) as memory:
        assert lost(memory, known) == []
        assert faults(memory) == []
    # Some died while they opened the store, and most while they wrote.
    assert 0 < known.before_the_first_write < KILLS / 2
    assert known.writes > KILLS
