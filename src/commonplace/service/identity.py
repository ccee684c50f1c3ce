"""Who is there: the operator's token, keys, and the gateway's users."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    TokenRequired,
    TooManyRequests,
    Unauthenticated,
)
from commonplace.governance.access import require_role, require_scope
from commonplace.governance.keys import new_key_secret, new_user_secret, same_hash, secret_hash
from commonplace.governance.limits import Guessing
from commonplace.governance.sessions import CODE_LASTS, SESSION_LASTS, Pass, new_signing_secret, sign, verify, whose
from commonplace.ports.journal import Entries
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import (
    LOCAL,
    ROLES,
    Key,
    Principal,
    Role,
    ScopePattern,
    SignedIn,
    User,
    check_key_name,
    check_person,
)
from commonplace.values.scope import DEFAULT_TENANT, Scope, check_tenant

_NOBODY: Final = bytes(32)
_OVER: Final = "The session is over. Sign in again."


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """
    A request before anybody knows whose it is. `forwarded`: a proxy passed it on. `strict`: the route asks for a key in any case.
    """

    door: str
    address: str | None = None
    forwarded: bool = False
    client: str | None = None
    request: str | None = None
    tenant: str | None = None
    strict: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SignInSession:
    """Somebody who signed in. `cookie` stands for their key until `ends_at`."""

    who: Principal
    cookie: str
    ends_at: datetime


class Identity:
    """
    `token` is the hash of the operator's own, `signing` the secret that sessions and one-time codes are signed with. Without
    authentication, which the operator has to ask for, a visitor without a key is a writer of the default tenant.
    """

    def __init__(
        self, desk: Desk, token: bytes | None, *, open_to_all: bool = False, signing: bytes | None = None
    ) -> None:
        self._desk = desk
        self._token = token
        self._open = open_to_all
        self._signing = signing or new_signing_secret()
        self._guessing = Guessing()

    # ---- who asks

    async def principal(self, visit: Visit, secret: str | None, *, session: str | None = None) -> Principal:
        """
        Whose key this is, or whose session, where no key is shown.

        Raises:
            Unauthenticated: no key, or one that opens nothing; a session that is over.
            TokenRequired: none, at a strict route of a daemon that is open otherwise.
            Forbidden: the key is another tenant's.
            TooManyRequests: too many wrong keys came from the same address.
        """
        if secret is not None:
            return await self._known(visit, secret_hash(secret))
        if session is not None:
            session_pass = self._session(session)
            self._refuse_guessing(visit)
            return await self._signed_in(visit, session_pass)
        if visit.tenant is not None:
            check_tenant(visit.tenant)
        if self._open and not visit.strict:
            return self._anonymous(visit)
        raise TokenRequired if self._open else Unauthenticated

    def _session(self, token: str) -> Pass:
        session_pass = verify(self._signing, "session", token, self._desk.clock.now())
        if session_pass is None:
            # Not counted as a guess: a browser shows what it has until it is told better.
            raise Unauthenticated(_OVER)
        return session_pass

    async def _signed_in(self, visit: Visit, session_pass: Pass) -> Principal:
        """Whoever has a pass that we signed guesses nothing, also where it opens nothing any more: that is not counted."""
        session = SignedIn(
            mark=session_pass.nonce, whose=whose(self._signing, session_pass.hashed), ends_at=session_pass.ends_at
        )
        key, over = await self._desk.store.keys.key_of_session(session_pass.hashed, session)
        if over or not self._opens(session_pass.hashed, key):
            raise Unauthenticated(_OVER)
        return await self._let_in(visit, session_pass.hashed, key, session)

    async def _known(self, visit: Visit, hashed: bytes) -> Principal:
        tenant = None if visit.tenant is None else check_tenant(visit.tenant)
        self._refuse_guessing(visit)
        key = await self._desk.store.keys.key_by_secret(hashed)
        if not self._opens(hashed, key):
            await self._wrong(visit, key.tenant if key else tenant, key.id if key else None)
            raise Unauthenticated("The key opens nothing: it is wrong, revoked or expired.")
        return await self._let_in(visit, hashed, key)

    def _is_operator(self, hashed: bytes) -> bool:
        return same_hash(hashed, self._token or _NOBODY) and self._token is not None

    def _opens(self, hashed: bytes, key: Key | None) -> bool:
        return self._is_operator(hashed) or (key is not None and key.is_good(self._desk.clock.now()))

    async def _let_in(self, visit: Visit, hashed: bytes, key: Key | None, session: SignedIn | None = None) -> Principal:
        tenant = None if visit.tenant is None else check_tenant(visit.tenant)
        if self._is_operator(hashed):
            caller = _principal(visit, subject=LOCAL, name="operator", tenant=tenant or DEFAULT_TENANT, role="admin")
            return replace(caller, operator=True, session=session)
        assert key is not None
        caller = _principal(visit, subject=key.subject, name=key.name, tenant=key.tenant, role=key.role)
        caller = replace(caller, scopes=key.scopes, key=key.id, agent=key.agent)
        if tenant not in (None, key.tenant):
            await self._desk.account(caller, "auth.denied").note("denied", code=Forbidden.code)
            raise Forbidden("The key belongs to another tenant. Leave X-Tenant out.")
        return replace(caller, session=session)

    async def person(self, visit: Visit, tenant: str, user: str, secret: str) -> Principal:
        """A user of the gateway, by the pair of id and key. Raises Unauthenticated, TooManyRequests."""
        self._refuse_guessing(visit)
        user_row = await self._desk.store.keys.user(check_tenant(tenant), user)
        # An unknown user takes as long as a wrong key.
        right = same_hash(secret_hash(secret), user_row[1] if user_row else _NOBODY)
        if user_row is None or not right:
            await self._wrong(visit, tenant)
            raise Unauthenticated("There is no such user, or the key is not theirs.")
        scopes = (ScopePattern(f"user:{user}"),)
        return replace(_principal(visit, subject=user, name=user, tenant=tenant, role="writer"), scopes=scopes)

    def _anonymous(self, visit: Visit) -> Principal:
        if visit.tenant not in (None, DEFAULT_TENANT):
            raise TokenRequired("Another tenant than the default one needs a key.")
        return _principal(visit, subject=LOCAL, name="anonymous", tenant=DEFAULT_TENANT, role="writer")

    def _refuse_guessing(self, visit: Visit) -> None:
        """A program of this machine with a stale key must not lock the others out: there only wrong keys are refused."""
        if not _is_loopback(visit.address):
            self._refuse_many(visit)

    def _refuse_many(self, visit: Visit) -> None:
        wait = self._guessing.check(visit.address or "unknown", self._desk.clock.now().timestamp())
        if wait is not None:
            raise TooManyRequests("Too many wrong keys came from this address. Wait, then try again.", retry_after=wait)

    async def _wrong(self, visit: Visit, tenant: str | None, key: str | None = None) -> None:
        self._refuse_many(visit)
        self._guessing.failed(visit.address or "unknown", self._desk.clock.now().timestamp())
        nobody = _principal(visit, subject="unknown", name="unknown", tenant=tenant or DEFAULT_TENANT, role="reader")
        await self._desk.account(replace(nobody, key=key), "auth.denied").note("denied")

    # ---- sessions

    async def sign_in(self, visit: Visit, secret: str) -> SignInSession:
        """A session for whoever shows their key. Raises as `principal` does."""
        who = await self.principal(visit, secret)
        return await self._begun(who, secret_hash(secret), by="key")

    async def code(self, who: Principal, secret: str) -> tuple[str, datetime]:
        """
        A code that stands for the key once, within a minute, and its end. It asks for the key itself: a session that could
        make codes could outlive itself.
        """
        async with self._desk.account(who, "auth.code") as account:
            ends_at = utc(self._desk.clock.now()) + CODE_LASTS
            code = sign(self._signing, "code", secret_hash(secret), ends_at)
            await account.note()
            return code, ends_at

    async def redeem(self, visit: Visit, code: str) -> SignInSession:
        """A session for the first who shows this code. Raises Unauthenticated, TooManyRequests."""
        self._refuse_guessing(visit)
        code_pass = verify(self._signing, "code", code, self._desk.clock.now())
        # In one tenant for all, so that the tenant a request names makes no second counter.
        if code_pass is None or not await self._desk.store.quotas.spend(
            DEFAULT_TENANT, f"code:{code_pass.nonce}", 2 * CODE_LASTS, {"used": 1}, {"used": 1}
        ):
            await self._wrong(visit, None)
            raise Unauthenticated("The code is used, or over. `commonplace open` makes a new one.")
        return await self._begun(await self._known(visit, code_pass.hashed), code_pass.hashed, by="code")

    async def sign_out(self, visit: Visit, session: str, *, everywhere: bool = False) -> None:
        """End a session before its time, or all that its key has begun: at every daemon. One that is over already is no mistake."""
        try:
            who = await self._signed_in(visit, self._session(session))
        except Unauthenticated:
            return
        ended = who.session
        assert ended is not None
        last = utc(self._desk.clock.now()) + SESSION_LASTS
        mark, until = (ended.whose, last) if everywhere else (ended.mark, ended.ends_at)
        row = self._desk.account(who, "auth.signed_out").row("ok", details={"everywhere": everywhere})
        await self._desk.store.keys.end_sessions(mark, until, Entries(audit=(row,)))

    async def _begun(self, who: Principal, hashed: bytes, *, by: str) -> SignInSession:
        ends_at = utc(self._desk.clock.now()) + SESSION_LASTS
        await self._desk.account(who, "auth.signed_in").note("ok", by=by)
        return SignInSession(who=who, cookie=sign(self._signing, "session", hashed, ends_at), ends_at=ends_at)

    # ---- keys

    async def create_key(
        self,
        who: Principal,
        name: str,
        role: Role,
        *,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        user: str | None = None,
        agent: bool = False,
    ) -> tuple[Key, str]:
        """
        A new key and its secret, which nobody can read again. It may never do more than the key that made it, nor live
        longer: it ends with that key, and is revoked with it. `user` is the person it speaks for, `agent` says that a program
        holds it.
        """
        desk = self._desk
        async with desk.account(who, "key.create") as account:
            require_role(who, "admin")
            check_key_name(name)
            if role not in ROLES:
                raise InvalidInput(f"A key's role is one of {', '.join(ROLES)}.")
            patterns = None if scopes is None else tuple(map(ScopePattern.parse, scopes))
            _require_within(who, patterns)
            if user is not None:
                _require_user(who, check_person(user))
            now = utc(desk.clock.now())
            key = Key(
                id=new_id(now),
                name=name,
                tenant=who.tenant,
                role=role,
                scopes=patterns,
                created_at=now,
                created_by=who.actor,
                expires_at=await self._last_moment(who, expires_at),
                user=user,
                agent=agent,
                parent=who.key,
            )
            secret = new_key_secret()
            fields = {"key": key.id, "role": role, **({} if user is None else {"user": user})}
            await desk.store.keys.add_key(key, secret_hash(secret), _entries(account, "key.created", **fields))
            return key, secret

    async def _last_moment(self, who: Principal, expires_at: datetime | None) -> datetime | None:
        """When a key that the caller makes expires: with the caller's own at the latest."""
        last_moment = None if expires_at is None else utc(expires_at)
        own = None
        if who.key is not None:
            own = next((key for key in await self._desk.store.keys.list_keys(who.tenant) if key.id == who.key), None)
        if own is None or own.expires_at is None:
            return last_moment
        if last_moment is not None and last_moment > own.expires_at:
            raise Forbidden("The new key would outlive the one that makes it. Choose an earlier end.")
        return own.expires_at if last_moment is None else last_moment

    async def keys(self, who: Principal) -> list[Key]:
        """Those of the tenant that reach no further than the caller's own."""
        async with self._desk.account(who, "key.list"):
            require_role(who, "admin")
            return [key for key in await self._desk.store.keys.list_keys(who.tenant) if _is_within(who, key.scopes)]

    async def revoke_key(self, who: Principal, id: str) -> Key:
        desk = self._desk
        async with desk.account(who, "key.revoke") as account:
            require_role(who, "admin")
            if not any(
                key.id == id and _is_within(who, key.scopes) for key in await desk.store.keys.list_keys(who.tenant)
            ):
                raise NotFound(f"There is no key {id!r:.60} here. `commonplace key list` shows those there are.")
            return await desk.store.keys.revoke_key(id, utc(desk.clock.now()), _entries(account, "key.revoked", key=id))

    # ---- users of the gateway

    async def create_user(self, who: Principal, user: str) -> tuple[User, str]:
        """A new user and their key, shown this once. Raises Conflict on a known id."""
        desk = self._desk
        async with desk.account(who, "user.create") as account:
            _require_user(who, check_person(user))
            if any(key.user == user for key in await desk.store.keys.list_keys(who.tenant)):
                # The same name alone joins nobody.
                raise Conflict(f"A key speaks for {user!r} already. Choose another id, or revoke the key first.")
            new_user = User(id=user, tenant=who.tenant, created_at=utc(desk.clock.now()))
            secret = new_user_secret()
            await desk.store.keys.add_user(new_user, secret_hash(secret), _entries(account, "user.created", user=user))
            return new_user, secret

    async def users(self, who: Principal) -> list[User]:
        async with self._desk.account(who, "user.list"):
            require_role(who, "admin")
            users = await self._desk.store.keys.users(who.tenant)
            return [user for user in users if who.reaches(Scope("user", user.id))]

    async def rotate_user(self, who: Principal, user: str) -> tuple[User, str]:
        """A new key for a user; the old one opens nothing any more."""
        desk = self._desk
        async with desk.account(who, "user.rotate") as account:
            _require_user(who, user)
            secret = new_user_secret()
            entries = _entries(account, "user.rotated", user=user)
            return await desk.store.keys.rotate_user(who.tenant, user, secret_hash(secret), entries), secret

    async def remove_user(self, who: Principal, user: str) -> None:
        desk = self._desk
        async with desk.account(who, "user.remove") as account:
            _require_user(who, user)
            await desk.store.keys.remove_user(who.tenant, user, _entries(account, "user.removed", user=user))


def _principal(visit: Visit, *, subject: str, name: str, tenant: str, role: Role) -> Principal:
    return Principal(
        subject=subject,
        name=name,
        tenant=tenant,
        role=role,
        client=visit.client,
        address=visit.address,
        loopback=_is_loopback(visit.address) and not visit.forwarded,
        door=visit.door,
        request=visit.request,
    )


def _require_user(who: Principal, user: str) -> None:
    """Whoever hands out the key to a scope must reach it."""
    require_role(who, "admin")
    require_scope(who, Scope("user", user))


def _is_loopback(address: str | None) -> bool:
    try:
        ip = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    # A socket for both families writes 127.0.0.1 as ::ffff:127.0.0.1.
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def _require_within(who: Principal, patterns: tuple[ScopePattern, ...] | None) -> None:
    for pattern in patterns or (ScopePattern("*"),):
        if not _covers(who, pattern):
            raise Forbidden(f"Your own key does not reach {pattern}. A new one cannot reach further.")


def _is_within(who: Principal, patterns: tuple[ScopePattern, ...] | None) -> bool:
    return all(_covers(who, pattern) for pattern in patterns or (ScopePattern("*"),))


def _covers(who: Principal, pattern: ScopePattern) -> bool:
    """Whether one of the caller's own patterns fits every scope that this one fits."""
    if who.scopes is None:
        return True
    begin = pattern.text.removesuffix("*")
    return any(
        begin.startswith(own.text[:-1]) if own.text.endswith("*") else own.text == pattern.text for own in who.scopes
    )


def _entries(account: Account, type: str, **fields: str) -> Entries:  # noqa: A002 - as events call it
    details = dict[str, str](fields)
    row = account.row("ok", details={**details})
    return Entries(audit=(row,), events=(account.news(type, data={**details}, admins=True),))
