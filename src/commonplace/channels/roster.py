"""
Who votes in a room where several have to agree: people whom we know, who spoke there lately. Whoever has been silent for a day is on the roster no
longer, so that nobody waits for them; and it never grows beyond a bound.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from commonplace.channels.speakers import identity_of
from commonplace.ports.channel_store import ChannelStore
from commonplace.values.channel import ChannelProfile, ChatRoom, RoomMessage

MOST_VOTERS: Final = 50
_SILENT: Final = timedelta(days=1)
_LOOKED_THROUGH: Final = 500


async def roster(
    store: ChannelStore, tenant: str, profile: ChannelProfile, room: ChatRoom, now: datetime
) -> tuple[str, ...]:
    """Their subjects, the last to speak first."""
    page = await store.messages(tenant, profile.name, room.chat, limit=_LOOKED_THROUGH)
    links = {link.identity: link.subject for link in await store.links(tenant)}
    people: dict[str, None] = {}
    for message in reversed(page.messages):
        if now - message.at > _SILENT or len(people) == MOST_VOTERS:
            break
        subject = _subject(profile, message, links)
        if message.author == "person" and subject is not None:
            people.setdefault(subject)
    return tuple(people)


def _subject(profile: ChannelProfile, message: RoomMessage, links: dict[str, str]) -> str | None:
    """Who it was by their key, or because an admin linked them; None: nobody knows."""
    reach = message.data.get("reach")
    if isinstance(reach, dict):
        return str(reach["subject"])
    return links.get(identity_of(profile, message.sender))
