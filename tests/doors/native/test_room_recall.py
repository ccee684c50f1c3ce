"""What a turn is told of a long memory of its room: the newest lines, and of the others at most three that answer. Each line once."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Final

import pytest

from commonplace.agent.memory.room import MOST_RECALLED, MOST_SHOWN, RoomMemoryBackend
from commonplace.testing.rooms import RoomTalk, room_house
from commonplace.testing.turns import AgentHouse
from commonplace.testing.vendor import Vendor, running_vendor, stream

pytestmark = pytest.mark.anyio

FILLER: Final = (
    "as was agreed when everybody sat together in the small office by the harbour on a long and rainy afternoon"
)
SUBJECTS: Final = (
    "billing",
    "search",
    "archives",
    "exports",
    "calendars",
    "invoices",
    "maps",
    "letters",
    "prices",
    "stamps",
)
OLD: Final = tuple(f"The falcon of {subject} is deployed on day {n}, {FILLER}" for n, subject in enumerate(SUBJECTS))
NEW: Final = tuple(f"Lunch number {n} is at noon with {SUBJECTS[n % 10]}, {FILLER}" for n in range(50))
LINES: Final = (*OLD, *NEW)
QUESTION: Final = "When is the falcon deployed?"


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        begun.replies = [stream("Done.")]
        yield begun


@pytest.fixture
async def house(home: Path, vendor: Vendor) -> AsyncGenerator[AgentHouse]:
    async with room_house(home, vendor) as begun:
        yield begun


def prompt(vendor: Vendor) -> str:
    """All that the model was told last."""
    return "\n".join(str(message["content"]) for message in vendor.requests[-1]["messages"])


async def test_of_a_long_memory_only_three_lines_more_are_recalled_and_none_twice(
    house: AgentHouse, vendor: Vendor
) -> None:
    ana = (await RoomTalk.both(house))["ana"]
    await ana.done("POST", f"{ana.path}/memory", json={"content": "\n".join(LINES), "mode": "replace"})

    await ana.answer_to(QUESTION)
    why = await ana.answer_to("/why")

    times = Counter({line: prompt(vendor).count(line) for line in LINES})
    shown = [line for line in NEW if times[line]]
    assert set(times.values()) == {0, 1}
    assert shown == list(NEW[-len(shown) :])
    assert MOST_SHOWN * 0.9 <= sum(map(len, shown)) <= MOST_SHOWN
    assert sum(times[line] for line in OLD) == MOST_RECALLED
    listed = [line for line in why.splitlines() if FILLER in line]
    assert len(listed) == len(set(listed)) == MOST_RECALLED


async def test_a_line_that_the_prompt_has_already_is_not_recalled_again(house: AgentHouse, vendor: Vendor) -> None:
    ana = (await RoomTalk.both(house))["ana"]
    await ana.done("POST", f"{ana.path}/memory", json={"content": LINES[0], "mode": "append"})

    await ana.answer_to(QUESTION)

    assert prompt(vendor).count(LINES[0]) == 1
    assert RoomMemoryBackend.name == "room"
