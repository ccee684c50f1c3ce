"""What the port `KeyRegistry` says, of every store."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import anyio
import pytest

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.agent_profile import AgentProfile, McpServerRow
from commonplace.values.event import News
from commonplace.values.moment import new_id
from commonplace.values.principal import Key, Owner, ScopePattern, SignedIn, User
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
MINUTE = timedelta(minutes=1)
NOTHING = Entries()


def secret(name: str) -> bytes:
    return sha256(name.encode()).digest()


class Registering:
    """Makes keys, users and owners by one clock, each a minute younger than the one before."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def key(self, name: str = "ci", **fields: Any) -> Key:
        now = self.clock.advance(MINUTE)
        told: dict[str, Any] = {"tenant": T, "role": "writer", "created_by": "operator", **fields}
        return Key(id=new_id(now), name=name, created_at=now, **told)

    def user(self, id: str = "ann", tenant: str = T) -> User:
        return User(id=id, tenant=tenant, created_at=self.clock.advance(MINUTE))

    def owner(self, id: str = "a1", **fields: Any) -> Owner:
        now = self.clock.advance(MINUTE)
        told: dict[str, Any] = {
            "kind": "agent",
            "tenant": T,
            "name": id,
            "created_at": now,
            "updated_at": now,
            **fields,
        }
        return Owner(id=id, **told)

    def event(self, what: str = "key.created") -> Entries:
        return Entries(events=(News(type=what, tenant=T, at=self.clock.now()),))


@pytest.fixture
def made(clock: FakeClock) -> Registering:
    return Registering(clock)


async def told(store: Store) -> list[str]:
    return [event.news.type for event in await store.events.read_events(0, 100)]


# ---- keys


async def test_a_key_is_found_by_the_hash_of_its_secret(store: Store, made: Registering) -> None:
    patterns = (ScopePattern("workspace:web-*"), ScopePattern("global"), ScopePattern("user:世 界"))
    plain, narrow = made.key(), made.key("narrow", role="reader", scopes=patterns, expires_at=made.clock.now() + MINUTE)

    await store.keys.add_key(plain, secret("one"), made.event())
    await store.keys.add_key(narrow, secret("two"), NOTHING)

    assert await store.keys.key_by_secret(secret("one")) == plain
    assert await store.keys.key_by_secret(secret("two")) == narrow
    assert await store.keys.key_by_secret(secret("three")) is None
    assert await told(store) == ["key.created"]


async def test_a_key_without_any_scope_is_not_one_for_every_scope(store: Store, made: Registering) -> None:
    await store.keys.add_key(made.key(scopes=()), secret("one"), NOTHING)

    key = await store.keys.key_by_secret(secret("one"))

    assert key is not None
    assert key.scopes == ()


async def test_an_id_or_a_secret_is_given_once(store: Store, made: Registering) -> None:
    key = made.key()
    await store.keys.add_key(key, secret("one"), NOTHING)

    with pytest.raises(Conflict):
        await store.keys.add_key(replace(key, name="other"), secret("two"), made.event())
    with pytest.raises(Conflict):
        await store.keys.add_key(made.key(tenant=OTHER), secret("one"), made.event())

    assert await store.keys.list_keys(None) == [key]
    assert await told(store) == []


async def test_keys_are_listed_newest_first(store: Store, made: Registering) -> None:
    keys = [made.key("a"), made.key("b"), made.key("c", tenant=OTHER)]
    for key in keys:
        await store.keys.add_key(key, secret(key.name), NOTHING)

    assert await store.keys.list_keys(T) == [keys[1], keys[0]]
    assert await store.keys.list_keys(None) == keys[::-1]
    assert await store.keys.list_keys("no/body") == []


async def test_a_revoked_key_stays_to_be_seen_and_is_not_good_any_more(
    store: Store, made: Registering, clock: FakeClock
) -> None:
    key = made.key()
    await store.keys.add_key(key, secret("one"), NOTHING)
    moment = clock.advance(MINUTE)

    revoked = await store.keys.revoke_key(key.id, moment, made.event("key.revoked"))

    assert revoked == replace(key, revoked_at=moment)
    assert await store.keys.key_by_secret(secret("one")) == revoked
    assert await store.keys.list_keys(T) == [revoked]
    assert not revoked.is_good(moment)
    assert await told(store) == ["key.revoked"]


async def test_revoking_twice_keeps_the_first_moment(store: Store, made: Registering, clock: FakeClock) -> None:
    key = made.key()
    await store.keys.add_key(key, secret("one"), NOTHING)
    first = await store.keys.revoke_key(key.id, clock.now(), NOTHING)

    second = await store.keys.revoke_key(key.id, clock.advance(MINUTE), NOTHING)

    assert second == first


async def test_a_key_that_is_not_there_cannot_be_revoked(store: Store, made: Registering, clock: FakeClock) -> None:
    with pytest.raises(NotFound):
        await store.keys.revoke_key("no such id", clock.now(), made.event())

    assert await told(store) == []


async def test_with_a_key_go_those_that_it_made_and_those_that_they_made_and_no_other(
    store: Store, made: Registering, clock: FakeClock
) -> None:
    first, other = made.key("first"), made.key("other")
    second = made.key("second", parent=first.id)
    third = made.key("third", parent=second.id)
    for key in (first, other, second, third):
        await store.keys.add_key(key, secret(key.name), NOTHING)

    await store.keys.revoke_key(first.id, clock.now(), NOTHING)

    revoked = {key.name for key in await store.keys.list_keys(T) if key.revoked_at is not None}
    assert revoked == {"first", "second", "third"}


async def test_a_revoked_key_makes_no_other(store: Store, made: Registering, clock: FakeClock) -> None:
    first = made.key("first")
    await store.keys.add_key(first, secret("first"), NOTHING)
    await store.keys.revoke_key(first.id, clock.now(), NOTHING)

    with pytest.raises(Conflict):
        await store.keys.add_key(made.key("second", parent=first.id), secret("second"), NOTHING)

    assert [key.name for key in await store.keys.list_keys(T)] == ["first"]


async def test_no_key_outlives_the_one_that_made_it_at_the_moment_of_its_end(
    store: Store, made: Registering, clock: FakeClock
) -> None:
    for turn in range(10):
        parent = made.key(f"parent {turn}")
        await store.keys.add_key(parent, secret(parent.name), NOTHING)
        children = [made.key(f"child {turn} {number}", parent=parent.id) for number in range(6)]

        async def add(key: Key) -> None:
            with suppress(Conflict):
                await store.keys.add_key(key, secret(key.name), NOTHING)

        async with anyio.create_task_group() as tasks:
            for child in children[:3]:
                tasks.start_soon(add, child)
            tasks.start_soon(store.keys.revoke_key, parent.id, clock.now(), NOTHING)
            for child in children[3:]:
                tasks.start_soon(add, child)

    assert [key.name for key in await store.keys.list_keys(T) if key.revoked_at is None] == []


# ---- sessions


def session(mark: str, ends_at: datetime, whose: str = "ana's") -> SignedIn:
    return SignedIn(mark=mark, whose=whose, ends_at=ends_at)


async def test_a_session_is_asked_about_together_with_its_key(store: Store, made: Registering) -> None:
    key, ends = made.key(), made.clock.now() + MINUTE
    await store.keys.add_key(key, secret("one"), NOTHING)

    await store.keys.end_sessions("first", ends, made.event("auth.signed_out"))

    assert await store.keys.key_of_session(secret("one"), session("first", ends)) == (key, True)
    assert await store.keys.key_of_session(secret("one"), session("second", ends)) == (key, False)
    assert await store.keys.key_of_session(secret("nobody"), session("first", ends)) == (None, True)
    assert await store.keys.key_of_session(secret("nobody"), session("second", ends)) == (None, False)
    assert [await store.keys.is_over(session(mark, ends)) for mark in ("first", "second")] == [True, False]
    assert await told(store) == ["auth.signed_out"]


async def test_all_sessions_of_a_key_are_ended_but_none_that_begins_later(store: Store, clock: FakeClock) -> None:
    until = clock.now() + MINUTE

    await store.keys.end_sessions("ana's", until, NOTHING)

    assert await store.keys.is_over(session("first", until))
    assert await store.keys.is_over(session("second", until - MINUTE))
    assert not await store.keys.is_over(session("later", until + timedelta(milliseconds=1)))
    assert not await store.keys.is_over(session("another", until, whose="bob's"))


async def test_what_was_ended_stays_so_until_it_would_be_over_by_itself(store: Store, clock: FakeClock) -> None:
    soon, late = clock.now() + MINUTE, clock.now() + 2 * MINUTE
    await store.keys.end_sessions("ana's", late, NOTHING)
    await store.keys.end_sessions("ana's", soon, NOTHING)
    await store.keys.end_sessions("short", soon, NOTHING)

    clock.advance(MINUTE)

    assert (await store.keys.trim_sessions(), await store.keys.trim_sessions()) == (1, 0)
    assert await store.keys.is_over(session("first", late))


# ---- users


async def test_a_user_comes_with_the_hash_of_their_key(store: Store, made: Registering) -> None:
    ann = made.user("ann")

    await store.keys.add_user(ann, secret("one"), made.event("user.created"))

    assert await store.keys.user(T, "ann") == (ann, secret("one"))
    assert await store.keys.user(T, "ben") is None
    assert await store.keys.user(OTHER, "ann") is None
    assert await told(store) == ["user.created"]


async def test_a_tenant_has_a_user_once(store: Store, made: Registering) -> None:
    ann = made.user("ann")
    await store.keys.add_user(ann, secret("one"), NOTHING)

    with pytest.raises(Conflict):
        await store.keys.add_user(made.user("ann"), secret("two"), made.event())
    await store.keys.add_user(made.user("ann", OTHER), secret("three"), NOTHING)

    assert await store.keys.user(T, "ann") == (ann, secret("one"))
    assert await told(store) == []


async def test_of_many_who_add_a_user_one_does(store: Store, open_store: Any, made: Registering) -> None:
    stores: list[Store] = [store, await open_store()]
    refused: list[str] = []

    async def add(n: int) -> None:
        try:
            await stores[n % 2].keys.add_user(made.user("ann"), secret(f"{n}"), NOTHING)
        except Conflict as conflict:
            refused.append(conflict.code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(add, n)

    assert len(refused) == 7
    assert len(await store.keys.users(T)) == 1


async def test_the_users_of_a_tenant_are_listed(store: Store, made: Registering) -> None:
    users = [made.user("ann"), made.user("ben"), made.user("cem", OTHER)]
    for user in users:
        await store.keys.add_user(user, secret(user.id), NOTHING)

    assert sorted(user.id for user in await store.keys.users(T)) == ["ann", "ben"]


async def test_a_rotated_key_takes_the_place_of_the_old_one(store: Store, made: Registering) -> None:
    ann = made.user("ann")
    await store.keys.add_user(ann, secret("old"), NOTHING)

    assert await store.keys.rotate_user(T, "ann", secret("new"), made.event("user.rotated")) == ann

    assert await store.keys.user(T, "ann") == (ann, secret("new"))
    assert await told(store) == ["user.rotated"]


async def test_a_removed_user_is_gone(store: Store, made: Registering) -> None:
    await store.keys.add_user(made.user("ann"), secret("one"), NOTHING)

    await store.keys.remove_user(T, "ann", made.event("user.removed"))

    assert await store.keys.user(T, "ann") is None
    assert await told(store) == ["user.removed"]


async def test_a_user_who_is_not_there_is_neither_rotated_nor_removed(store: Store, made: Registering) -> None:
    await store.keys.add_user(made.user("ann", OTHER), secret("one"), NOTHING)

    with pytest.raises(NotFound):
        await store.keys.rotate_user(T, "ann", secret("two"), made.event())
    with pytest.raises(NotFound):
        await store.keys.remove_user(T, "ann", made.event())

    assert await told(store) == []


# ---- owners


async def test_an_owner_comes_back_as_it_was_put(store: Store, made: Registering) -> None:
    agent, workspace = made.owner("x", name="Ünal's"), made.owner("x", kind="workspace", memory_enabled=True)

    await store.keys.put_owner(agent, made.event("agent.created"), new=True)
    await store.keys.put_owner(workspace, NOTHING, new=True)

    assert await store.keys.owner(T, "agent", "x") == agent
    assert await store.keys.owner(T, "workspace", "x") == workspace
    assert await store.keys.owner(OTHER, "agent", "x") is None
    assert await store.keys.owner(T, "agent", "y") is None
    assert await told(store) == ["agent.created"]


async def test_how_an_agent_is_set_up_comes_back_as_it_was_put_and_can_be_taken_away(
    store: Store, made: Registering
) -> None:
    servers = (
        McpServerRow(name="files", command="/bin/files", args=("--root", "ü"), env=("TOKEN",), asks=False),
        McpServerRow(name="web", url="https://mcp.example/v1", token_env="WEB_TOKEN"),
    )
    profile = AgentProfile(
        persona="Du bist „kurz“.\n你好",
        model="openai:small",
        skills=("/skills",),
        tools=(),
        mcp_servers=servers,
        approval="yolo",
    )
    agent = made.owner("x", profile=profile)
    await store.keys.put_owner(agent, NOTHING, new=True)
    first = await store.keys.owner(T, "agent", "x")
    await store.keys.put_owner(replace(agent, profile=None), NOTHING, new=False)

    assert first == agent
    assert await store.keys.owners(T, "agent") == [replace(agent, profile=None)]


async def test_the_id_of_an_owner_is_taken_once(store: Store, made: Registering) -> None:
    first = made.owner("x")
    await store.keys.put_owner(first, NOTHING, new=True)

    with pytest.raises(Conflict):
        await store.keys.put_owner(made.owner("x", name="other"), made.event(), new=True)

    assert await store.keys.owner(T, "agent", "x") == first
    assert await told(store) == []


async def test_an_owner_is_changed_where_it_is_there(store: Store, made: Registering, clock: FakeClock) -> None:
    first = made.owner("x")
    await store.keys.put_owner(first, NOTHING, new=True)
    changed = replace(first, name="new name", memory_enabled=True, updated_at=clock.advance(MINUTE))

    await store.keys.put_owner(changed, made.event("agent.updated"), new=False)
    with pytest.raises(NotFound):
        await store.keys.put_owner(made.owner("y"), made.event(), new=False)

    assert await store.keys.owners(T, "agent") == [changed]
    assert await told(store) == ["agent.updated"]


async def test_of_two_who_change_what_they_both_looked_at_the_second_is_refused(
    store: Store, made: Registering, clock: FakeClock
) -> None:
    first = made.owner("x")
    await store.keys.put_owner(first, NOTHING, new=True)
    one, other = (replace(first, name=name, updated_at=clock.advance(MINUTE)) for name in ("one", "other"))

    await store.keys.put_owner(one, NOTHING, new=False, expected=first.updated_at)
    with pytest.raises(Conflict):
        await store.keys.put_owner(other, made.event(), new=False, expected=first.updated_at)
    with pytest.raises(Conflict):
        await store.keys.put_owner(made.owner("gone"), made.event(), new=False, expected=first.updated_at)

    assert await store.keys.owners(T, "agent") == [one]
    assert await told(store) == []


async def test_owners_are_listed_by_name_then_id(store: Store, made: Registering) -> None:
    for id, name in (("3", "b"), ("1", "c"), ("4", "a"), ("2", "b")):
        await store.keys.put_owner(made.owner(id, name=name), NOTHING, new=True)
    await store.keys.put_owner(made.owner("5", kind="workspace"), NOTHING, new=True)
    await store.keys.put_owner(made.owner("6", tenant=OTHER), NOTHING, new=True)

    assert [owner.id for owner in await store.keys.owners(T, "agent")] == ["4", "2", "3", "1"]


async def test_a_removed_owner_is_gone_and_another_stays(store: Store, made: Registering) -> None:
    await store.keys.put_owner(made.owner("x"), NOTHING, new=True)
    await store.keys.put_owner(made.owner("x", kind="workspace"), NOTHING, new=True)

    await store.keys.remove_owner(T, "agent", "x", made.event("agent.removed"))
    with pytest.raises(NotFound):
        await store.keys.remove_owner(T, "agent", "x", made.event())

    assert await store.keys.owner(T, "agent", "x") is None
    assert await store.keys.owner(T, "workspace", "x") is not None
    assert await told(store) == ["agent.removed"]
