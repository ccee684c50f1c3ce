"""Who is known: keys, the gateway's users, agents and workspaces."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.values.principal import Key, Owner, OwnerKind, SignedIn, User


class KeyRegistry(Protocol):
    """
    Secrets come in as SHA-256 hashes and never go out. Each write keeps its `entries` in the same transaction.
    `tests/contracts/test_keys.py` holds each implementation to this.
    """

    async def add_key(self, key: Key, secret: bytes, entries: Entries) -> None:
        """Raises Conflict: the id or the secret is there already, or the key that makes it (`parent`) was revoked."""
        ...

    async def key_by_secret(self, secret: bytes) -> Key | None:
        """The key with this hash, revoked and expired ones too."""
        ...

    async def key_of_session(self, secret: bytes, session: SignedIn) -> tuple[Key | None, bool]:
        """What `key_by_secret` says, and whether the session was ended before its time: one question for both."""
        ...

    async def is_over(self, session: SignedIn) -> bool:
        """Whether a session was ended before its time."""
        ...

    async def end_sessions(self, mark: str, until: datetime, entries: Entries) -> None:
        """Sessions with this mark that would end by `until` are over from now on, at every daemon. What was ended stays so."""
        ...

    async def trim_sessions(self) -> int:
        """Forget ended sessions that would be over by themselves; answers how many there were."""
        ...

    async def list_keys(self, tenant: str | None) -> list[Key]:
        """Of a tenant, or (None) of all, newest first, revoked ones too."""
        ...

    async def revoke_key(self, id: str, at: datetime, entries: Entries) -> Key:
        """
        From now on the key opens nothing, nor does any key that it made, nor those that they made. Revoking twice keeps the
        first moment. Raises NotFound.
        """
        ...

    async def add_user(self, user: User, secret: bytes, entries: Entries) -> None:
        """Raises Conflict where the tenant has a user of that id."""
        ...

    async def user(self, tenant: str, id: str) -> tuple[User, bytes] | None:
        """A user and the hash of their key."""
        ...

    async def users(self, tenant: str) -> list[User]: ...

    async def rotate_user(self, tenant: str, id: str, secret: bytes, entries: Entries) -> User:
        """The old key opens nothing any more. Raises NotFound."""
        ...

    async def remove_user(self, tenant: str, id: str, entries: Entries) -> None:
        """Their records stay. Raises NotFound."""
        ...

    async def put_owner(self, owner: Owner, entries: Entries, *, new: bool, expected: datetime | None = None) -> None:
        """
        Keep an agent or a workspace. `new`: raises Conflict where the id is taken; else NotFound where it is not there. With
        `expected`, the `updated_at` of the row that was looked at, raises Conflict if it is another one by now, or gone.
        """
        ...

    async def owner(self, tenant: str, kind: OwnerKind, id: str) -> Owner | None: ...

    async def owners(self, tenant: str, kind: OwnerKind) -> list[Owner]:
        """By name, then id."""
        ...

    async def remove_owner(self, tenant: str, kind: OwnerKind, id: str, entries: Entries) -> None:
        """Raises NotFound. The records of its scope are for the caller to delete."""
        ...
