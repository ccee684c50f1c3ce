"""What every registry of approvals has to do."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.errors import NotFound
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.approval import Approval
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT as HERE
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio
NOTHING = Entries()


def approval(clock: FakeClock, **fields: Any) -> Approval:
    clock.advance(timedelta(milliseconds=1))
    known: dict[str, Any] = {"kind": "record", "target": "r1", "version": 1, "state": "approved", "subject": "bo"}
    known |= {"id": new_id(clock.now()), "actor": "Bo", "created_at": clock.now()}
    return Approval(**{**known, **fields})


def entries(clock: FakeClock) -> Entries:
    row = AuditRow(
        id=new_id(clock.now()),
        at=clock.now(),
        tenant=HERE,
        actor="Bo",
        action="approval.add",
        outcome="ok",
        door="native",
    )
    return Entries(audit=(row,))


async def rows(store: Store) -> int:
    return len((await store.journal.audit(HERE, AuditQuery(), 10, None)).rows)


async def test_an_approval_is_kept_as_it_is_with_its_entries(store: Store, clock: FakeClock) -> None:
    given = approval(clock, scope=Scope("workspace", "shop"), self_approved=True, agent=True)

    assert await store.approvals.add_approval(HERE, given, entries(clock)) == given

    assert await store.approvals.approval(HERE, given.id) == given
    assert await rows(store) == 1


async def test_the_same_subject_approves_a_version_once(store: Store, clock: FakeClock) -> None:
    first = await store.approvals.add_approval(HERE, approval(clock), NOTHING)

    again = await store.approvals.add_approval(HERE, approval(clock), entries(clock))
    others = [
        await store.approvals.add_approval(HERE, approval(clock, **fields), NOTHING)
        for fields in (
            {"version": 2},
            {"subject": "ana"},
            {"target": "r2"},
            {"kind": "finding"},
            {"state": "requested"},
        )
    ]

    assert again == first
    assert len({first.id, *(other.id for other in others)}) == 6
    assert await rows(store) == 0


async def test_of_many_at_once_one_is_kept(store: Store, clock: FakeClock) -> None:
    given = [approval(clock) for _ in range(8)]

    kept = await asyncio.gather(*(store.approvals.add_approval(HERE, one, NOTHING) for one in given))

    assert len({one.id for one in kept}) == 1


async def test_those_of_a_target_are_told_newest_first(store: Store, clock: FakeClock) -> None:
    given = [approval(clock, version=version) for version in (1, 2)]
    for one in [*given, approval(clock, target="r11")]:
        await store.approvals.add_approval(HERE, one, NOTHING)

    assert await store.approvals.approvals_of(HERE, "record", "r1") == given[::-1]
    assert await store.approvals.approvals_of("acme/web", "record", "r1") == []
    assert await store.approvals.approvals_of(HERE, "finding", "r1") == []


async def test_a_list_goes_on_after_its_cursor(store: Store, clock: FakeClock) -> None:
    given = [approval(clock, version=version) for version in range(3)]
    asked = approval(clock, state="requested")
    for one in [*given, asked]:
        await store.approvals.add_approval(HERE, one, NOTHING)

    page = await store.approvals.approvals(HERE, state="approved", limit=2)
    rest = await store.approvals.approvals(HERE, state="approved", limit=2, cursor=page[-1].id)

    assert [*page, *rest] == given[::-1]
    assert await store.approvals.approvals(HERE, state="requested", limit=9) == [asked]
    assert len(await store.approvals.approvals(HERE, state=None, limit=9)) == 4
    assert await store.approvals.approvals("acme/web", state=None, limit=9) == []


async def test_what_is_withdrawn_counts_no_longer_and_can_be_given_again(store: Store, clock: FakeClock) -> None:
    given = await store.approvals.add_approval(HERE, approval(clock), NOTHING)

    done = await store.approvals.withdraw_approval(HERE, given.id, clock.now(), entries(clock))

    assert done == replace(given, withdrawn_at=clock.now())
    assert await rows(store) == 1
    assert await store.approvals.approvals_of(HERE, "record", "r1") == []
    assert await store.approvals.approvals(HERE, state=None, limit=9) == []
    again = approval(clock)
    assert await store.approvals.add_approval(HERE, again, NOTHING) == again


async def test_what_is_not_there_or_another_tenants_is_not_withdrawn(store: Store, clock: FakeClock) -> None:
    given = await store.approvals.add_approval(HERE, approval(clock), NOTHING)
    await store.approvals.withdraw_approval(HERE, given.id, clock.now(), NOTHING)
    other = await store.approvals.add_approval(HERE, approval(clock), NOTHING)

    for tenant, id in ((HERE, given.id), (HERE, "nothing"), ("acme/web", other.id)):
        with pytest.raises(NotFound):
            await store.approvals.withdraw_approval(tenant, id, clock.now(), entries(clock))
    with pytest.raises(NotFound):
        await store.approvals.approval("acme/web", other.id)
    assert await rows(store) == 0


async def test_the_first_author_of_a_finding_stays(store: Store) -> None:
    await store.approvals.add_author(HERE, "f1", "ana")
    await store.approvals.add_author(HERE, "f1", "bo")

    assert await store.approvals.author(HERE, "f1") == "ana"
    assert await store.approvals.author(HERE, "f11") is None
    assert await store.approvals.author("acme/web", "f1") is None
