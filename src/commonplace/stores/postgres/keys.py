"""Keys, users, agents and workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from commonplace.errors import Conflict, NotFound
from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import statements
from commonplace.stores.postgres.rows import moment, ms
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.agent_profile import AgentProfile
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.principal import Key, Owner, OwnerKind, ScopePattern, SignedIn, User

_SQL = statements("sql/keys.sql")


class SqlKeys:
    """Satisfies the port `KeyRegistry`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_key(self, key: Key, secret: bytes, entries: Entries) -> None:
        params = {
            "tenant": key.tenant,
            "id": key.id,
            "secret": secret,
            "name": key.name,
            "role": key.role,
            "scopes": None if key.scopes is None else [str(pattern) for pattern in key.scopes],
            "created_at": to_ms(key.created_at),
            "created_by": key.created_by,
            "expires_at": ms(key.expires_at),
            "revoked_at": ms(key.revoked_at),
            "subject": key.user,
            "agent": key.agent,
            "parent": key.parent,
        }
        refused = Conflict("There is a key of that id or that secret already, or the key that makes it was revoked.")
        await self._transactions.change(_SQL["add_key"], params, entries, refused, lock=_SQL["one_at_a_time"])

    async def key_by_secret(self, secret: bytes) -> Key | None:
        result = await self._transactions.ask(_SQL["key_by_secret"], {"secret": secret})
        return _key_of(result[0]) if result else None

    async def key_of_session(self, secret: bytes, session: SignedIn) -> tuple[Key | None, bool]:
        [(over, *row)] = await self._transactions.ask(_SQL["key_of_session"], {"secret": secret, **_session(session)})
        return (None if row[1] is None else _key_of(row)), over

    async def is_over(self, session: SignedIn) -> bool:
        [(over,)] = await self._transactions.ask(_SQL["is_over"], _session(session))
        return over

    async def end_sessions(self, mark: str, until: datetime, entries: Entries) -> None:
        refused = Conflict("The session could not be ended. Try again.")
        await self._transactions.change(_SQL["end_sessions"], {"mark": mark, "until": to_ms(until)}, entries, refused)

    async def trim_sessions(self) -> int:
        return await self._transactions.count(_SQL["trim_sessions"], {"now": to_ms(self._transactions.now())})

    async def list_keys(self, tenant: str | None) -> list[Key]:
        return [_key_of(row) for row in await self._transactions.ask(_SQL["keys"], {"tenant": tenant})]

    async def revoke_key(self, id: str, at: datetime, entries: Entries) -> Key:
        refused = NotFound(f"There is no key {id!r:.80}.")
        params, lock = {"id": id, "at": to_ms(at)}, _SQL["one_at_a_time"]
        [row] = await self._transactions.change(_SQL["revoke_key"], params, entries, refused, lock=lock)
        return _key_of(row)

    async def add_user(self, user: User, secret: bytes, entries: Entries) -> None:
        params = {"tenant": user.tenant, "id": user.id, "secret": secret, "created_at": to_ms(user.created_at)}
        refused = Conflict(f"There is a user {user.id!r:.80} already.")
        await self._transactions.change(_SQL["add_user"], params, entries, refused)

    async def user(self, tenant: str, id: str) -> tuple[User, bytes] | None:
        result = await self._transactions.ask(_SQL["user"], {"tenant": tenant, "id": id})
        return (_user_of(result[0]), bytes(result[0][3])) if result else None

    async def users(self, tenant: str) -> list[User]:
        return [_user_of(row) for row in await self._transactions.ask(_SQL["users"], {"tenant": tenant})]

    async def rotate_user(self, tenant: str, id: str, secret: bytes, entries: Entries) -> User:
        params = {"tenant": tenant, "id": id, "secret": secret}
        [row] = await self._transactions.change(_SQL["rotate_user"], params, entries, _no_user(id))
        return _user_of(row)

    async def remove_user(self, tenant: str, id: str, entries: Entries) -> None:
        await self._transactions.change(_SQL["remove_user"], {"tenant": tenant, "id": id}, entries, _no_user(id))

    async def put_owner(self, owner: Owner, entries: Entries, *, new: bool, expected: datetime | None = None) -> None:
        params = {
            "tenant": owner.tenant,
            "kind": owner.kind,
            "id": owner.id,
            "name": owner.name,
            "memory_enabled": owner.memory_enabled,
            "created_at": to_ms(owner.created_at),
            "updated_at": to_ms(owner.updated_at),
            "profile": None if owner.profile is None else owner.profile.to_text(),
        }
        if new:
            refused = Conflict(f"There is a {owner.kind} {owner.id!r:.80} already.")
            await self._transactions.change(_SQL["add_owner"], params, entries, refused)
        else:
            params["expected"] = None if expected is None else to_ms(expected)
            refused = _no_owner(owner.kind, owner.id) if expected is None else _changed_since(owner)
            await self._transactions.change(_SQL["change_owner"], params, entries, refused)

    async def owner(self, tenant: str, kind: OwnerKind, id: str) -> Owner | None:
        result = await self._transactions.ask(_SQL["owner"], {"tenant": tenant, "kind": kind, "id": id})
        return _owner_of(result[0]) if result else None

    async def owners(self, tenant: str, kind: OwnerKind) -> list[Owner]:
        return [
            _owner_of(row) for row in await self._transactions.ask(_SQL["owners"], {"tenant": tenant, "kind": kind})
        ]

    async def remove_owner(self, tenant: str, kind: OwnerKind, id: str, entries: Entries) -> None:
        params = {"tenant": tenant, "kind": kind, "id": id}
        await self._transactions.change(_SQL["remove_owner"], params, entries, _no_owner(kind, id))


def _no_user(id: str) -> NotFound:
    return NotFound(f"There is no user {id!r:.80}.")


def _no_owner(kind: OwnerKind, id: str) -> NotFound:
    return NotFound(f"There is no {kind} {id!r:.80}.")


def _changed_since(owner: Owner) -> Conflict:
    return Conflict(f"Somebody else changed the {owner.kind} {owner.id!r:.80}. Look at it again.")


def _session(session: SignedIn) -> dict[str, Any]:
    return {"marks": [session.mark, session.whose], "ends": to_ms(session.ends_at)}


def _key_of(row: Sequence[Any]) -> Key:
    tenant, id, name, role, scopes, created_at, created_by, expires_at, revoked_at, user, agent, parent = row
    return Key(
        id=id,
        name=name,
        tenant=tenant,
        role=role,
        created_at=from_ms(created_at),
        created_by=created_by,
        scopes=None if scopes is None else tuple(ScopePattern(pattern) for pattern in scopes),
        expires_at=moment(expires_at),
        revoked_at=moment(revoked_at),
        user=user,
        agent=agent,
        parent=parent,
    )


def _user_of(row: Sequence[Any]) -> User:
    return User(id=row[1], tenant=row[0], created_at=from_ms(row[2]))


def _owner_of(row: Sequence[Any]) -> Owner:
    tenant, kind, id, name, memory_enabled, created_at, updated_at, profile = row
    return Owner(
        kind=kind,
        id=id,
        tenant=tenant,
        name=name,
        created_at=from_ms(created_at),
        updated_at=from_ms(updated_at),
        memory_enabled=memory_enabled,
        profile=None if profile is None else AgentProfile.from_text(profile),
    )
