"""Who may, at the native door: who the caller is, keys, the gateway's users."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, KeyedCaller, Served, Told
from commonplace.server.door import only_conditions
from commonplace.values.capability import IssuedCapability
from commonplace.values.member import Member
from commonplace.values.principal import Key
from commonplace.values.scope import Scope
from commonplace.wire.capabilities import CapabilityIssueBody
from commonplace.wire.people import (
    KeyBody,
    KeysAnswer,
    MeAnswer,
    MemberBody,
    MembersAnswer,
    NewKeyAnswer,
    NewUserAnswer,
    UserAnswer,
    UserBody,
    UsersAnswer,
)
from commonplace.wire.shapes import Label, ScopeName

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
        who,
        body.name,
        body.role,
        scopes=body.scopes,
        expires_at=body.expires_at,
        user=body.user,
        agent=body.agent,
    )
    _unkept(response)
    return NewKeyAnswer(key, secret)


@router.get("/keys", summary="List keys", responses=problems(), dependencies=[only_conditions()])
async def keys(who: KeyedCaller, served: Served) -> KeysAnswer:
    """All that were made in the tenant, revoked ones too, without their secrets. For admins."""
    return KeysAnswer(tuple(await served.identity.keys(who)))


@router.delete("/keys/{id}", summary="Revoke a key", responses=problems(404))
async def revoke_key(id: KeyId, who: KeyedCaller, served: Served) -> Key:
    """From now on it opens nothing, nor do the keys that were made with it. For admins."""
    return await served.identity.revoke_key(who, id)


@router.post(
    "/capabilities", status_code=201, summary="Issue a capability for another key", responses=problems(404, 409)
)
async def create_capability(
    body: CapabilityIssueBody, who: KeyedCaller, served: Served, response: Response
) -> IssuedCapability:
    """
    With it, another key does a part of what yours may, at the governed door, until it expires: `capability` is the signed text that
    it sends there. It never reaches further than your key does when it is presented, and is void once your key is revoked.
    """
    new_capability = await served.capabilities.issue(who, body.key, body.run, body.fields())
    _unkept(response)
    return new_capability


@router.get("/members", summary="Whose is it?", responses=problems(404), dependencies=[only_conditions("scope")])
async def members(
    scope: Annotated[ScopeName, Query(description="A session or a room.", examples=["session:standup-7"])],
    who: Caller,
    served: Served,
) -> MembersAnswer:
    """The members of a session or a room, its owner first. For them, and for admins."""
    return MembersAnswer(tuple(await served.members.members(who, Scope.parse(scope))))


@router.post("/members", status_code=201, summary="Share a session or a room", responses=problems(404, 409))
async def share(body: MemberBody, who: Caller, served: Served) -> Member:
    """From now on they read it and write to it. For its owner, and for admins."""
    return await served.members.share(who, Scope.parse(body.scope), body.subject)


@router.post("/members/remove", status_code=204, summary="Share it no longer", responses=problems(404, 409))
async def unshare(body: MemberBody, who: Caller, served: Served) -> None:
    """For its owner, for admins, and for the one who leaves."""
    await served.members.unshare(who, Scope.parse(body.scope), body.subject)


@router.post("/users", status_code=201, summary="Add a user of the gateway", responses=problems(409))
async def create_user(body: UserBody, who: KeyedCaller, served: Served, response: Response) -> NewUserAnswer:
    """A new user and their key, which is shown this once. For admins."""
    user, secret = await served.identity.create_user(who, body.user_id)
    _unkept(response)
    return NewUserAnswer(user=UserAnswer.model_validate(user), user_key=secret)


@router.get("/users", summary="List the users of the gateway", responses=problems(), dependencies=[only_conditions()])
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
