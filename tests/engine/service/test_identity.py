"""A key hands out no more than it has, also where one scope's id begins with another's."""

from dataclasses import replace
from datetime import timedelta

import pytest

from commonplace.errors import Forbidden, NotFound
from commonplace.service.desk import Desk
from commonplace.service.identity import Identity
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock

pytestmark = pytest.mark.anyio
HOUR = timedelta(hours=1)


@pytest.fixture
def identity(desk: Desk) -> Identity:
    return Identity(desk, None)


@pytest.mark.parametrize(
    ("own", "wanted", "is_allowed"),
    [
        ("workspace:web", "workspace:web", True),
        ("workspace:web", "workspace:web-payroll", False),
        ("workspace:web", "workspace:web*", False),
        ("workspace:web", "workspace:we", False),
        ("workspace:web", "user:web", False),
        ("workspace:web-*", "workspace:web-payroll", True),
        ("workspace:web-*", "workspace:web-pay*", True),
        ("workspace:web-*", "workspace:web", False),
        ("workspace:web-*", "workspace:web*", False),
        ("workspace:*", "workspace:web*", True),
        ("workspace:*", "*", False),
        ("user:ana", "user:anabel", False),
        ("global", "global", True),
        ("*", "global", True),
    ],
)
async def test_an_admin_of_some_scopes_hands_out_a_key_to_no_other(
    identity: Identity, own: str, wanted: str, is_allowed: bool
) -> None:
    admin = caller("admin", own)

    if is_allowed:
        key, _ = await identity.create_key(admin, "helper", "writer", scopes=[wanted])
        assert [str(pattern) for pattern in key.scopes or ()] == [wanted]
        return
    with pytest.raises(Forbidden):
        await identity.create_key(admin, "helper", "writer", scopes=[wanted])
    assert await identity.keys(caller("admin")) == []


async def test_an_admin_of_some_scopes_neither_sees_nor_revokes_the_key_to_a_longer_name(identity: Identity) -> None:
    payroll, _ = await identity.create_key(caller("admin"), "payroll", "writer", scopes=["workspace:web-payroll"])
    web = caller("admin", "workspace:web")

    assert await identity.keys(web) == []
    with pytest.raises(NotFound):
        await identity.revoke_key(web, payroll.id)
    [left] = await identity.keys(caller("admin"))
    assert left.revoked_at is None


async def test_an_admin_of_one_person_makes_no_user_of_a_longer_name(identity: Identity) -> None:
    with pytest.raises(Forbidden):
        await identity.create_user(caller("admin", "user:ana"), "anabel")

    assert await identity.users(caller("admin")) == []


async def test_a_key_that_expires_makes_none_that_outlives_it(identity: Identity, clock: FakeClock) -> None:
    end = clock.now() + HOUR
    own, _ = await identity.create_key(caller("admin"), "for an hour", "admin", expires_at=end)
    admin = replace(caller("admin"), key=own.id)

    everlasting, _ = await identity.create_key(admin, "no end named", "writer")
    until_then, _ = await identity.create_key(admin, "the same end", "writer", expires_at=end)
    shorter, _ = await identity.create_key(admin, "shorter", "writer", expires_at=end - HOUR / 2)

    assert [key.expires_at for key in (everlasting, until_then, shorter)] == [end, end, end - HOUR / 2]
    with pytest.raises(Forbidden):
        await identity.create_key(admin, "longer", "writer", expires_at=end + timedelta(milliseconds=1))
