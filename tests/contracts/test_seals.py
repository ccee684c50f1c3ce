# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What the port `SealStore` says, of every store: whatever somebody does to a sealed row is noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from psycopg import sql

from commonplace.ports.journal import Entries
from commonplace.stores import seals as hashing
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.audit import AuditRow
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

OpenStore = Callable[..., Awaitable[Store]]
DAY = timedelta(days=1)
TRIGGERS = {
    "sqlite": "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted; DROP TRIGGER seals_are_not_changed;"
    " DROP TRIGGER seals_are_not_deleted",
    "postgres": "ALTER TABLE audit DISABLE TRIGGER USER; ALTER TABLE seals DISABLE TRIGGER USER",
}


class Intruder:
    """Somebody who writes to the database itself, past all triggers."""

    def __init__(self, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        self._kind = kind
        self._path = tmp_path / "store1.db"
        self._request = request
        self._armed = False

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        if self._kind == "sqlite":
            db = apsw.Connection(str(self._path))
            try:
                if not self._armed:
                    db.execute(TRIGGERS["sqlite"])
                self._armed = True
                return list(db.execute(statement))
            finally:
                db.close()
        server, schema = self._request.getfixturevalue("server"), self._request.getfixturevalue("schema")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(schema)))
            connection.execute(TRIGGERS["postgres"].encode())
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def intruder(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Intruder:
    return Intruder(kind, tmp_path, request)


class Writer:
    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock

    def row(self, n: int = 0, **fields: Any) -> AuditRow:
        values: dict[str, Any] = {"tenant": DEFAULT_TENANT, "actor": "ann", "action": "record.put", **fields}
        return AuditRow(id=new_id(self.clock.now()), at=self.clock.now(), details={"n": n}, **values)

    async def write(self, count: int = 3) -> None:
        for n in range(count):
            self.clock.advance(timedelta(minutes=1))
            row = self.row(n, record=f"r{n}", version=n + 1, scope=Scope("workspace", "web"), key="k")
            await self.store.journal.note(Entries(audit=(row,)))

    async def seal(self) -> int | None:
        seal = await self.store.seals.seal(self.clock.now())
        return seal.number if seal else None

    async def broken(self) -> int | None:
        state = await self.store.seals.verify()
        assert state.verified
        return state.broken

    def trim_row(self, seal: int, rows: int) -> AuditRow:
        return AuditRow(
            id=new_id(self.clock.now()),
            at=self.clock.now(),
            tenant=DEFAULT_TENANT,
            actor="daemon",
            action=hashing.TRIM,
            details={"seal": seal, "rows": rows},
        )


@pytest.fixture
def writer(store: Store, clock: FakeClock) -> Writer:
    return Writer(store, clock)


async def test_rows_are_sealed_since_the_last_seal_and_verified(store: Store, writer: Writer) -> None:
    await writer.write(3)
    first = await store.seals.seal(writer.clock.now())
    await writer.write(2)
    second = await store.seals.seal(writer.clock.now())
    await writer.write(1)

    state = await store.seals.state(10)

    assert first is not None
    assert second is not None
    assert (first.number, first.count, second.number, second.count) == (1, 3, 2, 2)
    assert [seal.number for seal in state.seals] == [2, 1]
    assert (state.sealed, state.trimmed, state.waiting, state.verified) == (5, 0, 1, False)
    assert first.hash != second.hash
    assert await writer.broken() is None


async def test_nothing_new_makes_no_seal(writer: Writer) -> None:
    assert await writer.seal() is None
    await writer.write()
    await writer.seal()

    assert await writer.seal() is None


async def test_a_seal_covers_a_bounded_number_of_rows(store: Store, writer: Writer) -> None:
    rows = tuple(writer.row(n) for n in range(hashing.MOST + 5))
    await store.journal.note(Entries(audit=rows))

    counts = [seal.count for seal in [await store.seals.seal(writer.clock.now()) for _ in range(2)] if seal]

    assert counts == [hashing.MOST, 5]
    assert await writer.broken() is None


TAMPERING = {
    "an actor": "UPDATE audit SET actor = 'bob' WHERE number = {0}",
    "an outcome": "UPDATE audit SET outcome = 'denied' WHERE number = {0}",
    "a moment": "UPDATE audit SET at = at + 1 WHERE number = {0}",
    "a tenant": "UPDATE audit SET tenant = 'acme/web' WHERE number = {0}",
    "details": "UPDATE audit SET details = '{{\"n\": 7}}' WHERE number = {0}",
    "white space in details": "UPDATE audit SET details = details || ' ' WHERE number = {0}",
    "a record to none": "UPDATE audit SET record = NULL WHERE number = {0}",
    "a version": "UPDATE audit SET version = 9 WHERE number = {0}",
    "the records of a group": "UPDATE audit SET records = {3} WHERE number = {0}",
    "a removal": "DELETE FROM audit WHERE number = {0}",
    "a copy with another number": "INSERT INTO audit (number, {1}) SELECT -number, {1} FROM audit WHERE number = {0}",
    "a number": "UPDATE audit SET number = -number WHERE number = {0}",
    "a number behind the last": "UPDATE audit SET number = number + 1000 WHERE number = {0}",
    "an order": "UPDATE audit SET id = (SELECT id FROM audit WHERE number = {2}) WHERE number = {0}",
}
BYTES = {"sqlite": "x'00ff'", "postgres": "'\\x00ff'"}
REST = hashing.COLUMNS.removeprefix("number, ")


@pytest.mark.parametrize("what", TAMPERING)
@pytest.mark.parametrize("place", [0, 3, 5])
async def test_a_change_of_a_sealed_row_is_noticed(
    kind: str, writer: Writer, intruder: Intruder, what: str, place: int
) -> None:
    for _ in range(2):
        await writer.write(3)
        await writer.seal()
    await writer.write(1)
    numbers = [number for (number,) in intruder("SELECT number FROM audit ORDER BY number")]
    other = numbers[(place + 1) % 6]

    intruder(TAMPERING[what].format(numbers[place], REST, other, BYTES[kind]))

    expected = 1 if place < 3 or what in ("a copy with another number", "a number") else 2
    assert await writer.broken() == expected


SEAL_TAMPERING = {
    "a hash": "UPDATE seals SET hash = (SELECT hash FROM seals WHERE number = 3) WHERE number = 2",
    "a count": "UPDATE seals SET count = count - 1 WHERE number = 2",
    "a range": "UPDATE seals SET last = last - 1 WHERE number = 2",
    "a moment": "UPDATE seals SET at = at - 1 WHERE number = 2",
    "a latest": "UPDATE seals SET latest = latest - 1 WHERE number = 2",
    "a removal": "DELETE FROM seals WHERE number = 2",
    "a forged trim": "UPDATE seals SET trimmed = (1 = 1) WHERE number = 2",
}


@pytest.mark.parametrize("what", SEAL_TAMPERING)
async def test_a_change_of_a_seal_is_noticed(writer: Writer, intruder: Intruder, what: str) -> None:
    for _ in range(3):
        await writer.write(3)
        await writer.seal()

    intruder(SEAL_TAMPERING[what])

    assert await writer.broken() in (2, 3)


async def test_rows_that_go_without_a_row_that_tells_of_it_are_noticed(writer: Writer, intruder: Intruder) -> None:
    for _ in range(2):
        await writer.write(3)
        await writer.seal()

    intruder("UPDATE seals SET trimmed = (1 = 1) WHERE number = 1")
    intruder("DELETE FROM audit WHERE number <= (SELECT last FROM seals WHERE number = 1)")

    assert await writer.broken() == 1


async def test_a_row_put_in_front_of_all_others_is_noticed(writer: Writer, intruder: Intruder) -> None:
    await writer.write(2)
    await writer.seal()

    intruder(f"INSERT INTO audit (number, {REST}) SELECT -999, {REST} FROM audit ORDER BY number LIMIT 1")

    assert await writer.broken() == 1


async def test_the_database_refuses_to_change_or_remove_what_is_sealed(
    kind: str, writer: Writer, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await writer.write(3)
    await writer.seal()
    statements = (
        "DELETE FROM audit",
        "UPDATE audit SET actor = 'x'",
        "DELETE FROM seals",
        "UPDATE seals SET count = 0",
    )

    for statement in statements:
        if kind == "sqlite":
            db = apsw.Connection(str(tmp_path / "store1.db"))
            with pytest.raises(apsw.ConstraintError):
                db.execute(statement)
            db.close()
        else:
            server, schema = request.getfixturevalue("server"), request.getfixturevalue("schema")
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(schema)))
                with pytest.raises(psycopg.errors.RestrictViolation):
                    connection.execute(statement.encode())

    assert await writer.broken() is None


# ---- trimming


async def test_old_rows_go_and_their_seals_stay_and_still_fit(store: Store, writer: Writer) -> None:
    await writer.write(3)
    await writer.seal()
    writer.clock.advance(10 * DAY)
    await writer.write(2)
    await writer.seal()

    count = await store.seals.trim(writer.clock.now() - DAY, writer.trim_row)

    state = await store.seals.verify()
    assert count == 3
    assert (state.broken, state.sealed, state.trimmed, state.waiting) == (None, 5, 3, 1)
    assert [(seal.number, seal.trimmed) for seal in (await store.seals.state(5)).seals] == [(2, False), (1, True)]
    assert await store.seals.trim(writer.clock.now() - DAY, writer.trim_row) == 0


async def test_after_a_trim_of_everything_new_rows_are_sealed_and_verified(store: Store, writer: Writer) -> None:
    for _ in range(3):
        await writer.write(2)
        await writer.seal()
        writer.clock.advance(10 * DAY)
        await store.seals.trim(writer.clock.now() - DAY, writer.trim_row)
        assert await writer.broken() is None

    state = await store.seals.state(1)
    # Each time two rows and the one that told of the trim before.
    assert (state.sealed, state.trimmed, state.waiting) == (8, 8, 1)


async def test_rows_that_are_not_sealed_are_not_trimmed(store: Store, writer: Writer) -> None:
    await writer.write(3)
    writer.clock.advance(10 * DAY)

    assert await store.seals.trim(writer.clock.now(), writer.trim_row) == 0
    assert (await store.seals.state(1)).waiting == 3


async def test_rows_whose_seal_does_not_fit_stay(store: Store, writer: Writer, intruder: Intruder) -> None:
    for _ in range(2):
        await writer.write(3)
        await writer.seal()
    intruder("UPDATE audit SET actor = 'bob' WHERE number = (SELECT min(number) FROM audit)")
    writer.clock.advance(10 * DAY)

    assert await store.seals.trim(writer.clock.now(), writer.trim_row) == 0
    assert await writer.broken() == 1


async def test_a_row_put_back_where_rows_were_trimmed_is_noticed(
    store: Store, writer: Writer, intruder: Intruder
) -> None:
    await writer.write(3)
    await writer.seal()
    writer.clock.advance(10 * DAY)
    await store.seals.trim(writer.clock.now(), writer.trim_row)

    intruder(f"INSERT INTO audit (number, {REST}) SELECT number - 2, {REST} FROM audit")

    assert await writer.broken() == 1


# ---- several daemons


async def test_of_several_daemons_one_seals(open_store: OpenStore, store: Store, writer: Writer) -> None:
    second = await open_store()
    for _ in range(5):
        await writer.write(4)
        made = await asyncio.gather(*(each.seals.seal(writer.clock.now()) for each in (store, second, store, second)))
        assert len([seal for seal in made if seal]) == 1

    state = await second.seals.verify()
    assert (state.broken, state.sealed, state.waiting) == (None, 20, 0)


async def test_no_row_slips_in_behind_a_seal_while_others_write(
    open_store: OpenStore, store: Store, writer: Writer
) -> None:
    second, over = await open_store(), asyncio.Event()

    async def write(to: Store, number: int) -> None:
        for n in range(25):
            rows = tuple(writer.row(100 * number + n) for _ in range(3))
            await to.journal.note(Entries(audit=rows))

    async def seal() -> None:
        while not over.is_set():
            await second.seals.seal(writer.clock.now())

    sealing = asyncio.create_task(seal())
    await asyncio.gather(*(write(to, number) for number, to in enumerate((store, second, store, second))))
    over.set()
    await sealing
    while await writer.seal():
        pass

    state = await store.seals.verify()
    assert (state.broken, state.sealed, state.waiting) == (None, 300, 0)


async def test_on_postgresql_a_smaller_number_that_is_committed_later_waits_for_no_seal(
    kind: str, store: Store, writer: Writer, request: pytest.FixtureRequest
) -> None:
    if kind != "postgres":
        pytest.skip("only there two write at the same time")
    await writer.write(1)
    server, schema = request.getfixturevalue("server"), request.getfixturevalue("schema")
    with psycopg.connect(server.get_uri()) as slow:
        slow.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(schema)))
        slow.execute(f"INSERT INTO audit ({REST}) SELECT {REST} FROM audit".encode())
        # It has its number, and has not committed. Others overtake it.
        await writer.write(2)

        overtaken = await store.seals.seal(writer.clock.now())
        slow.commit()

    assert overtaken is None
    assert await writer.seal() == 1
    assert await writer.broken() is None
    assert (await store.seals.state(1)).sealed == 4


# ---- copies


async def test_a_backup_keeps_the_seals_and_goes_on_from_them(
    open_store: OpenStore, store: Store, writer: Writer, tmp_path: Path
) -> None:
    await writer.write(3)
    await writer.seal()
    writer.clock.advance(10 * DAY)
    await store.seals.trim(writer.clock.now(), writer.trim_row)
    await writer.seal()
    await store.maintenance.backup(tmp_path / "copy")
    copy = await open_store(two=True)
    await copy.maintenance.restore(tmp_path / "copy")

    await Writer(copy, writer.clock).write(2)

    assert await Writer(copy, writer.clock).seal() == 3
    assert await Writer(copy, writer.clock).broken() is None
