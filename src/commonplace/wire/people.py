"""Who may, on the wire: keys, users, and who the caller is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from commonplace.values.json import JsonObject
from commonplace.values.member import Member
from commonplace.values.moment import Moment
from commonplace.values.principal import Key, Principal, Role, ScopePattern, User
from commonplace.wire.shapes import Answer, Body, Label, Line, NarrowBody, ScopeName, shared

Pattern = Annotated[str, Field(min_length=1, max_length=300, examples=["workspace:web-*"])]


class MeAnswer(Answer):
    """
    Who asks. `subject` is the person, `name` what the audit calls them, `agent` whether a program holds the key. `scopes` are
    the key's patterns; null: an admin reaches every scope of the tenant, others what is shared and their own. `open`: the daemon
    asks nobody for a key.
    """

    subject: str
    name: str | None = None
    agent: bool = False
    tenant: str
    role: Role
    scopes: tuple[ScopePattern, ...] | None
    operator: bool
    key: str | None
    client: str | None
    open: bool = False

    @classmethod
    def of(cls, who: Principal, *, open: bool = False) -> MeAnswer:  # noqa: A002 - as the field is called
        return cls(**shared(cls, who), open=open)

    def value(self) -> Principal:
        return Principal(**{name: value for name, value in self if name != "open"})


class SignInBody(NarrowBody):
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


class KeyBody(NarrowBody):
    """
    A key to be made. `scopes`: what it reaches, by pattern; absent: what is shared, and what is its person's own (an admin's:
    every scope of the tenant).
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ana's laptop", "role": "writer", "user": "ana"}]}
    )

    name: str = Field(min_length=1, max_length=100)
    role: Role = "writer"
    scopes: list[Pattern] | None = Field(default=None, min_length=1, max_length=100)
    expires_at: Moment | None = Field(default=None, description="With the key that makes it at the latest.")
    user: Label | None = Field(default=None, description="The person it speaks for; absent: nobody but itself.")
    agent: bool = Field(default=False, description="Whether a program holds it: what it writes is no person's word.")


@dataclass(frozen=True, slots=True)
class NewKeyAnswer(JsonObject):
    """The secret is shown this once."""

    key: Key
    secret: str


@dataclass(frozen=True, slots=True)
class KeysAnswer(JsonObject):
    keys: tuple[Key, ...]


class MemberBody(Body):
    """A person, and a session or a room."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "session:standup-7", "subject": "bo"}]})

    scope: ScopeName
    subject: Label = Field(description="The user of a key, a user of the gateway, or key/<key id>.")


@dataclass(frozen=True, slots=True)
class MembersAnswer(JsonObject):
    """The owner first."""

    members: tuple[Member, ...]


class UserBody(Body):
    """A person of the gateway."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ana"}]})

    user_id: Label


class UserAnswer(Answer):
    user_id: str = Field(validation_alias=AliasChoices("user_id", "id"))
    tenant: str
    created_at: Moment

    def value(self) -> User:
        return User(id=self.user_id, tenant=self.tenant, created_at=self.created_at)


class NewUserAnswer(Answer):
    """The key is shown this once."""

    user: UserAnswer
    user_key: str

    def value(self) -> tuple[User, str]:
        return self.user.value(), self.user_key


class UsersAnswer(Answer):
    users: list[UserAnswer]
