"""Who may, on the wire: keys, users, and who the caller is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from commonplace.values.principal import Key, Principal, Role, ScopePattern, User
from commonplace.wire.shapes import Answer, Body, Label, Line, Moment

Pattern = Annotated[str, Field(min_length=1, max_length=300, examples=["workspace:web-*"])]


class MeAnswer(Answer):
    """Who asks. `scopes` null reaches every scope of the tenant. `open`: the daemon asks nobody for a key."""

    subject: str
    tenant: str
    role: Role
    scopes: list[str] | None
    operator: bool
    key: str | None
    client: str | None
    open: bool = False

    @classmethod
    def of(cls, who: Principal, *, open: bool = False) -> MeAnswer:  # noqa: A002 - as the field is called
        return cls(
            open=open,
            subject=who.subject,
            tenant=who.tenant,
            role=who.role,
            scopes=_written(who.scopes),
            operator=who.operator,
            key=who.key,
            client=who.client,
        )

    def value(self) -> Principal:
        return Principal(
            subject=self.subject,
            tenant=self.tenant,
            role=self.role,
            scopes=_patterns(self.scopes),
            operator=self.operator,
            key=self.key,
            client=self.client,
        )


class SignInBody(Body):
    """A key, or a one-time code. `stay` false: the browser forgets the session when it is closed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"key": "cp_…"}]})

    key: Line | None = None
    code: Line | None = None
    stay: bool = True

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.key is None) == (self.code is None):
            raise ValueError("give a key or a code")
        return self


class SignInAnswer(Answer):
    """`me` is null where nobody is signed in. `open`: nobody needs to be."""

    open: bool
    me: MeAnswer | None


class CodeAnswer(Answer):
    """Good once, until `expires_at`. `url` signs a browser in with it."""

    code: str
    url: str
    expires_at: Moment


class KeyBody(Body):
    """A key to be made. `scopes`: what it reaches, by pattern; absent: every scope of the tenant."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ci", "role": "writer", "scopes": ["workspace:web"]}]}
    )

    name: str = Field(min_length=1, max_length=100)
    role: Role = "writer"
    scopes: list[Pattern] | None = Field(default=None, min_length=1, max_length=100)
    expires_at: Moment | None = None


class KeyAnswer(Answer):
    id: str
    name: str
    tenant: str
    role: Role
    scopes: list[str] | None
    created_at: Moment
    created_by: str
    expires_at: Moment | None
    revoked_at: Moment | None

    @classmethod
    def of(cls, key: Key) -> KeyAnswer:
        return cls(
            id=key.id,
            name=key.name,
            tenant=key.tenant,
            role=key.role,
            scopes=_written(key.scopes),
            created_at=key.created_at,
            created_by=key.created_by,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
        )

    def value(self) -> Key:
        return Key(
            id=self.id,
            name=self.name,
            tenant=self.tenant,
            role=self.role,
            scopes=_patterns(self.scopes),
            created_at=self.created_at,
            created_by=self.created_by,
            expires_at=self.expires_at,
            revoked_at=self.revoked_at,
        )


class NewKeyAnswer(Answer):
    """The secret is shown this once."""

    key: KeyAnswer
    secret: str


class KeysAnswer(Answer):
    keys: list[KeyAnswer]

    @classmethod
    def of(cls, keys: Iterable[Key]) -> KeysAnswer:
        return cls(keys=[KeyAnswer.of(key) for key in keys])


class UserBody(Body):
    """A person of the gateway."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ana"}]})

    user_id: Label


class UserAnswer(Answer):
    user_id: str
    tenant: str
    created_at: Moment

    @classmethod
    def of(cls, user: User) -> UserAnswer:
        return cls(user_id=user.id, tenant=user.tenant, created_at=user.created_at)

    def value(self) -> User:
        return User(id=self.user_id, tenant=self.tenant, created_at=self.created_at)


class NewUserAnswer(Answer):
    """The key is shown this once."""

    user: UserAnswer
    user_key: str


class UsersAnswer(Answer):
    users: list[UserAnswer]

    @classmethod
    def of(cls, users: Iterable[User]) -> UsersAnswer:
        return cls(users=[UserAnswer.of(user) for user in users])


def _written(scopes: tuple[ScopePattern, ...] | None) -> list[str] | None:
    return None if scopes is None else [str(pattern) for pattern in scopes]


def _patterns(scopes: list[str] | None) -> tuple[ScopePattern, ...] | None:
    return None if scopes is None else tuple(ScopePattern(pattern) for pattern in scopes)
