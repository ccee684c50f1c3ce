"""
Who acts in a turn of a room.

A person whom we know, by a key of ours or because an admin linked the sender, acts as they are, narrowed to what the room may see. Anybody
else acts as a sender of the channel. Nobody brings what is theirs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from commonplace.values.channel import ChannelProfile, ChatRoom
from commonplace.values.json import Json
from commonplace.values.principal import CHANNEL_SUBJECT, Principal, ScopePattern
from commonplace.values.scope import Scope

DOOR: Final = "channel"


def channel_principal(tenant: str, profile: ChannelProfile) -> Principal:
    """The channel itself: it opens the sessions of its rooms, and listens to them."""
    return Principal(subject=profile.subject, tenant=tenant, role="writer", door=DOOR)


def guest_subject(profile: ChannelProfile, sender: str) -> str:
    return f"{CHANNEL_SUBJECT}{profile.name}/{sender}"


def identity_of(profile: ChannelProfile, sender: str) -> str:
    """How an admin names a sender who is to be linked: by the platform, whichever channel they come through."""
    return f"{profile.kind}:{sender}"


def speaker(tenant: str, profile: ChannelProfile, room: ChatRoom, sender: str, linked: str | None) -> Principal:
    """A sender without a key of ours."""
    settings = profile.settings.for_room(room.chat)
    scopes = [room.scope]
    if linked is not None or settings.guests == "workspace":
        scopes.append(Scope("agent", settings.agent))
        if settings.workspace is not None:
            scopes.append(Scope("workspace", settings.workspace))
    subject = linked or guest_subject(profile, sender)
    return Principal(subject=subject, tenant=tenant, role="writer", scopes=_patterns(scopes), door=DOOR)


def member_speaker(profile: ChannelProfile, room: ChatRoom, asker: Principal) -> Principal:
    """A person who came with a key of ours: the room, and of its agent and workspace what the key reaches."""
    settings = profile.settings.for_room(room.chat)
    scopes = [room.scope]
    shared = [Scope("agent", settings.agent)]
    if settings.workspace is not None:
        shared.append(Scope("workspace", settings.workspace))
    scopes += [scope for scope in shared if asker.reaches(scope)]
    role = "reader" if asker.role == "reader" else "writer"
    return replace(
        asker,
        role=role,
        scopes=_patterns(scopes),
        operator=False,
        agent=False,
        session=None,
        capability=None,
        member_of=frozenset(),
        door=DOOR,
    )


def in_session(who: Principal, session: str) -> Principal:
    """The speaker in one session of the room."""
    return replace(who, scopes=(*(who.scopes or ()), ScopePattern(f"session:{session}")))


def reach_data(who: Principal) -> dict[str, Json]:
    """Who spoke, as it is kept with a message that is handled after a restart."""
    return {
        "subject": who.subject,
        "name": who.name,
        "role": who.role,
        "key": who.key,
        "client": who.client,
        "scopes": None if who.scopes is None else [pattern.text for pattern in who.scopes],
    }


def from_reach_data(tenant: str, data: dict[str, Json]) -> Principal:
    """What `reach_data` kept. Without its member's scopes: whoever was in the room when they spoke was in it."""
    scopes = data.get("scopes")
    return Principal(
        subject=str(data["subject"]),
        tenant=tenant,
        role="reader" if data.get("role") == "reader" else "writer",
        name=None if data.get("name") is None else str(data["name"]),
        key=None if data.get("key") is None else str(data["key"]),
        client=None if data.get("client") is None else str(data["client"]),
        scopes=tuple(ScopePattern(str(text)) for text in scopes) if isinstance(scopes, list) else None,
        door=DOOR,
    )


def _patterns(scopes: Sequence[Scope]) -> tuple[ScopePattern, ...]:
    # A star would be more than the one that is meant; names of channels, chats, agents and workspaces have none.
    return tuple(ScopePattern(str(scope)) for scope in scopes if "*" not in scope.id)
