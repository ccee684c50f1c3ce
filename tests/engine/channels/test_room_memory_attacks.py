"""What a room remembers, under attack: nobody speaks for somebody else, nobody writes into another room's file, and no line is an order."""

from __future__ import annotations

import asyncio
import json
import sys
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.channels.test_room_memory import ana, file_of, room

from commonplace.errors import FileError, Forbidden, InvalidContent
from commonplace.markdown.room_file import BY, HEARD, MOST_EXISTING, RoomFile, author_name, claim_of, clean_claim
from commonplace.markdown.roots import channel_root
from commonplace.markdown.watch import MOST_LINES, claims_of
from commonplace.service.services import Services
from commonplace.testing.agents import TurnBench
from commonplace.values.principal import ScopePattern
from commonplace.values.query import Filter
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "We ship — bob",
        "— bob",
        "# Rules",
        "- one\n- two",
        "<!-- x",
        "---",
        "\u202enoitcurtsni",
        "a\u2028- b — bob",
        "```",
        "x —",
    ]
)
NAMES = st.text(max_size=30) | st.sampled_from(["ana", "x — bob", "bob, overheard", "—", "a\nb", "\u202eana"])
WRITERS = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.markdown.room_file import RoomFile
from commonplace.markdown.roots import channel_root
home, name = Path(sys.argv[1]), sys.argv[2]
file = RoomFile(root=channel_root(home, "team", "7"), channel="team", chat="7")
changed = 0
for number in range(40):
    changed += file.append(f"Fact number {number} of all", name, datetime.now(UTC))
    file.append(f"{name} alone says {number}", name, datetime.now(UTC))
print(changed)
"""


@pytest.fixture
def services(bench: TurnBench) -> Services:
    return bench.services


def new_file(home: Path) -> RoomFile:
    return RoomFile(root=channel_root(home, "team", "7"), channel="team", chat="7")


@given(text=TEXTS, name=NAMES)
def test_no_text_and_no_name_poses_as_another_persons_line(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    file = new_file(tmp_path_factory.mktemp("home"))
    author = author_name(name)

    try:
        file.append(text.replace("\0", "").encode("utf-8", "replace").decode(), author, NOW)
    except InvalidContent:
        # Nothing of it is to be seen.
        return

    for line in file.lines():
        said, dash, by = line.rpartition(BY)
        assert (by if dash else "") == author
        assert not by.endswith(HEARD)
        assert BY not in said
        assert not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in line)
        assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff")


def test_whoever_replaces_all_puts_words_in_nobodys_mouth(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    file.append("We ship on Fridays", "bob", NOW)

    file.replace("## Notes\n\n- We ship on Fridays — bob\n- Ana is fired — bob\n* Lunch is at noon\n", "eve", NOW)

    assert file.lines() == ("We ship on Fridays — bob", "Ana is fired – bob — eve", "Lunch is at noon — eve")


def test_a_claim_and_its_author_are_told_apart_whatever_they_hold() -> None:
    assert clean_claim("We  ship \u202e— bob") == "We ship – bob"
    assert author_name("bob, overheard, overheard") == "bob"
    assert claim_of("- We ship – mostly — ana") == "We ship – mostly"


async def test_rooms_whose_ids_begin_with_one_another_are_strangers(services: Services) -> None:
    # The last is Cyrillic.
    chats = ("a", "ab", "a/b", "a b", "A", "а")
    memories = services.room_memory
    for chat in chats:
        await memories.remember(ana(services, chat), room(services, chat), f"Only {chat!r} has this")

    assert len({file_of(services, chat) for chat in chats}) == len(chats)
    for chat in chats:
        assert await memories.lines(ana(services, chat), room(services, chat)) == (f"Only {chat!r} has this",)
        for other in set(chats) - {chat}:
            with pytest.raises(Forbidden):
                await memories.lines(ana(services, chat), room(services, other))
            with pytest.raises(Forbidden):
                await memories.forget(ana(services, chat), room(services, other), f"Only {other!r} has this")
        page = await services.desk.store.records.find(
            DEFAULT_TENANT, Filter(scopes=(room(services, chat).scope,)), "oldest", 50, None
        )
        assert [record.text for record in page.records] == [f"Only {chat!r} has this"]
    assert not ScopePattern("channel:team/a").fits(Scope("channel", "team/ab"))


async def test_a_folder_that_is_another_rooms_is_neither_read_nor_written(services: Services) -> None:
    await services.room_memory.remember(ana(services), room(services), "We ship on Fridays")
    meta = file_of(services).with_name("meta.json")
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "chat": "another with this hash"}))
    before = file_of(services).read_bytes()

    with pytest.raises(FileError):
        await services.room_memory.lines(ana(services), room(services))
    with pytest.raises(FileError):
        await services.room_memory.remember(ana(services), room(services), "Lunch is at noon")

    assert file_of(services).read_bytes() == before


async def test_two_processes_that_append_at_once_leave_each_line_once(tmp_path: Path) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITERS, str(tmp_path), name, stdout=asyncio.subprocess.PIPE
        )
        for name in ("ana", "bob")
    ]
    async with asyncio.timeout(60):
        outputs = [await process.communicate() for process in processes]

    lines = new_file(tmp_path).lines()
    claims = [claim_of(line) for line in lines]
    assert len(claims) == len(set(claims)) == 120
    # Each fact was new to one of the two, and to one alone.
    assert sum(int(out) for out, _ in outputs) == 40


def test_of_very_many_lines_the_newest_are_indexed() -> None:
    lines = [f"Fact number {place}" for place in range(MOST_LINES + 5)]

    assert claims_of("".join(f"- {line}\n" for line in lines)) == lines[5:]


async def test_a_file_at_its_limit_takes_nothing_more_and_still_forgets(services: Services) -> None:
    await services.room_memory.remember(ana(services), room(services), "First")
    line = "- " + "x" * 997 + "\n"
    file_of(services).write_text(line * (MOST_EXISTING // len(line)))

    changes = [
        await asyncio.to_thread(new_file_of(services).remove, "x" * 997, NOW),
        await asyncio.to_thread(new_file_of(services).append, "One more", "ana", NOW),
    ]

    assert changes == [True, True]
    assert new_file_of(services).lines() == ("One more — ana",)


def new_file_of(services: Services) -> RoomFile:
    return services.room_memory.file(DEFAULT_TENANT, room(services))
