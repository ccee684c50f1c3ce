"""What every registry of members must do."""

from collections.abc import Awaitable
from datetime import UTC, datetime

import pytest

from commonplace.errors import Conflict, NotFound, ScopeTaken
from commonplace.ports.journal import Entries
from commonplace.ports.store import Store
from commonplace.testing.drafts import Drafting
from commonplace.values.event import News
from commonplace.values.member import Member, SessionClaim
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.session import Session

pytestmark = pytest.mark.anyio

T, OTHER = DEFAULT_TENANT, "acme/rockets"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
S1, S10, ROOM = Scope("session", "s1"), Scope("session", "s10"), Scope("channel", "ding/1")


def claim(subject: str, scope: Scope = S1, *, tenant: str = T, strict: bool = True) -> Entries:
    news = News(type="scope.claimed", tenant=tenant, at=NOW, scope=scope, data={"subject": subject})
    return Entries(
        claims=(SessionClaim(tenant=tenant, scope=scope, subject=subject, since=NOW, news=news, strict=strict),)
    )


def member(subject: str, scope: Scope = S1) -> Member:
    return Member(scope=scope, subject=subject, owner=False, since=NOW)


async def test_the_first_who_claims_a_session_owns_it_and_the_second_is_refused(store: Store) -> None:
    await store.journal.note(claim("ana"))

    with pytest.raises(ScopeTaken):
        await store.journal.note(claim("bo"))

    assert [(one.subject, one.owner) for one in await store.members.members(T, S1)] == [("ana", True)]


async def test_who_is_not_strict_writes_to_anothers_session_and_does_not_take_it(store: Store) -> None:
    await store.journal.note(claim("ana"))

    await store.journal.note(claim("local", strict=False))

    assert [one.subject for one in await store.members.members(T, S1)] == ["ana"]


async def test_a_claim_is_told_once(store: Store) -> None:
    await store.journal.note(claim("ana"))
    await store.journal.note(claim("ana"))

    told = [event.news.type for event in await store.events.read_events(0, 10)]
    assert told.count("scope.claimed") == 1


async def test_a_member_writes_and_reads_until_it_is_removed(store: Store) -> None:
    await store.journal.note(claim("ana"))
    await store.members.add_member(T, member("bo"), Entries())

    await store.journal.note(claim("bo"))
    shared = await store.members.among(T, "bo", [S1])
    await store.members.remove_member(T, S1, "bo", Entries())

    assert shared == {S1}
    assert await store.members.among(T, "bo", [S1]) == frozenset()
    with pytest.raises(ScopeTaken):
        await store.journal.note(claim("bo"))


async def test_the_memory_of_an_agents_session_is_whose_the_session_is_whoever_writes_first(store: Store) -> None:
    session = Session(id="s1", owner="ana", agent="assistant", created_at=NOW, updated_at=NOW)
    await store.history.create_session(T, session, Entries())

    free = await store.members.among(T, "bo", [S1])
    with pytest.raises(ScopeTaken):
        await store.journal.note(claim("bo"))
    await store.journal.note(claim("local", strict=False))

    assert free == frozenset()
    assert await store.members.among(T, "ana", [S1]) == {S1}
    assert [(one.subject, one.owner) for one in await store.members.members(T, S1)] == [("ana", True)]
    # Of another session, or another tenant, nothing was said.
    assert await store.members.among(T, "bo", [S10]) == {S10}
    assert await store.members.among(OTHER, "bo", [S1]) == {S1}


async def test_a_session_whose_name_begins_with_anothers_is_another(store: Store) -> None:
    await store.journal.note(claim("ana", S10))

    assert await store.members.among(T, "bo", [S1, S10, ROOM]) == {S1}
    assert await store.members.scopes_of(T, "ana") == {S10}


async def test_a_session_in_another_tenant_is_another(store: Store) -> None:
    await store.journal.note(claim("ana", tenant=OTHER))

    assert await store.members.members(T, S1) == []
    assert await store.members.among(T, "bo", [S1]) == {S1}
    assert await store.members.scopes_of(T, "ana") == frozenset()


async def test_nobody_is_a_member_twice_and_nobody_leaves_who_is_none(store: Store) -> None:
    await store.members.add_member(T, member("bo", ROOM), Entries())
    refused: tuple[tuple[type[Exception], Awaitable[None]], ...] = (
        (Conflict, store.members.add_member(T, member("bo", ROOM), Entries())),
        (NotFound, store.members.remove_member(T, ROOM, "ana", Entries())),
    )

    for error, call in refused:
        with pytest.raises(error):
            await call


async def test_a_purge_forgets_the_members_of_a_scope_and_the_memberships_of_a_person(store: Store) -> None:
    await store.journal.note(claim("ana"))
    await store.journal.note(claim("bo", S10))
    await store.members.add_member(T, member("ana", ROOM), Entries())

    by_scope = await store.members.forget_members(T, scope=S10)
    by_person = await store.members.forget_members(T, subject="ana")

    assert (by_scope, by_person) == (1, 2)
    assert await store.members.scopes_of(T, "bo") == await store.members.scopes_of(T, "ana") == frozenset()


async def test_a_purge_forgets_nobody_of_another_tenant(store: Store) -> None:
    for tenant in (T, OTHER):
        await store.journal.note(claim("ana", tenant=tenant))

    assert await store.members.forget_members(T, scope=S1) == 1
    assert await store.members.forget_members(T, subject="ana") == 0

    assert await store.members.scopes_of(OTHER, "ana") == {S1}


async def test_a_session_that_holds_records_and_has_no_members_is_nobodys_to_begin(
    store: Store, draft: Drafting
) -> None:
    await store.records.put([draft("said before there were members", scope=S1)])

    assert await store.members.among(T, "bo", [S1, S10]) == {S10}
    assert await store.members.among(OTHER, "bo", [S1, S10]) == {S1, S10}
