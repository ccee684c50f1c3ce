"""Who hears what."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from commonplace.errors import CommonplaceError, Forbidden
from commonplace.events.hub import Hub
from commonplace.governance.keys import secret_hash
from commonplace.ports.journal import Entries
from commonplace.service.desk import Desk
from commonplace.service.events import Listening, Wanted
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import TellEvents, frames, until
from commonplace.values.audit import AuditQuery
from commonplace.values.principal import Key, Principal, SignedIn
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT


@pytest.fixture
def listening(desk: Desk, hub: Hub) -> Listening:
    return Listening(desk, hub, heartbeat=0.02)


async def heard(listening: Listening, who: Principal, tell: Callable[[], Any], **wanted: Any) -> list[str]:
    """The types of the events that reach a caller while `tell` tells; the last one told is for everybody."""
    async with listening.listen(who, Wanted(**wanted)) as stream:
        reading = stream.frames()
        await tell()
        found: list[str] = []
        while "end.told" not in found:
            found += [frame.type for frame in frames(await anext(reading))]
        await reading.aclose()
    return [told for told in found if told != "end.told"]


def of_every_kind(tell: TellEvents) -> Callable[[], Any]:
    async def all_of_them() -> None:
        await tell("record.of_ana", scope="user:ana")
        await tell("record.of_web", scope="workspace:web")
        await tell("record.of_all", scope="global")
        await tell("tenant.told")
        await tell("key.created", admins=True)
        await tell("record.of_others", tenant="other/one")
        await tell("end.told")

    return all_of_them


@pytest.mark.parametrize(
    ("who", "hears"),
    [
        (caller("admin"), ["record.of_ana", "record.of_web", "record.of_all", "tenant.told", "key.created"]),
        (caller("reader"), ["record.of_web", "record.of_all", "tenant.told"]),
        (caller("reader", name="ana"), ["record.of_ana", "record.of_web", "record.of_all", "tenant.told"]),
        (caller("writer", "user:ana"), ["record.of_ana", "tenant.told"]),
        (caller("reader", "workspace:*", "global"), ["record.of_web", "record.of_all", "tenant.told"]),
        (caller("admin", "user:ana"), ["record.of_ana", "tenant.told"]),
        (caller("reader", "user:bob"), ["tenant.told"]),
    ],
    ids=lambda given: f"{given.subject} {given.scopes}" if isinstance(given, Principal) else "",
)
async def test_a_caller_hears_of_what_it_may_read(
    listening: Listening, tell: TellEvents, who: Principal, hears: list[str]
) -> None:
    assert await heard(listening, who, of_every_kind(tell)) == hears


@pytest.mark.parametrize(
    ("wanted", "hears"),
    [
        ({"types": ("record.of_web", "end.*")}, ["record.of_web"]),
        ({"types": ("record.*", "end.*")}, ["record.of_ana", "record.of_web", "record.of_all"]),
        ({"types": ("*",)}, ["record.of_ana", "record.of_web", "record.of_all", "tenant.told"]),
    ],
    ids=["one", "a noun", "all"],
)
async def test_a_caller_hears_of_the_types_it_asks_for(
    listening: Listening, tell: TellEvents, wanted: dict[str, Any], hears: list[str]
) -> None:
    assert await heard(listening, caller("reader", name="ana"), of_every_kind(tell), **wanted) == hears


async def test_a_caller_that_names_scopes_hears_of_those_alone(listening: Listening, tell: TellEvents) -> None:
    async def tell_all() -> None:
        await tell("record.of_ana", scope="user:ana")
        await tell("tenant.told")
        await tell("end.told", scope="workspace:web")

    assert await heard(listening, caller("reader"), tell_all, scopes=(Scope("workspace", "web"),)) == []


async def test_what_was_missed_is_filtered_as_well(listening: Listening, tell: TellEvents) -> None:
    await of_every_kind(tell)()

    async def nothing() -> None: ...

    told = await heard(listening, caller("reader", "user:ana"), nothing, resume=0)

    assert told == ["record.of_ana", "tenant.told"]


async def test_a_scope_out_of_reach_is_refused_and_the_audit_knows(listening: Listening, store: SqliteStore) -> None:
    with pytest.raises(Forbidden):
        async with listening.listen(caller("reader", "user:ana"), Wanted(scopes=(Scope("user", "bob"),))):
            pass

    [row] = (await store.journal.audit(T, AuditQuery(), 10, None)).rows
    assert (row.action, row.outcome) == ("event.listen", "denied")


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(queue=15),
        Wanted(queue=2_049),
        Wanted(types=("Record.Created",)),
        Wanted(types=("record.*.x",)),
        Wanted(types=("",)),
        Wanted(types=("record",) * 101),
    ],
)
async def test_what_cannot_be_asked_for_is_refused(listening: Listening, wanted: Wanted) -> None:
    with pytest.raises(CommonplaceError) as refused:
        async with listening.listen(caller("reader"), wanted):
            pass

    assert refused.value.code == "invalid_input"


async def key_of(store: SqliteStore, clock: FakeClock, **more: Any) -> Principal:
    key = Key(id="k1", name="ana", tenant=T, role="reader", created_at=clock.now(), created_by="test", **more)
    await store.keys.add_key(key, secret_hash("cp_secret"), Entries())
    return Principal(subject="ana", tenant=T, role="reader", key="k1")


async def ended(listening: Listening, who: Principal, then: Callable[[], Any]) -> list[str]:
    """The reasons for which a stream ended."""
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(listening.listen(who, Wanted()))
        told = b""
        async for part in stream.frames():
            if b"heartbeat" in part and b"heartbeat" not in told:
                await then()
            told += part
        assert b": heartbeat" in told
    return [frame.data["reason"] for frame in frames(told)]


async def test_the_stream_of_a_key_that_is_revoked_ends(
    listening: Listening, store: SqliteStore, clock: FakeClock, tell: TellEvents, hub: Hub
) -> None:
    who = await key_of(store, clock)

    async def revoke() -> None:
        await store.keys.revoke_key("k1", clock.now(), Entries())
        before = hub.position
        await tell("key.revoked", admins=True)
        await until(lambda: hub.position > before)

    assert await ended(listening, who, revoke) == ["key_revoked"]


async def after_revocation(desk: Desk, hub: Hub, tell: TellEvents, clock: FakeClock, who: Principal) -> list[str]:
    """What a listener hears who is not looked at for a minute, when the key k1 is revoked and then something happens."""
    async with Listening(desk, hub, heartbeat=60.0).listen(who, Wanted()) as stream:
        await desk.store.keys.revoke_key("k1", clock.now(), Entries())
        await tell("key.revoked", admins=True)
        await tell("record.after")
        await until(lambda: hub.position >= 2)
        told = b""
        async with asyncio.timeout(5):
            async for part in stream.frames():
                told += part
                if b"record.after" in told:
                    break
    return [frame.data.get("reason", frame.type) for frame in frames(told)]


async def test_a_revoked_key_hears_nothing_that_happens_after_its_revocation(
    desk: Desk, hub: Hub, store: SqliteStore, clock: FakeClock, tell: TellEvents
) -> None:
    who = await key_of(store, clock)

    assert await after_revocation(desk, hub, tell, clock, who) == ["key_revoked"]


async def test_a_key_that_a_revoked_key_has_made_hears_nothing_more_either(
    desk: Desk, hub: Hub, store: SqliteStore, clock: FakeClock, tell: TellEvents
) -> None:
    await key_of(store, clock)
    for id, parent in (("k2", "k1"), ("k3", "k2")):
        key = Key(id=id, name=id, tenant=T, role="reader", created_at=clock.now(), created_by="ana", parent=parent)
        await store.keys.add_key(key, secret_hash(f"cp_{id}"), Entries())
    who = Principal(subject="k3", tenant=T, role="reader", key="k3")

    assert await after_revocation(desk, hub, tell, clock, who) == ["key_revoked"]


async def test_another_key_goes_on_hearing_when_one_is_revoked(
    desk: Desk, hub: Hub, store: SqliteStore, clock: FakeClock, tell: TellEvents
) -> None:
    await key_of(store, clock)
    key = Key(id="k2", name="bob", tenant=T, role="reader", created_at=clock.now(), created_by="test")
    await store.keys.add_key(key, secret_hash("cp_bob"), Entries())
    who = Principal(subject="bob", tenant=T, role="reader", key="k2")

    assert await after_revocation(desk, hub, tell, clock, who) == ["record.after"]


async def test_the_stream_of_a_key_that_expires_ends(
    listening: Listening, store: SqliteStore, clock: FakeClock
) -> None:
    who = await key_of(store, clock, expires_at=clock.now() + timedelta(hours=1))

    async def expire() -> None:
        clock.advance(timedelta(hours=2))

    assert await ended(listening, who, expire) == ["key_revoked"]


@pytest.mark.parametrize("mark", ["this one", "all of the key"])
async def test_the_stream_of_a_session_that_is_ended_ends(
    listening: Listening, store: SqliteStore, clock: FakeClock, mark: str
) -> None:
    session = SignedIn(mark="this one", whose="all of the key", ends_at=clock.now() + timedelta(hours=1))
    who = Principal(subject="operator", tenant=T, role="admin", operator=True, session=session)

    async def sign_out() -> None:
        await store.keys.end_sessions(mark, session.ends_at, Entries())

    assert await ended(listening, who, sign_out) == ["key_revoked"]


async def test_the_stream_of_a_session_ends_with_its_time(listening: Listening, clock: FakeClock) -> None:
    session = SignedIn(mark="this one", whose="all of the key", ends_at=clock.now() + timedelta(hours=1))
    who = Principal(subject="operator", tenant=T, role="admin", operator=True, session=session)

    async def wait() -> None:
        clock.advance(timedelta(hours=1))

    assert await ended(listening, who, wait) == ["key_revoked"]


async def test_a_type_that_is_written_whole_fits_no_longer_one(listening: Listening, tell: TellEvents) -> None:
    async def tell_all() -> None:
        await tell("record.of_web", scope="workspace:web")
        await tell("record.of_web_payroll", scope="workspace:web")
        await tell("end.told")

    assert await heard(listening, caller("reader"), tell_all, types=("record.of_web", "end.told")) == ["record.of_web"]


async def test_a_listener_hears_of_a_session_for_as_long_as_it_is_shared_with_them(
    listening: Listening, tell: TellEvents
) -> None:
    async def tell_all() -> None:
        await tell("record.before", scope="session:s1")
        await tell("scope.shared", scope="session:s1", data={"subject": "ana"})
        await tell("record.within", scope="session:s1")
        await tell("record.within_a_longer_one", scope="session:s10")
        await tell("scope.unshared", scope="session:s1", data={"subject": "anabel"})
        await tell("record.still_within", scope="session:s1")
        await tell("scope.unshared", scope="session:s1", data={"subject": "ana"})
        await tell("record.after", scope="session:s1")
        await tell("end.told")

    told = await heard(listening, caller("reader", name="ana"), tell_all)

    assert told == ["scope.shared", "record.within", "scope.unshared", "record.still_within"]
