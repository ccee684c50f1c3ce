"""Who may, at the native door: who the caller is, keys, the gateway's users."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, KeyedCaller, Served, Told
from commonplace.values.principal import Key
from commonplace.wire.people import (
    KeyBody,
    KeysAnswer,
    MeAnswer,
    NewKeyAnswer,
    NewUserAnswer,
    UserAnswer,
    UserBody,
    UsersAnswer,
)
from commonplace.wire.shapes import Label

router = APIRouter(prefix="/v1", tags=["native"])

KeyId = Annotated[Label, Path(description="The key's id, not its secret.")]
UserId = Annotated[Label, Path(description="The user's id.")]


def _unkept(response: Response) -> None:
    """A secret is shown once, and nobody between us keeps it."""
    response.headers["Cache-Control"] = "no-store"


@router.get("/me", summary="Who am I?", responses=problems())
async def me(who: Caller, told: Told) -> MeAnswer:
    """Whose key this is, its tenant, its role, and which scopes it reaches (null: all)."""
    return MeAnswer.of(who, open=told.open_to_all)


@router.post("/keys", status_code=201, summary="Make a key", responses=problems())
async def create_key(body: KeyBody, who: KeyedCaller, served: Served, response: Response) -> NewKeyAnswer:
    """A new key and its secret, which is shown this once. It never may do more than the key that makes it. For admins."""
    key, secret = await served.identity.create_key(
        who, body.name, body.role, scopes=body.scopes, expires_at=body.expires_at
    )
    _unkept(response)
    return NewKeyAnswer(key, secret)


@router.get("/keys", summary="List keys", responses=problems())
async def keys(who: KeyedCaller, served: Served) -> KeysAnswer:
    """All that were made in the tenant, revoked ones too, without their secrets. For admins."""
    return KeysAnswer(tuple(await served.identity.keys(who)))


@router.delete("/keys/{id}", summary="Revoke a key", responses=problems(404))
async def revoke_key(id: KeyId, who: KeyedCaller, served: Served) -> Key:
    """From now on it opens nothing. For admins."""
    return await served.identity.revoke_key(who, id)


@router.post("/users", status_code=201, summary="Add a user of the gateway", responses=problems(409))
async def create_user(body: UserBody, who: KeyedCaller, served: Served, response: Response) -> NewUserAnswer:
    """A new user and their key, which is shown this once. For admins."""
    user, secret = await served.identity.create_user(who, body.user_id)
    _unkept(response)
    return NewUserAnswer(user=UserAnswer.model_validate(user), user_key=secret)


@router.get("/users", summary="List the users of the gateway", responses=problems())
async def users(who: KeyedCaller, served: Served) -> UsersAnswer:
    """Without their keys. For admins."""
    return UsersAnswer(users=[UserAnswer.model_validate(user) for user in await served.identity.users(who)])


@router.post("/users/{id:path}/rotate", summary="Give a user a new key", responses=problems(404))
async def rotate_user(id: UserId, who: KeyedCaller, served: Served, response: Response) -> NewUserAnswer:
    """The old one opens nothing any more. For admins."""
    user, secret = await served.identity.rotate_user(who, id)
    _unkept(response)
    return NewUserAnswer(user=UserAnswer.model_validate(user), user_key=secret)


@router.delete("/users/{id:path}", status_code=204, summary="Remove a user", responses=problems(404))
async def remove_user(id: UserId, who: KeyedCaller, served: Served) -> None:
    """Their key opens nothing any more; what they told stays until `POST /v1/purge` names them. For admins."""
    await served.identity.remove_user(who, id)
