"""Records from before persons were kept apart: in the scope of their tier, private, with the name of a key as their subject."""

from datetime import timedelta
from typing import Any

import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting
from commonplace.testing.governed import Door

pytestmark = pytest.mark.anyio


async def earlier(door: Door, clock: FakeClock, scope: str, subject: str, text: str, **fields: Any) -> str:
    """A record as the governed door wrote it then."""
    mark = {"project_id": "shop", "tier": "project", "subject": subject}
    draft = Drafting(clock)(text, scope=scope, metadata={"governed": mark}, embedder=None, **fields)
    [written] = await door.running.services.desk.store.records.put([draft])
    return written.record.id


@pytest.mark.parametrize("scope", ["workspace:shop", "global"])
async def test_what_was_never_promoted_is_still_its_subjects(either: Door, clock: FakeClock, scope: str) -> None:
    ana, bo, admin = await either.key("writer", name="ana"), await either.key("writer"), await either.key("admin")
    clock.advance(timedelta(seconds=1))
    id = await earlier(either, clock, scope, "ana", "my own plan")

    assert await ana.found("plan") == await ana.found("plan", project_id="shop") == ["my own plan"]
    for other in (bo, admin):
        assert await other.found("plan") == await other.found("plan", project_id="shop") == []
        assert (await other.done("GET", "/memory"))["count"] == 0
    assert await bo.refused("POST", "/memory/demote", json={"id": id}) == (404, "record_not_found")
    assert await bo.refused("DELETE", f"/memory/{id}") == (404, "record_not_found")
    assert (await ana.done("DELETE", f"/memory/{id}"))["deleted"]


async def test_what_was_promoted_is_everybodys(door: Door, clock: FakeClock) -> None:
    bo = await door.key("writer")
    await earlier(door, clock, "workspace:shop", "ana", "our plan", visibility="shared")

    assert await bo.found("plan") == ["our plan"]


async def test_a_key_of_the_same_name_that_came_later_is_another_persons(door: Door, clock: FakeClock) -> None:
    await earlier(door, clock, "workspace:shop", "ana", "my own plan")
    clock.advance(timedelta(seconds=1))
    stranger = await door.key("writer", name="ana")

    assert await stranger.found("plan") == []


async def test_what_the_operator_put_is_the_operators(door: Door, clock: FakeClock) -> None:
    await earlier(door, clock, "workspace:shop", "operator", "my own plan")

    assert await door.found("plan") == ["my own plan"]


async def test_what_came_in_by_another_door_is_everybodys_who_reaches_its_scope(door: Door, clock: FakeClock) -> None:
    bo = await door.key("writer")
    draft = Drafting(clock)("a plan", scope="workspace:shop", embedder=None)
    await door.running.services.desk.store.records.put([draft])

    assert await bo.found("plan") == ["a plan"]
