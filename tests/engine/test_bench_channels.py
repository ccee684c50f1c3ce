"""The measurement of channels counts as it says it does. Small worlds, nothing about speed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench import channels, lost_connections, report, room_schedules
from bench.machine import describe, keep
from bench.room_schedules import Played
from bench.targets import judged

from commonplace.channels.speakers import channel_principal
from commonplace.ports.journal import Entries
from commonplace.service.desk import Desk
from commonplace.service.services import ServiceOptions, Services
from commonplace.values.channel import ChannelProfile, ChatRoom, RoomMessageDraft, Route
from commonplace.values.scope import DEFAULT_TENANT as HERE
from commonplace.values.session import MessageDraft

MARK = '[Scheduled task "{}" set by operator]'
AGAIN = "(A daemon stopped in the middle of this turn, which is played again: …)"


def test_every_message_of_a_room_is_timed_from_its_arrival_to_its_turn_and_its_answer(tmp_path: Path) -> None:
    one = channels.one_room(tmp_path / "one", messages=2)
    many = channels.many_rooms(tmp_path / "many", rooms=2, per_second=20, seconds=0.2)

    assert (one["messages"], one["lost"], many["messages"], many["lost"]) == (2, 0, 4, 0)
    assert 0 < one["start_p50_ms"] < one["answer_p50_ms"]


@pytest.mark.parametrize("platform", lost_connections.PLATFORMS)
def test_a_connection_that_is_lost_just_as_a_message_came_loses_none(platform: str, tmp_path: Path) -> None:
    told: list[str] = []

    row = lost_connections.measure(tmp_path, platform, 1, told.append)

    assert (row["messages"], row["not_answered"], row["answered_twice"], row["left_in_the_inbox"]) == (1, 0, 0, 0)
    assert told == [f"{platform}: lost 1 of 1 times"]


# ---- schedules


def row(number: int, **changes: Any) -> dict[str, Any]:
    last = {"status": "ok", "due": "2026-01-01T09:00:00Z", "finished_at": "2026-01-01T09:00:02Z", **changes}
    return {"label": f"{number}", "fires": 1, "last": last}


def test_what_was_played_once_and_posted_once_is_no_fault() -> None:
    played = {str(n): Played(prompts=[MARK], ends=1, posts=["It is."]) for n in range(3)}

    figures = room_schedules.figures(3, [row(n) for n in range(3)], played)

    assert {name: figures[name] for name in figures if figures[name]} == {
        "late_p50_s": 2.0,
        "late_p95_s": 2.0,
        "late_most_s": 2.0,
    }


def test_every_kind_of_fault_is_counted() -> None:
    played = {
        "0": Played(prompts=[MARK, f"{MARK}\n{AGAIN}"], ends=1, posts=["It is."]),
        "1": Played(prompts=[MARK, MARK], ends=2, posts=["It is.", "It is."]),
        "2": Played(prompts=[MARK], ends=1),
    }

    figures = room_schedules.figures(4, [row(0), row(1), row(2, status="error"), row(3)], played)

    assert figures["begun_twice"] == 2
    assert figures["twice_without_saying_so"] == 1
    assert figures["posted_twice"] == 1
    # One twice, one never.
    assert figures["not_once"] == 2
    assert figures["not_posted"] == 2
    assert figures["failed"] == 1


async def play(services: Services, session: str, number: int, run: str, *, ending: str | None = "end") -> None:
    """A turn as a session keeps it. `ending` None: its daemon was killed."""
    owner = channel_principal(HERE, profile(services))
    said = MessageDraft(id=f"{run}-1", role="user", kind="text", text=f"{MARK.format(number)}\nwhat is it?", run=run)
    drafts = [said, replace(said, id=f"{run}-2", role="assistant", text="It is.")]
    if ending is not None:
        data = {"stop_reason": ending}
        drafts.append(
            MessageDraft(
                id=f"{run}-3", role="event", kind="event", text="turn_ended", data=data, run=run, context_visible=False
            )
        )
    await services.history.append(owner, session, drafts)


def profile(services: Services) -> ChannelProfile:
    return ChannelProfile(name="web", kind="web", created_at=services.desk.clock.now())


@pytest.mark.anyio
async def test_turns_and_replies_are_counted_in_the_store(desk: Desk, tmp_path: Path) -> None:
    services = Services(desk, ServiceOptions(run_home=tmp_path, home=tmp_path))
    store, now = desk.store.channels, desk.clock.now()
    session = await services.history.create(channel_principal(HERE, profile(services)), "assistant", {})
    await store.put_room(HERE, ChatRoom(channel="web", chat="7", created_at=now), Entries())
    await store.put_route(HERE, Route(channel="web", key="7", session=session.id, chat="7"))
    await play(services, session.id, 0, "a")
    await play(services, session.id, 1, "b", ending=None)
    await play(services, session.id, 1, "c")
    await play(services, session.id, 2, "d", ending="cancelled")
    for number in range(250):
        await store.keep_message(
            HERE,
            RoomMessageDraft(
                channel="web",
                chat="7",
                id=f"m{number}",
                at=now,
                author="agent",
                text=f"{MARK.format(number % 5)}\nIt is.",
            ),
        )

    played = await room_schedules.counted(services)

    assert [played[f"{n}"].ends for n in range(3)] == [1, 1, 0]
    assert [len(played[f"{n}"].prompts) for n in range(3)] == [1, 2, 1]
    assert {len(one.posts) for one in played.values()} == {50}


def test_a_result_names_goal_figure_and_whether_it_is_met(tmp_path: Path) -> None:
    connections: dict[str, Any] = {
        "keys": "yes",
        "losses": 50,
        "not_answered": 0,
        "left_in_the_inbox": 1,
        "answered_twice": 0,
    }
    found: dict[str, Any] = {
        "start": [{"start_p95_ms": 12.0}],
        "connections": [
            {"platform": "feishu", **connections},
            {"platform": "dingtalk", **connections, "keys": "no", "answered_twice": 3},
        ],
    }
    keep("channels", {**found, "command": "python -m bench channels", "machine": describe()}, tmp_path)

    results = report.kept(tmp_path)

    assert [one.met for one in judged(results)] == [True, False, True, False]
    assert "## Rooms" in report.written(results)
    assert report.rows_of_targets(results)[0] == {
        "target": "rooms: ms from a message to its turn, 95th of 100",
        "wanted": "≤ 20",
        "measured": "12",
        "met": "yes",
    }
