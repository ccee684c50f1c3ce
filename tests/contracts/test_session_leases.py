"""What the port `SessionLeases` says, and what an append to the history says of a claim, of every store."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import MessageDraft, Session
from commonplace.values.session_lease import LeaseHolder, SessionLease, SessionLost

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
MINUTE = timedelta(minutes=1)
ONE = LeaseHolder(process="here:1:10:space:aa", url="http://one:4170", socket="/run/one.sock")
TWO = LeaseHolder(process="here:2:20:space:bb")

OpenStore = Callable[..., Awaitable[Store]]


async def claimed(
    store: Store, claim: str, holder: LeaseHolder = ONE, *, session: str = "talk", tenant: str = T
) -> SessionLease:
    return await store.session_leases.claim_session(tenant, session, claim, holder, MINUTE)


async def begun(store: Store, clock: FakeClock, id: str = "talk") -> None:
    session = Session(id=id, owner="ana", agent="assistant", created_at=clock.now(), updated_at=clock.now())
    await store.history.create_session(T, session, Entries())


def said(id: str) -> MessageDraft:
    return MessageDraft(id=id, role="user", kind="text", text=f"This is {id}.", speaker="ana")


async def kept(store: Store) -> list[str]:
    return [message.id for message in (await store.history.messages(T, "talk")).messages]


async def test_a_lease_stands_as_it_was_claimed(store: Store, clock: FakeClock) -> None:
    lease = await claimed(store, "c1")

    expected = SessionLease(tenant=T, session="talk", claim="c1", holder=ONE, expires_at=clock.now() + MINUTE)
    assert lease == expected
    assert await store.session_leases.session_lease(T, "talk") == expected
    assert await store.session_leases.session_leases() == [expected]


async def test_whoever_claims_what_somebody_holds_is_told_who(store: Store, clock: FakeClock) -> None:
    first = await claimed(store, "c1")
    clock.advance(MINUTE / 2)

    told = await claimed(store, "c2", TWO)

    assert told == first
    assert await store.session_leases.session_lease(T, "talk") == first


async def test_of_two_who_claim_at_once_one_gets_it(open_store: OpenStore) -> None:
    one, two = await open_store(), await open_store()

    pairs = [
        await asyncio.gather(
            claimed(one, f"one-{number}", ONE, session=f"s{number}"),
            claimed(two, f"two-{number}", TWO, session=f"s{number}"),
        )
        for number in range(20)
    ]

    assert all(left == right for left, right in pairs)


async def test_a_lease_that_ran_out_is_anybodys_and_its_claim_is_void(store: Store, clock: FakeClock) -> None:
    await claimed(store, "c1")
    clock.advance(MINUTE)

    seen = await store.session_leases.session_lease(T, "talk")
    taken = await claimed(store, "c2", TWO)
    held = await store.session_leases.renew_claims(["c1", "c2"], MINUTE)

    assert seen is None
    assert (taken.claim, taken.holder) == ("c2", TWO)
    assert held == ["c2"]


async def test_a_lease_that_ran_out_and_that_nobody_took_is_renewed(store: Store, clock: FakeClock) -> None:
    await claimed(store, "c1")
    clock.advance(10 * MINUTE)

    held = await store.session_leases.renew_claims(["c1", "none"], MINUTE)

    lease = await store.session_leases.session_lease(T, "talk")
    assert held == ["c1"]
    assert lease is not None
    assert lease.expires_at == clock.now() + MINUTE


async def test_what_is_released_is_free_at_once_and_only_by_its_claim(store: Store) -> None:
    await claimed(store, "c1")

    counts = [
        await store.session_leases.release_claims(["c0"]),
        await store.session_leases.release_claims(["c1", "c1"]),
    ]

    assert counts == [0, 1]
    assert (await claimed(store, "c2", TWO)).claim == "c2"


async def test_the_leases_of_a_dead_process_end_and_no_others(store: Store) -> None:
    await claimed(store, "c1", ONE, session="a")
    await claimed(store, "c2", ONE, session="b")
    await claimed(store, "c3", TWO, session="c")

    ended = await store.session_leases.end_holders([ONE.process, "nobody"])

    assert ended == 2
    assert [lease.claim for lease in await store.session_leases.session_leases()] == ["c3"]


async def test_sessions_of_one_id_in_two_tenants_are_two(store: Store) -> None:
    await claimed(store, "c1")

    other = await claimed(store, "c2", TWO, tenant="acme/web")

    assert (other.claim, other.tenant) == ("c2", "acme/web")


async def test_only_whoever_holds_a_session_adds_to_it_under_a_claim(store: Store, clock: FakeClock) -> None:
    await begun(store, clock)
    await claimed(store, "c1")
    await store.history.append_messages(T, "talk", [said("m1")], clock.now(), claim="c1")
    clock.advance(2 * MINUTE)
    await store.history.append_messages(T, "talk", [said("m2")], clock.now(), claim="c1")
    await claimed(store, "c2", TWO)

    with pytest.raises(SessionLost):
        await store.history.append_messages(T, "talk", [said("m3")], clock.now(), claim="c1")
    await store.history.append_messages(T, "talk", [said("m4")], clock.now(), claim="c2")

    assert await kept(store) == ["m1", "m2", "m4"]


async def test_nothing_of_a_former_holder_stands_behind_what_its_successor_read(
    open_store: OpenStore, clock: FakeClock
) -> None:
    former, successor = await open_store(), await open_store()
    await begun(former, clock)
    await claimed(former, "c1")
    clock.advance(MINUTE)

    async def write() -> int:
        for number in range(50):
            try:
                await former.history.append_messages(T, "talk", [said(f"m{number}")], clock.now(), claim="c1")
            except SessionLost:
                return number
        return 50

    async def take_over() -> list[str]:
        await claimed(successor, "c2", TWO)
        return await kept(successor)

    count, seen = await asyncio.gather(write(), take_over())

    assert seen == [f"m{number}" for number in range(count)] == await kept(former)


async def test_a_session_that_is_deleted_takes_its_lease_with_it(store: Store, clock: FakeClock) -> None:
    await begun(store, clock)
    await claimed(store, "c1")

    await store.history.delete_session(T, "talk", Entries())
    await begun(store, clock)

    assert await store.session_leases.session_lease(T, "talk") is None
    with pytest.raises(SessionLost):
        await store.history.append_messages(T, "talk", [said("m1")], clock.now(), claim="c1")
