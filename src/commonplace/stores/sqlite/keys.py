# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Keys, users, agents and workspaces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import Row, moment, ms, one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.agent_profile import AgentProfile
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.principal import Key, Owner, OwnerKind, ScopePattern, SignedIn, User

SQL = load("commonplace.stores.sqlite", "sql/keys.sql")


def _key_values(key: Key, secret: bytes) -> Row:
    scopes = None if key.scopes is None else json.dumps([str(pattern) for pattern in key.scopes], ensure_ascii=False)
    values = (key.id, secret, key.name, key.tenant, key.role, to_ms(key.created_at), key.created_by)
    return (*values, scopes, ms(key.expires_at), ms(key.revoked_at), key.user, int(key.agent), key.parent)


def _key(row: Row) -> Key:
    id, name, tenant, role, created, creator, scopes, expires, revoked, user, agent, parent = row
    return Key(
        id=id,
        name=name,
        tenant=tenant,
        role=role,
        created_at=from_ms(created),
        created_by=creator,
        scopes=None if scopes is None else tuple(map(ScopePattern, json.loads(scopes))),
        expires_at=moment(expires),
        revoked_at=moment(revoked),
        user=user,
        agent=bool(agent),
        parent=parent,
    )


def _owner(tenant: str, kind: OwnerKind, row: Row) -> Owner:
    id, name, created, updated, enabled, profile = row
    return Owner(
        kind=kind,
        id=id,
        tenant=tenant,
        name=name,
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        memory_enabled=bool(enabled),
        profile=None if profile is None else AgentProfile.from_text(profile),
    )


def _changed_since(owner: Owner) -> Conflict:
    return Conflict(f"Somebody else changed the {owner.kind} {owner.id!r:.80}. Look at it again.")


def _is_over(db: apsw.Connection, session: SignedIn) -> bool:
    bound = {"mark": session.mark, "whose": session.whose, "ends": to_ms(session.ends_at)}
    return bool(db.execute(SQL["is_over"], bound).get)


class SqlKeys:
    """Satisfies the port `KeyRegistry`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_key(self, key: Key, secret: bytes, entries: Entries) -> None:
        taken = Conflict("A key with that id or secret is there already, or the key that makes it was revoked.")
        await self._insert("add_key", _key_values(key, secret), entries, taken)

    async def key_by_secret(self, secret: bytes) -> Key | None:
        row = await self._transactions.read(lambda db: one(db, SQL["key_by_secret"], (secret,)))
        return None if row is None else _key(row)

    async def key_of_session(self, secret: bytes, session: SignedIn) -> tuple[Key | None, bool]:
        def work(db: apsw.Connection) -> tuple[Row | None, bool]:
            return one(db, SQL["key_by_secret"], (secret,)), _is_over(db, session)

        row, over = await self._transactions.read(work)
        return None if row is None else _key(row), over

    async def is_over(self, session: SignedIn) -> bool:
        return await self._transactions.read(lambda db: _is_over(db, session))

    async def end_sessions(self, mark: str, until: datetime, entries: Entries) -> None:
        def end(db: apsw.Connection) -> None:
            db.execute(SQL["end_sessions"], (mark, to_ms(until)))

        await self._transactions.keep(end, entries)

    async def trim_sessions(self) -> int:
        return await self._transactions.change(SQL["trim_sessions"], (self._transactions.now(),))

    async def list_keys(self, tenant: str | None) -> list[Key]:
        result = await self._transactions.read(lambda db: rows(db, SQL["keys"], {"tenant": tenant}))
        return [_key(row) for row in result]

    async def revoke_key(self, id: str, at: datetime, entries: Entries) -> Key:
        def revoke(db: apsw.Connection) -> Row:
            db.execute(SQL["revoke_key"], {"id": id, "at": to_ms(at)})
            row = one(db, SQL["key"], (id,))
            if row is None:
                raise NotFound("There is no such key.")
            return row

        return _key(await self._transactions.keep(revoke, entries))

    async def add_user(self, user: User, secret: bytes, entries: Entries) -> None:
        taken = Conflict(f"The user {user.id!r} is there already. An admin can rotate their key.")
        await self._insert("add_user", (user.tenant, user.id, secret, to_ms(user.created_at)), entries, taken)

    async def user(self, tenant: str, id: str) -> tuple[User, bytes] | None:
        row = await self._transactions.read(lambda db: one(db, SQL["user"], (tenant, id)))
        return None if row is None else (User(id=id, tenant=tenant, created_at=from_ms(row[1])), row[0])

    async def users(self, tenant: str) -> list[User]:
        result = await self._transactions.read(lambda db: rows(db, SQL["users"], (tenant,)))
        return [User(id=id, tenant=tenant, created_at=from_ms(created)) for id, created in result]

    async def rotate_user(self, tenant: str, id: str, secret: bytes, entries: Entries) -> User:
        bound = {"secret": secret, "tenant": tenant, "id": id}
        [created] = await self._found("rotate_user", bound, entries, NotFound("There is no such user."))
        return User(id=id, tenant=tenant, created_at=from_ms(created))

    async def remove_user(self, tenant: str, id: str, entries: Entries) -> None:
        await self._changed("remove_user", (tenant, id), entries, NotFound("There is no such user."))

    async def put_owner(self, owner: Owner, entries: Entries, *, new: bool, expected: datetime | None = None) -> None:
        born, changed = to_ms(owner.created_at), to_ms(owner.updated_at)
        profile = None if owner.profile is None else owner.profile.to_text()
        values = (owner.name, born, changed, int(owner.memory_enabled), profile, owner.tenant, owner.kind, owner.id)
        if new:
            taken = Conflict(f"The {owner.kind} {owner.id!r} is there already. Choose another id.")
            await self._insert("add_owner", values, entries, taken)
        else:
            before = None if expected is None else to_ms(expected)
            missing = NotFound(f"There is no such {owner.kind}.") if expected is None else _changed_since(owner)
            await self._changed("change_owner", (*values, before, before), entries, missing)

    async def owner(self, tenant: str, kind: OwnerKind, id: str) -> Owner | None:
        row = await self._transactions.read(lambda db: one(db, SQL["owner"], (tenant, kind, id)))
        return None if row is None else _owner(tenant, kind, row)

    async def owners(self, tenant: str, kind: OwnerKind) -> list[Owner]:
        result = await self._transactions.read(lambda db: rows(db, SQL["owners"], (tenant, kind)))
        return [_owner(tenant, kind, row) for row in result]

    async def remove_owner(self, tenant: str, kind: OwnerKind, id: str, entries: Entries) -> None:
        await self._changed("remove_owner", (tenant, kind, id), entries, NotFound(f"There is no such {kind}."))

    async def _insert(self, statement: str, values: Row, entries: Entries, taken: Conflict) -> None:
        def insert(db: apsw.Connection) -> None:
            try:
                db.execute(SQL[statement], values)
            except apsw.ConstraintError as error:
                raise taken from error
            if not db.changes():
                raise taken

        await self._transactions.keep(insert, entries)

    async def _changed(self, statement: str, values: Row, entries: Entries, missing: NotFound | Conflict) -> None:
        def change(db: apsw.Connection) -> None:
            db.execute(SQL[statement], values)
            if not db.changes():
                raise missing

        await self._transactions.keep(change, entries)

    async def _found(
        self, statement: str, bound: Sequence[Any] | dict[str, Any], entries: Entries, missing: NotFound
    ) -> Row:
        def change(db: apsw.Connection) -> Row:
            row = one(db, SQL[statement], bound)
            if row is None:
                raise missing
            return row

        return await self._transactions.keep(change, entries)
