"""Who is purged is no member of anything any more, and a scope that is purged has no members."""

import pytest

from commonplace.service.desk import Desk
from commonplace.service.records import Records
from commonplace.testing.callers import caller, operator
from commonplace.values.note import Note
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio


async def test_a_purge_of_a_person_ends_their_memberships_and_nobody_elses(desk: Desk) -> None:
    records = Records(desk)
    for name in ("ana", "anabel"):
        await records.put(caller("writer", name=name), [Note(text="a word in private", scope=f"session:{name}")])

    await records.purge(operator(), user="ana")

    assert await desk.store.members.scopes_of(DEFAULT_TENANT, "ana") == frozenset()
    assert await desk.store.members.scopes_of(DEFAULT_TENANT, "anabel") == {Scope("session", "anabel")}


async def test_a_purge_of_a_session_ends_its_memberships_and_those_of_no_longer_name(desk: Desk) -> None:
    records, ana = Records(desk), caller("writer", name="ana")
    for scope in ("session:s1", "session:s10"):
        await records.put(ana, [Note(text="a word in private", scope=scope)])

    await records.purge(operator(), scope=Scope("session", "s1"))

    assert await desk.store.members.scopes_of(DEFAULT_TENANT, "ana") == {Scope("session", "s10")}
